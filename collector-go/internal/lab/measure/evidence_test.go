package measure

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// stored is a collector that holds series by metric name, with one slice every ten seconds of the test's hour.
type stored struct {
	series map[string][]Series
	err    error
}

var evidenceStart = time.UnixMilli(1_795_200_000_000)

func (c *stored) Slices(_ context.Context, selector string, from, to time.Time) (out []Series, err error) {
	metric, matchers, _ := strings.Cut(strings.TrimSuffix(selector, "}"), "{")
	for _, s := range c.series[metric] {
		if !matches(s.Labels, matchers) {
			continue
		}
		cut := Series{Labels: s.Labels}
		for i, t := range s.Slices.TimesMs {
			if t > from.UnixMilli() && t <= to.UnixMilli() {
				cut.Slices.TimesMs, cut.Slices.Values = append(cut.Slices.TimesMs, t),
					append(cut.Slices.Values, s.Slices.Values[i])
			}
		}
		out = append(out, cut)
	}
	return out, c.err
}

func (*stored) Collection(context.Context, string, time.Time, time.Time) (*collection.Collection, error) {
	return nil, errors.New("it is not reported")
}

func (*stored) AnnotationsWithin(context.Context, string, time.Time, time.Time) ([]Annotation, error) {
	return nil, errors.New("there are none")
}

func (*stored) Newest(context.Context, string, time.Time) ([]Newest, error) { return nil, nil }

func matches(labels map[string]string, matchers string) bool {
	for _, m := range strings.Split(matchers, ",")[1:] {
		name, value, found := strings.Cut(m, "=")
		name, not := strings.CutSuffix(name, "!")
		if found && !strings.HasPrefix(value, "~") && (labels[name] == strings.Trim(value, `"`)) == not {
			return false
		}
	}
	return true
}

// put stores a series whose values depend on the seconds since the start; NaN is a gap.
func (c *stored) put(metric string, value func(seconds float64) float64, labels ...string) {
	s := Series{Labels: map[string]string{}}
	for i := 0; i < len(labels); i += 2 {
		s.Labels[labels[i]] = labels[i+1]
	}
	for t := 10.0; t <= 3600; t += 10 {
		if v := tuning.Figure(value(t)); v.Known() {
			s.Slices.TimesMs, s.Slices.Values = append(s.Slices.TimesMs, evidenceStart.UnixMilli()+int64(t*1000)),
				append(s.Slices.Values, v)
		}
	}
	c.series[metric] = append(c.series[metric], s)
}

func always(v float64) func(float64) float64  { return func(float64) float64 { return v } }
func rising(by float64) func(float64) float64 { return func(t float64) float64 { return by * t } }

func testTopology() Topology {
	t := Topology{Name: "bullet", Settings: map[string]string{"topology.max.spout.pending": "30"}}
	for _, c := range []struct {
		name, kind  string
		parallelism int
	}{{"DataSource", "spout", 2}, {"FilterBolt", "bolt", 2}, {"JoinBolt", "bolt", 1}, {"__acker", "bolt", 1}} {
		t.Components = append(t.Components, struct {
			Name        string
			Kind        string
			Parallelism int
			Tasks       []int32
		}{c.name, c.kind, c.parallelism, nil})
	}
	return t
}

// collected is an hour of a topology whose filters are 95% and 40% busy from minute 30 on and idle before. Its
// capacity has Storm's ten-minute window.
func collected() *stored {
	c := &stored{series: map[string][]Series{}}
	windowed := func(ratio float64) func(float64) float64 {
		busy := func(t float64) float64 { return ratio * max(0, t-1800) }
		return func(t float64) float64 { return (busy(t) - busy(max(0, t-600))) / min(t, 600) }
	}
	for i, worker := range []string{"h:6700", "h:6701"} {
		c.put(cpuMetric, rising(0.6), "worker", worker, "mode", "user")
		c.put(cpuMetric, rising(0.1), "worker", worker, "mode", "system")
		c.put(gcMetric, rising([]float64{0.01, 0.2}[i]), "worker", worker, "collector", "G1 Young")
		c.put(heapMostMetric, always(90), "worker", worker)
		c.put(heapLimitMetric, always(100), "worker", worker)
		c.put(restartsMetric, always(0), "worker", worker)
		c.put(startMetric, always(float64(evidenceStart.Unix())), "worker", worker)
		c.put(capacityMetric, windowed([]float64{0.95, 0.4}[i]), "worker", worker, "component", "FilterBolt",
			"task", worker[5:])
		c.put(executedMetric, func(t float64) float64 { return 400 * max(0, t-1800) }, "worker", worker, "component",
			"FilterBolt", "task", worker[5:], "source", "DataSource", "stream", "default")
	}
	c.put(executedMetric, rising(100), "worker", "h:6700", "component", "JoinBolt", "task", "9", "source", "FilterBolt",
		"stream", "default")
	c.put(capacityMetric, always(0.3), "worker", "h:6700", "component", "JoinBolt", "task", "9") // since its start
	c.put(queueFullMetric, always(0.5), "worker", "h:6700", "component", "FilterBolt", "task", "6700")
	c.put(queriesMetric, always(19.5), "worker", "h:6700", "component", "JoinBolt", "task", "9")
	c.put(activeMostMetric, always(20), "worker", "h:6700", "component", "JoinBolt", "task", "9")
	c.put(createdMetric, rising(2), "worker", "h:6700", "component", "JoinBolt", "task", "9")
	c.put(skippedMetric, rising(0.5), "component", "DataSource", "task", "1", "reason", "max_spout_pending")
	c.put(skippedMetric, rising(0.3), "component", "DataSource", "task", "2", "reason", "max_spout_pending")
	c.put(skippedMetric, always(7), "component", "DataSource", "task", "2", "reason", "backpressure")
	c.put(completeMetric, always(0.25), "component", "DataSource", "task", "1")
	c.put(recordsMetric, rising(500), "component", "DataSource", "task", "1")
	c.put(recordsMetric, rising(500), "component", "DataSource", "task", "2")
	c.put(lagMetric, rising(50), "component", "DataSource", "task", "1")
	c.put(lagMetric, always(5), "component", "DataSource", "task", "2")
	return c
}

// stretchAt returns the five minutes that begin at the given minute.
func stretchAt(minute, workers int) TimeRange {
	from := evidenceStart.Add(time.Duration(minute) * time.Minute)
	return TimeRange{from, from.Add(5 * time.Minute), 10 * time.Second, workers}
}

// gatherAt gathers the evidence of the five minutes that begin at the given minute.
func gatherAt(t *testing.T, c Slices, minute int) tuning.Evidence {
	t.Helper()
	e, err := GatherEvidence(context.Background(), c, testTopology(), stretchAt(minute, 0))
	require.NoError(t, err)
	return e
}

func TestEvidenceIsGathered(t *testing.T) {
	e := gatherAt(t, collected(), 31)
	near := func(want float64, got tuning.Figure, what string) {
		t.Helper()
		assert.InDelta(t, want, float64(got), 1e-6, what)
	}
	near(1.4, e.Workers.CPUCores, "cores of both workers")
	near(2, e.Workers.Workers, "workers")
	near(0, e.Workers.Restarts, "restarts")
	assert.Equal(t, "h:6701", e.GC.Worker, "the one that collects more")
	near(0.2, e.GC.ShareOfTime, "of the time")
	near(0.2/0.7, e.GC.ShareOfCPU, "of its CPU")
	near(0.9, e.GC.HeapUsedMost, "of the heap")
	near(19.5, e.Queries.ActiveMean, "active")
	near(20, e.Queries.ActiveMost, "active at most, within a slice")
	near(600, e.Queries.Created, "created in five minutes")
	assert.Len(t, e.Queries.BySlice, 30)
	require.Equal(t, []string{"FilterBolt", "JoinBolt"}, []string{e.Bolts[0].Component, e.Bolts[1].Component},
		"Storm's own are left out")
	near(0.95, e.Bolts[0].BusyMost, "of the busiest filter, although Storm's window still holds idle minutes")
	near(0.675, e.Bolts[0].BusyMean, "of both")
	near(1.4, e.Bolts[0].WorkersCPU, "cores of their workers")
	near(0.5, e.Bolts[0].QueueMost, "of the queue")
	near(0.3, e.Bolts[1].BusyMost, "of the join bolt")
	near(0.4, e.Spout.HeldByPending, "0.8 s of 2 spouts' second")
	near(0, e.Spout.HeldByBackPressure, "did not rise")
	near(30, e.Spout.MaxPending, "as set")
	near(250, e.Spout.CompleteLatencyMs, "ms")
	near(1000, e.Source.RecordsPerSecond, "of both tasks")
	near(50, e.Source.LagGrowth, "records/s")
	assert.Equal(t, tuning.SourceGenerator, e.Source.Kind)
	near(60, e.Collector.ExpectedSlices, "of two workers")
	near(0, e.Collector.MissingSlices, "all there")
	assert.False(t, e.Host.IdleRatio.Known(), "nobody stated it")
}

// The window is undone over a worker's whole life: long after the change, right at it, and in the worker's first
// minutes.
func TestStormsCapacityWindowIsUndone(t *testing.T) {
	for minute, want := range map[int]float64{0: -1, 20: -1, 30: 0.95, 41: 0.95, 54: 0.95} {
		e := gatherAt(t, collected(), minute)
		if want < 0 {
			assert.False(t, e.Bolts[0].BusyMost.Known(), "minute %d: nothing was executed", minute)
		} else {
			assert.InDelta(t, want, float64(e.Bolts[0].BusyMost), 1e-6, "minute %d", minute)
		}
		assert.InDelta(t, 0.3, float64(e.Bolts[1].BusyMost), 1e-6, "minute %d", minute)
	}
}

func TestBusyIsCountedWhereStormHasNoCapacity(t *testing.T) {
	c := collected()
	delete(c.series, capacityMetric)
	delete(c.series, executedMetric)
	c.put(cpuMetric, rising(0.2), "worker", "h:6700", "mode", "system") // 0.9 cores in total
	for stream, each := range map[string]float64{"DataSource": 0.0015, "TickSpout": 0.0005} {
		labels := []string{"worker", "h:6700", "component", "FilterBolt", "task", "3", "source", stream,
			"stream", "default"}
		c.put(executedMetric, rising(400), labels...)
		c.put(executeTimeMetric, always(each), labels...)
	}
	e := gatherAt(t, c, 31)
	assert.InDelta(t, 0.8, float64(e.Bolts[0].BusyMost), 1e-6, "400 a second of 1.5 ms and 400 of 0.5 ms")
	assert.False(t, e.Bolts[0].BusyMean.Known(), "one of two tasks executed nothing")
	assert.InDelta(t, 0.9, float64(e.Bolts[0].WorkersCPU), 1e-6, "of the one worker that holds it")
	c.put(executeTimeMetric, always(0.0025), "worker", "h:6700", "component", "FilterBolt", "task", "3", "source",
		"DataSource", "stream", "default")
	filter := gatherAt(t, c, 31).Bolts[0]
	assert.False(t, filter.BusyMost.Known(), "400 a second of 2.5 ms and 400 of 0.5 ms are more than there is time for")
	assert.Equal(t, "of task 3: Storm reported an impossible busy share of 120%", filter.BusyUnknown)
}

// resultBolt adds a result bolt with the given executions and Storm's capacity, and returns its topology.
func resultBolt(c *stored, executed, capacity func(float64) float64) Topology {
	t := testTopology()
	t.Components[2].Name = "ResultBolt"
	c.put(executedMetric, executed, "worker", "h:6700", "component", "ResultBolt", "task", "7", "source", "JoinBolt",
		"stream", "default")
	c.put(capacityMetric, capacity, "worker", "h:6700", "component", "ResultBolt", "task", "7")
	return t
}

// The latency hook measures the span itself, so no window must be undone; few samples limit its precision as they do
// Storm's.
func TestTheHooksTotalIsTheBusyShare(t *testing.T) {
	all := collected()
	topology := resultBolt(all, rising(200), func(t float64) float64 { return 0.4 + 0.1*math.Sin(t/50) })
	all.put(executeTotalMetric, rising(0.6), "worker", "h:6700", "component", "ResultBolt", "task", "7")
	of := stretchAt(50, 0)
	of.To = of.From.Add(time.Minute)
	e, err := GatherEvidence(t.Context(), all, topology, of)
	require.NoError(t, err)
	assert.InDelta(t, 0.6, float64(e.Bolts[1].BusyMost), 1e-6, e.Bolts[1].BusyUnknown)

	all.series[executeTotalMetric] = nil
	all.put(executeTotalMetric, rising(1.5), "worker", "h:6700", "component", "ResultBolt", "task", "7")
	e, err = GatherEvidence(t.Context(), all, topology, of)
	require.NoError(t, err)
	assert.Equal(t, "of task 7: Storm reported an impossible busy share of 150%", e.Bolts[1].BusyUnknown)
}

// Storm's capacity does not decay, so it says nothing about a task that executes no or few tuples.
func TestACapacityWithoutExecutionsIsNoBusyShare(t *testing.T) {
	for name, c := range map[string]struct {
		executed func(float64) float64
		why      string
	}{
		"it stands still": {always(7000), "none of its tasks reported an execution"},
		"a few":           {func(t float64) float64 { return 20 * math.Floor(t/60) }, "of task 7: Storm sampled only about 5 of its 100 executed tuples; at least 20 samples are required"},
	} {
		t.Run(name, func(t *testing.T) {
			all := collected()
			e, err := GatherEvidence(t.Context(), all, resultBolt(all, c.executed, always(0.812996)), stretchAt(31, 0))
			require.NoError(t, err)
			assert.False(t, e.Bolts[1].BusyMost.Known())
			assert.Equal(t, c.why, e.Bolts[1].BusyUnknown)
			for _, f := range tuning.Limit(e).Findings {
				if f.Limiter == tuning.LimitedByBoltCPU {
					assert.Equal(t, tuning.NotKnown, f.State)
				}
			}
		})
	}
}

// The ten-minute window cannot be undone for a short time, because the uncertainty of Storm's buckets is then longer
// than the time itself.
func TestTheCapacityWindowIsNotUndoneForAShortTime(t *testing.T) {
	all := collected()
	topology := resultBolt(all, rising(200), func(t float64) float64 { return 0.4 + 0.1*math.Sin(t/50) })
	of := stretchAt(50, 0)
	of.To = of.From.Add(20 * time.Second)
	e, err := GatherEvidence(t.Context(), all, topology, of)
	require.NoError(t, err)
	assert.False(t, e.Bolts[1].BusyMost.Known(), "%v", e.Bolts[1].BusyMost)
}

// A worker that is older than its known history is believed if its capacity is steady.
func TestASteadyCapacityIsBelievedWithoutItsHistory(t *testing.T) {
	all := collected()
	topology := resultBolt(all, rising(200), always(0.4))
	all.series[startMetric] = nil
	e, err := GatherEvidence(t.Context(), all, topology, stretchAt(50, 0))
	require.NoError(t, err)
	assert.InDelta(t, 0.4, float64(e.Bolts[1].BusyMost), 1e-6)
	all.series[capacityMetric], all.series[executedMetric] = nil, nil
	topology = resultBolt(all, rising(200), func(t float64) float64 { return 0.2 + 0.4*min(1, max(0, (t-2900)/600)) })
	e, err = GatherEvidence(t.Context(), all, topology, stretchAt(50, 0))
	require.NoError(t, err)
	assert.False(t, e.Bolts[1].BusyMost.Known(), "it changed")
}

// A busy share of the filter that contradicts its workers' CPU is not a limiter.
func TestAFilterIsNotBusierThanItsWorkersCPU(t *testing.T) {
	c := collected()
	c.series[cpuMetric] = nil
	for _, worker := range []string{"h:6700", "h:6701"} {
		c.put(cpuMetric, rising(0.27), "worker", worker, "mode", "user")
	}
	e := gatherAt(t, c, 31)
	assert.False(t, e.Bolts[0].BusyMost.Known())
	assert.Contains(t, e.Bolts[0].BusyUnknown, "its workers used only 0.54 cores")
	assert.NotContains(t, tuning.Limit(e).Limiters, tuning.LimitedByFilterCPU)
}

func TestMissingSlicesAndRestartsAreEvidence(t *testing.T) {
	c := collected()
	c.series[cpuMetric] = nil
	c.put(cpuMetric, func(t float64) float64 {
		if t > 1900 && t <= 1960 {
			return float64(tuning.Unknown)
		}
		return t
	}, "worker", "h:6700", "mode", "total")
	c.series[restartsMetric] = nil
	c.put(restartsMetric, func(t float64) float64 {
		if t > 1960 {
			return 1
		}
		return 0
	}, "worker", "h:6700")
	e := gatherAt(t, c, 31)
	assert.Equal(t, []tuning.Figure{30, 6, 1}, []tuning.Figure{e.Collector.ExpectedSlices, e.Collector.MissingSlices,
		e.Workers.Restarts})
}

func TestEvidenceOfNothingIsUnknown(t *testing.T) {
	e := gatherAt(t, &stored{}, 31)
	for what, f := range map[string]tuning.Figure{
		"cpu": e.Workers.CPUCores, "gc": e.GC.ShareOfTime, "active": e.Queries.ActiveMost,
		"held":     e.Spout.HeldByPending,
		"restarts": e.Workers.Restarts, "busy": e.Bolts[0].BusyMost, "lag": e.Source.LagGrowth,
		"records": e.Source.RecordsPerSecond,
	} {
		assert.False(t, f.Known(), what)
	}
	assert.NotEmpty(t, e.Notes)
	assert.False(t, tuning.Limit(e).Known())
}

func TestACollectorThatIsAwayIsAnError(t *testing.T) {
	_, err := GatherEvidence(context.Background(), &stored{err: errors.New("connection refused")}, testTopology(),
		stretchAt(0, 0))
	require.ErrorContains(t, err, "connection refused")
}

func TestBatchesOfTheDSLSpout(t *testing.T) {
	topology := testTopology()
	topology.Components[0].Name = "DataSpout"
	assert.InDelta(t, 500, float64(topology.recordsPerTuple()), 0)
	topology.Settings["bullet.dsl.connector.kafka.max.poll.records"] = "100"
	assert.InDelta(t, 100, float64(topology.recordsPerTuple()), 0)
}

func TestWhatATopologyAsksOfTheScheduler(t *testing.T) {
	topology := testTopology()
	assert.Nil(t, topology.ResourceRequest(0), "it did not tell")
	topology.Resources.Rows = []runstore.Component{{Name: "FilterBolt", Parallelism: 2, CPUCoresTotal: 2, OnHeapMiB: 256,
		OffHeapMiB: 160, MemoryMiB: 832}}
	topology.Resources.Totals.CPUCores = 2
	asked := topology.ResourceRequest(1)
	require.NotNil(t, asked.Spouts)
	assert.Equal(t, 60, asked.Spouts.RecordsInAll, "30 of 2 spouts")
	assert.InDelta(t, 1, float64(asked.Spouts.FilterBoltsPerSpout), 0)
	assert.Len(t, asked.Spouts.Warnings, 1, "2 spouts, 1 partition")
	delete(topology.Settings, "topology.max.spout.pending")
	asked = topology.ResourceRequest(1)
	require.NotNil(t, asked.Spouts, "fan-out and warning do not hang on it")
	assert.Zero(t, asked.Spouts.RecordsInAll)
	assert.InDelta(t, 1, float64(asked.Spouts.FilterBoltsPerSpout), 0)
	assert.Len(t, asked.Spouts.Warnings, 1)
}

func TestCollectorsAreGatheredApart(t *testing.T) {
	c := collected()
	c.put(gcMetric, rising(0.5), "worker", "h:6700", "collector", "G1 Old")
	c.put(collectionsMetric, rising(1), "worker", "h:6700", "collector", "G1 Old")
	var run runstore.Figures
	require.NoError(t, gather(context.Background(), c, "bullet", evidenceStart, evidenceStart.Add(time.Minute), &run))
	require.Len(t, run.Workers, 2)
	require.Len(t, run.Workers[0].Collectors, 2)
	old := run.Workers[0].Collectors[0]
	assert.Equal(t, "G1 Old", old.Name)
	assert.InDelta(t, 30, float64(old.Seconds.Values[5]), 1e-9)
	assert.InDelta(t, 60, float64(old.Collections.Values[5]), 1e-9)
	assert.InDelta(t, 30.6, float64(run.Workers[0].GCSeconds.Values[5]), 1e-9, "of all collectors")
	assert.Equal(t, []int64{evidenceStart.UnixMilli()}, run.Workers[0].StartsMs)
}

// The run adds its own observations to the evidence: the load, the client's view, the host and the surroundings of the
// topology.
func TestWhatTheRunKnowsIsEvidence(t *testing.T) {
	from := evidenceStart.Add(31 * time.Minute).UnixMilli()
	step := runstore.Step{
		Queries: 30, StartMs: from - 60_000, MeasuredFromMs: from, EndMs: from + 300_000, HostIdle: 0.3,
		Shares:  []runstore.Share{{Process: ClientProcess, Ratio: 0.01}, {Process: CollectorProcess, Ratio: 0.02}},
		Clients: runstore.Clients{Refused: 3, LatenessP99Ms: 1500},
	}
	e := gatherAt(t, collected(), 31)
	Environment{Endpoint: tuning.EndpointDRPC, EndpointCapacity: 20, Partitions: 4}.addTo(&e)
	addStep(&e, step, 0.05)
	assert.Equal(t, []tuning.Figure{30, 20, 20, 4, 0.3, 0.02}, []tuning.Figure{
		e.Queries.Submitted, e.Queries.ActiveMost, e.Queries.EndpointCapacity, e.Source.Partitions, e.Host.IdleRatio,
		e.Collector.ShareOfHost})
	assert.Equal(t, []tuning.Figure{3, 1500}, []tuning.Figure{e.Queries.Refused, e.Client.LatenessP99Ms})
	assert.Equal(t, []tuning.Limiter{tuning.LimitedByFilterCPU, tuning.LimitedByGC, tuning.LimitedByDRPC,
		tuning.LimitedByClient}, tuning.Limit(e).Limiters)
}
