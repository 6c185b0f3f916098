package measure

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// bolts reads how busy each bolt's executors were. Storm's own components, whose names begin with two underscores, are
// left out. A busy share that the workers' CPU contradicts is not believed.
func (g *evidence) bolts() {
	busy := g.busyByComponent()
	queues := byLabel(g.read(queueFullMetric, ownComponents), "component")
	for _, c := range g.topology.Components {
		if c.Kind != "bolt" || len(c.Name) > 1 && c.Name[:2] == "__" {
			continue
		}
		b := tuning.NoBoltEvidence(c.Name)
		b.Executors = tuning.Figure(c.Parallelism)
		g.busiest(&b, busy[c.Name])
		for _, s := range queues[c.Name] {
			b.QueueMost = tuning.Greater(b.QueueMost, g.Mean(s.Slices))
		}
		g.Bolts = append(g.Bolts, b.Believed())
	}
}

// executeTimes are Storm's mean latencies of executions, by the stream that they are of.
func (r *reader) executeTimes(of string) map[[4]string]runstore.Slices {
	times := map[[4]string]runstore.Slices{}
	for _, s := range r.read(executeTimeMetric, of) {
		times[streamOf(s.Labels)] = s.Slices
	}
	return times
}

// streamOf identifies the stream into a task that a series is of. Storm counts executions for each of them.
func streamOf(labels map[string]string) [4]string {
	return [4]string{labels["component"], labels["task"], labels["source"], labels["stream"]}
}

// executions are how many tuples were executed in the span's slices, as far as it is known how long one took, and how
// long they took together, in seconds.
func executions(p runstore.Span, executed, took runstore.Slices) (tuples, seconds tuning.Figure) {
	low, high := p.Within(executed)
	for i := max(low, 1); i < high; i++ {
		each := took.ValueAt(executed.TimesMs[i])
		if !each.Known() {
			continue // a slice without tuples has no mean
		}
		n := executed.Values[i] - executed.Values[i-1]
		tuples, seconds = tuples+n, seconds+n*each
	}
	return tuples, seconds
}
