package report

import (
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// gcSteps returns the garbage collection of a trial by step and collector.
func gcSteps(run *runstore.Figures) (all []tuning.GCStep) {
	for _, step := range run.Steps {
		for _, name := range collectorsOf(run.Workers) {
			all = append(all, gcStep(run, step, name))
		}
	}
	return all
}

// gcReport returns the garbage collection of launches of one configuration: the steps of all launches, and the
// correlation of GC time with CPU time and with the filter latency, over all measured slices. Slices that contain
// warm-up are left out, as in the averages of the steps. The result is nil if no worker reported its collectors.
func gcReport(launches ...*Report) *tuning.GCReport {
	g := &tuning.GCReport{Confidence: tuning.DefaultConfidence}
	var gc, cpu, latency []Figure
	for _, r := range launches {
		if len(r.gcSteps) == 0 {
			continue
		}
		g.Steps = append(g.Steps, r.gcSteps...)
		times := r.overWorkers(func(w WorkerReport) []Figure { return w.GCMsPerMinute }, runstore.Total)
		used := r.overWorkers(func(w WorkerReport) []Figure { return w.CPUMsPerMinute }, runstore.Total)
		for i, t := range r.TimesMs {
			if r.anyStep(func(s StepReport) bool { return t-r.SliceMs >= s.MeasuredFromMs && t <= s.EndMs }) {
				gc, cpu, latency = append(gc, times[i]), append(cpu, used[i]), append(latency, r.FilterLatencyMeanMs[i])
			}
		}
	}
	if len(g.Steps) == 0 {
		return nil
	}
	g.WithCPU, g.WithLatency = tuning.Correlate(gc, cpu, g.Confidence), tuning.Correlate(gc, latency, g.Confidence)
	return g
}

// collectorsOf returns the names of the garbage collectors that any worker reported, each once. They are sorted, so
// that tables have the same order in every report.
func collectorsOf(workers []runstore.Worker) (names []string) {
	for _, w := range workers {
		names = tuning.Union(names, tuning.Each(w.Collectors, func(c runstore.Collector) string { return c.Name })...)
	}
	slices.Sort(names)
	return names
}

// gcStep returns the figures of one collector in a step, over the workers that reported it. Rates use the measured
// time, so that a collection during the warm-up does not count. Workers is 0 if no worker reported the collector.
func gcStep(run *runstore.Figures, step runstore.Step, name string) tuning.GCStep {
	out := tuning.GCStep{
		Queries: step.Queries, StartMs: step.StartMs, Collector: name, MostShareOfTime: Unknown,
		MeanCollectionInMs: Unknown,
	}
	measured := runstore.Span{From: step.MeasuredFromMs, To: step.EndMs}
	var times, counts, cpu []Figure
	for _, w := range run.Workers {
		for _, c := range w.Collectors {
			rate := measured.Rate(c.Seconds)
			if c.Name != name || !rate.Known() {
				continue
			}
			out.Workers++
			times, counts = append(times, rate*1000*60), append(counts, measured.Rate(c.Collections)*60)
			cpu = append(cpu, measured.Rate(w.CPUSeconds)*1000*60)
			if !(rate <= out.MostShareOfTime) {
				out.MostShareOfTime, out.WorkerOfMost = rate, w.Name
			}
		}
	}
	out.AverageMsPerMinute, out.TotalMsPerMinute = runstore.Average(times), runstore.Total(times)
	out.CollectionsPerMin = runstore.Average(counts)
	out.ShareOfCPU = out.TotalMsPerMinute / runstore.Total(cpu)
	out.ShareOfTime = out.AverageMsPerMinute / Figure(minuteMs)
	if out.CollectionsPerMin > 0 {
		out.MeanCollectionInMs = out.AverageMsPerMinute / out.CollectionsPerMin
	}
	return out
}

// gcBlocks returns the table of garbage collectors by step, and the correlations of GC time with CPU time and latency,
// with their intervals.
func (r *Report) gcBlocks() []document.Block {
	if r.GC == nil {
		return nil
	}
	type step = tuning.GCStep
	t := document.TableOf(r.GC.Steps,
		document.Number(r.stepHead(), "", func(s step) string { return r.stepCell(*r.stepAt(s.StartMs)) }),
		document.Text("Collector", func(s step) string { return s.Collector }),
		figureColumn("Average", "ms/min", 0, func(s step) Figure { return s.AverageMsPerMinute }),
		percentColumn("Share of CPU", func(s step) Figure { return s.ShareOfCPU }),
		percentColumn("Share of time", func(s step) Figure { return s.ShareOfTime }),
		percentColumn("Share of time, worst worker", func(s step) Figure { return s.MostShareOfTime }),
		figureColumn("Collections/min", "", 1, func(s step) Figure { return s.CollectionsPerMin }),
		figureColumn("Mean collection", "ms", 1, func(s step) Figure { return s.MeanCollectionInMs }),
		figureColumn("Total", "ms/min", 0, func(s step) Figure { return s.TotalMsPerMinute }),
		countColumn("Workers", func(s step) int { return s.Workers }),
	)
	return []document.Block{document.Tabled(t), document.List([]string{
		tuning.GCIsWallTime + ".",
		"Correlation of GC time with CPU time, over the measured slices: " + r.GC.WithCPU.Text(r.GC.Confidence, "") + ".",
		"Correlation of GC time with the mean filter latency, over the measured slices: " +
			r.GC.WithLatency.Text(r.GC.Confidence, "") + ".",
	})}
}

// Build creates the report of one trial from the figures that a run stored. It computes no verdict: those of the steps
// were stored when they were measured, and that of the trial is in the judgement of the run. Figures are computed again
// from the stored slices, so that an older run is shown with the current tables.
//
// It returns an error for a trial without a step or without a slice width. A trial that has only just begun has
// neither, so a caller that reads running runs must check for these first.
func Build(run *runstore.Figures, plan runstore.Plan) (*Report, error) {
	if len(run.Steps) == 0 || run.SliceMs <= 0 {
		return nil, fmt.Errorf("a report needs at least one step and a slice width")
	}
	r := &Report{
		Axis: axisNames[plan.Axis], Topology: run.Topology,
		StartedMs: run.Steps[0].StartMs, SliceMs: run.SliceMs, Goals: goalsReport(goalsOf(plan)),
		TimesMs: sliceEnds(run), Calibration: run.Calibration, Collection: collected(run),
		Query: run.Query, Settings: run.Settings, Placement: run.Placement, Annotations: run.Annotations,
		Requested: run.Requested, durationMs: plan.Load.QueryDurationMs,
	}
	for _, w := range run.Workers {
		worker := workerReport(w, r.TimesMs, run.SliceMs)
		worker.RestartsMs = w.RestartsMs(r.StartedMs, run.Steps[len(run.Steps)-1].EndMs)
		r.Workers = append(r.Workers, worker)
	}
	r.QueriesRunning = tuning.Each(r.TimesMs, func(t int64) Figure {
		return runstore.Span{From: t - run.SliceMs, To: t}.Mean(run.QueriesRunning)
	})
	latency := func(t int64) []Figure {
		return run.FilterLatencyMs(runstore.Span{From: t - run.SliceMs, To: t})
	}
	r.FilterLatencyMeanMs = tuning.Each(r.TimesMs, func(t int64) Figure { return runstore.Average(latency(t)) })
	r.FilterLatencyMaxMs = tuning.Each(r.TimesMs, func(t int64) Figure { return tuning.Largest(latency(t)) })
	for _, step := range run.Steps {
		row := stepReport(run, step, plan.Axis)
		if plan.Load.NoneToMatch() {
			row.AverageResultSize = Unknown // there were no records for the queries to find
		}
		r.Steps = append(r.Steps, row)
	}
	r.gcSteps = gcSteps(run)
	r.GC = gcReport(r)
	r.Caveats = caveats(run, r)
	return r, nil
}

// goalsReport returns the goals for report.json, with the statistic that the latency limit is compared with.
func goalsReport(g tuning.Goals) GoalsReport {
	return GoalsReport{
		FilterLatencyLimitMs: Figure(g.FilterLatencyLimitMs), FilterLatencyStatistic: filterLatencyStatistic,
		ExpectedResultSize: Figure(g.ExpectedResultSize), SmallestResultSize: Figure(g.SmallestResultSize()),
		MinHostIdle: Figure(g.MinHostIdle),
	}
}

// sliceEnds returns the ends of the report's slices, in Unix milliseconds. The slices are aligned with the start of the
// first step, so that this step begins at a slice border. They begin with the first slice of any worker, but not before
// the topology was submitted, and end with the last step.
func sliceEnds(run *runstore.Figures) []int64 {
	// The calibration before the first step is shown, but not the time before the topology was submitted.
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

// workerReport computes a worker's figures for each slice of the report. Totals such as CPU seconds become rates.
func workerReport(w runstore.Worker, timesMs []int64, sliceMs int64) WorkerReport {
	perMinute := func(s runstore.Slices) []Figure {
		return tuning.Each(timesMs, func(t int64) Figure { return msPerMinute(s, t, sliceMs) })
	}
	report := WorkerReport{
		Worker: w.Name, Pids: w.Pids, CPUMsPerMinute: perMinute(w.CPUSeconds), GCMsPerMinute: perMinute(w.GCSeconds),
		CPUUserMsPerMinute: perMinute(w.CPUUserSeconds), CPUSystemMsPerMinute: perMinute(w.CPUSystemSeconds),
		HeapUsedBytes: tuning.Each(timesMs, func(t int64) Figure {
			return runstore.Span{From: t - sliceMs, To: t}.Mean(w.HeapUsedBytes)
		}),
		CPUCores: tuning.Each(timesMs, func(t int64) Figure {
			return w.CPUSeconds.Rise(t, sliceMs) * 1000 / Figure(sliceMs)
		}),
	}
	if len(w.Pids) > 0 {
		report.Pid = w.Pids[len(w.Pids)-1]
	}
	return report
}

// goalsOf converts the plan's goals for filter latency and result size to tuning.Goals. If the plan has no such goal,
// the default of Bullet's tuning document applies. The smallest result size becomes a tolerance, which is the form that
// the analysis of completeness uses.
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
// did not run in the step, so they are left out of means and of the number of workers. CPU and GC are in milliseconds
// per minute, as in Bullet's tuning document.
func stepReport(run *runstore.Figures, step runstore.Step, axis runstore.Axis) StepReport {
	measured := runstore.Span{From: step.MeasuredFromMs, To: step.EndMs}
	used := run.Usage(measured)
	cpu, gc := msPerMinuteOf(used.CPU), msPerMinuteOf(used.GC)
	meanCPU := runstore.Average(cpu)
	return StepReport{
		Queries: step.Queries, Label: stepName(axis, step), Workers: len(cpu), AverageCPUMsPerMinute: meanCPU,
		AverageCPUCores: meanCPU / Figure(minuteMs), TotalCPUMsPerMinute: runstore.Total(cpu),
		TotalCPUUserMsPerMinute:   runstore.Total(msPerMinuteOf(used.User)),
		TotalCPUSystemMsPerMinute: runstore.Total(msPerMinuteOf(used.System)),
		AverageGCMsPerMinute:      runstore.Average(gc), GCShareOfCPU: runstore.Average(gc) / meanCPU,
		TotalGCMsPerMinute: runstore.Total(gc), AverageHeapUsedBytes: runstore.Average(used.HeapBytes),
		TotalHeapUsedBytes: runstore.Total(used.HeapBytes), AverageResultSize: step.Clients.AverageResultSize,
		FilterLatencyMeanMs: runstore.Average(run.FilterLatencyMs(measured)),
		HostIdle:            step.HostIdle, QueriesRunningMean: measured.Mean(run.QueriesRunning),
		Clients:          step.Clients,
		RecordsPerSecond: step.RecordsPerSecond, MiBPerSecond: step.MiBPerSecond, RecordsLag: step.RecordsLag,
		Shares: step.Shares, StartMs: step.StartMs, MeasuredFromMs: step.MeasuredFromMs,
		EndMs: step.EndMs, FilterLatency: step.FilterLatency, Sharing: step.Sharing, Verdict: step.Verdict,
		Reasons: append([]string{}, step.Reasons...), Notes: step.Notes, Limitation: step.Limitation,
		Evidence: step.Evidence, ForCost: step.Kind == runstore.CostStep, launch: step.Launch, value: step.Value,
		slices: used.Slices,
	}
}
