package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/storage"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// Question is a question about stored slices. Its times and its step are in the form of the API.
type Question struct {
	Expression       string
	Time             string // "": the newest slice
	Start, End, Step string // of a range
}

// IsRange reports whether the question is about a range.
func (q Question) IsRange() bool { return q.Start+q.End+q.Step != "" }

// Stored is a store without a collector, such as grid.Store.
type Stored interface {
	storage.Queryable
	Newest(ctx context.Context) (endMs int64, ok bool, err error)
}

// Ask answers a question from a store, with the same handler as a collector, so that the answer is identical.
func Ask(ctx context.Context, store Stored, q Question) (*Reply, error) {
	engine, err := query.New(store, query.DefaultOptions())
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	options := DefaultOptions()
	options.Engine, options.Gatherer = engine, prometheus.NewRegistry()
	handler, err := New(options)
	if err != nil {
		return nil, err
	}
	request, err := q.request(ctx, store)
	if err != nil {
		return nil, err
	}
	reply := &Reply{header: http.Header{}}
	handler.ServeHTTP(reply, request)
	return ParseReply(reply.Code, reply.Body)
}

// Form returns the path and the form of the request to a collector. Without a time, a collector takes its own.
func (q Question) Form() (path string, form url.Values) {
	form = url.Values{"query": {q.Expression}}
	if !q.IsRange() {
		if q.Time != "" {
			form.Set("time", q.Time)
		}
		return "/api/v1/query", form
	}
	form.Set("start", q.Start)
	form.Set("end", q.End)
	form.Set("step", q.Step)
	return "/api/v1/query_range", form
}

func (q Question) request(ctx context.Context, store Stored) (*http.Request, error) {
	if !q.IsRange() && q.Time == "" {
		newestMs, ok, err := store.Newest(ctx)
		if err != nil {
			return nil, err
		}
		if ok {
			q.Time = strconv.FormatFloat(float64(newestMs)/1000, 'f', 3, 64)
		}
	}
	path, form := q.Form()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return request, nil
}

// Reply is an answer of the API. It implements http.ResponseWriter.
type Reply struct {
	header http.Header
	Code   int    `json:"-"`
	Body   []byte `json:"-"`

	Error string `json:"error"`
	Data  struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	} `json:"data"`
}

// ParseReply reads the answer that a collector gave to a question.
func ParseReply(code int, body []byte) (*Reply, error) {
	reply := &Reply{Code: code, Body: body}
	if err := json.Unmarshal(body, reply); err != nil {
		return nil, fmt.Errorf("status %d: %s", code, body)
	}
	return reply, nil
}

// Header implements http.ResponseWriter.
func (r *Reply) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *Reply) WriteHeader(code int) { r.Code = cmp.Or(r.Code, code) }

// Write implements http.ResponseWriter.
func (r *Reply) Write(part []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	r.Body = append(r.Body, part...)
	return len(part), nil
}

// Text formats the result for a person: a line for each series with its labels and values. The values of a range have
// their time after "@".
func (r *Reply) Text() (string, error) {
	if r.Data.Type != "vector" && r.Data.Type != "matrix" {
		var point [2]any
		if err := json.Unmarshal(r.Data.Result, &point); err != nil {
			return "", err
		}
		return fmt.Sprintln(point[1]), nil
	}
	var all []struct {
		Metric     map[string]string `json:"metric"`
		Value      []any             `json:"value"`
		Histogram  []any             `json:"histogram"`
		Values     [][]any           `json:"values"`
		Histograms [][]any           `json:"histograms"`
	}
	decoder := json.NewDecoder(bytes.NewReader(r.Data.Result))
	decoder.UseNumber()
	if err := decoder.Decode(&all); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, s := range all {
		b.WriteString(seriesText(s.Metric))
		for _, point := range append(s.Values, s.Histograms...) {
			fmt.Fprintf(&b, " %v@%v", pointText(point[1]), point[0])
		}
		for _, point := range [][]any{s.Value, s.Histogram} {
			if len(point) == 2 {
				fmt.Fprintf(&b, " %v", pointText(point[1]))
			}
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// pointText formats a number, or the count and sum of a histogram.
func pointText(v any) string {
	if h, ok := v.(map[string]any); ok {
		return fmt.Sprintf("{count:%v sum:%v}", h["count"], h["sum"])
	}
	return fmt.Sprint(v)
}

func seriesText(labels map[string]string) string {
	var pairs []string
	for name, text := range labels {
		if name != "__name__" {
			pairs = append(pairs, fmt.Sprintf("%s=%q", name, text))
		}
	}
	slices.Sort(pairs)
	return labels["__name__"] + "{" + strings.Join(pairs, ", ") + "}"
}
