package influx

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	influxdb2 "github.com/influxdata/influxdb-client-go/v2"
	"github.com/influxdata/influxdb-client-go/v2/api"
	influxhttp "github.com/influxdata/influxdb-client-go/v2/api/http"

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

// version2 writes to /api/v2/write through the client library's blocking calls, which neither queue nor retry.
type version2 struct {
	http   *http.Client
	client influxdb2.Client
	writer api.WriteAPIBlocking
}

// newVersion2 passes our own HTTP client to the library. That client reads the token from its file, follows no
// redirects and limits the size of answers.
func newVersion2(o Options, client *http.Client) *version2 {
	options := influxdb2.DefaultOptions().SetHTTPClient(client).SetPrecision(time.Millisecond).SetUseGZip(
		true).SetLogLevel(0)
	c := influxdb2.NewClientWithOptions(o.URL, "", options) // our HTTP client adds the token
	return &version2{http: client, client: c, writer: c.WriteAPIBlocking(o.Org, o.Bucket)}
}

// write sends lines as one record. The library returns an answer of the server as its own error type. Any other error
// is one of the connection.
func (v *version2) write(ctx context.Context, lines []byte) error {
	err := v.writer.WriteRecord(ctx, strings.TrimSuffix(string(lines), "\n"))
	answer, is := errors.AsType[*influxhttp.Error](err)
	if !is || answer.StatusCode == 0 {
		return err
	}
	return forward.Answer(answer.StatusCode, answer.Header, cmp.Or(answer.Message, answer.Error()), time.Now())
}

func (v *version2) close() {
	v.client.Close()
	v.http.CloseIdleConnections()
}
