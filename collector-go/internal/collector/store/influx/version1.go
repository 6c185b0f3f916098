package influx

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
)

// version1 writes to InfluxDB 1 (https://docs.influxdata.com/influxdb/v1/tools/api/#write-http-endpoint).
type version1 struct {
	client  *http.Client
	address string
	now     func() time.Time
	zipped  bytes.Buffer
	zip     *gzip.Writer
}

func newVersion1(o Options, client *http.Client) *version1 {
	query := url.Values{"db": {o.Database}, "precision": {"ms"}}
	if o.RetentionPolicy != "" {
		query.Set("rp", o.RetentionPolicy)
	}
	zip, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is one that there is
	return &version1{client: client, address: strings.TrimSuffix(o.URL, "/") + "/write?" + query.Encode(),
		now: o.Now, zip: zip}
}

// maxAnswer is as much of an answer as is read.
const maxAnswer = 4 << 10

func (v *version1) write(ctx context.Context, lines []byte) error {
	v.zipped.Reset()
	v.zip.Reset(&v.zipped)
	_, _ = v.zip.Write(lines) // into memory
	_ = v.zip.Close()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, v.address, bytes.NewReader(v.zipped.Bytes()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Encoding", "gzip")
	request.Header.Set("Content-Type", "text/plain; charset=utf-8")
	response, err := v.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // the status decides; the text is for people
	return forward.Answer(response.StatusCode, response.Header, string(text), v.now())
}

func (v *version1) close() { v.client.CloseIdleConnections() }
