//go:build stores

package servertest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// expressions makes PromQL that has a meaning over a world.
type expressions struct{ *rand.Rand }

func (g expressions) of(options ...string) string { return options[g.IntN(len(options))] }

func (g expressions) selector() string {
	return g.of("bullet_worker_heap_used_bytes", "bullet_worker_cpu_seconds_total", "bullet_active_queries",
		"bullet_worker_start_time_seconds") +
		g.of("", "", `{worker="host:6701"}`, `{worker=~"host:670[02]"}`, `{topology="bullet",worker!="host:6700"}`)
}

// plain has no range function: those extrapolate in Prometheus and not in VictoriaMetrics.
func (g expressions) plain() string {
	switch g.IntN(4) {
	case 0:
		return g.selector()
	case 1:
		return g.selector() + g.of(" > ", " <= ", " * ", " + ", " / ") + g.of("3", "1e8", "0.5")
	case 2:
		return g.of("sum", "avg", "min", "max", "count") + g.of("", " by (worker) ", " by (topology) ",
			" without (worker) ") + "(" + g.plain() + ")"
	}
	return g.selector() + g.of(" - ", " + ") + "on (worker) group_left () (" + g.of("max", "sum") +
		" by (worker) (bullet_active_queries))"
}

func (g expressions) any() string {
	window := g.of("1m", "5m", "37s")
	switch g.IntN(5) {
	case 0:
		return g.plain()
	case 1:
		return g.of("rate", "increase", "resets") + "(bullet_worker_cpu_seconds_total[" + window + "])"
	case 2:
		return g.of("avg_over_time", "max_over_time", "count_over_time", "deriv") + "(" + g.selector() + "[" +
			window + "])"
	case 3:
		return fmt.Sprintf("histogram_quantile(0.%d, sum by (%s) (rate(bullet_filter_latency_seconds[%s])))",
			1+g.IntN(99), g.of("topology", "worker"), window)
	}
	return g.of("sum", "avg") + " by (worker) (" + g.any() + ")"
}

// vector are the values of an answer by their labels.
type vector map[string]float64

func ours(t *testing.T, store storage.Queryable, expression string, at time.Time) vector {
	engine, err := query.New(store, query.DefaultOptions())
	require.NoError(t, err)
	defer engine.Close()
	asked, err := engine.Instant(t.Context(), nil, expression, at)
	require.NoError(t, err, expression)
	defer asked.Close()
	found, err := asked.Exec(t.Context()).Vector()
	require.NoError(t, err, expression)
	all := vector{}
	for _, s := range found {
		require.Nil(t, s.H, expression)
		all[labelsOf(s)] = s.F
	}
	return all
}

func labelsOf(s promql.Sample) string {
	text, err := json.Marshal(s.Metric.Map())
	if err != nil {
		panic(err) // a map of texts
	}
	return string(text)
}

func theirs(s *Server, expression string, at time.Time) vector {
	var answer struct {
		Data struct {
			ResultType parser.ValueType
			Result     []struct {
				Metric map[string]string
				Value  []any
			}
		}
	}
	asked := url.Values{"query": {expression}, "time": {fmt.Sprint(at.Unix())}, "nocache": {"1"}}
	require.NoError(s.t, json.Unmarshal(s.get("/api/v1/query?"+asked.Encode()), &answer), expression)
	all := vector{}
	for _, r := range answer.Data.Result {
		v, err := strconv.ParseFloat(r.Value[1].(string), 64)
		require.NoError(s.t, err)
		name, err := json.Marshal(r.Metric)
		require.NoError(s.t, err)
		all[string(name)] = v
	}
	return all
}

// Stores that were given the same slices answer PromQL alike: Prometheus whatever is asked, VictoriaMetrics selectors
// and aggregations without range functions.
func samePromQL(t *testing.T, store storage.Queryable, servers map[string]*Server, firstMs, lastMs int64) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g := expressions{rand.New(rand.NewPCG(seed, 0))}
	for name, of := range map[string]struct {
		make  func() string
		equal float64 // relative
	}{"prometheus": {g.any, 1e-12}, "victoria": {g.plain, 1e-9}} {
		found := 0
		for range 200 {
			expression := of.make()
			at := time.UnixMilli((firstMs + g.Int64N(lastMs-firstMs)) / stepMs * stepMs) // the end of a slice
			want, got := ours(t, store, expression, at), theirs(servers[name], expression, at)
			if !assert.Len(t, got, len(want), "%s: %s at %d: ours %v, theirs %v", name, expression, at.Unix(),
				want, got) {
				return
			}
			for key, v := range want {
				found++
				other, there := got[key]
				require.True(t, there, "%s: %s at %d has no %s", name, expression, at.Unix(), key)
				if v == other || math.IsNaN(v) && math.IsNaN(other) {
					continue
				}
				require.InDelta(t, v, other, of.equal*math.Abs(v), "%s: %s at %d: %s", name, expression, at.Unix(), key)
			}
		}
		require.Greater(t, found, 200, "%s: too little is found", name)
		t.Logf("%s: 200 expressions, %d values alike", name, found)
	}
}
