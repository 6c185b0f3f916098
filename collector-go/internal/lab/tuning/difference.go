package tuning

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Repeated holds a figure's slices in one step: one list for each measurement (launch) of the step, in the slices'
// order. Unknown slices are gaps.
type Repeated [][]Figure

// Difference is the change of a figure between two measurements.
type Difference struct {
	Before Figure `json:"before"`
	After  Figure `json:"after"`
	// Change is after minus before, in the figure's unit; Ratio is after over before, minus 1.
	Change Estimate `json:"change"`
	Ratio  Estimate `json:"relative_change"`
	// Clear states that the interval of the change excludes 0.
	Clear bool `json:"clear"`
	// Method states how the interval was computed; Note states what it lacks.
	Method string `json:"method"`
	Note   string `json:"note,omitempty"`
}

// OneLaunch begins the note of a change without an interval, because each side had only one launch.
const OneLaunch = "only one launch each"

// Compare returns the change of a figure's mean with Welch's interval (unequal variances, Student's t with
// Welch-Satterthwaite degrees of freedom). The values are the means of the launches. Slices are not independent:
// consecutive slices resemble each other, and launches differ by more than their slices do. If one side has a single
// launch, the scatter of the other side's launches is used for both. If both have a single launch, there is no
// interval.
func Compare(before, after Repeated, confidence float64) Difference {
	a, b := before.means(), after.means()
	d := Difference{Before: Figure(stat.Mean(a, nil)), After: Figure(stat.Mean(b, nil)), Change: noEstimate(),
		Ratio: noEstimate()}
	d.Change.Value, d.Ratio.Value = d.After-d.Before, d.After/d.Before-1
	switch {
	case !d.Change.Value.Known():
		d.Note = "not measured in both runs"
	case len(a) == 1 && len(b) == 1:
		d.WithoutInterval()
	case len(a) == 1 || len(b) == 1:
		several := a
		if len(b) > 1 {
			several = b
		}
		d.Method = fmt.Sprintf("Student's t, with the variation of %d launches of one run used for both", len(several))
		variance, freedom := stat.Variance(several, nil), float64(len(several)-1)
		d.interval(scattered{float64(d.Before), variance / float64(len(a)), freedom},
			scattered{float64(d.After), variance / float64(len(b)), freedom}, freedom, confidence)
	default:
		d.Method = fmt.Sprintf("Welch's t over the means of %d and %d launches", len(a), len(b))
		d.welch(scatterOf(a), scatterOf(b), confidence)
	}
	return d
}

// CompareSlices is Compare for a figure that is known slice by slice. There is no interval if a launch has fewer than
// LeastSlices.
func CompareSlices(before, after Repeated, confidence float64) Difference {
	d := Compare(before, after, confidence)
	if d.Change.Low.Known() && (before.few() || after.few()) {
		d.noInterval()
		d.Note = fmt.Sprintf("no interval: a launch has fewer than %d slices", LeastSlices)
	}
	return d
}

// WithoutInterval removes the change's interval, because one launch says nothing about the variation between launches.
func (d *Difference) WithoutInterval() {
	d.noInterval()
	if d.Note == "" {
		d.Note = OneLaunch + ": the variation between launches is unknown, so there is no confidence interval"
	}
}

// NotCompared removes the change, because a side has no comparable figure. why becomes the note.
func (d *Difference) NotCompared(why string) {
	d.Change, d.Ratio, d.Clear, d.Note = noEstimate(), noEstimate(), false, why
}

// WithoutRatio removes the relative change, for figures without a meaningful zero.
func (d *Difference) WithoutRatio() { d.Ratio = noEstimate() }

func (d *Difference) noInterval() {
	d.Change.Low, d.Change.High, d.Ratio.Low, d.Ratio.High, d.Clear = Unknown, Unknown, Unknown, Unknown, false
}

func noEstimate() Estimate { return notDetermined("") }

func floatsOf(figures []Figure) (out []float64) {
	for _, f := range figures {
		if f.Known() {
			out = append(out, float64(f))
		}
	}
	return out
}

// means returns the means of the launches that have any known value.
func (m Repeated) means() (out []float64) {
	for _, launch := range m {
		if known := floatsOf(launch); len(known) > 0 {
			out = append(out, stat.Mean(known, nil))
		}
	}
	return out
}

// Launches returns the number of launches that have any known value.
func (m Repeated) Launches() int { return len(m.means()) }

// few reports whether a launch has the figure in too few slices.
func (m Repeated) few() bool {
	return slices.ContainsFunc(m, func(launch []Figure) bool {
		n := len(floatsOf(launch))
		return n > 0 && n < LeastSlices
	})
}

// scattered is a mean, or another estimate, with its squared standard error and the degrees of freedom of that error.
type scattered struct{ mean, square, freedom float64 }

func scatterOf(values []float64) scattered {
	mean, variance := stat.MeanVariance(values, nil)
	return scattered{mean, variance / float64(len(values)), float64(len(values) - 1)}
}

// welch sets the intervals with the Welch-Satterthwaite degrees of freedom.
func (d *Difference) welch(a, b scattered, confidence float64) {
	sum := a.square + b.square
	d.interval(a, b, sum*sum/(a.square*a.square/a.freedom+b.square*b.square/b.freedom), confidence)
}

// interval sets the intervals of change and ratio. The ratio's interval comes from the difference of the logarithms
// (delta method), which needs means above 0.
func (d *Difference) interval(a, b scattered, freedom, confidence float64) {
	if a.square+b.square == 0 {
		d.Change.Low, d.Change.High = d.Change.Value, d.Change.Value
		d.Ratio.Low, d.Ratio.High = d.Ratio.Value, d.Ratio.Value
		d.Clear = d.Change.Value != 0
		d.Note = "the launches did not differ, so the interval is too narrow"
		return
	}
	t := quantile(confidence, freedom)
	half := Figure(t * math.Sqrt(a.square+b.square))
	d.Change.Low, d.Change.High = d.Change.Value-half, d.Change.Value+half
	d.Clear = d.Change.Low > 0 || d.Change.High < 0
	if a.mean > 0 && b.mean > 0 {
		spread := t * math.Sqrt(a.square/(a.mean*a.mean)+b.square/(b.mean*b.mean))
		ratio := math.Log(b.mean / a.mean)
		d.Ratio.Low, d.Ratio.High = Figure(math.Exp(ratio-spread)-1), Figure(math.Exp(ratio+spread)-1)
	}
}
