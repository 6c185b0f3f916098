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
)

// operand is one of the two runs that are compared, with the report of each configuration's first launch, from which
// the figure of both over time is drawn. The values for the comparison are in compare.Operand, which knows no files, so
// that tests of the comparison need none.
type operand struct {
	compare.Operand
	first map[string]*Report // by the configuration's label
}

// openOperand reads a run's directory, or that of one of its trials. A trial with steps whose figures were not kept is
// an error: its configuration would silently be compared by fewer launches than it had.
func openOperand(dir string) (*operand, error) {
	run, err := runstore.ReadAny(dir)
	if err != nil {
		return nil, err
	}
	r, err := readRun(run)
	if err != nil {
		return nil, err
	}
	for _, t := range r.Trials {
		if len(t.Steps) > 0 && t.Report == nil {
			return nil, fmt.Errorf("%s: its figures were not kept, so that it cannot be compared", t.dir)
		}
	}
	return r.operand(dir)
}

// operand gives the measured trials to a comparison, those of each configuration together. Settings and the queries'
// own time are those of the first launch, since all launches of a configuration share them.
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
				OwnMs: Figure(t.Report.window()),
			})
		}
		c := &o.Configurations[place]
		c.Launches = append(c.Launches, launch)
		reports[t.Configuration] = append(reports[t.Configuration], t.Report)
		c.GC = gcOverLaunches(reports[t.Configuration])
	}
	if len(o.Configurations) == 0 {
		return nil, fmt.Errorf("%s: no step of it was measured yet, so there is nothing to compare", dir)
	}
	return o, nil
}

// costsOf are what a query costs in a configuration, as the run's own report estimates it.
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

// capacityUnit is what the capacity of a plan's configurations counts, "" where they have none.
func capacityUnit(plan runstore.Plan) string {
	if plan.Analysis == runstore.OfTimeline {
		return ""
	}
	return plan.Axis.Unit()
}

// launch is the trial as a comparison takes it: of each place on the axis the last attempt. Steps that were measured
// for the cost of a query are left out, because they have the same loads as steps of the capacity at other times. The
// attempts of all steps are there too, since the capacity follows from them.
func (t *TrialReport) launch() (compare.Launch, error) {
	out := compare.Launch{Attempts: runstore.Measured(t.figures.Steps)}
	outcomes, err := readOutcomes(filepath.Join(t.dir, runstore.OutcomesFile))
	if err != nil {
		return out, err
	}
	for _, step := range t.lastAttempts() {
		if step.Kind == runstore.CostStep {
			continue
		}
		s := measuredStep{TrialStep: step, run: t.figures, outcomes: outcomes}
		compared := compare.Step{
			Value: s.Value, Name: s.Name, Verdict: s.Verdict, Figures: s.compared(t.Report.stepAt(s.StartMs)),
		}
		for _, name := range collectorsOf(s.run.Workers) {
			compared.Collectors = append(compared.Collectors, s.collector(name))
		}
		out.Steps = append(out.Steps, compared)
	}
	return out, nil
}

// measuredStep is a step of one launch with the stored slices and queries from which its scatter is computed. Stored
// slices are as narrow as the collector's, so a step has more of them than the report shows.
type measuredStep struct {
	TrialStep
	run      *runstore.Figures
	outcomes []load.Outcome
}

// compared are the step's values of each figure that is compared: by slice, by query, or one for the step. Slices and
// queries show how a figure scatters. Its level is that of the report's own row, so that the comparison and the report
// state the same mean.
func (s measuredStep) compared(own *StepReport) map[string][]Figure {
	// Figures without slices have one value for each step: of these only several launches show how they scatter.
	cpu := func(w runstore.Worker) runstore.Slices { return w.CPUSeconds }
	gc := func(w runstore.Worker) runstore.Slices { return w.GCSeconds }
	totalCPU, totalGC := s.rises(cpu, totalOrUnknown), s.rises(gc, totalOrUnknown)
	filterLatency := each(s.ends(), func(t int64) Figure {
		return runstore.Average(filterLatencyMs(s.run, t-s.run.StoredSliceMs, t))
	})
	return map[string][]Figure{
		compare.TotalCPU:       levelled(totalCPU, own.TotalCPUMsPerMinute),
		compare.MeanCPU:        levelled(s.rises(cpu, runstore.Average), own.AverageCPUMsPerMinute),
		compare.Workers:        {Figure(own.Workers)},
		compare.TotalGC:        levelled(totalGC, own.TotalGCMsPerMinute),
		compare.MeanGC:         levelled(s.rises(gc, runstore.Average), own.AverageGCMsPerMinute),
		compare.GCShare:        levelled(shares(totalGC, totalCPU), 100*own.GCShareOfCPU),
		compare.TotalHeap:      levelled(s.heap(totalOrUnknown), own.TotalHeapUsedBytes/mib),
		compare.MeanHeap:       levelled(s.heap(runstore.Average), own.AverageHeapUsedBytes/mib),
		compare.FilterLatency:  levelled(filterLatency, own.FilterLatencyMeanMs),
		compare.ResultSize:     levelled(s.resultSizes(), own.AverageResultSize),
		compare.TimeToResult:   levelled(s.queryLatencies(), own.Clients.LatencyMeanMs),
		compare.QueriesRunning: levelled(each(s.ends(), s.run.QueriesRunning.At), own.QueriesRunningMean),
		compare.Records:        {s.RecordsPerSecond},
		compare.HostIdle:       {100 * s.HostIdle},
	}
}

// levelled moves values so that their mean is the figure; none where it is not known. A comparison then states the same
// level as the report's row.
func levelled(values []Figure, figure Figure) []Figure {
	by := figure - runstore.Average(values)
	if !by.Known() {
		return nil
	}
	return each(values, func(v Figure) Figure { return v + by })
}

// collector is a garbage collector in the step, with its total of all workers in each slice.
func (s measuredStep) collector(name string) compare.Collector {
	seconds := func(w runstore.Worker) runstore.Slices { return w.Collector(name).Seconds }
	out := compare.Collector{Name: name, TotalMsPerMinute: s.rises(seconds, totalOrUnknown)}
	if step := gcStep(s.run, s.Step, name); step.Workers > 0 {
		out.Step = &step
	}
	return out
}

// ends are the ends of the stored slices that lie in the step's measured time.
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

// bySlice puts a value of the workers that reported it together, slice by slice.
func (s measuredStep) bySlice(together func([]Figure) Figure, reported func(runstore.Worker) bool,
	value func(w runstore.Worker, endMs int64) Figure) []Figure {
	return each(s.ends(), func(endMs int64) Figure {
		var all []Figure
		for _, w := range s.run.Workers {
			if reported(w) {
				all = append(all, value(w, endMs))
			}
		}
		return together(all)
	})
}

// rises are what totals of the workers rose by in each slice, ms a minute.
func (s measuredStep) rises(total func(runstore.Worker) runstore.Slices, together func([]Figure) Figure) []Figure {
	return s.bySlice(together, func(w runstore.Worker) bool { return len(total(w).TimesMs) > 0 },
		func(w runstore.Worker, endMs int64) Figure { return msPerMinute(total(w), endMs, s.run.StoredSliceMs) })
}

// heap is what the workers' heaps held in each slice, MiB.
func (s measuredStep) heap(together func([]Figure) Figure) []Figure {
	measured := runstore.Span{From: s.MeasuredFromMs, To: s.EndMs}
	return s.bySlice(together, func(w runstore.Worker) bool { return measured.Mean(w.HeapUsedBytes).Known() },
		func(w runstore.Worker, endMs int64) Figure { return w.HeapUsedBytes.At(endMs) / mib })
}

// shares are parts in per cent of totals, slice by slice. A slice without a total has no share.
func shares(parts, totals []Figure) []Figure {
	out := make([]Figure, len(parts))
	for i, part := range parts {
		if out[i] = Unknown; totals[i] > 0 {
			out[i] = 100 * part / totals[i]
		}
	}
	return out
}

// resultSizes are those of the queries one by one; where these were not kept, the step's average.
func (s measuredStep) resultSizes() []Figure {
	returned := s.ended(load.Returned)
	if len(returned) == 0 {
		return []Figure{s.Clients.AverageResultSize}
	}
	return each(returned, func(o load.Outcome) Figure { return Figure(o.Records) })
}

// queryLatencies are those of the queries that returned. A query without an answer counts with the time until its end,
// which is a lower bound (load.Latencies).
func (s measuredStep) queryLatencies() []Figure {
	return each(s.ended(load.Returned, load.TimedOut, load.Unfinished, load.NotSubmitted),
		func(o load.Outcome) Figure { return Figure(o.Latency().Microseconds()) / 1000 })
}

// ended are the queries that count for the step and ended in one of some ways, in the order of their ends.
func (s measuredStep) ended(ends ...load.End) (all []load.Outcome) {
	step := load.Window{
		Start: time.UnixMilli(s.StartMs), Measured: time.UnixMilli(s.MeasuredFromMs), End: time.UnixMilli(s.EndMs),
	}
	for _, o := range s.outcomes {
		if slices.Contains(ends, o.End) && step.Holds(o) {
			all = append(all, o)
		}
	}
	return all
}

// mostLine bounds a line of outcomes, in bytes.
const mostLine = 1 << 20

// readOutcomes reads what became of the queries; a file that is not there has none.
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
