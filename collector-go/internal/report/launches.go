package report

import (
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
)

// stretch is the time in which one launch of a topology was measured: from the start of its first step to the end of its last.
type stretch struct{ fromMs, toMs int64 }

// stretches are those of a trial's launches, in their order; between two of them the topology was not there.
func (r *Run) stretches() (all []stretch) {
	for i, s := range r.Steps {
		if i == 0 || s.Launch != r.Steps[i-1].Launch {
			all = append(all, stretch{fromMs: s.StartMs})
		}
		all[len(all)-1].toMs = s.EndMs
	}
	return all
}

// collected counts the slices that the workers should have while the topology was measured. That there are none between two launches is
// known, and no fault of the collection.
func collected(run *Run) Collection {
	c := Collection{StoredSliceMs: run.StoredSliceMs, CollectorRestarts: run.CollectorRestarts, Health: run.Health}
	stretches := run.stretches()
	for i, s := range stretches {
		if i > 0 {
			c.Relaunches++
			c.BetweenLaunchesMs += s.fromMs - stretches[i-1].toMs
		}
		for _, w := range run.Workers {
			expected := int((s.toMs-s.fromMs)/max(1, run.StoredSliceMs)) + 1
			low, high := w.CPUSeconds.within(s.fromMs, s.toMs)
			if len(stretches) > 1 && low == high {
				continue // a slot of another launch
			}
			c.ExpectedSlices += expected
			c.MissingSlices += max(0, expected-(high-low))
		}
	}
	return c
}

// betweenLaunches is how long the topology was not there, "" where it was launched once.
func (c Collection) betweenLaunches() string {
	if c.Relaunches == 0 {
		return ""
	}
	return (time.Duration(c.BetweenLaunchesMs) * time.Millisecond).Round(time.Second).String()
}

// relaunchCaveat says that a gap is known.
func (c Collection) relaunchCaveat() []string {
	if c.Relaunches == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The topology was launched again %s, after an interrupt: there is nothing for %s between the launches. The figures have a gap there, which counts as no missing slices.",
		timesText(c.Relaunches), c.betweenLaunches())}
}

// timesText is "once", "twice", "3 times".
func timesText(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// adopt tells the run's steps what only the trial's own files know of them; those of older runs say less of themselves.
func (r *Run) adopt(steps []rundir.Step) {
	for i := range r.Steps {
		for _, s := range steps {
			if s.StartMs == r.Steps[i].StartMs {
				r.Steps[i].Launch = s.Launch
				if r.Steps[i].FilterLatency == nil {
					r.Steps[i].FilterLatency = percentilesOf(s.Figures)
				}
			}
		}
	}
}
