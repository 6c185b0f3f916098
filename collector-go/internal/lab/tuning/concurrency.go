package tuning

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
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
