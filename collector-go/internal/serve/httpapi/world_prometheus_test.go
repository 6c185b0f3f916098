//go:build prometheus

package httpapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/blocks"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/gridtest"
)

var (
	worldSeed = flag.Int64("world.seed", 1,
		"seed of the generated series and questions that our API and a real Prometheus are compared over")
	worldQuestions = cases.Flag("world.questions", 2000, 200, "how many questions they are asked")
)

// worldSamples limits a query over a world. It is high enough that no query reaches it.
const worldSamples = 5_000_000

// agedWorld returns a month of data in spans, the last of which has eight hours, and a late span that is months old.
func agedWorld(seed uint64, partition time.Duration) *gridtest.World {
	const nowMs, hour, day = int64(1_700_000_000_000), int64(3_600_000), int64(86_400_000)
	ago := func(fromMs, lengthMs int64) gridtest.Span {
		return gridtest.Span{FirstMs: nowMs - fromMs, LastMs: nowMs - fromMs + lengthMs}
	}
	monthsAgo := ago(80*day, hour)
	monthsAgo.MonthsLate = true
	return gridtest.NewAgedWorld(seed, partition, monthsAgo, ago(30*day, hour), ago(10*day, hour), ago(3*day, 2*hour),
		ago(8*hour, 8*hour))
}

// openWorld returns a store to which a world was written in many steps, with reopening in between. It has the newest
// data in memory.
func openWorld(t *testing.T, w *gridtest.World, options grid.Options) *grid.Store {
	dir := t.TempDir()
	s, err := grid.Open(dir, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(t.Context())) })
	steps := w.HandOvers(1)
	for i := range steps {
		rejected, err := s.Append(t.Context(), steps[i].UpTo, &steps[i].Columns)
		require.NoError(t, err)
		require.Empty(t, rejected)
		if i%200 == 199 {
			require.NoError(t, s.Close(t.Context()))
			s, err = grid.Open(dir, options)
			require.NoError(t, err)
			_, err = s.Append(t.Context(), steps[i].UpTo, &slice.Columns{Definitions: gridtest.Defined(steps, i+1)})
			require.NoError(t, err)
		}
	}
	return s
}

// A client of our API over the grid store gets the same answers as from a real Prometheus with the same slices,
// exported as its blocks. That includes series, times, printed numbers, errors and warnings. gridtest.Compare lists
// the exceptions.
func TestRealPrometheusOverAWorld(t *testing.T) {
	cases.Full(t, ourPrometheus)
	n := int(worldQuestions.N())
	t.Logf("seed %d, %d questions", *worldSeed, n)
	options := grid.DefaultOptions()
	options.RetentionTime, options.MinFreeBytes, options.FlushHandOvers = 0, 0, 20
	w := agedWorld(uint64(*worldSeed), options.Partition)
	store := openWorld(t, w, options)
	dir, exported := t.TempDir(), 0
	require.NoError(t, blocks.Export(t.Context(), store, dir, w.FirstMs, w.LastMs+time.Hour.Milliseconds(),
		func(w blocks.Written) { exported += w.Slices }))
	points := 0
	for _, s := range w.Series {
		points += len(s.Points)
	}
	require.Equal(t, points, exported)
	readByPromtool(t, dir, exported)

	limits := query.DefaultOptions()
	limits.MaxSamples = worldSamples
	engine, err := query.New(store, limits)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close()) })
	server := httptest.NewServer(newHandler(t, store, func(o *Options) { o.Engine = engine }))
	t.Cleanup(server.Close)
	servers := both{ours: server.URL, real: startPrometheus(t, dir, "", worldSamples)}

	answered, varied, undecided := 0, 0, 0
	had, long := []gridtest.Question{}, w.Spec()
	long.Extremes = true // so that levels are read
	for _, q := range append(gridtest.Questions(*worldSeed, n-n/5, w.Spec()),
		gridtest.Questions(*worldSeed, n/5, long)...) {
		ours, real := worldAnswer(t, servers.ours, q), worldAnswer(t, servers.real, q)
		if strings.Contains(real, `"metric"`) {
			answered++
			had = append(had, q)
		}
		if ours == real {
			continue
		}
		switch met, varies := servers.meet(t, q); {
		case met:
			varied++
		case varies:
			undecided++
		default:
			require.Equal(t, real, ours, "%s from %d to %d every %s", q.Expr, q.Start.UnixMilli(),
				q.End.UnixMilli(), q.Step)
		}
	}
	t.Logf("%d of %d questions had an answer; %d had several, of which both gave one; %d had several of which they gave none in common",
		answered, n, varied, undecided)
	tally := gridtest.Tally{}
	tally.Questions(had, w.LastMs)
	for _, name := range []string{"instant", "range", "rate", "_over_time", "subquery", "offset", "@", "aggregation",
		"histogram function", "timestamp",
		"age of a day", "age of a week", "age of a month", "age of months"} {
		assert.GreaterOrEqual(t, tally[name], n/100, name)
	}
	assert.Greater(t, answered, n/2, "too few questions have an answer to prove anything")
	assert.LessOrEqual(t, undecided, n/50, "too many questions have no one answer")
}

// meet asks repeatedly. It reports whether both servers have an answer in common, and whether Prometheus' own answer
// varies.
func (b both) meet(t *testing.T, q gridtest.Question) (met, varies bool) {
	ours, real := map[string]bool{}, map[string]bool{}
	for range 12 {
		ours[worldAnswer(t, b.ours, q)] = true
		real[worldAnswer(t, b.real, q)] = true
		for answer := range ours {
			if real[answer] {
				return true, true
			}
		}
	}
	return false, len(real) > 1
}

// worldAnswer returns the answer of a server with one line per series. The lines of an instant vector are sorted.
func worldAnswer(t *testing.T, base string, q gridtest.Question) string {
	seconds := func(at time.Time) string { return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64) }
	path, form := "/api/v1/query", url.Values{"query": {q.Expr}, "time": {seconds(q.Start)}}
	if q.Step > 0 {
		path = "/api/v1/query_range"
		form = url.Values{"query": {q.Expr}, "start": {seconds(q.Start)}, "end": {seconds(q.End)},
			"step": {strconv.FormatFloat(q.Step.Seconds(), 'f', -1, 64)}}
	}
	response, err := http.PostForm(base+path, form)
	require.NoError(t, err)
	defer response.Body.Close()
	var answer struct {
		Status, ErrorType, Error string
		Warnings, Infos          []string
		Data                     struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	if answer.Status != "success" {
		return strings.Join([]string{response.Status, answer.ErrorType, answer.Error}, "\n")
	}
	lines := []string{response.Status, answer.Data.ResultType}
	var series []map[string]json.RawMessage
	if answer.Data.ResultType == "scalar" || answer.Data.ResultType == "string" {
		lines = append(lines, string(answer.Data.Result))
	} else {
		require.NoError(t, json.Unmarshal(answer.Data.Result, &series))
	}
	found := make([]string, len(series))
	for i, s := range series {
		line, err := json.Marshal(s) // keys are sorted, and numbers are unchanged
		require.NoError(t, err)
		found[i] = string(line)
	}
	if answer.Data.ResultType == "vector" {
		slices.Sort(found)
	}
	lines = append(lines, found...)
	for _, of := range [][]string{answer.Warnings, answer.Infos} {
		of = slices.DeleteFunc(of, func(text string) bool {
			return strings.Contains(text, "conflicting counter resets")
		})
		slices.Sort(of)
		lines = append(lines, "warned of: "+strings.Join(of, "; "))
	}
	return strings.Join(lines, "\n")
}

// readByPromtool reads exported blocks with promtool, as a user could.
func readByPromtool(t *testing.T, dir string, slices int) {
	path := filepath.Join(buildPrometheus(t), "promtool")
	promtool := func(arguments ...string) []byte {
		command := exec.CommandContext(t.Context(), path, arguments...)
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		require.NoError(t, err, stderr.String())
		return out
	}
	assert.Contains(t, string(promtool("tsdb", "list", dir)), "BLOCK ULID")
	assert.Contains(t, string(promtool("tsdb", "analyze", dir)), "Total Series:")
	assert.Equal(t, slices, bytes.Count(promtool("tsdb", "dump", "--sandbox-dir-root="+t.TempDir(), dir), []byte("\n")))
}
