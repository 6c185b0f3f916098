package tuning

import (
	"fmt"
	"math"
)

// LaunchCost is what one launch of a topology spent in a step, ms a minute: a worker's mean and all workers together.
type LaunchCost struct {
	AverageCPUMsPerMinute, TotalCPUMsPerMinute Figure
}

// complete tells whether a step says what its queries cost: its verdict is OK, or there is no query to judge. One that was inconclusive or
// limited was not measured well enough, and one that failed may have worked less than it should have.
func (s ConcurrencyStep) complete() bool {
	return s.Verdict == OK || s.Verdict == Baseline && !s.doubtful
}

// costs are the step's points of a fit, one a launch.
func (s ConcurrencyStep) costs() []LaunchCost {
	if len(s.launches) > 0 {
		return s.launches
	}
	return []LaunchCost{{s.AverageCPUMsPerMinute, s.TotalCPUMsPerMinute}}
}

func averageCost(c LaunchCost) Figure { return c.AverageCPUMsPerMinute }
func totalCost(c LaunchCost) Figure   { return c.TotalCPUMsPerMinute }

// fitCost fits CPU over queries, a point a launch: what differs from launch to launch is in the intervals.
func (c *Concurrency) fitCost() {
	fit := func(cost func(LaunchCost) Figure, take func(ConcurrencyStep) bool) Line {
		var x, y []float64
		for _, s := range c.Steps {
			for _, launch := range s.costs() {
				if v := cost(launch); v.Known() && take(s) {
					x, y = append(x, float64(s.Queries)), append(y, float64(v))
				}
			}
		}
		return FitLine(x, y, c.Confidence)
	}
	all := func(ConcurrencyStep) bool { return true }
	c.CPUFit = fit(averageCost, all)
	c.Marginal, c.MarginalWhileComplete = c.CPUFit.slope(), fit(averageCost, ConcurrencyStep.complete).slope()
	c.MarginalTotal = fit(totalCost, all).slope()
	c.TotalFitWhileComplete = fit(totalCost, ConcurrencyStep.complete)
	c.MarginalTotalWhileComplete = c.TotalFitWhileComplete.slope()
	c.MarginalCores, c.MarginalTotalCoresWhileComplete = c.Marginal.cores(), c.MarginalTotalWhileComplete.cores()
	c.GCCorrelation = c.correlateGC()
}

// cores are ms a minute as cores.
func (e Estimate) cores() Estimate {
	return Estimate{Value: e.Value / msPerCore, Low: e.Low / msPerCore, High: e.High / msPerCore, Note: e.Note}
}

func (l Line) slope() Estimate {
	return Estimate{Value: l.Slope, Low: l.Low, High: l.High, Note: l.Note}
}

// CompareSlopes tells how a line's slope changed, with Welch's interval: the slopes' standard errors, of which each line has its own
// degrees of freedom, are put together as those of two means are.
func CompareSlopes(before, after Line, confidence float64) Difference {
	d := Difference{Before: before.Slope, After: after.Slope, Change: noEstimate(), Ratio: noEstimate(),
		Method: fmt.Sprintf("Welch's t over the slopes of lines through %d and %d points", before.Points, after.Points)}
	d.Change.Value = after.Slope - before.Slope
	if before.Slope != 0 {
		d.Ratio.Value = after.Slope/before.Slope - 1
	}
	if !d.Change.Value.Known() {
		d.Note = "not measured on both sides"
		return d
	}
	a, b := before.slopeError(), after.slopeError()
	if !a.Known() || !b.Known() {
		d.Note = "a line through two points on one side: no interval"
		return d
	}
	squareA, squareB := float64(a*a), float64(b*b)
	if squareA+squareB == 0 {
		d.Change.Low, d.Change.High, d.Clear = d.Change.Value, d.Change.Value, d.Change.Value != 0
		d.Note = "no scatter was seen: the interval shows none, not that there is none"
		return d
	}
	freedom := (squareA + squareB) * (squareA + squareB) / (squareA*squareA/float64(before.Points-2) + squareB*squareB/float64(after.Points-2))
	t := quantile(confidence, freedom)
	half := Figure(t * math.Sqrt(squareA+squareB))
	d.Change.Low, d.Change.High = d.Change.Value-half, d.Change.Value+half
	d.Clear = d.Change.Low > 0 || d.Change.High < 0
	if before.Slope > 0 && after.Slope > 0 {
		spread := Figure(t * math.Sqrt(squareA/float64(before.Slope*before.Slope)+squareB/float64(after.Slope*after.Slope)))
		ratio := math.Log(float64(after.Slope / before.Slope))
		d.Ratio.Low, d.Ratio.High = Figure(math.Exp(ratio-float64(spread))-1), Figure(math.Exp(ratio+float64(spread))-1)
	}
	return d
}

// slopeError is the slope's standard error; unknown of fewer than three points.
func (l Line) slopeError() Figure {
	if l.Points < 3 || !l.High.Known() || !l.Low.Known() {
		return Unknown
	}
	return (l.High - l.Low) / 2 / Figure(quantile(l.Confidence, float64(l.Points-2)))
}
