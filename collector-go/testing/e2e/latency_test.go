//go:build e2e

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The window, and how far the hook may be from what Storm and Bullet say of the same task.
const (
	latencyWindow = 30 * time.Second
	// Storm's own counts come by another tick than the hook's: at both ends of the window the two may be apart by what
	// a task gets between them, though by about the same.
	countTolerance = 0.05
	meanTolerance  = 0.01
	meanGrain      = 0.001 // seconds: Bullet's mean is of whole milliseconds
	bucketRatio    = 1.1   // and a bound of the hook's histogram is 9% above the one before
)

// ask is the answer to an instant query, by task; a scalar's or an aggregation's is under "".
func (b *bench) ask(t *testing.T, at time.Time, format string, arguments ...any) map[string]float64 {
	t.Helper()
	client, err := api.NewClient(api.Config{Address: "http://" + b.options.HTTPListen})
	require.NoError(t, err)
	query := fmt.Sprintf(format, arguments...)
	value, _, _, err := v1.NewAPI(client).Query(t.Context(), query, at)
	require.NoError(t, err, query)
	require.IsType(t, model.Vector{}, value, query)
	answer := map[string]float64{}
	for _, sample := range value.(model.Vector) {
		answer[string(sample.Metric["task"])] = float64(sample.Value)
	}
	return answer
}

// The latency hook in the real FilterBolts: the distribution is there, and of the same records as Storm's counts and
// Bullet's mean.
func recordLatencies(t *testing.T, b *bench) {
	const records = `,component="FilterBolt",stream="default",source!~"QuerySpout|TickSpout|ReplayBolt|__.*"`
	from := nextSliceEnd(nextSliceEnd(time.Now()))
	to := from.Add(latencyWindow)
	waitUntil(t, to)
	for metric, matchers := range map[string]string{"bullet_filter_latency_seconds": "",
		"bullet_filter_latency_mean_seconds": "", "storm_executed_total": records} {
		b.awaitSlices(t, metric, matchers, to)
	}

	latencies := selector("bullet_filter_latency_seconds", "")
	before := 0.0
	for _, quantile := range []float64{0.5, 0.95, 0.99, 0.999} {
		answer, found := b.ask(t, to, "histogram_quantile(%g, sum(rate(%s[1m])))", quantile, latencies)[""]
		t.Logf("p%g of bullet_filter_latency_seconds: %.2f ms", quantile*100, answer*1000)
		require.True(t, found)
		assert.GreaterOrEqual(t, answer, before)
		assert.Less(t, answer, patience.Seconds())
		before = answer
	}

	const countOf, increase = "histogram_count(%s)", "sum by (task) (%s)"
	executedAt := selector("storm_executed_total", records)
	hooked, hookedBefore := b.ask(t, to, countOf, latencies), b.ask(t, from, countOf, latencies)
	executed, executedBefore := b.ask(t, to, increase, executedAt), b.ask(t, from, increase, executedAt)
	require.NotEmpty(t, hooked)
	for task, count := range hooked {
		records := executed[task] - executedBefore[task]
		t.Logf("task %s: the hook saw %.0f records in %s, Storm executed %.0f", task, count-hookedBefore[task],
			latencyWindow, records)
		require.Greater(t, records, 100.0)
		assert.InEpsilon(t, records, count-hookedBefore[task], countTolerance)
	}
	b.meansAgree(t, from, to, latencies)
}

// fewestMeans of tasks and slices are enough to compare.
const fewestMeans = 6

// meansAgree holds the hook's mean of each task and interval against Bullet's own. A busy machine is late with a
// report, which is then in the slice after its own: what has none is not compared, nor what then has two, and later
// slices are waited for where too few are left.
func (b *bench) meansAgree(t *testing.T, from, to time.Time, latencies string) {
	t.Helper()
	compared, furthest, late := 0, 0.0, map[string]bool{}
	for end := from.Add(sliceWidth); !end.After(to) || compared < fewestMeans &&
		end.Before(to.Add(patience)); end = end.Add(sliceWidth) {
		b.awaitSlices(t, "bullet_filter_latency_seconds", "", end)
		b.awaitSlices(t, "bullet_filter_latency_mean_seconds", "", end)
		sum, count := b.ask(t, end, "histogram_sum(%s)", latencies), b.ask(t, end, "histogram_count(%s)", latencies)
		sumBefore, countBefore := b.ask(t, end.Add(-sliceWidth), "histogram_sum(%s)", latencies),
			b.ask(t, end.Add(-sliceWidth), "histogram_count(%s)", latencies)
		for task, bullets := range b.ask(t, end, "%s", selector("bullet_filter_latency_mean_seconds", "")) {
			afterLate := late[task]
			if late[task] = count[task] == countBefore[task]; late[task] || afterLate {
				continue
			}
			hooks := (sum[task] - sumBefore[task]) / (count[task] - countBefore[task])
			assert.InDelta(t, bullets, hooks, max(meanGrain, meanTolerance*bullets), "task %s, slice %s", task, end)
			furthest = max(furthest, hooks-bullets, bullets-hooks)
			compared++
		}
	}
	t.Logf("%d means of the hook and of Bullet are %.3f ms apart at most", compared, furthest*1000)
	assert.GreaterOrEqual(t, compared, fewestMeans, "tasks and slices")
}

// The hook in the real JoinBolts: the queries that activeQueries held, and no other, ended since the start.
func queryLatencies(t *testing.T, b *bench) {
	end := nextSliceEnd(time.Now())
	for metric, matchers := range map[string]string{"bullet_query_engine_latency_seconds": "",
		"bullet_latency_hook_left_out_total": ""} {
		b.awaitSlices(t, metric, matchers, end)
	}
	completed := selector("bullet_query_engine_latency_seconds", `,outcome="complete"`)
	assert.Equal(t, map[string]float64{"": heldQueries}, b.ask(t, end, "histogram_count(sum(%s))", completed))
	// From JoinBolt's seeing it, which is after the client's sending it, to its end, which is before the client's
	// answer.
	b.assertAsLongAsClientsSaw(t, b.ask(t, end, "histogram_avg(sum(%s))", completed)[""], 1)
	b.assertAsLongAsClientsSaw(t, b.ask(t, end, "histogram_quantile(0.5, sum(%s))", completed)[""], bucketRatio)
	created := selector("bullet_query_created_latency_seconds", `,outcome="complete"`)
	assert.Equal(t, map[string]float64{"": heldQueries}, b.ask(t, end, "histogram_count(sum(%s))", created))
	b.assertAsLongAsClientsSaw(t, b.ask(t, end, "histogram_avg(sum(%s))", created)[""], 1)
	assert.Equal(t, map[string]float64{"": heldQueries},
		b.ask(t, end, "histogram_count(sum(%s))", selector("bullet_query_first_result_latency_seconds", "")))
	assert.Equal(t, map[string]float64{"": 0},
		b.ask(t, end, "sum(%s)", selector("bullet_latency_hook_left_out_total", "")), "nothing failed or was missed")
}

// assertAsLongAsClientsSaw holds what the hook says of the held queries to their life and to what their clients saw of
// it, but for a factor.
func (b *bench) assertAsLongAsClientsSaw(t *testing.T, seconds, factor float64) {
	t.Helper()
	assert.GreaterOrEqual(t, seconds, heldFor.Seconds()/factor)
	assert.LessOrEqual(t, seconds, b.queriesTook.Seconds()*factor)
}
