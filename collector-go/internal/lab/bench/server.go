package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/httpclient"
)

// Server is what is measured, by what it answers over HTTP. It is safe for concurrent use.
type Server struct {
	base   string
	client *http.Client
}

// plain asks for answers as they are: compressing them would be on the server's account.
var plain = httpclient.Plain(httpclient.Options{MostBytes: 1 << 30, Pages: true})

// NewServer is the server at a base such as "http://127.0.0.1:9320".
func NewServer(base string, client *http.Client) *Server { return &Server{base, client} }

// Base is where the server serves HTTP.
func (v *Server) Base() string { return v.base }

// Measured is a server whose CPU and memory are known: a Process by the operating system, a Server by its own figures.
// Both may be read at any time, and the CPU of two readings is subtracted.
type Measured interface {
	CPU(context.Context) (time.Duration, error)
	Resident(context.Context) (int64, error)
}

// CPU is what the server states that it has used so far.
func (v *Server) CPU(ctx context.Context) (time.Duration, error) {
	seconds, err := v.Figure(ctx, "process_cpu_seconds_total")
	return time.Duration(seconds * float64(time.Second)), err
}

// Resident is the memory that the server says it has now, bytes.
func (v *Server) Resident(ctx context.Context) (int64, error) {
	bytes, err := v.Figure(ctx, "process_resident_memory_bytes")
	return int64(bytes), err
}

// Get asks for a path.
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

// Figure is the sum of a metric's samples of /metrics whose line contains all parts; 0 where it has none. It reads the
// text format by lines, which costs the measured server no more than a scrape does.
func (v *Server) Figure(ctx context.Context, name string, parts ...string) (float64, error) {
	body, err := v.Get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, 1<<20)
next:
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, name+"{") && !strings.HasPrefix(line, name+" ") {
			continue
		}
		for _, part := range parts {
			if !strings.Contains(line, part) {
				continue next
			}
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, lines.Err()
}

// The collector's own store, as its figures name it.
const embedded = `store="embedded"`

// InSlices is how many samples the collector's store has been given in slices. It is what a measurement waits for:
// acknowledged samples may still wait in the journal.
func (v *Server) InSlices(ctx context.Context) (int, error) {
	n, err := v.Figure(ctx, "bullet_metrics_feed_samples", `fate="in_slices"`, embedded)
	return int(n), err
}

// Defined is how many series the collector knows for which the catalogue has no name, as those of a load. Before all
// are defined, no sample is sent.
func (v *Server) Defined(ctx context.Context) (int, error) {
	n, err := v.Figure(ctx, "bullet_metrics_feed_unknown_series", embedded)
	return int(n), err
}

// awaitEvery is how often it is looked whether a server has come so far.
const awaitEvery = 100 * time.Millisecond

// Await waits until a count has reached a number, or ctx ends. It asks every awaitEvery, which bounds what the asking
// costs.
func Await(ctx context.Context, number int, count func(context.Context) (int, error)) error {
	looking := time.NewTicker(awaitEvery)
	defer looking.Stop()
	for {
		n, err := count(ctx)
		if err != nil || n >= number {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-looking.C:
		}
	}
}

// Query asks for one number, past the server's memory of answers. An answer of no or of several series is an error.
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

// Range asks a range query, whose whole answer is read and not looked at: reading is part of what a client waits for.
func (v *Server) Range(ctx context.Context, expression string, start, end time.Time, step time.Duration) (
	size int, err error) {
	body, err := v.Answer(ctx, expression, start, end, step)
	return len(body), err
}

// Answer asks a range query, and gives the answer as it came.
func (v *Server) Answer(ctx context.Context, expression string, start, end time.Time, step time.Duration) (
	[]byte, error) {
	return v.Get(ctx, "/api/v1/query_range?"+url.Values{"query": {expression},
		"start": {strconv.FormatInt(start.Unix(), 10)},
		"end":   {strconv.FormatInt(end.Unix(), 10)}, "step": {strconv.Itoa(int(step.Seconds()))},
		"nocache": {"1"}}.Encode())
}
