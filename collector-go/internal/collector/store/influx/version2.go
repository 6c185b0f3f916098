package influx

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	influxdb2 "github.com/influxdata/influxdb-client-go/v2"
	"github.com/influxdata/influxdb-client-go/v2/api"
	influxhttp "github.com/influxdata/influxdb-client-go/v2/api/http"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
)

// version2 writes to /api/v2/write, by the client library's blocking calls: nothing is kept or repeated there.
type version2 struct {
	http   *http.Client
	client influxdb2.Client
	writer api.WriteAPIBlocking
}

// newVersion2 gives the library our own HTTP client, which reads the token from its file, follows no redirect and
// bounds answers.
func newVersion2(o Options, client *http.Client) *version2 {
	options := influxdb2.DefaultOptions().SetHTTPClient(client).SetPrecision(time.Millisecond).SetUseGZip(
		true).SetLogLevel(0)
	c := influxdb2.NewClientWithOptions(o.URL, "", options) // the token is read from its file by our HTTP client
	return &version2{http: client, client: c, writer: c.WriteAPIBlocking(o.Org, o.Bucket)}
}

// write sends lines as one record. An answer of the server comes as the library's own error; anything else is an error
// of the connection.
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
