package measure

import (
	"context"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// leastMeasured is how many slices a step that ends early has: with fewer its limiter cannot be judged.
const leastMeasured = 3

// untilCertain waits for a step's end. Where the plan wants no more than a verdict it returns at the end of the slice
// in which it was certain that the mean filter latency misses its goal, whatever the rest of the measured time brings.
// It returns when the step ended. It looks again after each slice that is in, and never before leastMeasured of them.
func (s *Session) untilCertain(ctx context.Context, measured, end time.Time, status func() string) (time.Time, error) {
	if limit := s.latencyLimit(); s.o.Plan.EndEarly && limit.Known() {
		for slice := measured.Add(leastMeasured * s.width); slice.Before(end); slice = slice.Add(s.width) {
			in := slice.Add(s.o.Lateness + pollInterval)
			if !in.Before(end) {
				break
			}
			if err := s.until(ctx, in, status); err != nil {
				return end, err
			}
			all, err := s.ports.Slices.Slices(ctx, s.selector(latencyMetric), measured, slice)
			// a collector that does not answer makes nothing certain
			if err == nil && float64(leastMean(all, measured, slice, end, s.width)) > float64(limit) {
				early := nextSlice(time.Now(), s.width)
				s.ports.Progress.Say("the mean filter latency is certain to be above %s ms: the step ends %s early",
					tuning.Digits(limit), end.Sub(early))
				end = early
				break
			}
		}
	}
	return end, s.until(ctx, end, status)
}

// latencyLimit is what the mean filter latency may be, ms; unknown without a goal of it.
func (s *Session) latencyLimit() tuning.Figure {
	for _, g := range s.o.Plan.Goals {
		if g.Figure == tuning.FilterLatency && g.Statistic == tuning.Mean {
			return g.AtMost
		}
	}
	return tuning.Unknown
}

// leastMean is what the mean over tasks and slices of (from, end] comes to at least, ms: as if all slices after now had
// none.
func leastMean(tasks []Series, from, now, end time.Time, width time.Duration) tuning.Figure {
	within := runstore.Span{From: from.UnixMilli(), To: now.UnixMilli()}
	var least []tuning.Figure
	for _, task := range tasks {
		low, high := within.Within(task.Slices)
		sum := tuning.Figure(0)
		for _, v := range task.Slices.Values[low:high] {
			if v.Known() {
				sum += v
			}
		}
		least = append(least, 1000*sum/tuning.Figure(end.Sub(from)/width))
	}
	return runstore.Average(least)
}
