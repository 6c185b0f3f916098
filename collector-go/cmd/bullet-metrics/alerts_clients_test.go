package main

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// alertsClient is a canary that asks topology b RAW queries: every 10 s it reports how long ten of them took, and how
// complete they were.
type alertsClient struct {
	host                    string
	seconds, complete       float64
	silent, failing         bool // nothing is sent; queries fail, and so have no latency
	producer                journal.ProducerID
	latency, whole, outcome journal.SeriesID
	asked                   uint64
	slow, fast              uint64 // answered above and below a second
}

// canary starts a client; one of the same host goes on in its series, with totals from 0.
func (w *alertsWorld) canary(host string, seconds, complete float64) *alertsClient {
	c := &alertsClient{host: host, seconds: seconds, complete: complete}
	var err error
	c.producer, err = w.journal.DefineProducer(journal.ProducerDefined{Topology: "b", Host: host, Task: -1})
	require.NoError(w.t, err)
	define := func(name, key string, shape metric.Shape, temporality metric.Temporality) journal.SeriesID {
		id, err := w.journal.Define(metric.Raw{Worker: metric.Worker{Topology: "b", Host: host}, Component: "canary",
			Task: -1, Name: name, Key: key, Shape: shape,
			Temporality: temporality, IntervalMs: 10_000})
		require.NoError(w.t, err)
		return id
	}
	c.latency = define("bullet_query_latency_seconds", "raw", metric.ShapeHistogram, metric.Cumulative)
	c.whole = define("bullet_query_result_completeness_ratio", "raw", metric.ShapeMap, metric.Gauge)
	c.outcome = define("bullet_query_outcomes", "raw"+metric.KeySeparator+"returned", metric.ShapeMap,
		metric.Cumulative)
	require.NoError(w.t, w.journal.AppendControl(&journal.Connected{Producer: c.producer, TimeMs: w.now.UnixMilli()}))
	w.clients[host] = c
	return c
}

// ask reports of a client's queries.
func (w *alertsWorld) ask(c *alertsClient) {
	if c.silent {
		return
	}
	if c.asked += 10; !c.failing {
		if c.seconds > 1 {
			c.slow += 10
		} else {
			c.fast += 10
		}
	}
	at := w.now.UnixMilli()
	b := w.batch(c.producer)
	b.IDs, b.TimesMs, b.Values = []journal.SeriesID{c.outcome}, []int64{at}, []float64{float64(c.asked)}
	if !c.failing {
		b.IDs, b.TimesMs, b.Values = append(b.IDs, c.whole), append(b.TimesMs, at), append(b.Values, c.complete)
	}
	const fastBucket = -2 // 1/8 to 1/4 s
	slowBucket := int32(math.Ceil(math.Log2(max(c.seconds, 20))))
	b.Histograms = []*pb.HistogramSample{{SeriesId: uint32(c.latency), TimeMs: at, Schema: 0, ZeroThreshold: 0.0005,
		Count: c.fast + c.slow, Sum: 0.2*float64(c.fast) + 20*float64(c.slow),
		PositiveSpans: []*pb.BucketSpan{{Offset: fastBucket, Length: 1},
			{Offset: slowBucket - fastBucket - 1, Length: 1}}, PositiveCounts: []uint64{c.fast, c.slow}}}
	w.append(b)
}

// die ends a client's stream without notice; stop announces its end, as Ctrl-C does.
func (w *alertsWorld) die(c *alertsClient) {
	c.silent = true
	gone := &journal.Disconnected{Producer: c.producer, TimeMs: w.now.UnixMilli()}
	require.NoError(w.t, w.journal.AppendControl(gone))
}

func (w *alertsWorld) stop(c *alertsClient) {
	w.lastWord(c.producer)
	w.die(c)
}

// What fires where clients see queries that are slow or lack records, and the clients come and go: an alert ends with a
// good value, or where its client said that it ends, and not because another one is well.
func TestAlertsOfClientsEndWithAGoodValueOrAWord(t *testing.T) {
	const (
		slow, lacking = "QueryLatencyP99High b raw", "QueriesIncomplete b raw"
		blindSlow     = "MetricsCollectorBlind b away:0 raw bullet_query_latency_seconds"
		blindLacking  = "MetricsCollectorBlind b away:0 raw bullet_query_result_completeness_ratio"
		long, longer  = 8 * time.Minute, 14 * time.Minute
	)
	for name, c := range map[string]struct {
		do        func(w *alertsWorld, of *alertsClient)
		now, ever []string
	}{
		"it goes on": {do: func(w *alertsWorld, _ *alertsClient) { w.pass(long) }, now: []string{slow, lacking}},
		"its queries become well": {do: func(w *alertsWorld, of *alertsClient) {
			of.seconds, of.complete = 0.2, 1
			w.pass(longer)
		}, ever: []string{slow, lacking}},
		"it is killed": {do: func(w *alertsWorld, of *alertsClient) { w.die(of); w.pass(longer) },
			now: []string{slow, lacking, blindSlow, blindLacking}},
		"it is killed, and another one is well": {do: func(w *alertsWorld, of *alertsClient) {
			w.canary("near", 0.2, 1)
			w.pass(5 * time.Minute)
			w.die(of)
			w.pass(longer)
		}, now: []string{slow, lacking, blindSlow, blindLacking}},
		"it is stopped": {do: func(w *alertsWorld, of *alertsClient) { w.stop(of); w.pass(longer) },
			ever: []string{slow, lacking}},
		"it is killed, and started again where all is well": {do: func(w *alertsWorld, of *alertsClient) {
			w.die(of)
			w.pass(long)
			w.canary("away", 0.2, 1)
			w.pass(longer)
		}, ever: []string{slow, lacking, blindSlow, blindLacking}},
		"it is stopped, and started again to queries that all fail": {do: func(w *alertsWorld, of *alertsClient) {
			w.stop(of)
			w.pass(longer)
			w.canary("away", 0.2, 1).failing = true
			w.pass(longer)
		}, ever: []string{slow, lacking}},
		"its queries all fail": {do: func(w *alertsWorld, of *alertsClient) { of.failing = true; w.pass(longer) },
			now: []string{slow, lacking}},
		"the topology is killed, and it asks on": {do: func(w *alertsWorld, _ *alertsClient) {
			w.annotate("b", "killed")
			clear(w.workers)
			w.pass(longer)
		}, ever: []string{slow, lacking}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAlertsWorld(t)
			w.submit("b", 1, "h1", "h2")
			of := w.canary("away", 0.2, 1)
			w.pass(3 * time.Minute)
			assert.Empty(t, w.firing())
			of.seconds, of.complete = 20, 0.5
			w.pass(long)
			require.Equal(t, []string{lacking, slow}, w.firing(), "before anything happens")
			c.do(w, of)
			assert.Equal(t, slices.Sorted(slices.Values(c.now)), w.firing(), "at the end")
			assert.Equal(t, slices.Sorted(slices.Values(append(slices.Clone(c.now), c.ever...))),
				slices.Sorted(maps.Keys(w.ever)), "ever")
		})
	}
}

// A client that was well and is not there any more is no alert's business.
func TestAClientThatWasWellIsNotMissed(t *testing.T) {
	t.Parallel()
	w := newAlertsWorld(t)
	w.submit("b", 1, "h1", "h2")
	of := w.canary("away", 0.2, 1)
	w.pass(10 * time.Minute)
	w.die(of)
	w.pass(10 * time.Minute)
	assert.Empty(t, w.ever)
}
