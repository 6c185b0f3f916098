package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Report is what report.json holds and what the other forms are drawn from.
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
	TimesMs             []int64        `json:"times_ms"`
	Workers             []WorkerReport `json:"workers"`
	QueriesRunning      []Figure       `json:"queries_running"`
	FilterLatencyMeanMs []Figure       `json:"filter_latency_mean_ms"`
	FilterLatencyMaxMs  []Figure       `json:"filter_latency_slowest_task_ms"`
	Calibration         Calibration    `json:"calibration"`
	Collection          Collection     `json:"collection"`
	Query               string         `json:"query"`
	Manifest            []Entry        `json:"manifest"`
	Settings            []Entry        `json:"settings"`
	// Axis is what the steps ascend along, as people call it.
	Axis  string    `json:"axis"`
	GC    *GCReport `json:"gc,omitempty"`
	Asked *Asked    `json:"asked,omitempty"`
	// Placement is where the tasks ran, Marks are the collector's annotations of the topology.
	Placement *Placement `json:"placement,omitempty"`
	Marks     []Mark     `json:"marks"`
	Caveats   []string   `json:"caveats"`

	percentiles bool // whether the hook's distribution of the filter latency is known
}

// GoalsReport are the goals with their statistics named.
type GoalsReport struct {
	FilterLatencyLimitMs   Figure `json:"filter_latency_limit_ms"`
	FilterLatencyStatistic string `json:"filter_latency_statistic"`
	ExpectedResultSize     Figure `json:"expected_result_size"`
	SmallestResultSize     Figure `json:"smallest_result_size"`
	MinHostIdle            Figure `json:"min_host_idle"`
}

// filterLatencyStatistic names what is judged against the limit.
const filterLatencyStatistic = "mean over filter tasks and slices of bullet_filter_latency (Bullet's own mean per task and interval)"

// WorkerReport are one worker's figures by slice.
type WorkerReport struct {
	Worker         string   `json:"worker"`
	Pid            int      `json:"pid"`
	Pids           []int    `json:"pids"`
	RestartsMs     []int64  `json:"restarts_ms,omitempty"`
	CPUMsPerMinute []Figure `json:"cpu_ms_per_minute"`
	CPUCores       []Figure `json:"cpu_cores"`
	HeapUsedBytes  []Figure `json:"heap_used_bytes"`
	GCMsPerMinute  []Figure `json:"gc_ms_per_minute"`
}

// StepReport is a row of the table. CPU figures are means over workers unless they say total.
type StepReport struct {
	Queries int `json:"queries"`
	// Label is what the step is called where it is not its queries.
	Label                 string `json:"label,omitempty"`
	Workers               int    `json:"workers"`
	AverageCPUMsPerMinute Figure `json:"average_cpu_ms_per_minute"`
	AverageCPUCores       Figure `json:"average_cpu_cores"`
	TotalCPUMsPerMinute   Figure `json:"total_cpu_ms_per_minute"`
	AverageGCMsPerMinute  Figure `json:"average_gc_ms_per_minute"`
	GCShareOfCPU          Figure `json:"gc_share_of_cpu"`
	AverageHeapUsedBytes  Figure `json:"average_heap_used_bytes"`
	TotalGCMsPerMinute    Figure `json:"total_gc_ms_per_minute"`
	TotalHeapUsedBytes    Figure `json:"total_heap_used_bytes"`
	AverageResultSize     Figure `json:"average_result_size"`
	FilterLatencyMeanMs   Figure `json:"filter_latency_mean_ms"`
	// FilterLatency are the percentiles that the latency hook told; nil where it told none.
	FilterLatency      *Percentiles   `json:"filter_latency,omitempty"`
	Verdict            tuning.Verdict `json:"verdict"`
	Reasons            []string       `json:"reasons"`
	HostIdle           Figure         `json:"host_idle"`
	QueriesRunningMean Figure         `json:"queries_running_mean"`
	Clients            Clients        `json:"clients"`
	RecordsPerSecond   Figure         `json:"records_per_second"`
	MiBPerSecond       Figure         `json:"mib_per_second"`
	RecordsLag         int64          `json:"records_lag"`
	Shares             []Share        `json:"shares"`
	StartMs            int64          `json:"start_ms"`
	MeasuredFromMs     int64          `json:"measured_from_ms"`
	EndMs              int64          `json:"end_ms"`
	// Limitation is what limited the step; null where no evidence was gathered.
	Limitation *tuning.Limitation `json:"limitation,omitempty"`
	Evidence   *tuning.Evidence   `json:"evidence,omitempty"`
	Sharing    *Sharing           `json:"sharing,omitempty"`

	launch int
}

// Collection is how well the collector collected.
type Collection struct {
	StoredSliceMs int64 `json:"stored_slice_ms"`
	// ExpectedSlices is how many CPU slices the workers should have from the first step to the last, MissingSlices how many of
	// these are not there.
	ExpectedSlices    int `json:"expected_slices"`
	MissingSlices     int `json:"missing_slices"`
	CollectorRestarts int `json:"collector_restarts"`
	// Relaunches is how often the topology was launched again after an interrupt, BetweenLaunchesMs how long nothing ran in between:
	// a known gap, in which no slices are expected.
	Relaunches        int   `json:"relaunches,omitempty"`
	BetweenLaunchesMs int64 `json:"between_launches_ms,omitempty"`
	// Health is how the samples came, by worker and metric; nil where the collector did not tell.
	Health *collection.Collection `json:"health,omitempty"`
}

const minuteMs = int64(time.Minute / time.Millisecond)

// Build makes the report of a run that has at least one step.
func Build(run *Run) (*Report, error) {
	if len(run.Steps) == 0 || run.SliceMs <= 0 {
		return nil, fmt.Errorf("a report needs at least one step and a slice width")
	}
	r := &Report{
		Title: "Bullet on Storm: simultaneous queries", Axis: simultaneousQueries, Topology: run.Topology, StartedMs: run.Steps[0].StartMs, SliceMs: run.SliceMs,
		Goals: goalsReport(run.Goals), TimesMs: grid(run), Calibration: run.Calibration, Collection: collected(run),
		Query: run.Query, Manifest: run.Manifest, Settings: run.Settings,
	}
	for _, w := range run.Workers {
		worker := workerReport(w, r.TimesMs, run.SliceMs)
		worker.RestartsMs = w.restartsMs(r.StartedMs, run.Steps[len(run.Steps)-1].EndMs)
		r.Workers = append(r.Workers, worker)
	}
	r.QueriesRunning = each(r.TimesMs, func(t int64) Figure { return run.QueriesRunning.mean(t-run.SliceMs, t) })
	r.FilterLatencyMeanMs = each(r.TimesMs, func(t int64) Figure { return average(run.filterLatencyMs(t-run.SliceMs, t)) })
	r.FilterLatencyMaxMs = each(r.TimesMs, func(t int64) Figure { return largest(run.filterLatencyMs(t-run.SliceMs, t)) })
	r.judge(run)
	r.Placement, r.Marks = run.Placement, run.Marks
	r.GC, r.Asked, r.percentiles = gcReport(run, r), run.Asked, run.hasPercentiles()
	r.Caveats = caveats(run, r)
	return r, nil
}

func goalsReport(g tuning.Goals) GoalsReport {
	return GoalsReport{
		FilterLatencyLimitMs: Figure(g.FilterLatencyLimitMs), FilterLatencyStatistic: filterLatencyStatistic,
		ExpectedResultSize: Figure(g.ExpectedResultSize), SmallestResultSize: Figure(g.SmallestResultSize()), MinHostIdle: Figure(g.MinHostIdle),
	}
}

// axisName is what the steps ascend along.
func (r *Report) axisName() string { return cmp.Or(r.Axis, simultaneousQueries) }

const simultaneousQueries = "simultaneous queries"

// grid are the ends of the report's slices: aligned with the first step's start, from the first whole slice of any worker to
// the end of the last step.
func grid(run *Run) []int64 {
	origin, end := run.Steps[0].StartMs, run.Steps[len(run.Steps)-1].EndMs
	first := origin
	for _, w := range run.Workers {
		if len(w.CPUSeconds.TimesMs) > 0 {
			first = min(first, w.CPUSeconds.TimesMs[0])
		}
	}
	first = max(first, run.SubmittedMs)
	start := origin - (origin-first)/run.SliceMs*run.SliceMs
	var times []int64
	for t := start + run.SliceMs; t <= end; t += run.SliceMs {
		times = append(times, t)
	}
	return times
}

func workerReport(w Worker, timesMs []int64, sliceMs int64) WorkerReport {
	perMinute := func(s Slices) []Figure {
		return each(timesMs, func(t int64) Figure { return s.increase(t, sliceMs) * 1000 * Figure(minuteMs) / Figure(sliceMs) })
	}
	report := WorkerReport{
		Worker: w.Name, Pids: w.Pids, CPUMsPerMinute: perMinute(w.CPUSeconds), GCMsPerMinute: perMinute(w.GCSeconds),
		HeapUsedBytes: each(timesMs, func(t int64) Figure { return w.HeapUsedBytes.mean(t-sliceMs, t) }),
		CPUCores:      each(timesMs, func(t int64) Figure { return w.CPUSeconds.increase(t, sliceMs) * 1000 / Figure(sliceMs) }),
	}
	if len(w.Pids) > 0 {
		report.Pid = w.Pids[len(w.Pids)-1]
	}
	return report
}

// filterLatencyMs are the tasks' means over (fromMs, toMs].
func (r *Run) filterLatencyMs(fromMs, toMs int64) []Figure {
	var tasks []Figure
	for _, task := range r.FilterLatencySeconds {
		tasks = append(tasks, task.mean(fromMs, toMs)*1000)
	}
	return tasks
}

func largest(figures []Figure) Figure {
	most := Unknown
	for _, f := range figures {
		if f.Known() && !(f <= most) {
			most = f
		}
	}
	return most
}

func (r *Report) judge(run *Run) {
	var judgements []tuning.Judgement
	for _, step := range run.Steps {
		row := stepReport(run, step)
		judgement := row.judge(run.Goals, step.Evidence, tuning.StepFigures{
			Queries: step.Queries, FilterLatencyMeanMs: float64(row.FilterLatencyMeanMs), AverageResultSize: float64(row.AverageResultSize),
			Returned: step.Clients.Returned, Failed: step.Clients.Failed, Unfinished: step.Clients.Unfinished, HostIdle: float64(step.HostIdle),
		})
		row.Verdict, row.Reasons = judgement.Verdict, append([]string{}, judgement.Reasons...)
		judgements = append(judgements, judgement)
		r.Steps = append(r.Steps, row)
	}
	r.Verdict = tuning.Overall(judgements)
}

// judge gives the verdict, in the light of what limited the step where that was looked at.
func (s *StepReport) judge(goals tuning.Goals, e *tuning.Evidence, figures tuning.StepFigures) tuning.Judgement {
	if e == nil {
		return goals.Judge(figures)
	}
	judgement, limitation := goals.JudgeLimited(figures, *e)
	s.Limitation, s.Evidence = &limitation, e
	return judgement
}

func stepReport(run *Run, step Step) StepReport {
	from, to := step.MeasuredFromMs, step.EndMs
	var cpu, gc, heap []Figure
	for _, w := range run.Workers {
		if rate := w.CPUSeconds.rate(from, to); rate.Known() {
			cpu = append(cpu, rate*1000*60)
			gc = append(gc, w.GCSeconds.rate(from, to)*1000*60)
			heap = append(heap, w.HeapUsedBytes.mean(from, to))
		}
	}
	meanCPU := average(cpu)
	return StepReport{
		Queries: step.Queries, Workers: len(cpu), AverageCPUMsPerMinute: meanCPU, AverageCPUCores: meanCPU / Figure(minuteMs),
		TotalCPUMsPerMinute: totalOrUnknown(cpu), AverageGCMsPerMinute: average(gc), GCShareOfCPU: average(gc) / meanCPU,
		AverageHeapUsedBytes: average(heap), TotalGCMsPerMinute: totalOrUnknown(gc), TotalHeapUsedBytes: totalOrUnknown(heap), AverageResultSize: step.Clients.AverageResultSize,
		FilterLatencyMeanMs: average(run.filterLatencyMs(from, to)), HostIdle: step.HostIdle,
		QueriesRunningMean: run.QueriesRunning.mean(from, to), Clients: step.Clients, RecordsPerSecond: step.RecordsPerSecond, MiBPerSecond: Unknown,
		RecordsLag: step.RecordsLag, Shares: step.Shares, StartMs: step.StartMs, MeasuredFromMs: from, EndMs: to,
		FilterLatency: step.FilterLatency, Sharing: step.Sharing, launch: step.Launch,
	}
}

func totalOrUnknown(figures []Figure) Figure {
	if len(figures) == 0 {
		return Unknown
	}
	return total(figures)
}
