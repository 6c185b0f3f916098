// Package measure measures a running topology: it finds a record rate that the machine can bear, holds a load step
// by step, waits for the collector's slices and judges each step. What is decided (calibration) is pure; the rest talks
// to the topology's gateway, to the collector's PromQL and to /proc.
package measure

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Calculator answers PromQL with one number. Collector is one.
type Calculator interface {
	// Calculate is the value of an expression at a time; unknown where it has none or several.
	Calculate(ctx context.Context, expression string, at time.Time) (tuning.Figure, error)
}

// SessionOptions say what is measured in all steps of a session.
type SessionOptions struct {
	// Topology is the topology's name, Workers how many workers must report; Wait is how long its first records, and
	// its workers' figures, may take, 0 for the usual.
	Topology string
	Workers  int
	Wait     time.Duration
	Plan     runstore.Plan
	// FirstStepBy is when the first step is to begin: no further reading of a calibration is begun that would take it
	// longer, and the warm-up has half of the time until then. The zero time for no such limit.
	FirstStepBy time.Time
	// Lateness is the collector's; Trial and Run name the annotations.
	Lateness    time.Duration
	Run         string
	Trial       string
	Environment Environment
}

// Session measures a topology that runs, step by step, for as long as its caller wants. All methods but Close belong to
// one goroutine.
type Session struct {
	o         SessionOptions
	ports     SessionPorts
	query     load.Query
	width     time.Duration // of a slice
	submitted time.Time
	asker     load.Asker
	rate      float64  // of background records, as last set
	warm      bool     // the launch has been warmed up
	notes     []string // of the warm-up, for the step that comes next
	workers   int      // the most that are known to belong to the topology
	// shares are the processes' in the last step that did not starve the host.
	shares []tuning.ProcessShare
	// throughBroker states that records come through Kafka, paused that the source was set to make none, loaded when
	// the last load ended, offered what a step was to catch up.
	throughBroker, paused bool
	loaded                time.Time
	offered               *offer

	ctx     context.Context
	cancel  context.CancelCauseFunc
	watch   sync.WaitGroup
	marking sync.WaitGroup

	mu       sync.Mutex
	outcomes []load.Outcome
	writeErr error
}

// SessionPorts are the parts that a session works on beside a runner's; what is nil is left out.
type SessionPorts struct {
	Ports
	Calculator Calculator
	Facts      Facts
}

// Open awaits the topology's first records and returns a session of it. It is ended by ctx, and by its own end when the
// workers do not report; Err states why. Close must be called.
func Open(ctx context.Context, o SessionOptions, ports SessionPorts, submitted time.Time) (*Session, error) {
	query, err := load.NewQuery(QueryOf(o.Plan.Load))
	if err != nil {
		return nil, err
	}
	s := &Session{o: o, ports: ports, query: query, width: milliseconds(o.Plan.SliceMs), submitted: submitted,
		workers: o.Workers}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	if err := s.awaitTopology(); err != nil {
		s.cancel(nil)
		return nil, err
	}
	s.watch.Go(func() { s.watchWorkers(s.ctx, submitted, s.cancel) })
	if s.asker = load.NewHere(query, ports.Queries, load.Part{}, s.observe); ports.LoadHosts != nil {
		s.asker = ports.LoadHosts(s.observe, s.cancel)
	}
	return s, nil
}

// QueryOf is the class of a plan's queries, and what they are beside it.
func QueryOf(l runstore.Load) (load.Class, load.Parameters) {
	return load.Class(l.Class), load.Parameters{Limit: l.QueryLimit, Duration: milliseconds(l.QueryDurationMs),
		PerSecond: float64(l.MatchingPerSecond), NoSource: l.NoSource(), Text: l.BQL}
}

// awaitTopology waits for the first records. On a cluster that others run, the topology before may still be ending and
// emit; there, and where the records are not ours, the workers must have reported first.
func (s *Session) awaitTopology() error {
	if s.elsewhere() || s.ports.Source == nil {
		if err := s.awaitWorkers(s.ctx, s.submitted); err != nil {
			return err
		}
	}
	return s.awaitSource(s.ctx, max(s.o.Wait, sourceReadyLimit))
}

// elsewhere reports whether the workers run on other machines than this.
func (s *Session) elsewhere() bool { return s.o.Plan.Launch == runstore.CommandLaunch }

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// Close abandons the queries under way and ends the session. It may be called twice.
func (s *Session) Close() {
	s.cancel(nil)
	s.asker.Close()
	s.watch.Wait()
	s.marking.Wait()
}

// cause prefers what ended the session to the error that its end led to.
func (s *Session) cause(err error) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return err
}

// Calibrate finds the record rate that leaves the plan's share of the host idle without queries, once the workers are
// warm.
func (s *Session) Calibrate() (runstore.Calibration, error) {
	err := s.setRate(s.ctx, firstRate)
	if err == nil {
		err = s.warmUp()
	}
	if err != nil {
		return runstore.Calibration{}, s.cause(err)
	}
	found, err := s.calibrate(s.ctx)
	s.rate = float64(found.RecordsPerSecond)
	return found, s.cause(err)
}

// SetRate asks for background records and waits until the source follows.
func (s *Session) SetRate(rate float64) error {
	s.rate = rate
	return s.cause(s.setRate(s.ctx, rate))
}

// Figures are all series of the topology from its submission to a moment; the steps are the caller's to add.
func (s *Session) Figures(until time.Time) (*runstore.Figures, error) {
	run := &runstore.Figures{
		Topology: s.o.Topology, SubmittedMs: s.submitted.UnixMilli(), StoredSliceMs: s.o.Plan.SliceMs,
		SliceMs: s.o.Plan.ReportSliceMs,
		Query:   s.query.BQL("…"), Calibration: runstore.Calibration{TargetIdle: tuning.Unknown,
			RecordsPerSecond: tuning.Figure(s.rate)},
	}
	if s.ports.Source == nil {
		run.Calibration.RecordsPerSecond = tuning.Unknown
	}
	if err := s.read(until, s.submitted, run); err != nil {
		return nil, err
	}
	if s.ports.Facts != nil {
		if t, err := s.ports.Facts.Topology(s.ctx, s.o.Topology); err == nil {
			run.Requested, run.Placement = t.ResourceRequest(s.o.Environment.Partitions), t.Placement()
		}
	}
	run.CollectedMs, run.Notes = time.Now().UnixMilli(), []string{}
	return run, nil
}

// EarlierFigures are the series of an earlier launch of the trial, under the name that it had then.
func (s *Session) EarlierFigures(topology string, from, until time.Time) (*runstore.Figures, error) {
	earlier := &Session{o: s.o, ports: s.ports, ctx: s.ctx}
	earlier.o.Topology = topology
	run := &runstore.Figures{Topology: topology, SubmittedMs: from.UnixMilli(), StoredSliceMs: s.o.Plan.SliceMs,
		SliceMs: s.o.Plan.ReportSliceMs}
	return run, earlier.read(until, from, run)
}

// read gathers the series of (from, until]. A collector that was just started again may refuse a moment.
func (s *Session) read(until, from time.Time, run *runstore.Figures) error {
	return s.cause(s.poll(s.ctx, gatherLimit, "the figures", func(ctx context.Context) (bool, error) {
		err := gather(ctx, s.ports.Slices, s.o.Topology, from, until, run)
		return err == nil, err
	}))
}

// Recorded reads further series of the topology, by selectors without its label.
func (s *Session) Recorded(selectors []string, until time.Time) (map[string][]Series, error) {
	all := map[string][]Series{}
	var problems []error
	for _, selector := range selectors {
		series, err := s.ports.Slices.Slices(s.ctx, s.narrow(selector), s.submitted, until)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all[selector] = series
	}
	return all, errors.Join(problems...)
}

// narrow adds the topology's label to a selector.
func (s *Session) narrow(selector string) string {
	name, matchers, found := strings.Cut(strings.TrimSpace(selector), "{")
	if !found {
		return s.selector(name)
	}
	return fmt.Sprintf("%s{topology=%s,%s", name, strconv.Quote(s.o.Topology), matchers)
}

func (s *Session) selector(metric string, more ...string) string {
	return selector(s.o.Topology, metric, more...)
}
