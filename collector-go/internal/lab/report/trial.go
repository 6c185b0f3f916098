package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// Report is the report of one trial: the rows of its steps and its figures by slice. Tables and charts are drawn from
// it. It is also part of report.json, so its JSON keys are a public format. Figures that were not measured are Unknown,
// which is null in JSON. They are never 0, because 0 is a measurement.
type Report struct {
	Title    string         `json:"title"`
	Topology string         `json:"topology"`
	Verdict  tuning.Verdict `json:"verdict"`
	// StartedMs is the start of the first step. The time axis of the figures counts from it.
	StartedMs int64        `json:"started_ms"`
	SliceMs   int64        `json:"slice_ms"`
	Goals     GoalsReport  `json:"goals"`
	Steps     []StepReport `json:"steps"`
	// TimesMs are the ends of the report's slices. Every array of figures below has one element for each of them.
	TimesMs             []int64            `json:"times_ms"`
	Workers             []WorkerReport     `json:"workers"`
	QueriesRunning      []Figure           `json:"queries_running"`
	FilterLatencyMeanMs []Figure           `json:"filter_latency_mean_ms"`
	FilterLatencyMaxMs  []Figure           `json:"filter_latency_slowest_task_ms"`
	Calibration         tuning.Calibration `json:"calibration"`
	Collection          Collection         `json:"collection"`
	Query               string             `json:"query"`
	Manifest            []runstore.Entry   `json:"manifest"`
	Settings            []runstore.Entry   `json:"settings"`
	// Axis is the name of the quantity that increases over the steps.
	Axis      string                    `json:"axis"`
	GC        *tuning.GCReport          `json:"gc,omitempty"`
	Requested *runstore.ResourceRequest `json:"asked,omitempty"`
	// Placement says where the tasks ran. Annotations are the collector's annotations of the topology.
	Placement   *runstore.Placement   `json:"placement,omitempty"`
	Annotations []runstore.Annotation `json:"marks"`
	Caveats     []string              `json:"caveats"`

	durationMs int64
	gcSteps    []tuning.GCStep
}

// GoalsReport has the goals and names their statistics, so that report.json says what a limit was compared with.
type GoalsReport struct {
	FilterLatencyLimitMs   Figure `json:"filter_latency_limit_ms"`
	FilterLatencyStatistic string `json:"filter_latency_statistic"`
	ExpectedResultSize     Figure `json:"expected_result_size"`
	SmallestResultSize     Figure `json:"smallest_result_size"`
	MinHostIdle            Figure `json:"min_host_idle"`
}

// filterLatencyStatistic describes the figure that is compared with the limit.
const filterLatencyStatistic = "mean of bullet_filter_latency over filter tasks and slices (Bullet reports one mean per task and interval)"

// WorkerReport has one worker's figures by slice. Every list has a figure for each of the report's slices. The figure
// is unknown if the worker did not run, and the chart then has a gap.
type WorkerReport struct {
	Worker     string  `json:"worker"`
	Pid        int     `json:"pid"`
	Pids       []int   `json:"pids"`
	RestartsMs []int64 `json:"restarts_ms,omitempty"`
	// CPUMsPerMinute is user and system time together. The two parts are null if the operating system does not separate
	// them.
	CPUMsPerMinute       []Figure `json:"cpu_ms_per_minute"`
	CPUUserMsPerMinute   []Figure `json:"cpu_user_ms_per_minute"`
	CPUSystemMsPerMinute []Figure `json:"cpu_system_ms_per_minute"`

	CPUCores      []Figure `json:"cpu_cores"`
	HeapUsedBytes []Figure `json:"heap_used_bytes"`
	GCMsPerMinute []Figure `json:"gc_ms_per_minute"`
}

// StepReport is a row of the table of steps, computed over the measured time without the warm-up. CPU figures are means
// over workers unless their names say total. They are user and system time together unless their names say which.
// Totals are shown beside means, because the mean of a worker falls when the worker gets smaller, although the topology
// does not cost less.
type StepReport struct {
	Queries int `json:"queries"`
	// Label is the name of the step.
	Label                 string `json:"label,omitempty"`
	Workers               int    `json:"workers"`
	AverageCPUMsPerMinute Figure `json:"average_cpu_ms_per_minute"`
	AverageCPUCores       Figure `json:"average_cpu_cores"`
	TotalCPUMsPerMinute   Figure `json:"total_cpu_ms_per_minute"`
	// The parts of the total. They are null if the operating system of a worker does not separate them.
	TotalCPUUserMsPerMinute   Figure `json:"total_cpu_user_ms_per_minute"`
	TotalCPUSystemMsPerMinute Figure `json:"total_cpu_system_ms_per_minute"`

	AverageGCMsPerMinute Figure `json:"average_gc_ms_per_minute"`
	GCShareOfCPU         Figure `json:"gc_share_of_cpu"`
	AverageHeapUsedBytes Figure `json:"average_heap_used_bytes"`
	TotalGCMsPerMinute   Figure `json:"total_gc_ms_per_minute"`
	TotalHeapUsedBytes   Figure `json:"total_heap_used_bytes"`
	AverageResultSize    Figure `json:"average_result_size"`
	FilterLatencyMeanMs  Figure `json:"filter_latency_mean_ms"`
	// FilterLatency has the percentiles from the latency hook, or is nil if the hook reported none.
	FilterLatency *runstore.Percentiles `json:"filter_latency,omitempty"`
	Verdict       tuning.Verdict        `json:"verdict"`
	Reasons       []string              `json:"reasons"`
	Notes         []string              `json:"notes,omitempty"`
	// HostIdle is the unused share of the host's processors, as a ratio. Shares has what each process used.
	HostIdle           Figure           `json:"host_idle"`
	QueriesRunningMean Figure           `json:"queries_running_mean"`
	Clients            runstore.Clients `json:"clients"`
	RecordsPerSecond   Figure           `json:"records_per_second"`
	MiBPerSecond       Figure           `json:"mib_per_second"`
	// RecordsLag is the number of records that were due but not emitted when the step ended.
	RecordsLag     int64            `json:"records_lag"`
	Shares         []runstore.Share `json:"shares"`
	StartMs        int64            `json:"start_ms"`
	MeasuredFromMs int64            `json:"measured_from_ms"`
	EndMs          int64            `json:"end_ms"`
	// Limitation says what limited the step. It is null if no evidence was gathered.
	Limitation *tuning.Limitation `json:"limitation,omitempty"`
	Evidence   *tuning.Evidence   `json:"evidence,omitempty"`
	Sharing    *runstore.Sharing  `json:"sharing,omitempty"`
	// ForCost means that the step was measured only for the cost of a query.
	ForCost bool `json:"for_cost,omitempty"`

	// launch counts the launches of the trial from 1. The figures over time separate the launches.
	launch int
	value  float64 // the step's load
	slices int     // CPU slices of the worker that has the fewest
}

// Collection says how completely the samples of the trial arrived. A reader needs it to decide whether to trust the
// figures.
type Collection struct {
	StoredSliceMs int64 `json:"stored_slice_ms"`
	// ExpectedSlices is how many CPU slices the workers should have from the first step to the last. MissingSlices is
	// how many of these are missing.
	ExpectedSlices    int `json:"expected_slices"`
	MissingSlices     int `json:"missing_slices"`
	CollectorRestarts int `json:"collector_restarts"`
	// Relaunches is how often the topology was launched again after an interrupt. BetweenLaunchesMs is how long nothing
	// ran in between. No slices are expected in this gap.
	Relaunches        int   `json:"relaunches,omitempty"`
	BetweenLaunchesMs int64 `json:"between_launches_ms,omitempty"`
	// Health has the state of the samples by worker and metric. It is nil if the collector reported none.
	Health *collection.Collection `json:"health,omitempty"`
}

// stepAt returns the step that began at a time, or nil. A trial runs its steps one after the other, so the start
// identifies a step.
func (r *Report) stepAt(startMs int64) *StepReport {
	return &r.Steps[slices.IndexFunc(r.Steps, func(s StepReport) bool { return s.StartMs == startMs })]
}

// byLoad returns the steps in the order of their load: those of the climb, and apart from them those for the cost of a
// query. Attempts at a load stay in the order in which they were measured.
func (r *Report) byLoad() (climb, cost []StepReport) {
	steps := slices.SortedStableFunc(slices.Values(r.Steps),
		func(a, b StepReport) int { return cmp.Compare(a.value, b.value) })
	return tuning.Those(steps, func(s StepReport) bool { return !s.ForCost }),
		tuning.Those(steps, func(s StepReport) bool { return s.ForCost })
}

// inOrder returns the steps of byLoad in one list.
func (r *Report) inOrder() []StepReport { return slices.Concat(r.byLoad()) }

// busiestStep returns the step with the least idle host, or nil if the idle share is unknown in all steps. If the host
// was too busy in any step, it was too busy in this one.
func (r *Report) busiestStep() (busiest *StepReport) {
	for i := range r.Steps {
		if s := &r.Steps[i]; s.HostIdle.Known() && (busiest == nil || s.HostIdle < busiest.HostIdle) {
			busiest = s
		}
	}
	return busiest
}

// anyStep reports whether something holds for a step.
func (r *Report) anyStep(holds func(StepReport) bool) bool {
	return slices.ContainsFunc(r.Steps, holds)
}

// host returns the name of the machine whose idle share the steps have.
func (r *Report) host() string {
	if r.anyStep(func(s StepReport) bool { return s.Evidence != nil && s.Evidence.Host.OfRun }) {
		return theRunHost
	}
	return theHost
}

// overWorkers combines the workers' figures slice by slice. The function together decides what an unknown figure means:
// a total becomes unknown, a mean leaves it out.
func (r *Report) overWorkers(figures func(WorkerReport) []Figure, together func([]Figure) Figure) []Figure {
	out := make([]Figure, len(r.TimesMs))
	for i := range out {
		out[i] = together(tuning.Each(r.Workers, func(w WorkerReport) Figure { return figures(w)[i] }))
	}
	return out
}

// betweenLaunches returns how long the topology did not run between launches, or "" if it was launched once.
func (c Collection) betweenLaunches() string {
	if c.Relaunches == 0 {
		return ""
	}
	return (time.Duration(c.BetweenLaunchesMs) * time.Millisecond).Round(time.Second).String()
}

// launches returns the times in which the launches of a trial were measured: from the start of the first step to the
// end of the last one. The topology did not run between two of them, so no slices are expected there.
func launches(run *runstore.Figures) (all []runstore.Span) {
	for i, s := range run.Steps {
		if i == 0 || s.Launch != run.Steps[i-1].Launch {
			all = append(all, runstore.Span{From: s.StartMs})
		}
		all[len(all)-1].To = s.EndMs
	}
	return all
}

// collected counts the CPU slices that the workers should have while the topology was measured, and those that are
// missing. Slices between two launches are not expected. If there are several launches, a worker without a slice in one
// of them is a slot of another launch and is not expected there.
func collected(run *runstore.Figures) Collection {
	c := Collection{StoredSliceMs: run.StoredSliceMs, CollectorRestarts: run.CollectorRestarts, Health: run.Health}
	all := launches(run)
	for i, s := range all {
		if i > 0 {
			c.Relaunches++
			c.BetweenLaunchesMs += s.From - all[i-1].To
		}
		for _, w := range run.Workers {
			expected := int((s.To-s.From)/max(1, run.StoredSliceMs)) + 1
			low, high := runstore.Span{From: s.From - 1, To: s.To}.Within(w.CPUSeconds)
			if len(all) > 1 && low == high {
				continue // the slot of another launch
			}
			c.ExpectedSlices += expected
			c.MissingSlices += max(0, expected-(high-low))
		}
	}
	return c
}

// grid builds a table with a column for each step and a row for each name that occurs in any step. It exists because
// the rows are known only after all steps were read. If a step does not have a name, the cell is unknown.
type grid struct {
	heads []string // headings of the parts of a row's name
	steps []StepReport
	cells map[string][]string
	names []string // row names in the order of their first use; their parts are joined by rowSeparator
}

// rowSeparator joins the parts of a row's name. No name of a component or a worker contains it.
const rowSeparator = "\x00"

// newGrid returns an empty grid with a column for each step. heads are the headings of the parts of a row's name.
func newGrid(steps []StepReport, heads ...string) *grid {
	return &grid{heads: heads, steps: steps, cells: map[string][]string{}}
}

// set sets the cell of a row and a step. The row's name has a part for each heading.
func (g *grid) set(step int, cell string, name ...string) {
	row := strings.Join(name, rowSeparator)
	if g.cells[row] == nil {
		g.names = append(g.names, row)
		g.cells[row] = slices.Repeat([]string{document.Unknown}, len(g.steps))
	}
	g.cells[row][step] = cell
}

// table returns the grid as a table, with the rows in the order of names, which a caller may have sorted.
func (g *grid) table() document.Table {
	numbers := tuning.Each(g.steps, func(s StepReport) document.Column { return document.Numbers(s.Label, "") })
	t := document.NewTable(append(tuning.Each(g.heads, document.Words), numbers...)...)
	for _, name := range g.names {
		t.Add(append(strings.Split(name, rowSeparator), g.cells[name]...)...)
	}
	return t
}

// caveats returns what a reader must know before using the trial's numbers elsewhere. They are computed from the stored
// figures, so that the report of an old run has the current caveats.
func caveats(run *runstore.Figures, r *Report) []string {
	out := generalCaveats(run.HasPercentiles())
	target, reached := run.Calibration.TargetIdle, run.Steps[0].HostIdle
	if run.Steps[0].Queries == 0 && math.Abs(float64(reached-target)) >= tuning.IdleTolerance {
		out = append(out, fmt.Sprintf("The record rate was calibrated to leave %s of the host idle at 0 queries, but left %s.",
			tuning.PercentIn(target, 0), tuning.PercentIn(reached, 0)))
	}
	if r.Collection.Relaunches > 0 { // a reader would take the gap for lost slices
		out = append(out, fmt.Sprintf("The topology was launched again %s after an interrupt. The figures have a gap of %s between the launches, which does not count as missing slices.",
			tuning.Times(r.Collection.Relaunches), r.Collection.betweenLaunches()))
	}
	if r.Collection.MissingSlices > 0 {
		out = append(out, fmt.Sprintf("%d of %d worker slices are missing. The figures have gaps there.",
			r.Collection.MissingSlices, r.Collection.ExpectedSlices))
	}
	if run.CollectorRestarts > 0 {
		out = append(out, fmt.Sprintf("The collector restarted %d times during the run.", run.CollectorRestarts))
	}
	for _, w := range run.Workers {
		if len(w.Pids) > 1 {
			out = append(out, fmt.Sprintf("Storm restarted worker %s. Its processes were %v.", w.Name, w.Pids))
		}
	}
	return append(out, run.Notes...)
}

// oneMachine is the caveat of runs on the local cluster.
const oneMachine = "Everything ran on one machine. The cluster, the load client and the collector share its CPU with the workers. Each step shows how much of the host was idle and how much each process used."

// generalCaveats returns the caveats of every run. Every report has them, because a report may be passed on without the
// documentation. percentiles says whether the latency hook reported the distribution of the filter latency.
func generalCaveats(percentiles bool) []string {
	distribution := "it has no percentiles, because the latency hook (topology.auto.task.hooks) reported none."
	if percentiles {
		distribution = "its percentiles come from the histogram of the latency hook " +
			"(" + hookHistogram + "), which counts all records."
	}
	return []string{
		"The figures hold for this schema, record size, record rate and these versions. Other data and other queries have other costs.",
		"The figures include the effect of everything else that ran on the hosts, also of neighbours on a shared cluster. Compare the idle share of each step.",
		"Storm counts and times a sample of the tuples (topology.stats.sample.rate, by default one in twenty). Figures from its counts are estimates.",
		"Times come from the clock of each host. Clock skew between hosts is shown if it is known, but not corrected.",
		"Filter latency is the " + filterLatencyStatistic + "; " + distribution,
		"The averages of a step exclude its warm-up. The figures over time show it.",
	}
}
