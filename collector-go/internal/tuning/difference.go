package tuning

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Repeated are a figure's slices in one step: one list for each time that the step was measured (launch of the topology), in the
// slices' order. Unknown slices are gaps.
type Repeated [][]Figure

// Difference is how a figure changed between two measurements.
type Difference struct {
	Before Figure `json:"before"`
	After  Figure `json:"after"`
	// Change is after less before, in the figure's unit; Ratio is after over before, less 1.
	Change Estimate `json:"change"`
	Ratio  Estimate `json:"relative_change"`
	// Clear says that the interval of the change leaves out 0.
	Clear bool `json:"clear"`
	// Method says what the interval was made from, Note what it does not hold.
	Method string `json:"method"`
	Note   string `json:"note,omitempty"`
}

// Compare tells how a figure's mean changed, with Welch's interval (unequal variances; Student's t of Welch and Satterthwaite's
// degrees of freedom). Slices that follow each other resemble each other, so that they are not independent values: the values are
// the means of blocks of slices (batch means, Schmeiser 1982), fewer and longer than what would be best for independent slices. Where
// both sides were launched three times or more the values are the launches' means, which hold what differs from launch to launch too.
func Compare(before, after Repeated, confidence float64) Difference {
	launches := before.known() >= launchesEnough && after.known() >= launchesEnough
	a, b := before.values(launches), after.values(launches)
	d := Difference{Before: meanFigure(a), After: meanFigure(b), Change: noEstimate(), Ratio: noEstimate()}
	d.Change.Value, d.Ratio.Value = d.After-d.Before, d.After/d.Before-1
	d.Method = methodOf(before, after, launches)
	if !d.Change.Value.Known() {
		d.Note = "not measured on both sides"
		return d
	}
	if len(a) < 2 || len(b) < 2 {
		d.Note = "fewer than two values on one side: no interval"
		return d
	}
	d.interval(a, b, confidence)
	if !launches {
		d.Note = joinNotes(d.Note, "one launch against one: how much a launch differs from the next is not in the interval")
	}
	return d
}

// launchesEnough is how many launches each side needs for their means to be the values.
const launchesEnough = 3

func noEstimate() Estimate { return Estimate{Value: Unknown, Low: Unknown, High: Unknown} }

func joinNotes(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
}

// known is how many launches have a figure at all.
func (m Repeated) known() (n int) {
	for _, launch := range m {
		if len(floatsOf(launch)) > 0 {
			n++
		}
	}
	return n
}

func floatsOf(figures []Figure) (out []float64) {
	for _, f := range figures {
		if f.Known() {
			out = append(out, float64(f))
		}
	}
	return out
}

// values are what counts as one independent measurement each.
func (m Repeated) values(launches bool) (out []float64) {
	for _, launch := range m {
		known := floatsOf(launch)
		switch {
		case len(known) == 0:
		case launches:
			out = append(out, stat.Mean(known, nil))
		default:
			out = append(out, blockMeans(known)...)
		}
	}
	return out
}

// Bounds of the blocks: so few slices are taken as they are, so few blocks there are at least, and so many at most.
const (
	fewSlices   = 8
	leastBlocks = 4
	mostBlocks  = 10
)

// blocksOf is how many blocks n slices are cut into: about the root, and no more than ten, so that blocks grow longer as there are more.
func blocksOf(n int) int {
	if n < fewSlices {
		return n
	}
	return min(mostBlocks, max(leastBlocks, int(math.Sqrt(float64(n)))))
}

// blockMeans cuts values into blocks as even as can be.
func blockMeans(values []float64) []float64 {
	n, blocks := len(values), blocksOf(len(values))
	means := make([]float64, 0, blocks)
	for i := range blocks {
		means = append(means, stat.Mean(values[i*n/blocks:(i+1)*n/blocks], nil))
	}
	return means
}

func methodOf(before, after Repeated, launches bool) string {
	if launches {
		return fmt.Sprintf("Welch's t over the means of %d and %d launches", before.known(), after.known())
	}
	return fmt.Sprintf("Welch's t over means of blocks: %s against %s", before.blocksText(), after.blocksText())
}

func (m Repeated) blocksText() string {
	blocks, count := 0, 0
	for _, launch := range m {
		n := len(floatsOf(launch))
		count, blocks = count+n, blocks+blocksOf(n)
	}
	return fmt.Sprintf("%d of %d slices", blocks, count)
}

func meanFigure(values []float64) Figure {
	if len(values) == 0 {
		return Unknown
	}
	return Figure(stat.Mean(values, nil))
}

// interval sets the change's and the ratio's intervals. The ratio's is that of the logarithms' difference (delta method), which has
// no meaning where a mean is not above 0.
func (d *Difference) interval(a, b []float64, confidence float64) {
	meanA, varA := stat.MeanVariance(a, nil)
	meanB, varB := stat.MeanVariance(b, nil)
	squareA, squareB := varA/float64(len(a)), varB/float64(len(b))
	if squareA+squareB == 0 {
		d.Change.Low, d.Change.High = d.Change.Value, d.Change.Value
		d.Ratio.Low, d.Ratio.High = d.Ratio.Value, d.Ratio.Value
		d.Clear = d.Change.Value != 0
		d.Note = "no scatter was seen: the interval shows none, not that there is none"
		return
	}
	freedom := (squareA + squareB) * (squareA + squareB) / (squareA*squareA/float64(len(a)-1) + squareB*squareB/float64(len(b)-1))
	t := quantile(confidence, freedom)
	half := Figure(t * math.Sqrt(squareA+squareB))
	d.Change.Low, d.Change.High = d.Change.Value-half, d.Change.Value+half
	d.Clear = d.Change.Low > 0 || d.Change.High < 0
	if meanA > 0 && meanB > 0 {
		spread := t * math.Sqrt(squareA/(meanA*meanA)+squareB/(meanB*meanB))
		ratio := math.Log(meanB / meanA)
		d.Ratio.Low, d.Ratio.High = Figure(math.Exp(ratio-spread)-1), Figure(math.Exp(ratio+spread)-1)
	}
}
