package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Server is a measured server, accessed over HTTP. It is safe for concurrent use.
type Server struct {
	base   string
	client *http.Client
}

// plain requests uncompressed answers, because compression would use the measured server's CPU.
var plain = httpclient.Plain(httpclient.Options{MostBytes: 1 << 30, Pages: true})

// NewServer returns a client of the server at a base URL such as "http://127.0.0.1:9320".
func NewServer(base string, client *http.Client) *Server { return &Server{base, client} }

// Base returns the base URL of the server.
func (v *Server) Base() string { return v.base }

// Measured is a server whose CPU and memory are known: a Process from the operating system, a Server from its own
// metrics. Both may be read at any time. The CPU of a period is the difference of two readings.
type Measured interface {
	CPU(context.Context) (time.Duration, error)
	Resident(context.Context) (int64, error)
}

// CPU returns the CPU that the server reports to have used so far.
func (v *Server) CPU(ctx context.Context) (time.Duration, error) {
	seconds, err := v.Figure(ctx, "process_cpu_seconds_total")
	return time.Duration(seconds * float64(time.Second)), err
}

// Resident returns the resident memory that the server reports, in bytes.
func (v *Server) Resident(ctx context.Context) (int64, error) {
	bytes, err := v.Figure(ctx, "process_resident_memory_bytes")
	return int64(bytes), err
}

// Get requests a path and returns the body of the answer.
func (v *Server) Get(ctx context.Context, path string) ([]byte, error) { return v.get(ctx, path, "") }

func (v *Server) get(ctx context.Context, path, accept string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+path, nil)
	if err != nil {
		return nil, err
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := v.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s: %.300s", path, response.Status, body)
	}
	return body, err
}

// Figure returns the sum of a metric's samples in /metrics whose lines contain all parts; 0 if there are none. It
// parses the text format line by line, which costs the measured server no more than a scrape.
func (v *Server) Figure(ctx context.Context, name string, parts ...string) (float64, error) {
	body, err := v.Get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for line := range strings.SplitSeq(string(body), "\n") {
		named := strings.HasPrefix(line, name+"{") || strings.HasPrefix(line, name+" ")
		if !named || slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, nil
}

// embedded is the label of the collector's own store in its metrics.
const embedded = `store="embedded"`

// InSlices returns how many samples the collector's store has received in slices. A measurement waits for this count,
// because acknowledged samples may still be in the journal.
func (v *Server) InSlices(ctx context.Context) (int, error) {
	n, err := v.Figure(ctx, "bullet_metrics_feed_samples", `fate="in_slices"`, embedded)
	return int(n), err
}

// Defined returns how many series the collector knows whose names are not in the catalog, such as those of a load. No
// sample is sent before all are defined.
func (v *Server) Defined(ctx context.Context) (int, error) {
	n, err := v.Figure(ctx, "bullet_metrics_feed_unknown_series", embedded)
	return int(n), err
}

// awaitEvery is the polling interval of Await.
const awaitEvery = 100 * time.Millisecond

// Await waits until a count has reached a number, or ctx ends. It polls every awaitEvery, which bounds the cost of
// polling.
func Await(ctx context.Context, number int, count func(context.Context) (int, error)) error {
	var failed error
	err := poll.Until(ctx, awaitEvery, func() bool {
		var n int
		n, failed = count(ctx)
		return failed != nil || n >= number
	})
	return cmp.Or(failed, err)
}

// Query evaluates an expression to one number and bypasses the server's cache. Any other number of series than one is
// an error.
func (v *Server) Query(ctx context.Context, expression string, at time.Time) (float64, error) {
	body, err := v.Get(ctx, "/api/v1/query?"+url.Values{"query": {expression},
		"time": {strconv.FormatInt(at.Unix(), 10)}, "nocache": {"1"}}.Encode())
	if err != nil {
		return 0, err
	}
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, err
	}
	if len(answer.Data.Result) != 1 {
		return 0, fmt.Errorf("%s has %d results", expression, len(answer.Data.Result))
	}
	text, _ := answer.Data.Result[0].Value[1].(string)
	return strconv.ParseFloat(text, 64)
}

// Answer runs a range query and returns the body of the answer. It reads the whole answer, because a client waits for
// that too.
func (v *Server) Answer(ctx context.Context, expression string, start, end time.Time, step time.Duration) (
	[]byte, error) {
	return v.Get(ctx, "/api/v1/query_range?"+url.Values{"query": {expression},
		"start": {strconv.FormatInt(start.Unix(), 10)}, "end": {strconv.FormatInt(end.Unix(), 10)},
		"step": {strconv.Itoa(int(step.Seconds()))}, "nocache": {"1"}}.Encode())
}
