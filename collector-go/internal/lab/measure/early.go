package measure

import (
	"context"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// leastMeasured is the minimum number of slices in a step that ends early. With fewer slices the limiter cannot be
// determined.
const leastMeasured = 3

// untilCertain waits for a step's end and returns when the step ended. If the plan has EndEarly, the step ends as soon
// as the mean filter latency is certain to miss its goal, whatever the remaining slices contain. It checks after each
// stored slice, but never before leastMeasured slices. An early end is a slice boundary.
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
			// an error of the collector proves nothing, so the step goes on
			if err == nil && float64(leastMean(all, measured, slice, end, s.width)) > float64(limit) {
				early := nextSlice(time.Now(), s.width)
				s.ports.Progress.Say("the step ends %[2]s early, because its mean filter latency is certain to exceed %[1]s ms",
					tuning.Digits(limit), end.Sub(early))
				end = early
				break
			}
		}
	}
	return end, s.until(ctx, end, status)
}

// latencyLimit returns the goal for the mean filter latency, in ms. It is unknown if the plan has no such goal.
func (s *Session) latencyLimit() tuning.Figure {
	for _, g := range s.o.Plan.Goals {
		if g.Figure == tuning.FilterLatency && g.Statistic == tuning.Mean {
			return g.AtMost
		}
	}
	return tuning.Unknown
}

// leastMean returns the lower bound of the mean over all tasks and all slices of (from, end], in ms. It counts the
// slices after now, and missing ones, as 0.
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
