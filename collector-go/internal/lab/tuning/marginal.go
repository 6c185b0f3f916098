package tuning

import (
	"fmt"
	"slices"
)

// LaunchCost is the CPU that a topology used in one measurement of a step, in milliseconds per minute: the mean of a
// worker and the total of all workers. Repeated measurements of a step may be launches, or attempts within one launch.
// They stay separate points of the fit, so that the variation between them widens the interval.
type LaunchCost struct {
	AverageCPUMsPerMinute, TotalCPUMsPerMinute Figure
	// Slices is the number of slices of the measurement; 0 if unknown, as in a table of figures.
	Slices int
}

// complete reports whether the CPU of a step counts for the cost of a query: the verdict is OK, or the step is a
// baseline without queries. An inconclusive or limited step was not measured well enough. A failed step may have done
// less work than requested, which would make a query look too cheap.
func (s ConcurrencyStep) complete() bool {
	return s.Verdict == OK || s.Verdict == Baseline && !s.doubtful
}

// CostSource says which steps of a run the cost of a query is fitted to. Mirrored loads visit the same loads up and
// down again, so that a drift of the topology over time does not look like a cost. A climb confounds the two.
type CostSource string

// Sources of the cost of a query.
const (
	FromMirroredLoads CostSource = "mirrored loads"
	FromClimb         CostSource = "climb"
)

// costs returns the points that the step adds to a fit, one for each measurement from the given source.
func (s ConcurrencyStep) costs(from CostSource) []LaunchCost {
	switch from {
	case FromMirroredLoads:
		return s.mirrored
	case FromClimb:
		return s.launches
	}
	return []LaunchCost{{AverageCPUMsPerMinute: s.AverageCPUMsPerMinute, TotalCPUMsPerMinute: s.TotalCPUMsPerMinute}}
}

// costFrom returns the source of the cost. It is the mirrored loads if enough of them were measured, and at least one
// of them twice. The drift between the two is then in the interval. Otherwise it is the climb.
func (c *Concurrency) costFrom() CostSource {
	ofRun := slices.ContainsFunc(c.Steps, func(s ConcurrencyStep) bool {
		return s.launches != nil || s.mirrored != nil
	})
	if !ofRun {
		return ""
	}
	c.CostFrom = FromMirroredLoads
	if p := c.costs(averageCost, everyStep); p.known() >= leastCostSteps && p.repeated() {
		return FromMirroredLoads
	}
	return FromClimb
}

// leastCostSteps is the minimum number of measurements for the cost of a query. A line through two has no interval.
const leastCostSteps = 3

func averageCost(c LaunchCost) Figure { return c.AverageCPUMsPerMinute }
func totalCost(c LaunchCost) Figure   { return c.TotalCPUMsPerMinute }

// LeastSlices is the minimum number of slices for a mean. With fewer, their variation cannot be seen.
const LeastSlices = 3

// fitCost fits CPU over queries with one point per measurement, so that the variation between measurements is in the
// intervals. It returns notes about the limits of the fit.
func (c *Concurrency) fitCost() (notes []string) {
	c.CostFrom = c.costFrom()
	average, averageComplete := c.costs(averageCost, everyStep), c.costs(averageCost, ConcurrencyStep.complete)
	total, totalComplete := c.costs(totalCost, everyStep), c.costs(totalCost, ConcurrencyStep.complete)
	c.CPUFit, c.TotalFit = average.line(c.Confidence), total.line(c.Confidence)
	c.TotalFitWhileComplete = totalComplete.line(c.Confidence)
	c.Marginal, c.MarginalWhileComplete = average.slope(c.Confidence), averageComplete.slope(c.Confidence)
	c.MarginalTotal, c.MarginalTotalWhileComplete = total.slope(c.Confidence), totalComplete.slope(c.Confidence)
	c.MarginalCores, c.MarginalTotalCoresWhileComplete = c.Marginal.cores(), c.MarginalTotalWhileComplete.cores()
	if average.known() > 1 && !average.repeated() {
		notes = append(notes, "no step was measured twice: the intervals include the scatter of the steps around the line, but not the drift of the topology at constant load")
	}
	if average.few > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d measurements have fewer than %d slices; the cost per query is estimated without them",
			average.few, average.few+average.known(), LeastSlices))
	}
	c.GCCorrelation = c.correlateGC()
	return notes
}

// costPoints are points of CPU over queries, one per measurement.
type costPoints struct {
	x, y []float64
	few  int // left out because they have too few slices
	from CostSource
}

func everyStep(ConcurrencyStep) bool { return true }

func (c *Concurrency) costs(cost func(LaunchCost) Figure, take func(ConcurrencyStep) bool) (p costPoints) {
	p.from = c.CostFrom
	for _, s := range c.Steps {
		for _, measured := range s.costs(p.from) {
			v := cost(measured)
			if !v.Known() || !take(s) {
				continue
			}
			if measured.Slices > 0 && measured.Slices < LeastSlices {
				p.few++
				continue
			}
			p.x, p.y = append(p.x, float64(s.Queries)), append(p.y, float64(v))
		}
	}
	return p
}

// CostPoint is a step's CPU, for a chart of the cost.
type CostPoint struct {
	Queries               int
	AverageCPUMsPerMinute Figure
	Verdict               Verdict
}

// CostPoints returns the points that CPUFit is fitted to, one per measurement, and the steps that it does not use.
func (c *Concurrency) CostPoints() (fitted, others []CostPoint) {
	p := c.costs(averageCost, everyStep)
	for i := range p.x {
		fitted = append(fitted, CostPoint{int(p.x[i]), Figure(p.y[i]), OK})
	}
	for _, s := range c.Steps {
		own := c.CostFrom == FromMirroredLoads && len(s.mirrored) > 0 && len(s.launches) == 0
		if own || c.CostFrom != FromMirroredLoads && slices.Contains(p.x, float64(s.Queries)) {
			continue
		}
		others = append(others, CostPoint{s.Queries, s.AverageCPUMsPerMinute, s.Verdict})
	}
	return fitted, others
}

func (p costPoints) known() int { return len(p.x) }

// repeated reports whether any load was measured more than once.
func (p costPoints) repeated() bool {
	return len(slices.Compact(slices.Sorted(slices.Values(p.x)))) < p.known()
}

func (p costPoints) line(confidence float64) Line { return FitLine(p.x, p.y, confidence) }

// slope returns the cost of a query. It is not determined if the slope is negative, because no query has a negative
// cost. In a run it is also not determined with too few measurements, or if the interval includes 0: reporting such a
// slope would turn drift or noise into a cost. For a table from a user, only a negative slope is refused.
func (p costPoints) slope(confidence float64) Estimate {
	l := p.line(confidence)
	e := l.slope()
	fitted := Estimate{Value: e.Value, Low: e.Low, High: e.High}.Text(confidence, "")
	switch {
	case p.from != "" && p.known() < leastCostSteps:
		return notDetermined(fmt.Sprintf("only %d of the capacity steps were OK and had at least %d slices; a cost needs %d",
			p.known(),
			LeastSlices, leastCostSteps))
	case e.Value < 0:
		return notDetermined(fmt.Sprintf("the fitted slope of %s is below 0, which no cost can be. Either the topology was not steady yet (workers were still compiling), or the cost is smaller than the drift of the topology",
			fitted))
	case p.from != "" && e.Low <= 0:
		return notDetermined(
			fmt.Sprintf("the fitted slope of %s may be 0: the scatter of the steps is larger than the cost of their queries", fitted))
	}
	if p.from != "" && !p.repeated() {
		e.Note = "no step was measured twice, so the interval does not include the drift of the topology at constant load"
	}
	return e
}

func notDetermined(why string) Estimate {
	return Estimate{Value: Unknown, Low: Unknown, High: Unknown, Note: why}
}

// cores converts ms per minute to cores.
func (e Estimate) cores() Estimate {
	return Estimate{Value: e.Value / msPerCore, Low: e.Low / msPerCore, High: e.High / msPerCore, Note: e.Note}
}

func (l Line) slope() Estimate {
	return Estimate{Value: l.Slope, Low: l.Low, High: l.High, Note: l.Note}
}

// CompareSlopes returns the change of a line's slope, with Welch's interval. The slopes' standard errors, each with
// its own degrees of freedom, are combined like those of two means.
func CompareSlopes(before, after Line, confidence float64) Difference {
	d := Difference{Before: before.Slope, After: after.Slope, Change: noEstimate(), Ratio: noEstimate(),
		Method: fmt.Sprintf("Welch's t over the slopes of lines through %d and %d points", before.Points, after.Points)}
	d.Change.Value = after.Slope - before.Slope
	if before.Slope != 0 {
		d.Ratio.Value = after.Slope/before.Slope - 1
	}
	a, b := before.slopeError(), after.slopeError()
	switch {
	case !d.Change.Value.Known():
		d.Note = "not measured in both runs"
	case before.Slope < 0 || after.Slope < 0:
		d.NotCompared("not determined: a fitted slope is below 0, which no cost can be")
	case !a.Known() || !b.Known():
		d.Note = "no interval: a line has only two points"
	default:
		d.welch(scattered{float64(before.Slope), float64(a * a), float64(before.Points - 2)},
			scattered{float64(after.Slope), float64(b * b), float64(after.Points - 2)}, confidence)
	}
	return d
}

// slopeError returns the slope's standard error; unknown for fewer than three points.
func (l Line) slopeError() Figure {
	if l.Points < 3 || !l.High.Known() || !l.Low.Known() {
		return Unknown
	}
	return (l.High - l.Low) / 2 / Figure(quantile(l.Confidence, float64(l.Points-2)))
}
