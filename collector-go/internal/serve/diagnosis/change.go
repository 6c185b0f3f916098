package diagnosis

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Change is a figure that moved to another level.
type Change struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Unit   string            `json:"unit"`
	// Figure is the page's figure that shows it, "" where none does.
	Figure string `json:"figure,omitempty"`
	// Before and After are the means on both sides of Since.
	Before float64   `json:"before"`
	After  float64   `json:"after"`
	Since  time.Time `json:"since"`
	// Lead is how long before the alert it moved, in seconds.
	Lead float64 `json:"seconds_before"`
	// Score is the move over the scatter around the two levels.
	Score  float64 `json:"score"`
	Advice string  `json:"advice,omitempty"`
}

const (
	points     = 60  // that a figure is looked at in, over all three windows
	leastScore = 4.0 // moves over scatter below it are left out
	leastPart  = 0.1 // of the level before: smaller moves are left out
	minPoints  = 2   // points on either side of a change
	leastStep  = 10 * time.Second
)

// resolution is how fine the figures are looked at, and until when: a little beyond the alert's beginning, as far as
// there is anything, since an alert begins within a minute of its cause, and a level shows in no less than leastSide
// points.
func (a *Answer) resolution(now time.Time) (step time.Duration, until time.Time) {
	step, until = max(a.At.Sub(a.From)/points, leastStep).Truncate(time.Second), a.At
	for range minPoints {
		if next := until.Add(step); !next.After(now) {
			until = next
		}
	}
	return step, until
}

// changes looks at every figure; missing names those of which there is not one sample.
func changes(ctx context.Context, ask Figures, topology string, a *Answer, now time.Time) (all []Change,
	missing []string, err error) {
	all, missing = []Change{}, []string{}
	step, until := a.resolution(now)
	for _, f := range figures {
		lines, err := ask.Range(ctx, f.ask(topology), a.From, until, step)
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
	// what moved first may be the cause
	slices.SortStableFunc(all, func(a, b Change) int { return a.Since.Compare(b.Since) })
	return all, missing, nil
}

// change is the one move to another level that explains most of the line, if it lies behind sinceMs, not behind atMs,
// and is worth telling: the parting into two levels with the least squares.
func (f figure) change(line Line, sinceMs, atMs int64) (Change, bool) {
	times, values := known(line)
	at, ok := parting(times, values, sinceMs, atMs)
	if !ok {
		return Change{}, false
	}
	before, after := mean(values[:at]), mean(values[at:])
	scatter := math.Sqrt((squares(values[:at], before) + squares(values[at:], after)) / float64(len(values)-1))
	move := math.Abs(after - before)
	// A line without scatter moves by as much as what matters.
	score := move / max(scatter, f.least/leastScore, math.SmallestNonzeroFloat64)
	if score < leastScore || move < f.least || move < leastPart*math.Abs(before) {
		return Change{}, false
	}
	c := Change{Name: f.name, Labels: maps.Clone(line.Labels), Unit: f.unit, Figure: f.key, Before: before,
		After: after, Since: time.UnixMilli(times[at]), Score: score}
	if after > before {
		c.Advice = f.advice
	}
	return c, true
}

// known leaves out what is no number.
func known(line Line) (times []int64, values []float64) {
	for i, v := range line.Values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			times, values = append(times, line.TimesMs[i]), append(values, v)
		}
	}
	return times, values
}

// parting is the index, not before sinceMs nor after atMs, at which two levels fit best. Where one after atMs fits
// better there is none.
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

// squares is the sum of squared distances from a level.
func squares(values []float64, level float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += (v - level) * (v - level)
	}
	return sum
}
