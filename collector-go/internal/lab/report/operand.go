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

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// outcome is what a comparison needs of a query that ended (load.Outcome).
type outcome struct {
	IntendedMs  int64  `json:"intended_ms"`
	SubmittedMs int64  `json:"submitted_ms"`
	FinishedMs  int64  `json:"finished_ms"`
	LatencyUs   int64  `json:"latency_us"` // from when it was meant to start
	End         string `json:"end"`
	Records     int    `json:"records"`
}

// latencyMs is from when the query was meant to start to its end.
func (o outcome) latencyMs() Figure {
	if o.LatencyUs > 0 {
		return Figure(o.LatencyUs) / 1000
	}
	return Figure(o.FinishedMs - o.IntendedMs)
}

// mostLine bounds a line of outcomes.
const mostLine = 1 << 20

// readOutcomes reads what became of the queries; a file that is not there has none.
func readOutcomes(path string) (all []outcome, err error) {
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
		var o outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b outcome) int { return cmp.Compare(a.FinishedMs, b.FinishedMs) })
	return all, lines.Err()
}

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

// side is one of the two that are compared, with the report of each configuration's first launch, from which figures
// are drawn.
type side struct {
	compare.Side
	first map[string]*Report // by the configuration's label
}

// openSide reads a run's directory, or that of one of its trials.
func openSide(dir string) (*side, error) {
	run, err := runstore.ReadAny(dir)
	if err != nil {
		return nil, err
	}
	return sideOf(dir, run, func(runstore.Trial) bool { return true })
}

func sideOf(dir string, run *runstore.Run, wanted func(runstore.Trial) bool) (*side, error) {
	s := &side{
		Side:  compare.Side{Directory: dir, ID: run.Manifest.ID, StartedMs: run.Manifest.StartedMs},
		first: map[string]*Report{},
	}
	launches := map[int][]*launch{}
	var order []runstore.Trial // the first of each configuration
	for _, t := range run.Trials {
		if !wanted(t) || len(t.Steps) == 0 {
			continue
		}
		l, err := openLaunch(t, run.Plan)
		if err != nil {
			return nil, err
		}
		if launches[t.Configuration] == nil {
			order = append(order, t)
		}
		launches[t.Configuration] = append(launches[t.Configuration], l)
	}
	costs, err := costsOf(run, wanted)
	if err != nil {
		return nil, err
	}
	for _, t := range order {
		values, err := run.Values(t)
		if err != nil {
			return nil, err
		}
		s.add(compare.Configuration{
			Label: t.Label, Unit: capacityUnit(run.Plan), Values: values, Costs: costs[t.Configuration],
			OwnMs: Figure(launches[t.Configuration][0].report.window()),
		}, launches[t.Configuration])
	}
	if len(s.Configurations) == 0 {
		return nil, fmt.Errorf("%s: no step of it was measured yet, so there is nothing to compare", dir)
	}
	return s, nil
}

// costsOf are what a query costs in each configuration, as the run's report estimates it.
func costsOf(run *runstore.Run, wanted func(runstore.Trial) bool) (map[int][]compare.Cost, error) {
	r := &RunReport{Axis: run.Plan.Axis, plan: run.Plan}
	for _, t := range run.Trials {
		if !wanted(t) {
			continue
		}
		trial, err := r.trial(t)
		if err != nil {
			return nil, err
		}
		r.Trials = append(r.Trials, *trial)
	}
	r.rows(nil)
	all := map[int][]compare.Cost{}
	for _, row := range r.Rows {
		c, err := r.concurrencyOf(row)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all[row.Configuration] = []compare.Cost{
				{Name: "CPU that a query adds, all workers", Worse: "up", Estimate: c.MarginalTotal, Line: c.TotalFit},
				{Name: "CPU that a query adds, mean of a worker", Estimate: c.Marginal, Line: c.CPUFit},
			}
		}
	}
	return all, nil
}

// capacityUnit is what the capacity of a plan's configurations counts, "" where they have none.
func capacityUnit(plan runstore.Plan) string {
	if plan.Analysis == runstore.OfTimeline {
		return ""
	}
	return plan.Axis.Unit()
}

// add adds a configuration with its launches.
func (s *side) add(c compare.Configuration, launches []*launch) {
	var reports []*Report
	for _, l := range launches {
		reports = append(reports, l.report)
		c.Launches = append(c.Launches, l.values())
	}
	c.GC = gcOverLaunches(reports)
	s.first[c.Label], s.Configurations = reports[0], append(s.Configurations, c)
}

func openLaunch(t runstore.Trial, plan runstore.Plan) (*launch, error) {
	run, err := t.Figures()
	if err != nil {
		return nil, err
	}
	if run == nil {
		return nil, fmt.Errorf("%s: its figures were not kept, so that it cannot be compared", t.Dir)
	}
	l := &launch{run: run}
	if l.report, err = Build(run, plan); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Dir, err)
	}
	l.judged = runstore.Measured(run.Steps)
	for _, s := range run.Steps {
		if s.Kind == runstore.CostStep {
			continue // its loads are the capacity's too, at other places in time
		}
		l.steps = slices.DeleteFunc(l.steps, func(p placed) bool { return p.value == s.Value }) // an earlier attempt
		l.steps = append(l.steps, placed{value: s.Value, name: stepName(plan.Axis, s), step: s})
	}
	l.outcomes, err = readOutcomes(filepath.Join(t.Dir, runstore.OutcomesFile))
	return l, err
}
