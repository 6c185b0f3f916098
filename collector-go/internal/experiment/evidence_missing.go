package experiment

import (
	"context"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
)

// miss counts the slices that there should be of the workers' CPU, and those that are not there: one of each worker for each of the step's
// slices. Which of the workers it is does not matter, so that one that was moved to another machine is not missed at the old one, and one
// that has been silent since long before the step is missed all the same.
func (g *evidence) miss(totals []report.Slices) {
	there := reporting(totals)
	workers := g.of.Workers
	for _, n := range there {
		workers = max(workers, n)
	}
	g.Workers.Expected = report.Figure(workers)
	width := max(1, g.of.Width.Milliseconds())
	expected, found := workers*int((g.to-g.from)/width), 0
	for end, n := range there {
		if end > g.from && end <= g.to {
			found += n
		}
	}
	g.Collector.ExpectedSlices, g.Collector.MissingSlices = report.Figure(expected), report.Figure(max(0, expected-found))
}

// reporting is how many series have a slice, by its end.
func reporting(all []report.Slices) map[int64]int {
	there := map[int64]int{}
	for _, s := range all {
		for _, end := range s.TimesMs {
			there[end]++
		}
	}
	return there
}

// workersOf is how many of a run's workers reported at the same time, at most.
func workersOf(run *report.Run) (most int) {
	var totals []report.Slices
	for _, w := range run.Workers {
		totals = append(totals, w.CPUSeconds)
	}
	for _, n := range reporting(totals) {
		most = max(most, n)
	}
	return most
}

// wholeness notes what came late or was dropped on its way. A collector that cannot tell, as an older one, leaves it unknown.
func (g *evidence) wholeness(ctx context.Context, collector Stored) {
	asked, can := collector.(Collections)
	if !can {
		return
	}
	whole, err := asked.Collection(ctx, g.topology.Name, g.of.From, g.of.To)
	if err != nil {
		g.note("how many samples came late or were dropped is not known: %v", err)
		return
	}
	g.Collector.LateSamples, g.Collector.DroppedSamples = report.Figure(whole.Late), 0
	for _, n := range whole.Dropped {
		g.Collector.DroppedSamples += report.Figure(n)
	}
	if n := whole.StormDropped; n > 0 {
		g.note("Storm dropped %d reports of tasks before the metrics consumer had them", n)
	}
}
