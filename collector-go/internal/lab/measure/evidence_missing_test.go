package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// each returns a worker's CPU time with one value every so many seconds in (from, to], except at the given seconds.
func each(every, from, to float64, without ...float64) func(float64) float64 {
	return func(t float64) float64 {
		if t <= from || t > to || int(t)%int(every) != 0 || slices.Contains(without, t) {
			return float64(tuning.Unknown)
		}
		return t
	}
}

// Two workers belong to the topology. Slices are expected only between a worker's first and last slice, at its own
// distance. A silent worker is counted as silent and not as missing slices, because it may have ended or lack the
// sampler.
func TestWorkersThatFellSilentAreTheCollectorsFaultOnlyWhereTheyWereHeardAgain(t *testing.T) {
	const start, end, hour = 31 * 60, 36 * 60, 3600
	for name, c := range map[string]struct {
		workers                   map[string]func(float64) float64
		expected, missing, silent tuning.Figure
	}{
		"both report": {map[string]func(float64) float64{"h:1": each(10, 0, hour),
			"h:2": each(10, 0, hour)}, 60, 0, 0},
		"a gap": {map[string]func(float64) float64{"h:1": each(10, 0, hour),
			"h:2": each(10, 0, hour, start+100, start+110)}, 60, 2, 0},
		"silent since long before": {map[string]func(float64) float64{"h:1": each(10, 0, hour),
			"h:2": each(10, 0, 1000)}, 30, 0, 1},
		"silent since the middle": {map[string]func(float64) float64{"h:1": each(10, 0, hour),
			"h:2": each(10, 0, start+150)}, 45, 0, 1},
		"never heard of": {map[string]func(float64) float64{"h:1": each(10, 0, hour)}, 30, 0, 1},
		"a topology that ended": {map[string]func(float64) float64{"h:1": each(10, 0, start+50),
			"h:2": each(10, 0, start+50)}, 10, 0, 2},
		"no sampler": {map[string]func(float64) float64{}, 0, 0, tuning.Unknown},
		"Storm's own CPU a minute": {map[string]func(float64) float64{"h:1": each(60, 0, hour),
			"h:2": each(60, 0, hour)}, 10, 0, 0},
		"moved, with a slice's gap": {map[string]func(float64) float64{"h:1": each(10, 0, hour),
			"h:2": each(10, 0, start+100),
			"h:3": each(10, start+110, hour)}, 59, 0, 0},
		"moved before the step": {map[string]func(float64) float64{"h:1": each(10, 0, hour),
			"h:2": each(10, 0, start-20), "h:3": each(10, start-10, hour)}, 60, 0, 0},
		"three, more than was asked": {map[string]func(float64) float64{"h:1": each(10, 0, hour),
			"h:2": each(10, 0, hour), "h:3": each(10, 0, end-10)}, 89, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			stored := &stored{series: map[string][]Series{}}
			for worker, cpu := range c.workers {
				stored.put(cpuMetric, cpu, "worker", worker, "mode", "total")
			}
			e, err := GatherEvidence(context.Background(), stored, testTopology(), stretchAt(31, 2))
			require.NoError(t, err)
			known := tuning.Figure(2)
			if name[:5] == "three" {
				known = 3
			}
			assert.Equal(t, fmt.Sprint(known, c.expected, c.missing, c.silent), fmt.Sprint(e.Workers.Expected,
				e.Collector.ExpectedSlices, e.Collector.MissingSlices, e.Workers.Silent))
			l := tuning.Limit(e)
			assert.Equal(t, c.silent > 0, slices.Contains(l.Limiters, tuning.LimitedBySilence),
				"who reports no CPU at all, for want of a sampler, is not silent")
			assert.NotContains(t, l.Limiters, tuning.LimitedByCollector)
		})
	}
}

// accountable is a collector that reports how complete its data is.
type accountable struct {
	*stored
	health *collection.Collection
	err    error
	asked  [2]time.Time
}

func (c *accountable) Collection(_ context.Context, _ string, from, to time.Time) (*collection.Collection, error) {
	c.asked = [2]time.Time{from, to}
	return c.health, c.err
}

func TestLateAndDroppedSamplesAreEvidence(t *testing.T) {
	c := &accountable{stored: collected(), health: &collection.Collection{
		Counts:  collection.Counts{Samples: 100, Late: 7},
		Dropped: map[string]uint64{"queue_full": 3, "expired": 2}, StormDropped: 4}}
	e := gatherAt(t, c, 31)
	assert.Equal(t, []tuning.Figure{7, 5}, []tuning.Figure{e.Collector.LateSamples, e.Collector.DroppedSamples})
	assert.Equal(t, [2]time.Time{stretchAt(31, 0).From, stretchAt(31, 0).To}, c.asked, "of the step's measured time")
	assert.Contains(t, e.Notes, "Storm dropped 4 reports of tasks before they reached the metrics consumer")
	assert.False(t, gatherAt(t, c.stored, 31).Collector.LateSamples.Known(), "nobody reports it")

	e = gatherAt(t, &accountable{stored: collected(), err: errors.New("404")}, 31)
	assert.False(t, e.Collector.DroppedSamples.Known())
	assert.Contains(t, e.Notes, "the numbers of late and dropped samples are unknown: 404")
}

func TestQueriesInFlightBySlice(t *testing.T) {
	s := &Session{width: 10 * time.Second, outcomes: []load.Outcome{
		{SubmittedMs: 5_000, FinishedMs: 25_000, End: load.Returned},
		{SubmittedMs: 12_000, FinishedMs: 17_000, End: load.TimedOut},
		{SubmittedMs: 30_000, FinishedMs: 30_000, End: load.NotSubmitted},
	}}
	all := []tuning.QuerySlice{{EndMs: 10_000}, {EndMs: 20_000}, {EndMs: 30_000}}
	s.inFlight(all)
	assert.Equal(t, []tuning.QuerySlice{{EndMs: 10_000, Submitted: 0.5}, {EndMs: 20_000, Submitted: 1.5},
		{EndMs: 30_000, Submitted: 0.5, Returned: 1}}, all)
}

// The client allows all queries that a rate can have in flight, so that the endpoint refuses queries and not the
// client.
func TestTheClientHasRoomForTheRate(t *testing.T) {
	assert.Equal(t, 2000, openOptions(20, time.Minute, 30*time.Second, 10).MostInFlight)
	assert.Equal(t, 100*45+1, openOptions(100, time.Minute, 30*time.Second, 10).MostInFlight)
}
