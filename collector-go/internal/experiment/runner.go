package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
)

// Source is the topology's record source, as its gateway shows it. load.Gateway is one.
type Source interface {
	SetControl(context.Context, load.Control) error
	Status(context.Context) (load.Status, error)
}

// Stored is where stored slices are read: of the series that a selector names, those with ends in (from, to].
type Stored interface {
	Slices(ctx context.Context, selector string, from, to time.Time) ([]Series, error)
}

// Slices is what the collector stored. Collector is one.
type Slices interface {
	Stored
	Newest(ctx context.Context, selector string, at time.Time) ([]Newest, error)
}

// Machine is the host's and its processes' use of the processors. Proc is one.
type Machine interface {
	Host() (HostTime, error)
	Process(pid int) (time.Duration, bool)
}

// Progress is where a run tells what it does.
type Progress interface {
	// Say tells a line that stays.
	Say(format string, args ...any)
	// Show tells what holds at the moment; the next call replaces it.
	Show(format string, args ...any)
}

// Ports are the parts that a run works on. All are used by the run's goroutines at the same time.
type Ports struct {
	Source  Source // nil where the records are not ours: nobody steers them, and only the collector knows of them
	Queries load.Submitter
	Slices  Slices
	Machine Machine
	Marks   Marks // nil: steps are not annotated
	// Processes gives the processes whose share of the host is told, by name.
	Processes func() map[string]int
	Progress  Progress
	// Outcomes receives a line of JSON for every query that ended.
	Outcomes io.Writer
}

// Runner measures one topology once.
type Runner struct {
	options Options
	ports   Ports

	marking  sync.WaitGroup
	mu       sync.Mutex
	outcomes []load.Outcome
	writeErr error
	notes    []string
}

// NewRunner returns a runner that has started nothing.
func NewRunner(options Options, ports Ports) (*Runner, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	return &Runner{options: options, ports: ports}, nil
}

// Run measures the topology that was submitted at the time given, and returns when the collector's last slices are in. When ctx
// ends it returns ctx's cause, with no query left under way.
func (r *Runner) Run(ctx context.Context, submitted time.Time) (*report.Run, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := r.awaitSource(ctx); err != nil {
		return nil, err
	}
	var watch sync.WaitGroup
	defer watch.Wait()
	defer r.marking.Wait()
	defer cancel(nil) // before the watch is waited for
	watch.Go(func() { r.watchWorkers(ctx, submitted, cancel) })

	run := &report.Run{
		Topology: r.options.Topology, Goals: r.options.Goals, SubmittedMs: submitted.UnixMilli(),
		StoredSliceMs: r.options.SliceWidth.Milliseconds(), Query: r.options.Query.BQL("…"),
	}
	held := load.NewHeld(r.options.Query, r.ports.Queries, load.DefaultHeldOptions(), r.observe)
	defer held.Close()
	if err := r.measure(ctx, held, submitted, run); err != nil {
		return nil, causeOf(ctx, err)
	}
	return run, nil
}

// causeOf prefers what ended the run to the error that its end led to.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (r *Runner) measure(ctx context.Context, held *load.Held, submitted time.Time, run *report.Run) error {
	if err := r.calibrate(ctx, submitted, run); err != nil {
		return err
	}
	p := newPlan(r.options, r.available(submitted))
	run.SliceMs = p.reportSlice.Milliseconds()
	r.announce(p)
	if err := r.climb(ctx, held, p, run); err != nil {
		return err
	}
	end := time.UnixMilli(run.Steps[len(run.Steps)-1].EndMs)
	if err := r.settle(ctx, held, submitted, end); err != nil {
		return err
	}
	for i := range run.Steps {
		run.Steps[i].Clients = r.clients(run.Steps[i])
	}
	// A collector that was just started again may refuse a moment.
	if err := r.poll(ctx, gatherLimit, "the figures", func(ctx context.Context) (bool, error) {
		err := gather(ctx, r.ports.Slices, r.options, submitted, end, run)
		return err == nil, err
	}); err != nil {
		return err
	}
	r.marking.Wait()
	run.CollectedMs = time.Now().UnixMilli()
	run.Notes = r.notes
	return r.written()
}

// available is the time that a bounded run has for its steps.
func (r *Runner) available(submitted time.Time) time.Duration {
	start := nextSlice(time.Now(), r.options.SliceWidth)
	return r.options.Bound - r.options.tail() - reportTime - start.Sub(submitted)
}

func (r *Runner) announce(p plan) {
	var ladder []int
	for _, step := range p.steps {
		ladder = append(ladder, step.queries)
	}
	r.ports.Progress.Say("%d steps of %s each, with %v simultaneous queries", len(p.steps), p.steps[0].length(), ladder)
}

// observe takes an outcome; it is called by the goroutine of each query.
func (r *Runner) observe(outcome load.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes = append(r.outcomes, outcome)
	line, err := json.Marshal(outcome)
	if err == nil {
		_, err = r.ports.Outcomes.Write(append(line, '\n'))
	}
	r.writeErr = errors.Join(r.writeErr, err)
}

func (r *Runner) written() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writeErr != nil {
		return fmt.Errorf("keep the queries' outcomes: %w", r.writeErr)
	}
	return nil
}

func (r *Runner) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// clients summarises the step's queries.
func (r *Runner) clients(step report.Step) report.Clients {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := load.Summarise(r.outcomes, windowOf(step))
	return report.Clients{
		Submitted: s.Submitted, Returned: s.Returned, Failed: s.Failed, Refused: s.Refused, Unfinished: s.Unfinished, CutOff: s.CutOff, NotSubmitted: s.NotSubmitted,
		AverageResultSize: report.Figure(s.AverageResultSize), GeneratedRecords: s.Generated, DueRecords: s.Due, MissingRecords: s.Missing, RepeatedRecords: s.Repeated, ForeignRecords: s.Foreign,
		LatencyMeanMs: report.Figure(s.LatencyMeanMs), LatencyP50Ms: report.Figure(s.LatencyP50Ms), LatencyP99Ms: report.Figure(s.LatencyP99Ms),
		LowerBounds: s.LowerBounds, LatenessP99Ms: report.Figure(s.LatenessP99Ms),
	}
}

// latencies are those of the step's queries, ms, ascending; of one that gave no answer it is how long it took at least.
func (r *Runner) latencies(step report.Step) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return load.Latencies(r.outcomes, windowOf(step))
}

func windowOf(step report.Step) load.Window {
	return load.Window{Start: time.UnixMilli(step.StartMs), Measured: time.UnixMilli(step.MeasuredFromMs), End: time.UnixMilli(step.EndMs)}
}

// mostQueries is how many slots the ladder may need.
func (o Options) mostQueries() int { return slices.Max(o.Ladder) }

func figure(f float64) report.Figure {
	if math.IsInf(f, 0) {
		return report.Unknown
	}
	return report.Figure(f)
}
