package diagnosis

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Change is a metric that moved to another level.
type Change struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Unit   string            `json:"unit"`
	// Figure is the key of the page's figure that shows the metric, or "" if no figure does.
	Figure string `json:"figure,omitempty"`
	// Before and After are the medians of the values before and after Since. After is without the values within a
	// rateWindow of Since, in which rates only approach the new level, if there are enough later ones.
	Before float64   `json:"before"`
	After  float64   `json:"after"`
	Since  time.Time `json:"since"`
	// Lead is the time from the change to the alert, in seconds.
	Lead float64 `json:"seconds_before"`
	// Score is the size of the move divided by the scatter of the values around the two levels.
	Score  float64 `json:"score"`
	Advice string  `json:"advice,omitempty"`
}

const (
	points     = 60  // number of points of each metric over all three windows
	leastScore = 4.0 // smallest reported ratio of move to scatter
	leastPart  = 0.1 // smallest reported move, relative to the level before
	minPoints  = 2   // required points before and after a change
	leastStep  = 10 * time.Second
	startUp    = 2 * time.Minute // of a topology; its figures rise from nothing to their first level
)

// resolution returns the step and the end of the time range in which metrics are read. The end is up to minPoints
// steps after At, but not after now. An alert may begin within a minute of its cause, and a new level needs at least
// minPoints points.
func (a *Answer) resolution(now time.Time) (step time.Duration, until time.Time) {
	step, until = max(a.At.Sub(a.From)/points, leastStep).Truncate(time.Second), a.At
	for range minPoints {
		if next := until.Add(step); !next.After(now) {
			until = next
		}
	}
	return step, until
}

// changes returns the changes of all metrics, earliest first. missing lists the metrics without any sample.
func changes(ctx context.Context, ask Figures, topology string, a *Answer, now time.Time) (all []Change,
	missing []string, err error) {
	all, missing = []Change{}, []string{}
	step, until := a.resolution(now)
	for _, f := range figures {
		lines, err := ask.LinesBetween(ctx, f.ask(topology), a.From, until, step)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if len(lines) == 0 {
			missing = append(missing, f.name)
		}
		for _, line := range lines {
			if c, moved := f.change(line, a.Since.UnixMilli(), a.At.UnixMilli()); moved {
				c.Lead = a.At.Sub(c.Since).Seconds()
				all = append(all, c)
			}
		}
	}
	// the earliest change may be the cause
	slices.SortStableFunc(all, func(a, b Change) int { return a.Since.Compare(b.Since) })
	return all, missing, nil
}

// change returns the move to another level that best explains the line. It splits the line into two levels with the
// least sum of squares. The result is false if the split is not within [sinceMs, atMs], or if the move is too small to
// report.
func (f figure) change(line Line, sinceMs, atMs int64) (Change, bool) {
	times, values := known(line)
	// A line that begins after the reference is of a topology that has just started. That it rose is no change.
	if len(times) > 0 && times[0] > sinceMs {
		began, _ := slices.BinarySearch(times, times[0]+startUp.Milliseconds())
		times, values = times[began:], values[began:]
	}
	at, ok := parting(times, values, sinceMs, atMs)
	if !ok {
		return Change{}, false
	}
	before, after := mean(values[:at]), mean(values[at:])
	scatter := math.Sqrt((squares(values[:at], before) + squares(values[at:], after)) / float64(len(values)-1))
	move := math.Abs(after - before)
	// A line without scatter is reported if it moves by at least f.least.
	score := move / max(scatter, f.least/leastScore, math.SmallestNonzeroFloat64)
	if score < leastScore || move < f.least || move < leastPart*math.Abs(before) {
		return Change{}, false
	}
	settled, _ := slices.BinarySearch(times, times[at]+rateWindow.Milliseconds())
	settled = min(settled, len(values)-minPoints)
	c := Change{Name: f.name, Labels: maps.Clone(line.Labels), Unit: f.unit, Figure: f.key,
		Before: median(values[:at]), After: median(values[settled:]), Since: time.UnixMilli(times[at]), Score: score}
	if after > before {
		c.Advice = f.advice
	}
	return c, true
}

// known returns the finite values with their times.
func known(line Line) (times []int64, values []float64) {
	for i, v := range line.Values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			times, values = append(times, line.TimesMs[i]), append(values, v)
		}
	}
	return times, values
}

// parting returns the index in [sinceMs, atMs] at which a split into two levels fits best. It returns false if a split
// after atMs fits better.
func parting(times []int64, values []float64, sinceMs, atMs int64) (int, bool) {
	first, _ := slices.BinarySearch(times, sinceMs)
	first = max(first, minPoints)
	best, least := 0, math.Inf(1)
	for at := first; at < len(values); at++ {
		if times[at] <= atMs && len(values)-at < minPoints {
			continue
		}
		rest := squares(values[:at], mean(values[:at])) + squares(values[at:], mean(values[at:]))
		if rest < least {
			best, least = at, rest
		}
	}
	return best, best > 0 && times[best] <= atMs
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// squares returns the sum of squared distances from a level.
func squares(values []float64, level float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += (v - level) * (v - level)
	}
	return sum
}
