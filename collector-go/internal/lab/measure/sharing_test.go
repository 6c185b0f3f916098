package measure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// sharingAt gathers how resources were shared over five minutes from minute 30 on.
func sharingAt(t *testing.T, c *stored) *runstore.Sharing {
	t.Helper()
	from := evidenceStart.Add(30 * time.Minute)
	s, err := GatherSharing(context.Background(), c, "bullet", from, from.Add(5*time.Minute))
	require.NoError(t, err)
	return s
}

func flowOf(t *testing.T, s *runstore.Sharing, component string) runstore.ComponentFlow {
	t.Helper()
	for _, c := range s.Components {
		if c.Component == component {
			return c
		}
	}
	require.Failf(t, "no component", "%s is not in %v", component, s.Components)
	return runstore.ComponentFlow{}
}

// A wait is a mean over tuples: a task that gets nine of ten tuples counts nine times as much.
func TestQueueWaitAndExecuteTime(t *testing.T) {
	c := &stored{series: map[string][]Series{}}
	for i, task := range []string{"3", "4"} {
		c.put(queueWaitMetric, always([]float64{0.010, 0.110}[i]), "component", "FilterBolt", "task", task)
		c.put(queueArrivalsMetric, always([]float64{90, 10}[i]), "component", "FilterBolt", "task", task)
		c.put(executedMetric, rising([]float64{90, 10}[i]), "component", "FilterBolt", "task", task, "source",
			"DataSource", "stream", "default")
		c.put(executeTimeMetric, always([]float64{0.001, 0.011}[i]), "component", "FilterBolt", "task", task, "source",
			"DataSource", "stream", "default")
	}
	c.put(queueWaitMetric, always(4.7), "component", "JoinBolt", "task", "5")
	c.put(queueArrivalsMetric, always(0), "component", "JoinBolt", "task", "5")
	c.put(executedMetric, rising(7), "component", "JoinBolt", "task", "5", "source", "FilterBolt", "stream", "default")
	c.put(queueWaitMetric, always(1), "component", "__system", "task", "-1")
	c.put(queueArrivalsMetric, always(1), "component", "__system", "task", "-1")

	s := sharingAt(t, c)
	require.Len(t, s.Components, 2, "Storm's system bolt is left out")
	filter := flowOf(t, s, "FilterBolt")
	for want, got := range map[float64]tuning.Figure{20: filter.QueueWaitMs, 110: filter.QueueWaitMostMs,
		2: filter.ExecuteMs, 100: filter.TuplesPerSecond} {
		assert.InDelta(t, want, float64(got), 1e-6)
	}
	join := flowOf(t, s, "JoinBolt")
	assert.False(t, join.QueueWaitMs.Known(), "nothing came: Storm's figure is that of nobody")
	assert.False(t, join.ExecuteMs.Known(), "nobody stated how long one took")
	assert.InDelta(t, 7, float64(join.TuplesPerSecond), 1e-9)
	assert.Empty(t, s.Traffic)
}

// From Storm 2.3 on the gauge is the mean of the last three sampled tuples in whole milliseconds. It was 0 in all 48
// slices and was reported as 0.0002 ms. Storm's capacity has the same source.
func TestAGaugeOfThreeSamplesIsNoExecuteTime(t *testing.T) {
	c := &stored{series: map[string][]Series{}}
	c.put(executedMetric, rising(1000), "component", "FilterBolt", "task", "3", "source", "DataSource",
		"stream", "default")
	c.put(executeTimeMetric, always(0.0002), "component", "FilterBolt", "task", "3", "source", "DataSource",
		"stream", "default")
	c.put(capacityMetric, always(0.4), "component", "FilterBolt", "task", "3")
	filter := flowOf(t, sharingAt(t, c), "FilterBolt")
	assert.False(t, filter.ExecuteMs.Known(), "%v", filter)
	assert.InDelta(t, 1000, float64(filter.TuplesPerSecond), 1e-9)
	assert.Contains(t, filter.Note, "the last three sampled tuples")
	assert.Contains(t, filter.Note, "bullet.topology.metrics.collector.latency.enabled")
}

// The latency hook times all tuples, so a mean is known on every version of Storm. With too few tuples it is unknown.
func TestTheHooksTotalIsAnExecuteTime(t *testing.T) {
	c := &stored{series: map[string][]Series{}}
	for component, perSecond := range map[string]float64{"FilterBolt": 1000, "JoinBolt": 1} {
		for _, task := range []string{"3", "4"} {
			for _, source := range []string{"DataSource", "TickSpout"} {
				c.put(executedMetric, rising(perSecond/2), "component", component, "task", task, "source", source,
					"stream", "default")
			}
			c.put(executeTotalMetric, rising(map[string]float64{"3": 0.1, "4": 0.3}[task]), "component", component,
				"task", task)
			c.put(capacityMetric, always(0.4), "component", component, "task", task)
		}
	}
	s := sharingAt(t, c)
	filter := flowOf(t, s, "FilterBolt")
	assert.InDelta(t, 0.2, float64(filter.ExecuteMs), 1e-9, "0.4 s of 2,000 tuples")
	assert.Empty(t, filter.Note)
	join := flowOf(t, s, "JoinBolt")
	assert.False(t, join.ExecuteMs.Known(), "%v", join)
	assert.Contains(t, join.Note, "the tuples are too few")
}

// Samples of an older Storm show nothing if there are few tuples, or if tuples are so short that the samples contain
// hardly a millisecond.
func TestFewTuplesHaveNoExecuteTime(t *testing.T) {
	for name, rate := range map[string]float64{"few": 1, "short": 1000} {
		c := &stored{series: map[string][]Series{}}
		c.put(executedMetric, rising(rate), "component", "JoinBolt", "task", "3", "source", "FilterBolt",
			"stream", "default")
		c.put(executeTimeMetric, always(map[string]float64{"few": 0.010, "short": 1e-6}[name]), "component", "JoinBolt",
			"task", "3", "source", "FilterBolt", "stream", "default")
		join := flowOf(t, sharingAt(t, c), "JoinBolt")
		assert.False(t, join.ExecuteMs.Known(), "%s: %v", name, join)
		assert.Contains(t, join.Note, "whole milliseconds", name)
	}
}

// A spout receives acks: Storm computed a wait of 1,369 ms for it without any query. The wait is also unknown for few
// tuples.
func TestSpoutsAndFewTuplesHaveNoWait(t *testing.T) {
	c := &stored{series: map[string][]Series{}}
	for component, arrivals := range map[string]float64{"QuerySpout": 100, "FilterBolt": 100, "JoinBolt": 1} {
		c.put(queueWaitMetric, always(1.369), "component", component, "task", "3")
		c.put(queueArrivalsMetric, always(arrivals), "component", component, "task", "3")
		if component != "QuerySpout" {
			c.put(executedMetric, rising(arrivals), "component", component, "task", "3", "source", "x",
				"stream", "default")
		}
	}
	s := sharingAt(t, c)
	assert.True(t, flowOf(t, s, "FilterBolt").QueueWaitMs.Known())
	for component, why := range map[string]string{"QuerySpout": "a spout", "JoinBolt": "fewer than 1,000 tuples"} {
		f := flowOf(t, s, component)
		assert.False(t, f.QueueWaitMs.Known() || f.QueueWaitMostMs.Known(), "%v", f)
		assert.Contains(t, f.Note, why)
	}
}

func TestTrafficIsByPair(t *testing.T) {
	c := &stored{series: map[string][]Series{}}
	c.put(sentMetric, rising(50), "worker", "a:1", "peer", "b:1")
	c.put(sentMetric, rising(80), "worker", "b:1", "peer", "a:1")
	c.put(sentMetric, always(9), "worker", "b:1", "peer", "c:1")
	c.put(transferMetric, always(1000), "worker", "a:1")
	s := sharingAt(t, c)
	require.Len(t, s.Traffic, 2, "what sent nothing in the step is none")
	assert.Equal(t, runstore.Traffic{From: "b:1", To: "a:1", MessagesPerSecond: 80}, rounded(s.Traffic[0]))
	assert.Equal(t, runstore.Traffic{From: "a:1", To: "b:1", MessagesPerSecond: 50}, rounded(s.Traffic[1]))

	for i := range 120 {
		c.put(sentMetric, rising(100+float64(i)), "worker", "a:1", "peer", fmt.Sprintf("x:%d", i))
	}
	s = sharingAt(t, c)
	assert.Len(t, s.Traffic, 100)
	assert.Equal(t, 22, s.TrafficLeftOut)
	assert.Equal(t, "x:119", s.Traffic[0].To)

	delete(c.series, sentMetric)
	s = sharingAt(t, c)
	assert.Equal(t, []runstore.Traffic{{From: "a:1", MessagesPerSecond: 1000}}, s.Traffic,
		"by worker where pairs are not reported")
}

func rounded(t runstore.Traffic) runstore.Traffic {
	t.MessagesPerSecond = tuning.Figure(int(t.MessagesPerSecond + 0.5))
	return t
}

func TestThePlacementIsRead(t *testing.T) {
	c, _ := answering(t,
		`{"status":"success","data":{"name":"b","workers":[{"worker":"h1:6700","host":"h1","components":[{"component":"FilterBolt","tasks":[3,4]},`+
			`{"component":"","tasks":[7]},{"component":"__system","tasks":[-1]}]}],"unplaced":[{"component":"JoinBolt","tasks":[9]}]}}`)
	topology, err := c.Topology(t.Context(), "b")
	require.NoError(t, err)
	assert.Equal(t, &runstore.Placement{Workers: []runstore.PlacedWorker{{Worker: "h1:6700", Host: "h1",
		Components: []runstore.PlacedTasks{{Component: "FilterBolt", Tasks: 2}, {Component: "not reported", Tasks: 1}}}},
		Unplaced: []runstore.PlacedTasks{{Component: "JoinBolt", Tasks: 1}}}, topology.Placement())
	assert.Nil(t, Topology{}.Placement(), "it did not tell")
}

// calculating is a calculator that finds answers by a part of the expression.
type calculating struct {
	answers map[string]tuning.Figure
	err     error
}

func (c calculating) Calculate(_ context.Context, expression string, _ time.Time) (tuning.Figure, error) {
	for part, answer := range c.answers {
		if strings.Contains(expression, part) {
			return answer, c.err
		}
	}
	return tuning.Unknown, c.err
}

func TestTheHooksPercentilesAreKept(t *testing.T) {
	step := runstore.Step{MeasuredFromMs: evidenceStart.UnixMilli(), EndMs: evidenceStart.UnixMilli() + 60_000}
	c := &stored{series: map[string][]Series{}}
	hook := calculating{answers: map[string]tuning.Figure{"histogram_count": 1200, "(0.5,": 3, "(0.75,": 5, "(0.9,": 12,
		"(0.95,": 20, "(0.99,": 44, "(0.995,": 60, "(0.999,": 90}}
	require.NoError(t, addDetail(t.Context(), c, hook, "bullet", &step))
	assert.Equal(t, &runstore.Percentiles{Records: 1200, P50Ms: 3, P95Ms: 20, P99Ms: 44,
		Spectrum: []tuning.Figure{3, 5, 12, 20, 44, 60, 90}}, step.FilterLatency)

	require.NoError(t, addDetail(t.Context(), c, calculating{}, "bullet", &step))
	assert.Nil(t, step.FilterLatency, "where the hook is off there are none")
	require.ErrorContains(t, addDetail(t.Context(), c, calculating{err: errors.New("away")}, "bullet", &step),
		"percentiles of the filter latency: away")
}

func TestAnnotationsAreKeptWithTheRun(t *testing.T) {
	c, asked := answering(t,
		`{"status":"success","data":[{"id":"auto-3","topology":"b","time":"2027-01-15T08:00:02.000Z","end_time":"2027-01-15T08:00:05.000Z",`+
			`"title":"T","text":"- a: 1\n+ a: 2","tags":["config"],"origin":"registry"}]}`)
	var run runstore.Figures
	from := time.UnixMilli(1_800_000_000_750)
	gatherAnnotations(t.Context(), c, "b", from, from.Add(time.Minute), &run)
	assert.Equal(t, []runstore.Annotation{{ID: "auto-3", StartMs: 1_800_000_002_000, EndMs: 1_800_000_005_000, Title: "T",
		Text: "- a: 1\n+ a: 2", Tags: []string{"config"}, Origin: "registry"}}, run.Annotations)
	assert.Contains(t, (*asked)[0], "end=2027-01-15T08%3A01%3A00.75Z&start=2027-01-15T08%3A00%3A00Z&topology=b",
		"Storm's ids are in whole seconds")

	refusing, _ := answering(t, `{"status":"error","error":"no"}`)
	run.Annotations = nil
	gatherAnnotations(t.Context(), refusing, "b", from, from.Add(time.Minute), &run)
	assert.Nil(t, run.Annotations, "that it did not tell is not that there are none")
}
