package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/upgrade"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/httpapi"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// question is what is asked of a directory; times and step as Prometheus' API takes them.
type question struct {
	expr             string
	time             string
	start, end, step string
}

func newQueryCommand() *cobra.Command {
	var q question
	var output outputForm
	command := &cobra.Command{
		Use:   "query DIR EXPR",
		Short: "Evaluate PromQL over a data directory that no collector uses",
		Long: `Evaluate PromQL over a data directory that no collector uses, for example after a replay. Query a running collector
over its HTTP API instead.

Times are Unix seconds or RFC 3339. The default time is that of the newest slice. With --start, --end and --step the
result is a range. JSON is the answer of Prometheus' HTTP API, errors included.`,
		Example: `  bullet-metrics query data bullet_active_queries
  bullet-metrics query data 'rate(storm_acked_total[2m])' --start 1795199800 --end 1795199940 --step 10s --output json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf(
					"query takes a directory and an expression, %d arguments are there; quote the expression",
					len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			q.expr = args[1]
			if err := errors.Join(output.check(), q.check()); err != nil {
				return usageError{err}
			}
			return runQuery(cmd.Context(), cmd.OutOrStdout(), args[0], q, output.form)
		},
	}
	command.Flags().StringVar(&q.time, "time", "", "evaluation time (default the newest slice)")
	command.Flags().StringVar(&q.start, "start", "", "start of a range")
	command.Flags().StringVar(&q.end, "end", "", "end of a range")
	command.Flags().StringVar(&q.step, "step", "",
		"interval between two points of a range: seconds, or a duration such as 1m")
	output.addFlag(command.Flags())
	return command
}

func (q question) isRange() bool { return q.start+q.end+q.step != "" }

func (q question) check() error {
	switch {
	case q.isRange() && q.time != "":
		return errors.New("--time is for one point in time, --start, --end and --step are for a range: give one or the other")
	case q.isRange() && (q.start == "" || q.end == "" || q.step == ""):
		return errors.New("a range takes all of --start, --end and --step")
	}
	return nil
}

// runQuery asks the store through the HTTP API's own handler, so that the answer is the API's to the byte.
func runQuery(ctx context.Context, out io.Writer, dir string, q question, output string) (err error) {
	store, err := openForReading(dir)
	if err != nil {
		return fmt.Errorf("query: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = errors.Join(err, store.Close(closing))
	}()
	engine, err := query.New(store, query.DefaultOptions())
	if err != nil {
		return err
	}
	defer engine.Close()
	options := httpapi.DefaultOptions()
	options.Engine, options.Gatherer = engine, prometheus.NewRegistry()
	handler, err := httpapi.New(options)
	if err != nil {
		return err
	}
	request, err := q.request(ctx, store)
	if err != nil {
		return err
	}
	recorded := &recorder{header: http.Header{}}
	handler.ServeHTTP(recorded, request)
	return recorded.write(out, output)
}

// openForReading opens a store that is there, and leaves what is in it.
func openForReading(dir string) (sliceStore, error) {
	if _, err := os.Stat(filepath.Join(dir, gridDir)); err != nil {
		if _, old := os.Stat(filepath.Join(dir, upgrade.OldDir)); old == nil {
			return nil, fmt.Errorf(
				"%s is of an older bullet-metrics: start \"bullet-metrics serve --data-dir %s\" once, which converts it",
				dir, dir)
		}
		return nil, fmt.Errorf("%s is no data directory: %w", dir, err)
	}
	store, err := grid.Open(filepath.Join(dir, gridDir), keepEverything())
	if err != nil {
		return nil, fmt.Errorf("%w; where a collector runs on it, ask that over HTTP", err)
	}
	return store, nil
}

// request is the question as the HTTP API is asked.
func (q question) request(ctx context.Context, store sliceStore) (*http.Request, error) {
	path, form := "/api/v1/query", url.Values{"query": {q.expr}}
	switch {
	case q.isRange():
		path = "/api/v1/query_range"
		form.Set("start", q.start)
		form.Set("end", q.end)
		form.Set("step", q.step)
	case q.time != "":
		form.Set("time", q.time)
	default:
		newestMs, ok, err := store.Newest(ctx)
		if err != nil {
			return nil, fmt.Errorf("query: %w", err)
		}
		if ok {
			form.Set("time", strconv.FormatFloat(float64(newestMs)/1000, 'f', 3, 64))
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return request, nil
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(part []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(part)
}

// reply is what text is made from.
type reply struct {
	Error string `json:"error"`
	Data  struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	} `json:"data"`
	Warnings []string `json:"warnings"`
}

// write prints the answer; an error of the API is the command's too, a bad expression wrong usage.
func (r *recorder) write(out io.Writer, output string) error {
	var said reply
	if err := json.Unmarshal(r.body.Bytes(), &said); err != nil {
		return fmt.Errorf("query: status %d: %s", r.code, r.body.String())
	}
	if output == outputJSON {
		if _, err := fmt.Fprintf(out, "%s\n", r.body.Bytes()); err != nil {
			return err
		}
	}
	switch {
	case r.code == http.StatusBadRequest:
		return usageError{fmt.Errorf("query: %s", said.Error)}
	case r.code != http.StatusOK:
		return fmt.Errorf("query: %s", said.Error)
	case output == outputJSON:
		return nil
	}
	return said.text(out)
}

// text writes a line for each series: its labels, then its values, each with "@" and its time where there are several.
func (r *reply) text(out io.Writer) error {
	if r.Data.Type != "vector" && r.Data.Type != "matrix" {
		var point [2]any
		if err := json.Unmarshal(r.Data.Result, &point); err != nil {
			return fmt.Errorf("query: %w", err)
		}
		_, err := fmt.Fprintln(out, point[1])
		return err
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
		return fmt.Errorf("query: %w", err)
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
	_, err := io.WriteString(out, b.String())
	return err
}

// pointText is a number as it is, and of a histogram count and sum.
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
