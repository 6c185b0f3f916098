package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Build makes the report of one trial from the figures that a run stored. It adds no verdict of its own: the verdicts
// of the steps were stored when they were measured, and the trial's is tuning.Overall of them. Figures are computed
// again from the stored slices, so an older run is shown with today's tables. It returns an error for a trial without a
// step.
func Build(run *runstore.Figures, plan runstore.Plan) (*Report, error) {
	if len(run.Steps) == 0 || run.SliceMs <= 0 {
		return nil, fmt.Errorf("a report needs at least one step and a slice width")
	}
	r := &Report{
		Axis: axisNames[plan.Axis], Topology: run.Topology,
		StartedMs: run.Steps[0].StartMs, SliceMs: run.SliceMs, Goals: goalsReport(goalsOf(plan)),
		TimesMs:     sliceEnds(run),
		Calibration: run.Calibration, Collection: collected(run), Query: run.Query,
		Settings: run.Settings, Placement: run.Placement, Annotations: run.Annotations, Requested: run.Requested,
		percentiles: run.HasPercentiles(), durationMs: plan.Load.QueryDurationMs,
	}
	for _, w := range run.Workers {
		worker := workerReport(w, r.TimesMs, run.SliceMs)
		worker.RestartsMs = w.RestartsMs(r.StartedMs, run.Steps[len(run.Steps)-1].EndMs)
		r.Workers = append(r.Workers, worker)
	}
	r.QueriesRunning = each(r.TimesMs, func(t int64) Figure {
		return runstore.Span{From: t - run.SliceMs, To: t}.Mean(run.QueriesRunning)
	})
	r.FilterLatencyMeanMs = each(r.TimesMs,
		func(t int64) Figure { return runstore.Average(filterLatencyMs(run, t-run.SliceMs, t)) })
	r.FilterLatencyMaxMs = each(r.TimesMs,
		func(t int64) Figure { return largest(filterLatencyMs(run, t-run.SliceMs, t)) })
	var verdicts []tuning.Verdict
	for _, step := range run.Steps {
		row := stepReport(run, step, plan.Axis)
		if plan.Load.NoneToMatch() {
			row.AverageResultSize = Unknown // no record was made for the queries to find
		}
		r.Steps = append(r.Steps, row)
		verdicts = append(verdicts, step.Verdict)
	}
	r.Verdict = tuning.Overall(verdicts)
	r.GC = gcReport(run, r)
	r.Caveats = caveats(run, r)
	return r, nil
}

func goalsReport(g tuning.Goals) GoalsReport {
	return GoalsReport{
		FilterLatencyLimitMs: Figure(g.FilterLatencyLimitMs), FilterLatencyStatistic: filterLatencyStatistic,
		ExpectedResultSize: Figure(g.ExpectedResultSize), SmallestResultSize: Figure(g.SmallestResultSize()),
		MinHostIdle: Figure(g.MinHostIdle),
	}
}

// sliceEnds are the ends of the report's slices, in Unix milliseconds. They are aligned with the start of the first
// step, so that a step begins at a slice border. They reach from the first complete slice of any worker, but not before
// the topology was submitted, to the end of the last step.
func sliceEnds(run *runstore.Figures) []int64 {
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

func workerReport(w runstore.Worker, timesMs []int64, sliceMs int64) WorkerReport {
	perMinute := func(s runstore.Slices) []Figure {
		return each(timesMs,
			func(t int64) Figure { return s.Rise(t, sliceMs) * 1000 * Figure(minuteMs) / Figure(sliceMs) })
	}
	report := WorkerReport{
		Worker: w.Name, Pids: w.Pids, CPUMsPerMinute: perMinute(w.CPUSeconds), GCMsPerMinute: perMinute(w.GCSeconds),
		CPUUserMsPerMinute: perMinute(w.CPUUserSeconds), CPUSystemMsPerMinute: perMinute(w.CPUSystemSeconds),
		HeapUsedBytes: each(timesMs, func(t int64) Figure {
			return runstore.Span{From: t - sliceMs, To: t}.Mean(w.HeapUsedBytes)
		}),
		CPUCores: each(timesMs,
			func(t int64) Figure { return w.CPUSeconds.Rise(t, sliceMs) * 1000 / Figure(sliceMs) }),
	}
	if len(w.Pids) > 0 {
		report.Pid = w.Pids[len(w.Pids)-1]
	}
	return report
}

// goalsOf converts the plan's goals of filter latency and result size into tuning.Goals. For a goal that the plan does
// not set, the default of Bullet's tuning document applies.
func goalsOf(plan runstore.Plan) tuning.Goals {
	goals := tuning.DefaultGoals()
	goals.MinHostIdle = float64(plan.MinHostIdle)
	if n := plan.Load.QueryLimit; n > 0 {
		goals.ExpectedResultSize = float64(n)
	}
	for _, g := range plan.Goals {
		switch {
		case g.Figure == tuning.FilterLatency && g.AtMost.Known():
			goals.FilterLatencyLimitMs = float64(g.AtMost)
		case g.Figure == tuning.ResultSize && g.AtLeast.Known() && float64(g.AtLeast) <= goals.ExpectedResultSize:
			goals.Tolerance = 1 - float64(g.AtLeast)/goals.ExpectedResultSize
		}
	}
	return goals
}

// stepReport computes the row of a step over its measured time, which excludes the warm-up. Workers without a CPU rate
// are left out of means and of the number of workers. CPU and GC are milliseconds a minute, as in Bullet's tuning
// document.
func stepReport(run *runstore.Figures, step runstore.Step, axis runstore.Axis) StepReport {
	from, to := step.MeasuredFromMs, step.EndMs
	measured := runstore.Span{From: from, To: to}
	var cpu, user, system, gc, heap []Figure
	least := 0
	for _, w := range run.Workers {
		if rate := measured.Rate(w.CPUSeconds); rate.Known() {
			low, high := measured.Within(w.CPUSeconds)
			if n := max(1, high-low); least == 0 || n < least {
				least = n
			}
			cpu = append(cpu, rate*1000*60)
			user = append(user, measured.Rate(w.CPUUserSeconds)*1000*60)
			system = append(system, measured.Rate(w.CPUSystemSeconds)*1000*60)
			gc = append(gc, measured.Rate(w.GCSeconds)*1000*60)
			heap = append(heap, measured.Mean(w.HeapUsedBytes))
		}
	}
	meanCPU := runstore.Average(cpu)
	return StepReport{
		Queries: step.Queries, Label: stepName(axis, step), Workers: len(cpu), AverageCPUMsPerMinute: meanCPU,
		AverageCPUCores: meanCPU / Figure(minuteMs), TotalCPUMsPerMinute: totalOrUnknown(cpu),
		TotalCPUUserMsPerMinute: totalOrUnknown(user), TotalCPUSystemMsPerMinute: totalOrUnknown(system),
		AverageGCMsPerMinute: runstore.Average(gc), GCShareOfCPU: runstore.Average(gc) / meanCPU,
		TotalGCMsPerMinute:   totalOrUnknown(gc),
		AverageHeapUsedBytes: runstore.Average(heap), TotalHeapUsedBytes: totalOrUnknown(heap),
		AverageResultSize:   step.Clients.AverageResultSize,
		FilterLatencyMeanMs: runstore.Average(filterLatencyMs(run, from, to)),
		HostIdle:            step.HostIdle, QueriesRunningMean: measured.Mean(run.QueriesRunning),
		Clients:          step.Clients,
		RecordsPerSecond: step.RecordsPerSecond, MiBPerSecond: step.MiBPerSecond, RecordsLag: step.RecordsLag,
		Shares:  step.Shares,
		StartMs: step.StartMs, MeasuredFromMs: from, EndMs: to, FilterLatency: step.FilterLatency,
		Sharing: step.Sharing, Verdict: step.Verdict, Reasons: append([]string{}, step.Reasons...),
		Notes:      step.Notes,
		Limitation: step.Limitation, Evidence: step.Evidence, ForCost: step.Kind == runstore.CostStep,
		launch: step.Launch, slices: least,
	}
}
