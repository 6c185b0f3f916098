package experiment

import "time"

// plan is what a run does, and when, counted from the first step's start.
type plan struct {
	steps []plannedStep
	// reportSlice is the width of the report's slices.
	reportSlice time.Duration
}

// plannedStep holds queries for warmUp, which is left out of the averages, and then for measured.
type plannedStep struct {
	queries          int
	warmUp, measured time.Duration
}

func (s plannedStep) length() time.Duration { return s.warmUp + s.measured }

// The report's slices are the document's minute, or the collector's own where a run is too short for minutes.
const (
	reportMinute  = time.Minute
	shortestOfFew = 5 * time.Minute
)

// Steps of a bounded run, in slices. The least has one slice of warm-up and one that is measured; a comfortable one is worth
// more than a further step.
const (
	leastStepSlices       = 2
	comfortableStepSlices = 3
)

// newPlan plans steps of whole slices. available is what is left of the bound for them; an unbounded run ignores it. At least
// three steps are planned even where they take longer than that.
func newPlan(o Options, available time.Duration) plan {
	if o.Bound == 0 {
		return plan{steps: o.evenSteps(len(o.Ladder), int(o.StepLength/o.SliceWidth)), reportSlice: reportMinute}
	}
	full := int(o.StepLength / o.SliceWidth)
	slots := int(available / o.SliceWidth)
	n := min(max(slots/full, min(slots/comfortableStepSlices, minSteps+1), minSteps), len(o.Ladder))
	p := plan{steps: o.evenSteps(n, min(max(slots/n, leastStepSlices), full)), reportSlice: reportMinute}
	if o.Bound < shortestOfFew {
		p.reportSlice = o.SliceWidth
	}
	return p
}

// evenSteps are the first n steps of the ladder, each of so many slices, of which a third, but at least one, is warm-up.
func (o Options) evenSteps(n, slices int) []plannedStep {
	warmUp := max(1, slices/3)
	var steps []plannedStep
	for _, queries := range o.Ladder[:n] {
		steps = append(steps, plannedStep{
			queries: queries, warmUp: time.Duration(warmUp) * o.SliceWidth, measured: time.Duration(slices-warmUp) * o.SliceWidth,
		})
	}
	return steps
}

// tail is how long after the last step its slices and queries may take: a slice of the sampler's packs comes up to two slice
// widths after its end, and closes when lateness has passed.
func (o Options) tail() time.Duration { return 2*o.SliceWidth + o.SliceLateness + 5*time.Second }

// nextSlice is the first end of a slice that is not before t. Slices are aligned with the Unix epoch.
func nextSlice(t time.Time, width time.Duration) time.Time {
	ms, step := t.UnixMilli(), width.Milliseconds()
	return time.UnixMilli((ms + step - 1) / step * step)
}
