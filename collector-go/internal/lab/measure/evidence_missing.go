package measure

import (
	"context"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// miss counts the expected and the missing slices of the workers' CPU. A worker's slices are expected from its first
// to its last slice in the step, at the worker's usual distance. Slices that nobody sent, because there is no sampler
// or the worker ended, are not missing. Workers that were silent at the step's end are counted separately. A worker
// that moved to another machine is not silent at the old one, but a worker that was silent long before the step is.
func (g *evidence) miss(totals []runstore.Slices) {
	there := reporting(totals)
	workers := g.of.Workers
	for _, n := range there {
		workers = max(workers, n)
	}
	expected, found, heard := 0, 0, 0
	for _, s := range totals {
		low, high := g.Within(s)
		if low == high {
			continue
		}
		distance := g.distance(s)
		first, last := s.TimesMs[low], s.TimesMs[high-1]
		expected, found = expected+int((last-first+distance/2)/distance)+1, found+high-low
		if g.To-last < 2*distance {
			heard++
		}
	}
	g.Workers.Expected, g.Workers.Silent = tuning.Figure(workers), tuning.Figure(max(0, workers-heard))
	if len(totals) == 0 { // without a sampler no worker reports CPU; that is not silence
		g.Workers.Silent = tuning.Unknown
	}
	g.Collector.ExpectedSlices, g.Collector.MissingSlices = tuning.Figure(expected),
		tuning.Figure(max(0, expected-found))
}

// distance returns the usual distance between a worker's slices in ms: the median, but at least the slice width. The
// median does not change if a few slices are missing.
func (g *evidence) distance(s runstore.Slices) int64 {
	var all []int64
	for i := 1; i < len(s.TimesMs); i++ {
		all = append(all, s.TimesMs[i]-s.TimesMs[i-1])
	}
	width := max(1, g.of.Width.Milliseconds())
	if len(all) == 0 {
		return width
	}
	slices.Sort(all)
	return max(width, all[len(all)/2])
}

// reporting returns, for the end of each slice, the number of series that have it.
func reporting(all []runstore.Slices) map[int64]int {
	there := map[int64]int{}
	for _, s := range all {
		for _, end := range s.TimesMs {
			there[end]++
		}
	}
	return there
}

// wholeness sets how many samples came late or were dropped in transit. They stay unknown if the collector does not
// report them, as older collectors do not.
func (g *evidence) wholeness(ctx context.Context, collector Stored) {
	asked, can := collector.(Collections)
	if !can {
		return
	}
	health, err := asked.Collection(ctx, g.topology.Name, g.of.From, g.of.To)
	if err != nil {
		g.note("the numbers of late and dropped samples are unknown: %v", err)
		return
	}
	g.Collector.LateSamples, g.Collector.DroppedSamples = tuning.Figure(health.Late), 0
	for _, n := range health.Dropped {
		g.Collector.DroppedSamples += tuning.Figure(n)
	}
	if n := health.StormDropped; n > 0 {
		g.note("Storm dropped %d reports of tasks before they reached the metrics consumer", n)
	}
}
