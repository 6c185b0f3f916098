package influx

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
)

// version1 writes to InfluxDB 1 (https://docs.influxdata.com/influxdb/v1/tools/api/#write-http-endpoint). It uses plain
// HTTP, because the client library is for version 2. It reuses its buffers, since only one goroutine writes.
type version1 struct {
	client  *http.Client
	address string
	zipped  bytes.Buffer
	zip     *gzip.Writer
}

func newVersion1(o Options, client *http.Client) *version1 {
	query := url.Values{"db": {o.Database}, "precision": {"ms"}}
	if o.RetentionPolicy != "" {
		query.Set("rp", o.RetentionPolicy)
	}
	zip, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // never fails: the level is valid
	return &version1{client: client, address: strings.TrimSuffix(o.URL, "/") + "/write?" + query.Encode(), zip: zip}
}

func (v *version1) write(ctx context.Context, lines []byte) error {
	v.zipped.Reset()
	v.zip.Reset(&v.zipped)
	_, _ = v.zip.Write(lines) // never fails: it writes to memory
	_ = v.zip.Close()
	return forward.Post(ctx, v.client, v.address, v.zipped.Bytes(),
		map[string]string{"Content-Encoding": "gzip", "Content-Type": "text/plain; charset=utf-8"})
}

func (v *version1) close() { v.client.CloseIdleConnections() }
