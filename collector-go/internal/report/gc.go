package report

import (
	"slices"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// GCReport is what garbage collection cost, collector by collector, and what it goes along with.
type GCReport struct {
	Steps []GCStep `json:"steps"`
	// The correlations are of all workers' GC time with their CPU time and with the mean filter latency, over the slices that lie in
	// the measured time of a step.
	WithCPU     tuning.Estimate `json:"correlation_with_cpu"`
	WithLatency tuning.Estimate `json:"correlation_with_filter_latency"`
	Confidence  float64         `json:"confidence"`
}

// GCStep is one collector in one step. Means are over the workers that have the collector.
type GCStep struct {
	Queries   int    `json:"queries"`
	StartMs   int64  `json:"start_ms"` // of the step
	Collector string `json:"collector"`
	Workers   int    `json:"workers"`
	// AverageMsPerMinute is a worker's, TotalMsPerMinute the topology's.
	AverageMsPerMinute  Figure `json:"average_ms_per_minute"`
	TotalMsPerMinute    Figure `json:"total_ms_per_minute"`
	CollectionsPerMin   Figure `json:"average_collections_per_minute"`
	ShareOfCPU          Figure `json:"share_of_cpu"`
	ShareOfTime         Figure `json:"share_of_time"`
	MostShareOfTime     Figure `json:"share_of_time_in_the_worst_worker"`
	WorkerOfMost        string `json:"worst_worker"`
	MeanCollectionInMs  Figure `json:"mean_collection_ms"`
	totalCPUMsPerMinute Figure
}

// gcReport is nil where no worker told of its collectors.
func gcReport(run *Run, r *Report) *GCReport {
	g := &GCReport{Confidence: tuning.DefaultConfidence}
	for _, step := range run.Steps {
		for _, name := range collectorsOf(run.Workers) {
			g.Steps = append(g.Steps, gcStep(run, step, name))
		}
	}
	if len(g.Steps) == 0 {
		return nil
	}
	gc, cpu, latency := r.measuredSlices()
	g.WithCPU, g.WithLatency = tuning.Correlate(gc, cpu, g.Confidence), tuning.Correlate(gc, latency, g.Confidence)
	return g
}

func collectorsOf(workers []Worker) (names []string) {
	for _, w := range workers {
		for _, c := range w.Collectors {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

func gcStep(run *Run, step Step, name string) GCStep {
	out := GCStep{Queries: step.Queries, StartMs: step.StartMs, Collector: name, MostShareOfTime: Unknown}
	var times, counts, cpu []Figure
	for _, w := range run.Workers {
		for _, c := range w.Collectors {
			rate := c.Seconds.rate(step.MeasuredFromMs, step.EndMs)
			if c.Name != name || !rate.Known() {
				continue
			}
			out.Workers++
			times, counts = append(times, rate*1000*60), append(counts, c.Collections.rate(step.MeasuredFromMs, step.EndMs)*60)
			cpu = append(cpu, w.CPUSeconds.rate(step.MeasuredFromMs, step.EndMs)*1000*60)
			if !(rate <= out.MostShareOfTime) {
				out.MostShareOfTime, out.WorkerOfMost = rate, w.Name
			}
		}
	}
	out.AverageMsPerMinute, out.TotalMsPerMinute, out.CollectionsPerMin = average(times), totalOrUnknown(times), average(counts)
	out.totalCPUMsPerMinute = totalOrUnknown(cpu)
	out.ShareOfCPU, out.ShareOfTime = out.TotalMsPerMinute/out.totalCPUMsPerMinute, out.AverageMsPerMinute/Figure(minuteMs)
	if out.CollectionsPerMin > 0 {
		out.MeanCollectionInMs = out.AverageMsPerMinute / out.CollectionsPerMin
	} else {
		out.MeanCollectionInMs = Unknown
	}
	return out
}

// measuredSlices are the workers' sums of GC and CPU time and the filter latency of the slices that lie in a step's measured time.
func (r *Report) measuredSlices() (gc, cpu, latency []Figure) {
	for i, t := range r.TimesMs {
		if !slices.ContainsFunc(r.Steps, func(s StepReport) bool { return t-r.SliceMs >= s.MeasuredFromMs && t <= s.EndMs }) {
			continue
		}
		var times, used []Figure
		for _, w := range r.Workers {
			times, used = append(times, w.GCMsPerMinute[i]), append(used, w.CPUMsPerMinute[i])
		}
		gc, cpu, latency = append(gc, totalOrUnknown(times)), append(cpu, totalOrUnknown(used)), append(latency, r.FilterLatencyMeanMs[i])
	}
	return gc, cpu, latency
}

func (r *Report) gcBlocks() []block {
	if r.GC == nil {
		return nil
	}
	t := table{Heads: []string{r.stepHead(), "Collector", "Average ms/min", "of CPU", "of time", "of time, worst worker", "Collections/min", "Mean collection ms", "Total ms/min", "Workers"},
		Numeric: []bool{true, false, true, true, true, true, true, true, true, true}}
	for _, s := range r.GC.Steps {
		t.Rows = append(t.Rows, []string{r.stepCell(*r.stepAt(s.StartMs)), s.Collector, number(s.AverageMsPerMinute, 0), percent(s.ShareOfCPU), percent(s.ShareOfTime),
			percent(s.MostShareOfTime), number(s.CollectionsPerMin, 1), number(s.MeanCollectionInMs, 1), number(s.TotalMsPerMinute, 0), strconv.Itoa(s.Workers)})
	}
	return []block{tabled(t), list([]string{
		tuning.GCIsWallTime + ".",
		"Correlation of GC time with CPU time over the measured slices: " + estimate(r.GC.WithCPU, r.GC.Confidence, "") + ".",
		"Correlation of GC time with the mean filter latency over the measured slices: " + estimate(r.GC.WithLatency, r.GC.Confidence, "") + ".",
	})}
}
