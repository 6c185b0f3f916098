package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
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

// Runner is the part of a session that talks to the topology and to the collector.
type Runner struct {
	options Options
	ports   Ports

	marking  sync.WaitGroup
	mu       sync.Mutex
	outcomes []load.Outcome
	writeErr error
}

// causeOf prefers what ended the run to the error that its end led to.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
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

// clients summarises the step's queries.
func (r *Runner) clients(step rundir.Step) rundir.Clients {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := load.Summarise(r.outcomes, windowOf(step))
	return rundir.Clients{
		Submitted: s.Submitted, Returned: s.Returned, Failed: s.Failed, Refused: s.Refused, Unfinished: s.Unfinished, CutOff: s.CutOff, NotSubmitted: s.NotSubmitted,
		AverageResultSize: tuning.Figure(s.AverageResultSize), GeneratedRecords: s.Generated, DueRecords: s.Due, MissingRecords: s.Missing, RepeatedRecords: s.Repeated, ForeignRecords: s.Foreign,
		LatencyMeanMs: tuning.Figure(s.LatencyMeanMs), LatencyP50Ms: tuning.Figure(s.LatencyP50Ms), LatencyP99Ms: tuning.Figure(s.LatencyP99Ms),
		LowerBounds: s.LowerBounds, LatenessP99Ms: tuning.Figure(s.LatenessP99Ms),
	}
}

// latencies are those of the step's queries, ms, ascending; of one that gave no answer it is how long it took at least.
func (r *Runner) latencies(step rundir.Step) []float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return load.Latencies(r.outcomes, windowOf(step))
}

func windowOf(step rundir.Step) load.Window {
	return load.Window{Start: time.UnixMilli(step.StartMs), Measured: time.UnixMilli(step.MeasuredFromMs), End: time.UnixMilli(step.EndMs)}
}

func figure(f float64) tuning.Figure {
	if math.IsInf(f, 0) {
		return tuning.Unknown
	}
	return tuning.Figure(f)
}
