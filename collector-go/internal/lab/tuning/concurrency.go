package tuning

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Baseline is the verdict of a step without queries, which has no completeness.
const Baseline Verdict = "baseline"

// Columns of a table of concurrency steps. The last four are optional.
const (
	ColumnSimultaneousQueries = "simultaneous_queries"
	ColumnAverageCPU          = "average_cpu_ms_per_minute"
	ColumnAverageResultSize   = "average_result_size"
	ColumnWorkers             = "workers"
	ColumnTotalCPU            = "total_cpu_ms_per_minute"
	ColumnAverageGC           = "average_gc_ms_per_minute"
)

// GCIsWallTime explains figures of garbage collection.
const GCIsWallTime = "GC time is the wall time of pauses, as the JVM reports it, and not CPU time. A pause in which several threads collect uses more CPU than it lasts. Concurrent work of a collector counts as CPU and not as GC time"

// msPerCore is the CPU time in ms that one fully busy core uses in a minute.
const msPerCore = 60_000

// ConcurrencyRow holds the measurements with one number of queries. CPU and GC are means over workers in ms per
// minute, unless they are called total.
type ConcurrencyRow struct {
	Queries               int
	AverageCPUMsPerMinute Figure
	AverageResultSize     Figure
	Workers               Figure
	TotalCPUMsPerMinute   Figure
	AverageGCMsPerMinute  Figure
	// Launches are the measurements of the load in a run's climb that are good enough for the cost of a query.
	// Mirrored are those of the dedicated cost steps (MirroredLoads). Both are nil for a table, which has only the
	// mean, and empty for a load that was not measured well enough.
	Launches, Mirrored []LaunchCost
	// Verdict is the verdict of a step that was judged by more than the result size; "" means that the result size
	// decides.
	Verdict Verdict
}

// ConcurrencyStep is a row with its verdict.
type ConcurrencyStep struct {
	Queries               int     `json:"queries"`
	Verdict               Verdict `json:"verdict"`
	Reason                string  `json:"reason,omitempty"`
	AverageCPUMsPerMinute Figure  `json:"average_cpu_ms_per_minute"`
	AverageCPUCores       Figure  `json:"average_cpu_cores"`
	Workers               Figure  `json:"workers"`
	// Total CPU is that of the topology: a smaller worker lowers the mean without lowering the cost.
	TotalCPUMsPerMinute Figure `json:"total_cpu_ms_per_minute"`
	TotalCPUCores       Figure `json:"total_cpu_cores"`
	AverageResultSize   Figure `json:"average_result_size"`
	// GC is wall time: the mean per worker, the total, the share of the CPU time, and the share of a minute.
	AverageGCMsPerMinute Figure `json:"average_gc_ms_per_minute"`
	TotalGCMsPerMinute   Figure `json:"total_gc_ms_per_minute"`

	GCShareOfCPU  Figure `json:"gc_share_of_cpu"`
	GCShareOfTime Figure `json:"gc_share_of_time"`

	launches, mirrored []LaunchCost
	// doubtful marks a baseline whose own step was not OK.
	doubtful bool
}

// Concurrency is the analysis of a table of steps.
type Concurrency struct {
	ExpectedResultSize Figure            `json:"expected_result_size"`
	SmallestResultSize Figure            `json:"smallest_result_size"`
	Steps              []ConcurrencyStep `json:"steps"`
	Capacity           Interval          `json:"capacity"`
	// Baseline is the CPU of a worker, and of the whole topology, without queries.
	BaselineCPUMsPerMinute      Figure `json:"baseline_cpu_ms_per_minute"`
	BaselineCPUCores            Figure `json:"baseline_cpu_cores"`
	BaselineTotalCPUMsPerMinute Figure `json:"baseline_total_cpu_ms_per_minute"`
	BaselineTotalCPUCores       Figure `json:"baseline_total_cpu_cores"`
	// CostFrom states which steps of a run the cost is fitted to; "" means all rows of a table.
	CostFrom CostSource `json:"cost_from,omitempty"`
	// Marginal is the slope of a worker's mean CPU over queries, for all steps. MarginalWhileComplete uses only steps
	// that were OK, and the baseline.
	Marginal              Estimate `json:"marginal_cpu_ms_per_minute_per_query"`
	MarginalCores         Estimate `json:"marginal_cpu_cores_per_query"`
	MarginalWhileComplete Estimate `json:"marginal_cpu_ms_per_minute_per_query_while_complete"`
	// MarginalTotal is the same for the topology's total CPU. It needs the number of workers or the total.
	MarginalTotal                   Estimate `json:"marginal_total_cpu_ms_per_minute_per_query"`
	MarginalTotalWhileComplete      Estimate `json:"marginal_total_cpu_ms_per_minute_per_query_while_complete"`
	MarginalTotalCoresWhileComplete Estimate `json:"marginal_total_cpu_cores_per_query_while_complete"`
	// CPUFit is the line of Marginal; TotalFitWhileComplete is the line of MarginalTotalWhileComplete. Each
	// measurement of a step is a point.
	CPUFit Line `json:"cpu_fit"`
	// TotalFit is the line of MarginalTotal.
	TotalFit              Line `json:"-"`
	TotalFitWhileComplete Line `json:"total_cpu_fit_while_complete"`
	// GCCorrelation is Pearson's correlation between GC time and CPU over the steps.
	GCCorrelation Figure   `json:"gc_cpu_correlation"`
	Confidence    float64  `json:"confidence"`
	Notes         []string `json:"notes"`
}

// AnalyzeConcurrency judges each step's completeness against the goals and fits the cost of a query.
func AnalyzeConcurrency(rows []ConcurrencyRow, goals Goals, confidence float64) (*Concurrency, error) {
	if err := errors.Join(goals.Validate(), CheckConfidence(confidence), checkConcurrency(rows)); err != nil {
		return nil, err
	}
	rows = slices.SortedFunc(slices.Values(rows), func(a, b ConcurrencyRow) int {
		return cmp.Compare(a.Queries, b.Queries)
	})
	c := &Concurrency{ExpectedResultSize: Figure(goals.ExpectedResultSize),
		SmallestResultSize: Figure(goals.SmallestResultSize()), BaselineCPUMsPerMinute: Unknown,
		BaselineTotalCPUMsPerMinute: Unknown, Confidence: confidence, Notes: []string{}}
	var measured []Measured
	for _, r := range rows {
		step := concurrencyStep(r, goals)
		c.Steps = append(c.Steps, step)
		measured = append(measured, Measured{float64(step.Queries), step.Verdict})
		if step.Verdict == Baseline {
			c.BaselineCPUMsPerMinute, c.BaselineTotalCPUMsPerMinute = step.AverageCPUMsPerMinute,
				step.TotalCPUMsPerMinute
		}
	}
	c.BaselineCPUCores, c.BaselineTotalCPUCores = c.BaselineCPUMsPerMinute/msPerCore,
		c.BaselineTotalCPUMsPerMinute/msPerCore
	c.Capacity = IntervalOf(measured)
	notes := c.fitCost()
	c.explain()
	c.Notes = append(c.Notes, notes...)
	return c, nil
}

func checkConcurrency(rows []ConcurrencyRow) error {
	var wrong faults
	seen := map[int]int{}
	for i, r := range rows {
		n := i + 1
		wrong.atLeast(n, ColumnSimultaneousQueries, float64(r.Queries), 0)
		wrong.atLeast(n, ColumnAverageCPU, float64(r.AverageCPUMsPerMinute), 0)
		wrong.notNegative(n, ColumnAverageResultSize, r.AverageResultSize)
		wrong.notNegative(n, ColumnTotalCPU, r.TotalCPUMsPerMinute)
		wrong.notNegative(n, ColumnAverageGC, r.AverageGCMsPerMinute)
		if r.Workers < 1 {
			wrong.add(n, ColumnWorkers, "%g is not at least 1", float64(r.Workers))
		}
		once(&wrong, seen, r.Queries, n, ColumnSimultaneousQueries,
			"the step of %d queries occurs twice; keep one row per step", r.Queries)
	}
	if len(rows) == 0 {
		wrong.add(0, ColumnSimultaneousQueries, "there are no rows")
	}
	return wrong.err()
}

func concurrencyStep(r ConcurrencyRow, goals Goals) ConcurrencyStep {
	step := ConcurrencyStep{Queries: r.Queries, AverageCPUMsPerMinute: r.AverageCPUMsPerMinute,
		AverageCPUCores: r.AverageCPUMsPerMinute / msPerCore, Workers: r.Workers, TotalCPUMsPerMinute: r.totalCPU(),
		AverageResultSize: r.AverageResultSize, launches: r.Launches, mirrored: r.Mirrored,
		AverageGCMsPerMinute: r.AverageGCMsPerMinute, TotalGCMsPerMinute: r.Workers * r.AverageGCMsPerMinute,
		GCShareOfCPU:  r.AverageGCMsPerMinute / r.AverageCPUMsPerMinute,
		GCShareOfTime: r.AverageGCMsPerMinute / msPerCore}
	step.TotalCPUCores = step.TotalCPUMsPerMinute / msPerCore
	switch size, least := float64(r.AverageResultSize), goals.SmallestResultSize(); {
	case r.Queries == 0:
		step.Verdict, step.doubtful = Baseline, r.Verdict != "" && r.Verdict != OK
	case r.Verdict == OK && size == 0:
		step.Verdict, step.Reason = Inconclusive, "no query returned a record, so completeness is unknown"
	case r.Verdict != "":
		step.Verdict = r.Verdict
	case math.IsNaN(size):
		step.Verdict, step.Reason = Inconclusive, "the average result size is unknown"
	case size < least-completenessSlack:
		step.Verdict = Fail
		step.Reason = fmt.Sprintf("average result size %g is below %g: %.3g%% of the records were lost", size,
			tidy(least), 100*(1-size/goals.ExpectedResultSize))
	default:
		step.Verdict = OK
	}
	return step
}

func (r ConcurrencyRow) totalCPU() Figure {
	if r.TotalCPUMsPerMinute.Known() {
		return r.TotalCPUMsPerMinute
	}
	return r.Workers * r.AverageCPUMsPerMinute
}

func (c *Concurrency) correlateGC() Figure {
	var cpu, gc []float64
	for _, s := range c.Steps {
		if s.GCShareOfTime.Known() {
			cpu, gc = append(cpu, float64(s.AverageCPUMsPerMinute)), append(gc, float64(s.GCShareOfTime))
		}
	}
	if len(cpu) < 3 {
		return Unknown
	}
	return Figure(stat.Correlation(cpu, gc, nil)) // NaN if either is constant
}

// explain adds notes that a reader needs before using the figures.
func (c *Concurrency) explain() {
	if !c.BaselineCPUMsPerMinute.Known() {
		c.Notes = append(c.Notes, "the baseline is unknown, because no step has 0 queries; cpu_fit.intercept is the value of the fitted line at 0 queries")
	}
	workers := map[Figure]bool{}
	for _, s := range c.Steps {
		if s.doubtful {
			c.Notes = append(c.Notes, "the step of 0 queries was not OK: the baseline is as measured, but does not count as a complete step")
		}
		if s.Workers.Known() {
			workers[s.Workers] = true
			if total := s.Workers * s.AverageCPUMsPerMinute; math.Abs(float64(total-s.TotalCPUMsPerMinute)) >
				0.01*float64(total) {
				c.Notes = append(c.Notes, fmt.Sprintf("%d queries: the stated total CPU of %g ms/min differs from %g workers times their mean, which is %g ms/min",
					s.Queries, float64(s.TotalCPUMsPerMinute), float64(s.Workers), tidy(float64(total))))
			}
		}
		if s.AverageResultSize > c.ExpectedResultSize*(1+1e-9) {
			c.Notes = append(c.Notes,
				fmt.Sprintf("%d queries: an average result size of %g is more than the expected %g; is --expected right?",
					s.Queries, float64(s.AverageResultSize), float64(c.ExpectedResultSize)))
		}
	}
	if len(workers) > 1 {
		c.Notes = append(c.Notes, "the number of workers differs between steps: compare the total CPU of the topology, because fewer workers increase the mean but not the cost")
	}
	if len(workers) == 0 && !c.MarginalTotal.Value.Known() {
		c.Notes = append(c.Notes, "the cost for the whole topology is unknown, because CPU is the mean of a worker; add a column workers or total_cpu_ms_per_minute")
	}
	switch {
	case c.CostFrom == FromMirroredLoads:
		c.Notes = append(c.Notes,
			"the cost per query is fitted to the dedicated cost steps, not to the capacity steps")
	case c.CostFrom == FromClimb:
		c.Notes = append(c.Notes, "the cost per query is fitted to the OK capacity steps, because there are no dedicated cost steps or too few of them were OK")
	case slices.ContainsFunc(c.Steps, func(s ConcurrencyStep) bool { return s.Verdict == Fail }):
		c.Notes = append(c.Notes, "the cost per query is fitted to all steps; steps that lost records may have done less work, so compare it with the cost over complete steps")
	}
	if slices.ContainsFunc(c.Steps, func(s ConcurrencyStep) bool { return s.GCShareOfTime.Known() }) {
		c.Notes = append(c.Notes, GCIsWallTime)
	}
}

// LaunchCost is the CPU that a topology used in one measurement of a step, in milliseconds per minute: the mean of a
// worker and the total of all workers. Repeated measurements of a step may be launches, or attempts within one launch.
// They stay separate points of the fit, so that the variation between them widens the interval.
type LaunchCost struct {
	AverageCPUMsPerMinute, TotalCPUMsPerMinute Figure
	// Slices is the number of slices of the measurement; 0 if unknown, as in a table of figures.
	Slices int
}

// Complete reports whether the CPU of a step counts for the cost of a query: the verdict is OK, or the step is a
// baseline without queries. An inconclusive or limited step was not measured well enough. A failed step may have done
// less work than requested, which would make a query look too cheap.
func (s ConcurrencyStep) Complete() bool {
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
	average, averageComplete := c.costs(averageCost, everyStep), c.costs(averageCost, ConcurrencyStep.Complete)
	total, totalComplete := c.costs(totalCost, everyStep), c.costs(totalCost, ConcurrencyStep.Complete)
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
	of   []LaunchCost // the measurement of each point
	few  int          // left out because they have too few slices
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
			p.x, p.y, p.of = append(p.x, float64(s.Queries)), append(p.y, float64(v)), append(p.of, measured)
		}
	}
	return p
}

// CostPoint is a step's CPU, for a chart of the cost. Complete is that of its step.
type CostPoint struct {
	Queries                                    int
	AverageCPUMsPerMinute, TotalCPUMsPerMinute Figure
	Complete                                   bool
}

// CostPoints returns the points that CPUFit is fitted to, one per measurement, and the steps that it does not use.
func (c *Concurrency) CostPoints() (fitted, others []CostPoint) {
	p := c.costs(averageCost, everyStep)
	for i := range p.x {
		fitted = append(fitted, CostPoint{int(p.x[i]), p.of[i].AverageCPUMsPerMinute,
			p.of[i].TotalCPUMsPerMinute, true})
	}
	for _, s := range c.Steps {
		own := c.CostFrom == FromMirroredLoads && len(s.mirrored) > 0 && len(s.launches) == 0
		if own || c.CostFrom != FromMirroredLoads && slices.Contains(p.x, float64(s.Queries)) {
			continue
		}
		others = append(others, CostPoint{s.Queries, s.AverageCPUMsPerMinute, s.TotalCPUMsPerMinute, s.Complete()})
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

// leastPairs is the minimum number of pairs for a correlation.
const leastPairs = 5

// Correlate returns Pearson's correlation of two figures, slice by slice in the order of time, with Fisher's interval.
// Consecutive slices resemble each other. n slices therefore count as n (1 - ab) / (1 + ab) independent pairs, with
// the figures' autocorrelations a and b (Bartlett 1946). Pairs with an unknown value are left out.
func Correlate(x, y []Figure, confidence float64) Estimate {
	var a, b []float64
	for i := range x {
		if x[i].Known() && y[i].Known() {
			a, b = append(a, float64(x[i])), append(b, float64(y[i]))
		}
	}
	if len(a) < leastPairs {
		return notDetermined(fmt.Sprintf("only %d slices have both figures; a correlation needs %d", len(a), leastPairs))
	}
	e := noEstimate()
	if e.Value = Figure(stat.Correlation(a, b, nil)); !e.Value.Known() {
		return notDetermined("one of the two figures is constant")
	}
	autocorrelation := math.Max(0, neighbours(a)) * math.Max(0, neighbours(b))
	pairs := float64(len(a)) * (1 - autocorrelation) / (1 + autocorrelation)
	if pairs <= 4 || math.Abs(float64(e.Value)) >= 1 {
		e.Note = fmt.Sprintf("no interval: the %d slices count as only %s independent ones", len(a),
			Digits(Figure(pairs)))
		return e
	}
	half := distuv.UnitNormal.Quantile(0.5+confidence/2) / math.Sqrt(pairs-3)
	z := math.Atanh(float64(e.Value))
	e.Low, e.High = Figure(math.Tanh(z-half)), Figure(math.Tanh(z+half))
	return e
}

// neighbours returns the autocorrelation of values at lag 1; 0 if the values are constant.
func neighbours(values []float64) float64 {
	mean, about, along := stat.Mean(values, nil), 0.0, 0.0
	for i, v := range values {
		about += (v - mean) * (v - mean)
		if i > 0 {
			along += (v - mean) * (values[i-1] - mean)
		}
	}
	if about == 0 {
		return 0
	}
	return along / about
}

// GCReport is the cost of garbage collection by collector, and its correlation with other figures.
type GCReport struct {
	Steps []GCStep `json:"steps"`
	// The correlations are between all workers' GC time and their CPU time or the mean filter latency. They use the
	// slices within the measured time of a step.
	WithCPU     Estimate `json:"correlation_with_cpu"`
	WithLatency Estimate `json:"correlation_with_filter_latency"`
	Confidence  float64  `json:"confidence"`
}

// GCStep is one collector in one step. Means are over the workers that have the collector.
type GCStep struct {
	Queries   int    `json:"queries"`
	StartMs   int64  `json:"start_ms"` // start of the step
	Collector string `json:"collector"`
	Workers   int    `json:"workers"`
	// AverageMsPerMinute is per worker; TotalMsPerMinute is for the whole topology.
	AverageMsPerMinute Figure `json:"average_ms_per_minute"`
	TotalMsPerMinute   Figure `json:"total_ms_per_minute"`
	CollectionsPerMin  Figure `json:"average_collections_per_minute"`
	ShareOfCPU         Figure `json:"share_of_cpu"`
	ShareOfTime        Figure `json:"share_of_time"`
	MostShareOfTime    Figure `json:"share_of_time_in_the_worst_worker"`
	WorkerOfMost       string `json:"worst_worker"`
	MeanCollectionInMs Figure `json:"mean_collection_ms"`
}
