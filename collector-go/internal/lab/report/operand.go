package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// operand is one of the two compared runs, with the report of each configuration's first launch, from which the figure
// over time is drawn. The values for the comparison are in compare.Operand, which uses no files, so that tests of the
// comparison need none.
type operand struct {
	compare.Operand
	first map[string]*Report // by the label of the configuration
}

// openOperand reads the directory of a run or of one of its trials. It returns an error for a trial that has steps but
// no stored figures. Otherwise the configuration would be compared by fewer launches than it had, without anybody
// noticing.
func openOperand(dir string) (*operand, error) {
	r, err := readRun(dir)
	if err != nil {
		return nil, err
	}
	for _, t := range r.Trials {
		if len(t.Steps) > 0 && t.Report == nil {
			return nil, fmt.Errorf("%s cannot be compared, because its figures were not stored", t.dir)
		}
	}
	return r.operand(dir)
}

// operand converts the measured trials for a comparison and groups them by configuration. Settings and the queries' own
// time are taken from the first launch, because all launches of a configuration share them.
func (r *RunReport) operand(dir string) (*operand, error) {
	o := &operand{
		Operand: compare.Operand{Directory: dir, ID: r.Manifest.ID, StartedMs: r.Manifest.StartedMs},
		first:   map[string]*Report{},
	}
	places, reports := map[int]int{}, map[int][]*Report{} // by configuration
	for _, t := range r.reported() {
		launch, err := t.launch()
		if err != nil {
			return nil, err
		}
		place, known := places[t.Configuration]
		if !known {
			costs, err := r.costsOf(t.Configuration)
			if err != nil {
				return nil, err
			}
			place = len(o.Configurations)
			places[t.Configuration], o.first[t.Label] = place, t.Report
			o.Configurations = append(o.Configurations, compare.Configuration{
				Label: t.Label, Unit: capacityUnit(r.plan), Values: t.values, Costs: costs,
				OwnMs: Figure(t.Report.window()), Capacity: r.row(t.Configuration).Capacity,
			})
		}
		c := &o.Configurations[place]
		c.Launches = append(c.Launches, launch)
		reports[t.Configuration] = append(reports[t.Configuration], t.Report)
		c.GC = gcReport(reports[t.Configuration]...)
	}
	if len(o.Configurations) == 0 {
		return nil, fmt.Errorf("%s has no measured step to compare yet", dir)
	}
	return o, nil
}

// costsOf returns the costs of a query in a configuration, as the run's own report estimates them.
func (r *RunReport) costsOf(configuration int) ([]compare.Cost, error) {
	c, err := r.concurrencyOf(configuration)
	if err != nil || c == nil {
		return nil, err
	}
	return []compare.Cost{
		{Name: "CPU that a query adds, all workers", Worse: "up", Estimate: c.MarginalTotal, Line: c.TotalFit},
		{Name: "CPU that a query adds, mean of a worker", Estimate: c.Marginal, Line: c.CPUFit},
	}, nil
}

// capacityUnit returns the unit of the capacity of a plan's configurations, or "" if they have no capacity.
func capacityUnit(plan runstore.Plan) string {
	if plan.Analysis == runstore.OfTimeline {
		return ""
	}
	return plan.Axis.Unit()
}

// launch converts the trial for a comparison. It uses the last attempt at each value. It leaves out steps that were
// measured for the cost of a query, because they repeat loads of other steps at another time.
func (t *TrialReport) launch() (compare.Launch, error) {
	var out compare.Launch
	outcomes, err := readOutcomes(filepath.Join(t.dir, runstore.OutcomesFile))
	if err != nil {
		return out, err
	}
	for _, step := range t.lastAttempts() {
		if step.Kind == runstore.CostStep {
			continue
		}
		s := measuredStep{TrialStep: step, run: t.figures, outcomes: outcomes}
		out.Steps = append(out.Steps, compare.Step{
			Value: s.Value, Name: s.Name, Verdicts: t.verdictsAt(step), Figures: s.compared(t.Report.stepAt(s.StartMs)),
			Collectors: tuning.Each(collectorsOf(s.run.Workers), s.collector),
		})
	}
	return out, nil
}

// measuredStep is a step of one launch with the stored slices and queries, from which its variation is computed. Stored
// slices may be narrower than the slices of the report, so that a step has more of them.
type measuredStep struct {
	TrialStep
	run      *runstore.Figures
	outcomes []load.Outcome
}

// compared returns the values of each compared figure: one for each slice, one for each query, or one for the step.
// Slices and queries show the variation of a figure. Their mean is moved to the value in the report's row, so that the
// comparison and the report state the same mean.
func (s measuredStep) compared(own *StepReport) map[string][]Figure {
	// Figures without slices have one value for each step. Only several launches show how they vary.
	cpu := func(w runstore.Worker) runstore.Slices { return w.CPUSeconds }
	gc := func(w runstore.Worker) runstore.Slices { return w.GCSeconds }
	totalCPU, totalGC := s.rises(cpu, runstore.Total), s.rises(gc, runstore.Total)
	filterLatency := tuning.Each(s.ends(), func(t int64) Figure {
		return runstore.Average(s.run.FilterLatencyMs(runstore.Span{From: t - s.run.StoredSliceMs, To: t}))
	})
	return map[string][]Figure{
		compare.TotalCPU:       levelled(totalCPU, own.TotalCPUMsPerMinute),
		compare.MeanCPU:        levelled(s.rises(cpu, runstore.Average), own.AverageCPUMsPerMinute),
		compare.Workers:        {Figure(own.Workers)},
		compare.TotalGC:        levelled(totalGC, own.TotalGCMsPerMinute),
		compare.MeanGC:         levelled(s.rises(gc, runstore.Average), own.AverageGCMsPerMinute),
		compare.GCShare:        levelled(shares(totalGC, totalCPU), 100*own.GCShareOfCPU),
		compare.TotalHeap:      levelled(s.heap(runstore.Total), own.TotalHeapUsedBytes/mib),
		compare.MeanHeap:       levelled(s.heap(runstore.Average), own.AverageHeapUsedBytes/mib),
		compare.FilterLatency:  levelled(filterLatency, own.FilterLatencyMeanMs),
		compare.ResultSize:     levelled(s.resultSizes(), own.AverageResultSize),
		compare.TimeToResult:   levelled(s.queryLatencies(), own.Clients.LatencyMeanMs),
		compare.QueriesRunning: levelled(tuning.Each(s.ends(), s.run.QueriesRunning.At), own.QueriesRunningMean),
		compare.Records:        {s.RecordsPerSecond},
		compare.HostIdle:       {100 * s.HostIdle},
	}
}

// levelled shifts values so that their mean is the given figure. It returns nil if the figure or the mean is unknown.
func levelled(values []Figure, figure Figure) []Figure {
	by := figure - runstore.Average(values)
	if !by.Known() {
		return nil
	}
	return tuning.Each(values, func(v Figure) Figure { return v + by })
}

// collector returns the figures of a garbage collector in the step, with the total over all workers in each slice.
func (s measuredStep) collector(name string) compare.Collector {
	seconds := func(w runstore.Worker) runstore.Slices { return w.Collector(name).Seconds }
	out := compare.Collector{Name: name, TotalMsPerMinute: s.rises(seconds, runstore.Total)}
	if step := gcStep(s.run, s.Step, name); step.Workers > 0 {
		out.Step = &step
	}
	return out
}

// ends returns the ends of the stored slices within the measured time of the step.
func (s measuredStep) ends() (all []int64) {
	width := s.run.StoredSliceMs
	if width <= 0 {
		return nil
	}
	for t := s.MeasuredFromMs + width; t <= s.EndMs; t += width {
		all = append(all, t)
	}
	return all
}

// bySlice combines a value of the workers that reported it, slice by slice.
func (s measuredStep) bySlice(together func([]Figure) Figure, reported func(runstore.Worker) bool,
	value func(w runstore.Worker, endMs int64) Figure) []Figure {
	workers := tuning.Those(s.run.Workers, reported)
	return tuning.Each(s.ends(), func(endMs int64) Figure {
		return together(tuning.Each(workers, func(w runstore.Worker) Figure { return value(w, endMs) }))
	})
}

// rises combines the increases of the workers' totals in each slice, in ms per minute.
func (s measuredStep) rises(total func(runstore.Worker) runstore.Slices, together func([]Figure) Figure) []Figure {
	return s.bySlice(together, func(w runstore.Worker) bool { return len(total(w).TimesMs) > 0 },
		func(w runstore.Worker, endMs int64) Figure { return msPerMinute(total(w), endMs, s.run.StoredSliceMs) })
}

// heap combines the used heap of the workers in each slice, in MiB.
func (s measuredStep) heap(together func([]Figure) Figure) []Figure {
	measured := runstore.Span{From: s.MeasuredFromMs, To: s.EndMs}
	return s.bySlice(together, func(w runstore.Worker) bool { return measured.Mean(w.HeapUsedBytes).Known() },
		func(w runstore.Worker, endMs int64) Figure { return w.HeapUsedBytes.At(endMs) / mib })
}

// shares returns parts as percentages of totals, slice by slice. A slice without a total has an unknown share.
func shares(parts, totals []Figure) []Figure {
	out := make([]Figure, len(parts))
	for i, part := range parts {
		if out[i] = Unknown; totals[i] > 0 {
			out[i] = 100 * part / totals[i]
		}
	}
	return out
}

// resultSizes returns the result size of each query that returned, or the average of the step if the queries were not
// stored.
func (s measuredStep) resultSizes() []Figure {
	returned := s.ended(load.Returned)
	if len(returned) == 0 {
		return []Figure{s.Clients.AverageResultSize}
	}
	return tuning.Each(returned, func(o load.Outcome) Figure { return Figure(o.Records) })
}

// queryLatencies returns the times to result of the queries. A query without an answer counts with the time until its
// end, which is a lower bound (load.Latencies).
func (s measuredStep) queryLatencies() []Figure {
	return tuning.Each(s.ended(load.Returned, load.TimedOut, load.Unfinished, load.NotSubmitted),
		func(o load.Outcome) Figure { return Figure(o.Latency().Microseconds()) / 1000 })
}

// ended returns the queries that count for the step and ended in one of the given ways, in the order of their ends.
func (s measuredStep) ended(ends ...load.End) []load.Outcome {
	step := load.Window{
		Start: time.UnixMilli(s.StartMs), Measured: time.UnixMilli(s.MeasuredFromMs), End: time.UnixMilli(s.EndMs),
	}
	return tuning.Those(s.outcomes, func(o load.Outcome) bool { return slices.Contains(ends, o.End) && step.Holds(o) })
}

// mostLine is the longest line of the outcomes file, in bytes.
const mostLine = 1 << 20

// readOutcomes reads the outcomes of the queries, sorted by their ends. It returns nil if the file does not exist.
func readOutcomes(path string) (all []load.Outcome, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, mostLine)
	for n := 1; lines.Scan(); n++ {
		var o load.Outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b load.Outcome) int { return cmp.Compare(a.FinishedMs, b.FinishedMs) })
	return all, lines.Err()
}
