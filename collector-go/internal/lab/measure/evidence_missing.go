package measure

import (
	"context"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// miss counts the slices that there should be of the workers' CPU, and those that are not there, by what was seen of
// each worker in the step: from its first slice to its last, at the distance that its slices have. What nobody sends,
// for want of the sampler or since the worker ended, is no slice that the collector lost. How many workers had fallen
// silent at the step's end is counted apart: one that was moved to another machine is not missed at the old one, and
// one that has been silent since long before the step is missed all the same.
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
	if len(totals) == 0 { // nobody reports it, as where there is no sampler: that is no silence
		g.Workers.Silent = tuning.Unknown
	}
	g.Collector.ExpectedSlices, g.Collector.MissingSlices = tuning.Figure(expected),
		tuning.Figure(max(0, expected-found))
}

// distance is how far apart a worker's slices usually are, ms: the median, and no less than a slice is wide. A median
// is not moved by a few slices that are missing.
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

// reporting is how many series have a slice, by its end.
func reporting(all []runstore.Slices) map[int64]int {
	there := map[int64]int{}
	for _, s := range all {
		for _, end := range s.TimesMs {
			there[end]++
		}
	}
	return there
}

// wholeness notes what came late or was dropped on its way. A collector that cannot say, as an older one, leaves it
// unknown.
func (g *evidence) wholeness(ctx context.Context, collector Stored) {
	asked, can := collector.(Collections)
	if !can {
		return
	}
	health, err := asked.Collection(ctx, g.topology.Name, g.of.From, g.of.To)
	if err != nil {
		g.note("how many samples came late or were dropped is not known: %v", err)
		return
	}
	g.Collector.LateSamples, g.Collector.DroppedSamples = tuning.Figure(health.Late), 0
	for _, n := range health.Dropped {
		g.Collector.DroppedSamples += tuning.Figure(n)
	}
	if n := health.StormDropped; n > 0 {
		g.note("Storm dropped %d reports of tasks before the metrics consumer had them", n)
	}
}
