package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// timeRange is the time in which one launch of a topology was measured: from the start of its first step to the end of
// its last.
type timeRange struct{ fromMs, toMs int64 }

// launches are the time ranges of a trial's launches, in their order; between two of them the topology was not there.
func launches(run *runstore.Figures) (all []timeRange) {
	for i, s := range run.Steps {
		if i == 0 || s.Launch != run.Steps[i-1].Launch {
			all = append(all, timeRange{fromMs: s.StartMs})
		}
		all[len(all)-1].toMs = s.EndMs
	}
	return all
}

// collected counts the slices that the workers should have while the topology was measured. That there are none between
// two launches is known, and no fault of the collection.
func collected(run *runstore.Figures) Collection {
	c := Collection{StoredSliceMs: run.StoredSliceMs, CollectorRestarts: run.CollectorRestarts, Health: run.Health}
	all := launches(run)
	for i, s := range all {
		if i > 0 {
			c.Relaunches++
			c.BetweenLaunchesMs += s.fromMs - all[i-1].toMs
		}
		for _, w := range run.Workers {
			expected := int((s.toMs-s.fromMs)/max(1, run.StoredSliceMs)) + 1
			low, high := runstore.Span{From: s.fromMs - 1, To: s.toMs}.Within(w.CPUSeconds)
			if len(all) > 1 && low == high {
				continue // a slot of another launch
			}
			c.ExpectedSlices += expected
			c.MissingSlices += max(0, expected-(high-low))
		}
	}
	return c
}

// relaunchCaveat states that a gap is known.
func (c Collection) relaunchCaveat() []string {
	if c.Relaunches == 0 {
		return nil
	}
	return []string{
		fmt.Sprintf(
			"The topology was launched again %s, after an interrupt: there is nothing for %s between the launches. "+
				"The figures have a gap there, which counts as no missing slices.",
			timesText(c.Relaunches), c.betweenLaunches()),
	}
}
