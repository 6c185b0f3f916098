package measure

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// bolts reads how busy each bolt's executors were. It skips Storm's own components, whose names begin with two
// underscores. It drops a busy share that contradicts the workers' CPU.
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

// executeTimes returns Storm's mean execute latencies by stream.
func (r *reader) executeTimes(of string) map[[4]string]runstore.Slices {
	times := map[[4]string]runstore.Slices{}
	for _, s := range r.read(executeTimeMetric, of) {
		times[streamOf(s.Labels)] = s.Slices
	}
	return times
}

// streamOf returns the key of the input stream of a task that a series describes. Storm counts executions per input
// stream.
func streamOf(labels map[string]string) [4]string {
	return [4]string{labels["component"], labels["task"], labels["source"], labels["stream"]}
}

// executions returns the number of tuples executed in the span and their total execute time in seconds. It leaves out
// slices without a known execute latency.
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
