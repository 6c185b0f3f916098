package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// Report is one trial: the rows of its steps and its figures by slice. Tables and charts are drawn from it, and
// report.json holds it, so its JSON keys are a format. Figures that nobody measured are Unknown, which JSON has as
// null; they are never 0, since 0 is a measurement.
type Report struct {
	Title    string         `json:"title"`
	Topology string         `json:"topology"`
	Verdict  tuning.Verdict `json:"verdict"`
	// StartedMs is when the first step began; the figures' time axis counts from it.
	StartedMs int64        `json:"started_ms"`
	SliceMs   int64        `json:"slice_ms"`
	Goals     GoalsReport  `json:"goals"`
	Steps     []StepReport `json:"steps"`
	// TimesMs are the ends of the report's slices; every array of figures below is aligned with it.
	TimesMs             []int64              `json:"times_ms"`
	Workers             []WorkerReport       `json:"workers"`
	QueriesRunning      []Figure             `json:"queries_running"`
	FilterLatencyMeanMs []Figure             `json:"filter_latency_mean_ms"`
	FilterLatencyMaxMs  []Figure             `json:"filter_latency_slowest_task_ms"`
	Calibration         runstore.Calibration `json:"calibration"`
	Collection          Collection           `json:"collection"`
	Query               string               `json:"query"`
	Manifest            []runstore.Entry     `json:"manifest"`
	Settings            []runstore.Entry     `json:"settings"`
	// Axis is what the steps ascend along, as people call it.
	Axis      string                    `json:"axis"`
	GC        *tuning.GCReport          `json:"gc,omitempty"`
	Requested *runstore.ResourceRequest `json:"asked,omitempty"`
	// Placement is where the tasks ran, Annotations are the collector's annotations of the topology.
	Placement   *runstore.Placement   `json:"placement,omitempty"`
	Annotations []runstore.Annotation `json:"marks"`
	Caveats     []string              `json:"caveats"`

	percentiles bool // whether the hook's distribution of the filter latency is known
	durationMs  int64
}

// GoalsReport are the goals with their statistics named, so that report.json says what a limit was compared with.
type GoalsReport struct {
	FilterLatencyLimitMs   Figure `json:"filter_latency_limit_ms"`
	FilterLatencyStatistic string `json:"filter_latency_statistic"`
	ExpectedResultSize     Figure `json:"expected_result_size"`
	SmallestResultSize     Figure `json:"smallest_result_size"`
	MinHostIdle            Figure `json:"min_host_idle"`
}

// filterLatencyStatistic names what is judged against the limit.
const filterLatencyStatistic = "mean over filter tasks and slices of bullet_filter_latency " +
	"(Bullet's own mean per task and interval)"

// WorkerReport are one worker's figures by slice. All lists have a figure for each of the report's slices, also where
// the worker did not run; there the figure is unknown, and the chart has a gap.
type WorkerReport struct {
	Worker     string  `json:"worker"`
	Pid        int     `json:"pid"`
	Pids       []int   `json:"pids"`
	RestartsMs []int64 `json:"restarts_ms,omitempty"`
	// CPUMsPerMinute is user and system time together; its parts are null where the system does not separate them.
	CPUMsPerMinute       []Figure `json:"cpu_ms_per_minute"`
	CPUUserMsPerMinute   []Figure `json:"cpu_user_ms_per_minute"`
	CPUSystemMsPerMinute []Figure `json:"cpu_system_ms_per_minute"`

	CPUCores      []Figure `json:"cpu_cores"`
	HeapUsedBytes []Figure `json:"heap_used_bytes"`
	GCMsPerMinute []Figure `json:"gc_ms_per_minute"`
}

// StepReport is a row of the table of steps, computed over the measured time without the warm-up. CPU figures are means
// over workers unless they say total. They are user and system time together unless they say which. A worker's mean
// falls when the worker gets smaller, without the topology costing less, so totals stand beside the means.
type StepReport struct {
	Queries int `json:"queries"`
	// Label is what the step is called where it is not its queries.
	Label                 string `json:"label,omitempty"`
	Workers               int    `json:"workers"`
	AverageCPUMsPerMinute Figure `json:"average_cpu_ms_per_minute"`
	AverageCPUCores       Figure `json:"average_cpu_cores"`
	TotalCPUMsPerMinute   Figure `json:"total_cpu_ms_per_minute"`
	// The parts of the total; null where a worker's system does not separate them.
	TotalCPUUserMsPerMinute   Figure `json:"total_cpu_user_ms_per_minute"`
	TotalCPUSystemMsPerMinute Figure `json:"total_cpu_system_ms_per_minute"`

	AverageGCMsPerMinute Figure `json:"average_gc_ms_per_minute"`
	GCShareOfCPU         Figure `json:"gc_share_of_cpu"`
	AverageHeapUsedBytes Figure `json:"average_heap_used_bytes"`
	TotalGCMsPerMinute   Figure `json:"total_gc_ms_per_minute"`
	TotalHeapUsedBytes   Figure `json:"total_heap_used_bytes"`
	AverageResultSize    Figure `json:"average_result_size"`
	FilterLatencyMeanMs  Figure `json:"filter_latency_mean_ms"`
	// FilterLatency are the percentiles that the latency hook reported; nil where it reported none.
	FilterLatency *runstore.Percentiles `json:"filter_latency,omitempty"`
	Verdict       tuning.Verdict        `json:"verdict"`
	Reasons       []string              `json:"reasons"`
	Notes         []string              `json:"notes,omitempty"`
	// HostIdle is the share of the host's processors that nobody used, a ratio. Shares are what each process used.
	HostIdle           Figure           `json:"host_idle"`
	QueriesRunningMean Figure           `json:"queries_running_mean"`
	Clients            runstore.Clients `json:"clients"`
	RecordsPerSecond   Figure           `json:"records_per_second"`
	MiBPerSecond       Figure           `json:"mib_per_second"`
	// RecordsLag are records that were due and not emitted when the step ended.
	RecordsLag     int64            `json:"records_lag"`
	Shares         []runstore.Share `json:"shares"`
	StartMs        int64            `json:"start_ms"`
	MeasuredFromMs int64            `json:"measured_from_ms"`
	EndMs          int64            `json:"end_ms"`
	// Limitation is what limited the step; null where no evidence was gathered.
	Limitation *tuning.Limitation `json:"limitation,omitempty"`
	Evidence   *tuning.Evidence   `json:"evidence,omitempty"`
	Sharing    *runstore.Sharing  `json:"sharing,omitempty"`
	// ForCost states that the step was measured for what a query costs alone.
	ForCost bool `json:"for_cost,omitempty"`

	// launch counts the launches of the trial from 1. The figures over time are drawn apart for each.
	launch int
	slices int // of the worker's CPU that has the fewest
}

// Collection is how completely the samples of the trial arrived. A reader needs it to decide whether to trust the
// figures.
type Collection struct {
	StoredSliceMs int64 `json:"stored_slice_ms"`
	// ExpectedSlices is how many CPU slices the workers should have from the first step to the last, MissingSlices how
	// many of these are not there.
	ExpectedSlices    int `json:"expected_slices"`
	MissingSlices     int `json:"missing_slices"`
	CollectorRestarts int `json:"collector_restarts"`
	// Relaunches is how often the topology was launched again after an interrupt, BetweenLaunchesMs how long nothing
	// ran in between: a known gap, in which no slices are expected.
	Relaunches        int   `json:"relaunches,omitempty"`
	BetweenLaunchesMs int64 `json:"between_launches_ms,omitempty"`
	// Health is how the samples came, by worker and metric; nil where the collector reported none.
	Health *collection.Collection `json:"health,omitempty"`
}

// axisName is what the steps ascend along.
func (r *Report) axisName() string { return cmp.Or(r.Axis, simultaneousQueries) }

// name is what the step is called in figures and tables.
func (s StepReport) name() string {
	if s.Label != "" {
		return s.Label
	}
	return fmt.Sprintf("%d queries", s.Queries)
}

// stepAt is the step that began at a time, nil for none. A trial runs its steps one after the other, so a start
// identifies a step.
func (r *Report) stepAt(startMs int64) *StepReport {
	for i := range r.Steps {
		if r.Steps[i].StartMs == startMs {
			return &r.Steps[i]
		}
	}
	return nil
}

// busiestStep is the step in which the least of the host was idle; nil where no step knows. If the host was too busy in
// any step, it was so there.
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

// host names the machine that the steps' idle is of.
func (r *Report) host() string {
	if r.anyStep(func(s StepReport) bool { return s.Evidence != nil && s.Evidence.Host.OfRun }) {
		return theRunHost
	}
	return theHost
}

// overWorkers puts the workers' figures together, slice by slice. The given function decides what an unknown figure
// means: a total becomes unknown, a mean leaves it out.
func (r *Report) overWorkers(figures func(WorkerReport) []Figure, together func([]Figure) Figure) []Figure {
	out := make([]Figure, len(r.TimesMs))
	for i := range out {
		out[i] = together(each(r.Workers, func(w WorkerReport) Figure { return figures(w)[i] }))
	}
	return out
}

// betweenLaunches is how long the topology was not there, "" where it was launched once.
func (c Collection) betweenLaunches() string {
	if c.Relaunches == 0 {
		return ""
	}
	return (time.Duration(c.BetweenLaunchesMs) * time.Millisecond).Round(time.Second).String()
}

// timeRange is the time in which one launch of a topology was measured: from the start of its first step to the end of
// its last.
type timeRange struct{ fromMs, toMs int64 }

// launches are the time ranges of a trial's launches, in their order. Between two of them the topology was not there,
// so no slices are expected in the gap.
func launches(run *runstore.Figures) (all []timeRange) {
	for i, s := range run.Steps {
		if i == 0 || s.Launch != run.Steps[i-1].Launch {
			all = append(all, timeRange{fromMs: s.StartMs})
		}
		all[len(all)-1].toMs = s.EndMs
	}
	return all
}

// collected counts the slices that the workers should have while the topology was measured. That there are none between
// two launches is known, and no fault of the collection. A worker that has no slice in one of several launches is a
// slot of another launch, and is not expected there.
func collected(run *runstore.Figures) Collection {
	c := Collection{StoredSliceMs: run.StoredSliceMs, CollectorRestarts: run.CollectorRestarts, Health: run.Health}
	all := launches(run)
	for i, s := range all {
		if i > 0 {
			c.Relaunches++
			c.BetweenLaunchesMs += s.fromMs - all[i-1].toMs
		}
		for _, w := range run.Workers {
			expected := int((s.toMs-s.fromMs)/max(1, run.StoredSliceMs)) + 1
			low, high := runstore.Span{From: s.fromMs - 1, To: s.toMs}.Within(w.CPUSeconds)
			if len(all) > 1 && low == high {
				continue // a slot of another launch
			}
			c.ExpectedSlices += expected
			c.MissingSlices += max(0, expected-(high-low))
		}
	}
	return c
}

// relaunchCaveat states that a gap between launches is known. Without it a reader would take the gap for lost samples.
func (c Collection) relaunchCaveat() []string {
	if c.Relaunches == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The topology was launched again %s, after an interrupt: there is nothing for %s between "+
		"the launches. The figures have a gap there, which counts as no missing slices.",
		timesText(c.Relaunches), c.betweenLaunches())}
}

// grid builds a table that has a column for each of some steps, and a row for each name that was found in any of them.
// The rows are not known before all steps were read. A name that a step does not have gets an unknown cell there.
type grid struct {
	heads []string // of the rows' names
	steps []string
	cells map[string][]string
	names []string // of the rows, as they came; the parts of one are joined by rowSeparator
}

// rowSeparator joins the parts of a row's name. No name of a component or a worker contains it.
const rowSeparator = "\x00"

// newGrid is an empty grid with columns for some steps. The heads are those of the parts of a row's name.
func newGrid(steps []string, heads ...string) *grid {
	return &grid{heads: heads, steps: steps, cells: map[string][]string{}}
}

// bySteps is a grid of the report's steps.
func (r *Report) bySteps(heads ...string) *grid {
	return newGrid(each(r.Steps, StepReport.name), heads...)
}

// set sets a row's cell of a step. The row's name has a part for each of the heads.
func (g *grid) set(step int, cell string, name ...string) {
	row := strings.Join(name, rowSeparator)
	if g.cells[row] == nil {
		g.names = append(g.names, row)
		g.cells[row] = slices.Repeat([]string{document.Unknown}, len(g.steps))
	}
	g.cells[row][step] = cell
}

// table is the grid as a table, with the rows in the order of names, which a caller may have sorted.
func (g *grid) table() document.Table {
	columns := each(g.heads, document.Words)
	for _, step := range g.steps {
		columns = append(columns, document.Numbers(step, ""))
	}
	t := document.NewTable(columns...)
	for _, name := range g.names {
		t.Add(append(strings.Split(name, rowSeparator), g.cells[name]...)...)
	}
	return t
}

// first puts a row above the others.
func (g *grid) first(name string) {
	if i := slices.Index(g.names, name); i > 0 {
		g.names = slices.Insert(slices.Delete(g.names, i, i+1), 0, name)
	}
}

// caveats are what a reader must know before using the trial's numbers elsewhere. They are computed from the stored
// figures, so that the report of an old run states the caveats of today.
func caveats(run *runstore.Figures, r *Report) []string {
	out := generalCaveats(run.HasPercentiles())
	out = append(out, idleCaveat(run)...)
	out = append(out, r.Collection.relaunchCaveat()...)
	if r.Collection.MissingSlices > 0 {
		out = append(out, fmt.Sprintf("%d of %d worker slices are missing; they are gaps in the figures.",
			r.Collection.MissingSlices, r.Collection.ExpectedSlices))
	}
	if run.CollectorRestarts > 0 {
		out = append(out, fmt.Sprintf("The collector was started again %d times during the run.", run.CollectorRestarts))
	}
	for _, w := range run.Workers {
		if len(w.Pids) > 1 {
			out = append(out, fmt.Sprintf("Worker %s was started again by Storm: its processes were %v.", w.Name, w.Pids))
		}
	}
	return append(out, run.Notes...)
}

// oneMachine is the caveat of runs on the local cluster.
const oneMachine = "Everything ran on one machine: the cluster, the load client and the collector share its " +
	"processors with the workers. " +
	"Each step states how much of the host was idle and what each process took."

// generalCaveats hold for every run. They are in each report, because a report is passed on without the documentation.
// percentiles is whether the latency hook reported the filter latency's distribution.
func generalCaveats(percentiles bool) []string {
	distribution := "no percentile can be made from it, and none of the latency hook's (topology.auto.task.hooks) is " +
		"kept with the figures."
	if percentiles {
		distribution = "its percentiles are not made from it, but from the latency hook's histogram " +
			"(" + hookHistogram + "), which is of all records."
	}
	return []string{
		"The figures hold for this schema, record size, record rate and these versions; other data and other queries " +
			"cost differently.",
		"What else ran on the hosts meanwhile, neighbours on a shared cluster among it, is in the figures: compare " +
			"the idle of each step.",
		"Storm counts and times tuples on a sample of them (topology.stats.sample.rate, one in twenty unless set): " +
			"what is made of its counts is an estimate.",
		"Times are those of each host's own clock; skew between hosts is stated where it is known and taken out of " +
			"nothing.",
		"Filter latency is the " + filterLatencyStatistic + "; " + distribution,
		"Warm-up is left out of every step's averages; the figures over time show it.",
	}
}

// idleCaveat states that the record rate left another share of the host idle than it was calibrated for. Within the
// tolerance of the calibration there is nothing to say.
func idleCaveat(run *runstore.Figures) []string {
	target, reached := run.Calibration.TargetIdle, run.Steps[0].HostIdle
	if !target.Known() || !reached.Known() || run.Steps[0].Queries > 0 {
		return nil
	}
	if d := reached - target; d < runstore.IdleTolerance && d > -runstore.IdleTolerance {
		return nil
	}
	return []string{fmt.Sprintf("The record rate was to leave %.0f%% of the host idle at 0 queries; it left %.0f%%.",
		100*target, 100*reached)}
}
