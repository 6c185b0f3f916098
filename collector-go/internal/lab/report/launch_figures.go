package report

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// launch is what was measured of a topology once.
type launch struct {
	run      *runstore.Figures
	report   *Report
	steps    []placed
	outcomes []outcome
	// judged are all attempts, also those that were measured again.
	judged []tuning.Measured
}

// placed is a step at its place on the axis.
type placed struct {
	value float64
	name  string
	step  runstore.Step
}

// values are the launch as a comparison takes it.
func (l *launch) values() compare.Launch {
	out := compare.Launch{Judged: l.judged}
	for _, p := range l.steps {
		s := stepOf{l, p}
		step := compare.Step{Value: p.value, Name: p.name, Verdict: p.step.Verdict, Figures: s.figures()}
		if own := l.report.stepAt(p.step.StartMs); own != nil {
			for name, figure := range own.compared() {
				step.Figures[name] = levelled(step.Figures[name], figure)
			}
		}
		for _, name := range collectorsOf(l.run.Workers) {
			step.Collectors = append(step.Collectors, s.collector(name))
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

// compared are a step's figures, as its report has them, by the names under which they are compared. Whatever compares
// steps goes by them: how a figure scatters is from its slices or queries, what it is is said in one place.
func (s *StepReport) compared() map[string]Figure {
	return map[string]Figure{
		compare.TotalCPU: s.TotalCPUMsPerMinute, compare.MeanCPU: s.AverageCPUMsPerMinute,
		compare.TotalGC: s.TotalGCMsPerMinute, compare.MeanGC: s.AverageGCMsPerMinute,
		compare.GCShare: 100 * s.GCShareOfCPU, compare.TotalHeap: s.TotalHeapUsedBytes / mib,
		compare.MeanHeap: s.AverageHeapUsedBytes / mib, compare.FilterLatency: s.FilterLatencyMeanMs,
		compare.ResultSize: s.AverageResultSize, compare.TimeToResult: s.Clients.LatencyMeanMs,
		compare.QueriesRunning: s.QueriesRunningMean,
	}
}

// levelled moves values so that their mean is the figure; none where it is not known.
func levelled(values []Figure, figure Figure) (out []Figure) {
	by := figure - runstore.Average(values)
	if !by.Known() {
		return nil
	}
	for _, v := range values {
		out = append(out, v+by)
	}
	return out
}

// stepOf is a step of one launch.
type stepOf struct {
	*launch
	placed
}

// figures are the step's values by slice, or by query, of each figure that is compared.
func (s stepOf) figures() map[string][]Figure {
	cpu := func(w runstore.Worker) runstore.Slices { return w.CPUSeconds }
	gc := func(w runstore.Worker) runstore.Slices { return w.GCSeconds }
	return map[string][]Figure{
		compare.TotalCPU:  s.rises(cpu, totalOrUnknown),
		compare.MeanCPU:   s.rises(cpu, runstore.Average),
		compare.Workers:   {Figure(s.workers())},
		compare.TotalGC:   s.rises(gc, totalOrUnknown),
		compare.MeanGC:    s.rises(gc, runstore.Average),
		compare.GCShare:   shares(s.rises(gc, totalOrUnknown), s.rises(cpu, totalOrUnknown)),
		compare.TotalHeap: s.heap(totalOrUnknown),
		compare.MeanHeap:  s.heap(runstore.Average),
		compare.FilterLatency: each(s.ends(),
			func(t int64) Figure { return runstore.Average(filterLatencyMs(s.run, t-s.run.StoredSliceMs, t)) }),
		compare.ResultSize:     s.resultSizes(),
		compare.TimeToResult:   s.queryLatencies(),
		compare.QueriesRunning: each(s.ends(), s.run.QueriesRunning.At),
		compare.Records:        {s.step.RecordsPerSecond},
		compare.HostIdle:       {100 * s.step.HostIdle},
	}
}

func (s stepOf) collector(name string) compare.Collector {
	out := compare.Collector{
		Name: name,
		TotalMsPerMinute: s.rises(func(w runstore.Worker) runstore.Slices { return w.Collector(name).Seconds },
			totalOrUnknown),
	}
	if step := gcStep(s.run, s.step, name); step.Workers > 0 {
		out.Step = &step
	}
	return out
}

// ends are the ends of the stored slices that lie in the step's measured time.
func (s stepOf) ends() (all []int64) {
	width := s.run.StoredSliceMs
	if width <= 0 {
		return nil
	}
	for t := s.step.MeasuredFromMs + width; t <= s.step.EndMs; t += width {
		all = append(all, t)
	}
	return all
}

// rises are what totals of the workers rose by in each slice, ms a minute, put together over the workers.
func (s stepOf) rises(total func(runstore.Worker) runstore.Slices, together func([]Figure) Figure) []Figure {
	width := s.run.StoredSliceMs
	return each(s.ends(), func(t int64) Figure {
		var all []Figure
		for _, w := range s.run.Workers {
			if series := total(w); len(series.TimesMs) > 0 {
				all = append(all, series.Rise(t, width)*1000*Figure(minuteMs)/Figure(width))
			}
		}
		return together(all)
	})
}

// workers are those that reported in the step.
func (s stepOf) workers() (n int) {
	for _, w := range s.run.Workers {
		if s.measured().Rate(w.CPUSeconds).Known() {
			n++
		}
	}
	return n
}

// shares are parts in per cent of wholes.
func shares(parts, wholes []Figure) (out []Figure) {
	for i, part := range parts {
		share := Unknown
		if wholes[i] > 0 {
			share = 100 * part / wholes[i]
		}
		out = append(out, share)
	}
	return out
}

// heap is what the workers' heaps held in each slice, MiB, put together over the workers.
func (s stepOf) heap(together func([]Figure) Figure) []Figure {
	return each(s.ends(), func(t int64) Figure {
		var all []Figure
		for _, w := range s.run.Workers {
			if s.measured().Mean(w.HeapUsedBytes).Known() {
				all = append(all, w.HeapUsedBytes.At(t)/(1<<20))
			}
		}
		return together(all)
	})
}

// resultSizes are those of the queries one by one; where these were not kept, the step's average.
func (s stepOf) resultSizes() (out []Figure) {
	for _, o := range s.ended("returned") {
		out = append(out, Figure(o.Records))
	}
	if len(out) == 0 {
		return []Figure{s.step.Clients.AverageResultSize}
	}
	return out
}

// queryLatencies are those of the queries that returned, and of those that gave no answer how long they took at least
// (load.Latencies).
func (s stepOf) queryLatencies() (out []Figure) {
	for _, o := range s.ended("returned", "timed out", "unfinished", "not submitted") {
		out = append(out, o.latencyMs())
	}
	return out
}

// ended are the step's queries that ended in one of some ways, in the order of their ends: those that were meant to
// start in it and lived in its measured time (load.Window).
func (s stepOf) ended(ends ...string) (all []outcome) {
	for _, o := range s.outcomes {
		started := o.IntendedMs >= s.step.StartMs && o.IntendedMs < s.step.EndMs
		if slices.Contains(ends, o.End) && started && o.FinishedMs >= s.step.MeasuredFromMs {
			all = append(all, o)
		}
	}
	return all
}

func (s stepOf) measured() runstore.Span {
	return runstore.Span{From: s.step.MeasuredFromMs, To: s.step.EndMs}
}
