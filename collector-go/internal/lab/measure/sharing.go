package measure

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Metrics that show how components and workers share resources.
const (
	queueWaitMetric     = "storm_receive_queue_sojourn_seconds"
	queueArrivalsMetric = "storm_receive_queue_arrivals_per_second"
	sentMetric          = "storm_connection_sent_messages_total"
	transferMetric      = "storm_transfer_queue_arrivals_per_second"
)

// notOfSystem excludes the __system bolt, which Storm adds to every worker and which receives no relevant tuples.
const notOfSystem = `component!="__system"`

// mostPairs bounds the pairs of workers whose traffic is kept. Those with the most traffic are kept.
const mostPairs = 100

// GatherSharing reads how a topology's components and workers shared resources in (from, to].
func GatherSharing(ctx context.Context, collector Slices, topology string, from, to time.Time) (
	*runstore.Sharing, error) {
	g := &sharing{Span: runstore.Span{From: from.UnixMilli(), To: to.UnixMilli()},
		flows:  map[string]*runstore.ComponentFlow{},
		reader: reader{ctx: ctx, stored: collector, topology: topology, from: from.Add(-evidenceLookback), to: to}}
	g.executions()
	g.queues()
	g.traffic()
	if g.err != nil {
		return nil, fmt.Errorf("read how resources were shared: %w", g.err)
	}
	for _, name := range slices.Sorted(maps.Keys(g.flows)) {
		g.Components = append(g.Components, *g.flows[name])
	}
	return &g.Sharing, nil
}

// sharing is a report's Sharing while it is gathered. The reader's time range begins before the span, because the
// increase of a counter needs a value from before it.
type sharing struct {
	runstore.Sharing
	runstore.Span
	reader
	flows map[string]*runstore.ComponentFlow
}

// flow returns a component's row and adds it, with all figures unknown, if it is new.
func (g *sharing) flow(component string) *runstore.ComponentFlow {
	if g.flows[component] == nil {
		u := tuning.Unknown
		g.flows[component] = &runstore.ComponentFlow{Component: component, TuplesPerSecond: u, QueueWaitMs: u,
			QueueWaitMostMs: u, ExecuteMs: u}
	}
	return g.flows[component]
}

// Bounds below which Storm's tuple figures are meaningless. Storm times only a sample of the tuples, one in twenty
// unless topology.stats.sample.rate is set, in whole milliseconds. With few or short tuples the sample contains hardly
// a millisecond.
const (
	leastTuples  = 1000
	leastSeconds = 1 // total execute time of all tuples
)

// Reasons why a tuple figure is unknown.
const (
	threeSamples = "execute time unknown: Storm 2.3 and later only report the mean of the last three sampled tuples in whole milliseconds; enable the latency hook (bullet.topology.metrics.collector.latency.enabled)"
	tooFewTimed  = "execute time unknown: the tuples are too few or too short for Storm's sample in whole milliseconds"
	toASpout     = "queue wait unknown: a spout receives acks, and Storm's figure is about those"
	tooFewCame   = "queue wait unknown: fewer than 1,000 tuples arrived"
	tooFewSlices = "fewer than 3 slices"
)

// because adds the reason why a figure of a component is unknown. A component may have several reasons.
func (g *sharing) because(component, note string) {
	f := g.flow(component)
	if f.Note != "" {
		note = f.Note + "; " + note
	}
	f.Note = note
}

// executions reads how many tuples the components executed and how long one took. It prefers the plugin's latency
// hook, because the hook times every tuple. Without the hook it sets a figure only if Storm's sample is large enough;
// otherwise it notes the reason.
func (g *sharing) executions() {
	executed := g.read(executedMetric, notOfSystem)
	capacities := g.read(capacityMetric, notOfSystem) // reported from Storm 2.3 on
	times := byStream(g.read(executeTimeMetric, notOfSystem))
	totals := byLabel(g.read(executeTotalMetric, notOfSystem), "component")
	for component, series := range byLabel(executed, "component") {
		var tuples, timed, spent tuning.Figure
		hooked := len(totals[component]) > 0
		slices := 0
		for _, s := range series {
			if n := g.Increase(s.Slices); n.Known() {
				tuples += n
			}
			if took, found := times[streamOf(s.Labels)]; found {
				n, seconds := executions(g.Span, s.Slices, took)
				timed, spent = timed+n, spent+seconds
			}
			low, high := g.Within(s.Slices)
			slices = max(slices, high-low)
		}
		if component == "" || tuples == 0 {
			continue
		}
		if hooked {
			timed, spent = tuples, g.Increases(slicesIn(totals[component]))
		}
		f := g.flow(component)
		f.TuplesPerSecond = tuples / tuning.Figure(g.Seconds())
		switch {
		case timed == 0:
		case len(capacities) > 0 && !hooked:
			g.because(component, threeSamples)
		case slices < tuning.LeastSlices:
			g.because(component, "execute time unknown: "+tooFewSlices)
		case timed < leastTuples || !(spent >= leastSeconds):
			g.because(component, tooFewTimed)
		default:
			f.ExecuteMs = 1000 * spent / timed
		}
	}
}

// queues reads how long tuples waited for the bolts' tasks. The figure is the mean over the tuples, so that a queue
// with few arrivals counts little.
func (g *sharing) queues() {
	waits := g.read(queueWaitMetric, notOfSystem)
	arrivals := g.read(queueArrivalsMetric, notOfSystem)
	executed := g.read(executedMetric, notOfSystem)
	bolts := byLabel(executed, "component") // spouts execute no tuples
	came := map[[2]string]runstore.Slices{}
	for _, s := range arrivals {
		came[taskOf(s)] = s.Slices
	}
	for component, series := range byLabel(waits, "component") {
		if component == "" {
			continue
		}
		w := g.componentWait(series, came)
		switch {
		case w.weight == 0:
		case len(bolts[component]) == 0:
			g.because(component, toASpout)
		case w.slices < tuning.LeastSlices:
			g.because(component, "queue wait unknown: "+tooFewSlices)
		case w.tuples < leastTuples:
			g.because(component, tooFewCame)
		default:
			f := g.flow(component)
			f.QueueWaitMs, f.QueueWaitMostMs = 1000*w.weighted/w.weight, 1000*w.most
		}
	}
}

// componentWait holds the queue waits of a component's tasks.
type componentWait struct {
	weight, weighted tuning.Figure
	most             tuning.Figure // the mean of the task that waited longest, seconds
	tuples           tuning.Figure // tuples that arrived
	slices           int           // slices of the task that has the most
}

// componentWait weights each task by the tuples that arrived. A task without arrivals is left out.
func (g *sharing) componentWait(series []Series, came map[[2]string]runstore.Slices) componentWait {
	w := componentWait{most: tuning.Unknown}
	for _, s := range series {
		n, waited := waited(g.Span, s.Slices, came[taskOf(s)])
		if !(n > 0) {
			continue
		}
		low, high := g.Within(s.Slices)
		w.slices = max(w.slices, high-low)
		w.tuples += n / tuning.Figure(high-low) * tuning.Figure(g.Seconds())
		w.weight, w.weighted = w.weight+n, w.weighted+waited
		if mean := waited / n; !(mean <= w.most) {
			w.most = mean
		}
	}
	return w
}

// taskOf returns the key of the task that a series describes.
func taskOf(s Series) [2]string { return [2]string{s.Labels["component"], s.Labels["task"]} }

// waited returns two sums over the span's slices: the arrivals per second at a queue, and the arrivals per second
// times the wait in seconds.
func waited(p runstore.Span, wait, came runstore.Slices) (arrivals, waited tuning.Figure) {
	low, high := p.Within(wait)
	for i := low; i < high; i++ {
		if n := came.ValueAt(wait.TimesMs[i]); n > 0 && wait.Values[i].Known() {
			arrivals, waited = arrivals+n, waited+n*wait.Values[i]
		}
	}
	return arrivals, waited
}

// traffic reads the messages between workers. If Storm does not separate them by peer, it reads the messages that each
// worker had to send.
func (g *sharing) traffic() {
	g.Traffic = []runstore.Traffic{}
	type pair struct{ from, to string }
	messages := map[pair]tuning.Figure{}
	for _, s := range g.read(sentMetric) {
		if n := g.Increase(s.Slices); n > 0 && s.Labels["peer"] != "" {
			messages[pair{s.Labels["worker"], s.Labels["peer"]}] += n / tuning.Figure(g.Seconds())
		}
	}
	if len(messages) == 0 {
		for _, s := range g.read(transferMetric) {
			if n := g.Mean(s.Slices); n > 0 {
				messages[pair{s.Labels["worker"], ""}] += n
			}
		}
	}
	for at, n := range messages {
		g.Traffic = append(g.Traffic, runstore.Traffic{From: at.from, To: at.to, MessagesPerSecond: n})
	}
	slices.SortFunc(g.Traffic, func(a, b runstore.Traffic) int {
		return cmp.Or(cmp.Compare(b.MessagesPerSecond, a.MessagesPerSecond), cmp.Compare(a.From, b.From),
			cmp.Compare(a.To, b.To))
	})
	if g.TrafficLeftOut = max(0, len(g.Traffic)-mostPairs); g.TrafficLeftOut > 0 {
		g.Traffic = g.Traffic[:mostPairs]
	}
}

// Placement returns where the topology's tasks run; nil if the collector knows no workers.
func (t Topology) Placement() *runstore.Placement {
	if len(t.Workers) == 0 {
		return nil
	}
	p := &runstore.Placement{Unplaced: placed(t.Unplaced)}
	for _, w := range t.Workers {
		p.Workers = append(p.Workers, runstore.PlacedWorker{Worker: w.Worker, Host: w.Host,
			Components: placed(w.Components)})
	}
	return p
}

// placed counts tasks by component, without Storm's own bolt in each worker. A component that the collector could not
// name is listed as not reported.
func placed(all []ComponentTasks) (out []runstore.PlacedTasks) {
	for _, c := range all {
		if c.Component != "__system" {
			out = append(out, runstore.PlacedTasks{Component: cmp.Or(c.Component, "not reported"), Tasks: len(c.Tasks)})
		}
	}
	return out
}
