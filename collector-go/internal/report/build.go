package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Build makes the report of a run that has at least one step.
func Build(run *Run) (*Report, error) {
	if len(run.Steps) == 0 || run.SliceMs <= 0 {
		return nil, fmt.Errorf("a report needs at least one step and a slice width")
	}
	r := &Report{
		Title: "Bullet on Storm: simultaneous queries", Axis: simultaneousQueries, Topology: run.Topology,
		StartedMs: run.Steps[0].StartMs, SliceMs: run.SliceMs, Goals: goalsReport(run.Goals), TimesMs: sliceEnds(run),
		Calibration: run.Calibration, Collection: collected(run), Query: run.Query, Manifest: run.Manifest,
		Settings: run.Settings, Placement: run.Placement, Marks: run.Marks, Asked: run.Asked,
		percentiles: run.hasPercentiles(),
	}
	for _, w := range run.Workers {
		worker := workerReport(w, r.TimesMs, run.SliceMs)
		worker.RestartsMs = w.restartsMs(r.StartedMs, run.Steps[len(run.Steps)-1].EndMs)
		r.Workers = append(r.Workers, worker)
	}
	r.QueriesRunning = each(r.TimesMs, func(t int64) Figure { return run.QueriesRunning.mean(t-run.SliceMs, t) })
	r.FilterLatencyMeanMs = each(r.TimesMs,
		func(t int64) Figure { return average(run.filterLatencyMs(t-run.SliceMs, t)) })
	r.FilterLatencyMaxMs = each(r.TimesMs,
		func(t int64) Figure { return largest(run.filterLatencyMs(t-run.SliceMs, t)) })
	r.judge(run)
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

// sliceEnds are the ends of the report's slices: aligned with the first step's start, from the first whole slice of any
// worker to the end of the last step.
func sliceEnds(run *Run) []int64 {
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
		return each(timesMs,
			func(t int64) Figure { return s.increase(t, sliceMs) * 1000 * Figure(minuteMs) / Figure(sliceMs) })
	}
	report := WorkerReport{
		Worker: w.Name, Pids: w.Pids, CPUMsPerMinute: perMinute(w.CPUSeconds), GCMsPerMinute: perMinute(w.GCSeconds),
		CPUUserMsPerMinute: perMinute(w.CPUUserSeconds), CPUSystemMsPerMinute: perMinute(w.CPUSystemSeconds),
		HeapUsedBytes: each(timesMs, func(t int64) Figure { return w.HeapUsedBytes.mean(t-sliceMs, t) }),
		CPUCores: each(timesMs,
			func(t int64) Figure { return w.CPUSeconds.increase(t, sliceMs) * 1000 / Figure(sliceMs) }),
	}
	if len(w.Pids) > 0 {
		report.Pid = w.Pids[len(w.Pids)-1]
	}
	return report
}

func (r *Report) judge(run *Run) {
	var judgements []tuning.Judgement
	for _, step := range run.Steps {
		row := stepReport(run, step)
		judgement := row.judge(run.Goals, step.Evidence, tuning.StepFigures{
			Queries: step.Queries, FilterLatencyMeanMs: float64(row.FilterLatencyMeanMs),
			AverageResultSize: float64(row.AverageResultSize),
			Returned:          step.Clients.Returned, Failed: step.Clients.Failed, Unfinished: step.Clients.Unfinished,
			HostIdle: float64(step.HostIdle),
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
	var cpu, user, system, gc, heap []Figure
	least := 0
	for _, w := range run.Workers {
		if rate := w.CPUSeconds.rate(from, to); rate.Known() {
			low, high := w.CPUSeconds.within(from+1, to)
			if n := max(1, high-low); least == 0 || n < least {
				least = n
			}
			cpu = append(cpu, rate*1000*60)
			user = append(user, w.CPUUserSeconds.rate(from, to)*1000*60)
			system = append(system, w.CPUSystemSeconds.rate(from, to)*1000*60)
			gc = append(gc, w.GCSeconds.rate(from, to)*1000*60)
			heap = append(heap, w.HeapUsedBytes.mean(from, to))
		}
	}
	meanCPU := average(cpu)
	return StepReport{
		Queries: step.Queries, Workers: len(cpu), AverageCPUMsPerMinute: meanCPU,
		AverageCPUCores: meanCPU / Figure(minuteMs), TotalCPUMsPerMinute: totalOrUnknown(cpu),
		TotalCPUUserMsPerMinute: totalOrUnknown(user), TotalCPUSystemMsPerMinute: totalOrUnknown(system),
		AverageGCMsPerMinute: average(gc), GCShareOfCPU: average(gc) / meanCPU, TotalGCMsPerMinute: totalOrUnknown(gc),
		AverageHeapUsedBytes: average(heap), TotalHeapUsedBytes: totalOrUnknown(heap),
		AverageResultSize: step.Clients.AverageResultSize, FilterLatencyMeanMs: average(run.filterLatencyMs(from, to)),
		HostIdle: step.HostIdle, QueriesRunningMean: run.QueriesRunning.mean(from, to), Clients: step.Clients,
		RecordsPerSecond: step.RecordsPerSecond, MiBPerSecond: Unknown, RecordsLag: step.RecordsLag,
		Shares:  step.Shares,
		StartMs: step.StartMs, MeasuredFromMs: from, EndMs: to, FilterLatency: step.FilterLatency,
		Sharing: step.Sharing,
		launch:  step.Launch,
		slices:  least,
	}
}
