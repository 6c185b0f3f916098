package report

import (
	"slices"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// gcReport is nil where no worker reported its collectors.
func gcReport(run *runstore.Figures, r *Report) *tuning.GCReport {
	g := &tuning.GCReport{Confidence: tuning.DefaultConfidence}
	for _, step := range run.Steps {
		for _, name := range collectorsOf(run.Workers) {
			g.Steps = append(g.Steps, gcStep(run, step, name))
		}
	}
	return correlated(g, []*Report{r})
}

// gcOverLaunches is the garbage collection of several launches of one configuration: the steps of all, and the
// correlations over the slices of all. Nil where no worker reported its collectors.
func gcOverLaunches(launches []*Report) *tuning.GCReport {
	g := &tuning.GCReport{Confidence: tuning.DefaultConfidence}
	var reported []*Report
	for _, r := range launches {
		if r.GC != nil {
			g.Steps, reported = append(g.Steps, r.GC.Steps...), append(reported, r)
		}
	}
	return correlated(g, reported)
}

// correlated adds how GC time went along with CPU time and the filter latency, over the measured slices of all
// launches.
func correlated(g *tuning.GCReport, launches []*Report) *tuning.GCReport {
	if len(g.Steps) == 0 {
		return nil
	}
	var gc, cpu, latency []Figure
	for _, r := range launches {
		times := r.overWorkers(func(w WorkerReport) []Figure { return w.GCMsPerMinute }, totalOrUnknown)
		used := r.overWorkers(func(w WorkerReport) []Figure { return w.CPUMsPerMinute }, totalOrUnknown)
		for i, t := range r.TimesMs {
			if r.anyStep(func(s StepReport) bool { return t-r.SliceMs >= s.MeasuredFromMs && t <= s.EndMs }) {
				gc, cpu, latency = append(gc, times[i]), append(cpu, used[i]), append(latency, r.FilterLatencyMeanMs[i])
			}
		}
	}
	g.WithCPU, g.WithLatency = tuning.Correlate(gc, cpu, g.Confidence), tuning.Correlate(gc, latency, g.Confidence)
	return g
}

func collectorsOf(workers []runstore.Worker) (names []string) {
	for _, w := range workers {
		for _, c := range w.Collectors {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func gcStep(run *runstore.Figures, step runstore.Step, name string) tuning.GCStep {
	out := tuning.GCStep{
		Queries: step.Queries, StartMs: step.StartMs, Collector: name, MostShareOfTime: Unknown,
		MeanCollectionInMs: Unknown,
	}
	perMinute := func(s runstore.Slices) Figure {
		return runstore.Span{From: step.MeasuredFromMs, To: step.EndMs}.Rate(s) * 60
	}
	var times, counts, cpu []Figure
	for _, w := range run.Workers {
		for _, c := range w.Collectors {
			rate := runstore.Span{From: step.MeasuredFromMs, To: step.EndMs}.Rate(c.Seconds)
			if c.Name != name || !rate.Known() {
				continue
			}
			out.Workers++
			times, counts = append(times, rate*1000*60), append(counts, perMinute(c.Collections))
			cpu = append(cpu, runstore.Span{From: step.MeasuredFromMs, To: step.EndMs}.Rate(w.CPUSeconds)*1000*60)
			if !(rate <= out.MostShareOfTime) {
				out.MostShareOfTime, out.WorkerOfMost = rate, w.Name
			}
		}
	}
	out.AverageMsPerMinute, out.TotalMsPerMinute = runstore.Average(times), totalOrUnknown(times)
	out.CollectionsPerMin = runstore.Average(counts)
	out.ShareOfCPU = out.TotalMsPerMinute / totalOrUnknown(cpu)
	out.ShareOfTime = out.AverageMsPerMinute / Figure(minuteMs)
	if out.CollectionsPerMin > 0 {
		out.MeanCollectionInMs = out.AverageMsPerMinute / out.CollectionsPerMin
	}
	return out
}

func (r *Report) gcBlocks() []document.Block {
	if r.GC == nil {
		return nil
	}
	type step = tuning.GCStep
	t := document.TableOf(r.GC.Steps,
		document.Number(r.stepHead(), "", func(s step) string { return r.stepCell(*r.stepAt(s.StartMs)) }),
		document.Text("Collector", func(s step) string { return s.Collector }),
		figureColumn("Average", "ms/min", 0, func(s step) Figure { return s.AverageMsPerMinute }),
		percentColumn("of CPU", func(s step) Figure { return s.ShareOfCPU }),
		percentColumn("of time", func(s step) Figure { return s.ShareOfTime }),
		percentColumn("of time, worst worker", func(s step) Figure { return s.MostShareOfTime }),
		figureColumn("Collections/min", "", 1, func(s step) Figure { return s.CollectionsPerMin }),
		figureColumn("Mean collection", "ms", 1, func(s step) Figure { return s.MeanCollectionInMs }),
		figureColumn("Total", "ms/min", 0, func(s step) Figure { return s.TotalMsPerMinute }),
		document.Number("Workers", "", func(s step) string { return strconv.Itoa(s.Workers) }),
	)
	return []document.Block{document.Tabled(t), document.List([]string{
		tuning.GCIsWallTime + ".",
		"Correlation of GC time with CPU time over the measured slices: " + r.GC.WithCPU.Text(r.GC.Confidence,
			"") + ".",
		"Correlation of GC time with the mean filter latency over the measured slices: " +
			r.GC.WithLatency.Text(r.GC.Confidence, "") + ".",
	})}
}
