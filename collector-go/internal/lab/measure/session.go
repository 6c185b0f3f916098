// Package measure measures a running topology. It calibrates the record rate and applies the load of one step after the
// other. For each step it waits for the collector's slices, and gathers the figures and the evidence for the verdict.
//
// The package owns the timing of a step: when the load starts, which slices count, and how long to wait for late ones.
// It reaches the outside only through the interfaces in ports.go: the gateway's record source, the load clients, the
// collector over HTTP, and /proc. It must not know the order of steps or the layout of a run directory (runner,
// runstore). It computes no verdict: it passes measures and evidence to tuning.JudgeGoals.
//
// Start reading at Session.Step in step.go, which runs one step from beginning to end. evidence.go collects what
// limited the topology, intake.go counts the records it took, and ready.go waits for workers and records.
// calibration.go is the search for a record rate, without I/O.
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

// Calculator evaluates PromQL expressions that yield one number. Collector implements it.
type Calculator interface {
	// Calculate returns the value of an expression at a time. It is unknown if the expression has no value or several.
	Calculate(ctx context.Context, expression string, at time.Time) (tuning.Figure, error)
}

// SessionOptions hold what is the same in all steps of a session.
type SessionOptions struct {
	// Topology is the topology's name; Workers is the number of workers that must report. Wait bounds the time until
	// its first records and its workers' first figures; 0 means the default.
	Topology string
	Workers  int
	Wait     time.Duration
	Plan     runstore.Plan
	// FirstStepBy is when the first step should begin at the latest; the zero time means no limit. The calibration
	// then starts no reading that would end later, and the warm-up takes at most half of the remaining time.
	FirstStepBy time.Time
	// Lateness is the collector's setting for late samples. Trial and Run are used in the titles and ids of
	// annotations.
	Lateness    time.Duration
	Run         string
	Trial       string
	Environment Environment
}

// Session measures one launch of a topology, step by step. The caller decides which steps to run. The session keeps
// what carries over from one step to the next: the record rate, the queries in flight, and whether the JVMs are warm.
//
// All methods except Close must be called from one goroutine. Outcomes arrive on the goroutines of the queries and are
// guarded by mu. A separate goroutine watches whether the workers report. It cancels the session if they do not,
// because steps without the workers' figures cannot be judged.
type Session struct {
	o         SessionOptions
	ports     Ports
	query     load.Query
	width     time.Duration // of a slice
	submitted time.Time
	asker     load.Asker
	rate      float64  // records/s of the background, as last set
	warm      bool     // the launch has been warmed up
	notes     []string // from the warm-up, to be added to the next step
	workers   int      // the largest number of workers seen in the topology
	// shares are the processes' CPU shares in the last step in which the host had idle CPU. A later step that lacks
	// CPU is compared with them, to name the process that took more.
	shares []tuning.ProcessShare
	// throughBroker states that records come through Kafka. paused states that the source was set to emit none. loaded
	// is when the last load ended. offered is the catch-up period of the current step.
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

// Open waits for the topology's first records and returns a session for it. The session ends with ctx, or by itself if
// the workers do not report; every method then returns the cause. The caller must call Close.
func Open(ctx context.Context, o SessionOptions, ports Ports, submitted time.Time) (*Session, error) {
	query, err := load.NewQuery(QueryOf(o.Plan.Load))
	if err != nil {
		return nil, err
	}
	s := &Session{o: o, ports: ports, query: query, width: load.DurationOf(o.Plan.SliceMs), submitted: submitted,
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

// QueryOf returns the class and the other parameters of a plan's queries.
func QueryOf(l runstore.Load) (load.Class, load.Parameters) {
	return load.Class(l.Class), load.Parameters{Limit: l.QueryLimit, Duration: load.DurationOf(l.QueryDurationMs),
		PerSecond: float64(l.MatchingPerSecond), NoSource: l.NoSource(), Text: l.BQL}
}

// awaitTopology waits for the first records. On a shared cluster the previous topology may still be ending and
// emitting. There, and if the record source is foreign, the workers must have reported first.
func (s *Session) awaitTopology() error {
	if s.elsewhere() || s.ports.Source == nil {
		if err := s.awaitWorkers(s.ctx, s.submitted); err != nil {
			return err
		}
	}
	return s.awaitSource(s.ctx, max(s.o.Wait, sourceReadyLimit))
}

// elsewhere reports whether the workers run on other machines, so that /proc says nothing about them.
func (s *Session) elsewhere() bool { return s.o.Plan.Launch == runstore.CommandLaunch }

// Close abandons the queries in flight and ends the session. It may be called twice.
func (s *Session) Close() {
	s.cancel(nil)
	s.asker.Close()
	s.watch.Wait()
	s.marking.Wait()
}

// cause returns the reason for the session's end if it has ended, because err is then only a consequence.
func (s *Session) cause(err error) error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	return err
}

// Calibrate finds the record rate that leaves the planned ratio of the host idle while no queries run. It warms up the
// workers first. While they still compile, the same records take less and less CPU, so the rate would fit a state that
// does not last (decision 14).
func (s *Session) Calibrate() (tuning.Calibration, error) {
	err := s.setRate(s.ctx, firstRate)
	if err == nil {
		err = s.warmUp()
	}
	if err != nil {
		return tuning.Calibration{}, s.cause(err)
	}
	found, err := s.calibrate(s.ctx)
	s.rate = float64(found.RecordsPerSecond)
	return found, s.cause(err)
}

// SetRate requests a rate of background records (records/s) and waits until the source follows.
func (s *Session) SetRate(rate float64) error {
	s.rate = rate
	return s.cause(s.setRate(s.ctx, rate))
}

// Figures returns all series of the topology from its submission to a moment. The caller adds the steps.
func (s *Session) Figures(until time.Time) (*runstore.Figures, error) {
	run, err := s.EarlierFigures(s.o.Topology, s.submitted, until)
	if err != nil {
		return nil, err
	}
	run.Query = s.query.BQL("…")
	run.Calibration = tuning.Calibration{TargetIdle: tuning.Unknown, RecordsPerSecond: tuning.Figure(s.rate)}
	if s.ports.Source == nil {
		run.Calibration.RecordsPerSecond = tuning.Unknown
	}
	if s.ports.Facts != nil {
		if t, err := s.ports.Facts.Topology(s.ctx, s.o.Topology); err == nil {
			run.Requested, run.Placement = t.ResourceRequest(s.o.Environment.Partitions), t.Placement()
		}
	}
	run.CollectedMs, run.Notes = time.Now().UnixMilli(), []string{}
	return run, nil
}

// EarlierFigures returns the series of an earlier launch of the same trial. Each launch has its own topology name, so
// the series must be read under the former name and joined by the caller.
func (s *Session) EarlierFigures(topology string, from, until time.Time) (*runstore.Figures, error) {
	earlier := &Session{o: s.o, ports: s.ports, ctx: s.ctx}
	earlier.o.Topology = topology
	run := &runstore.Figures{Topology: topology, SubmittedMs: from.UnixMilli(), StoredSliceMs: s.o.Plan.SliceMs,
		SliceMs: s.o.Plan.ReportSliceMs}
	return run, earlier.read(until, from, run)
}

// read gathers the series of (from, until]. It retries for gatherLimit, because a restarted collector may refuse
// requests for a moment.
func (s *Session) read(until, from time.Time, run *runstore.Figures) error {
	return s.cause(s.poll(s.ctx, gatherLimit, "the figures", func(ctx context.Context) (bool, error) {
		err := gather(ctx, s.ports.Slices, s.o.Topology, from, until, run)
		return err == nil, err
	}))
}

// Recorded reads further series of the topology. The selectors do not contain the topology's label. It returns what
// could be read together with the errors of the rest.
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

// Limitation returns a sentence about the resource that limited a topology, from the same evidence as in experiments.
// found is false if no resource was at its limit.
//
// Workers that fell silent after heard are no limiter. The caller knows that their silence is not the cause, for
// example because the topology was killed. The time range then ends earlier by up to its length, with the last time at
// which all of them reported, because shares of a time without samples would be too low.
func Limitation(ctx context.Context, collector Stored, t Topology, of TimeRange, heard time.Time) (text string,
	found bool, err error) {
	of.Workers = len(t.Workers)
	r := reader{ctx: ctx, stored: collector, topology: t.Name, from: of.From, to: of.To}
	if last := lastOfAll(r.read(cpuMetric), heard); r.err != nil {
		return "", false, fmt.Errorf("find when the workers reported: %w", r.err)
	} else if !last.IsZero() && last.Before(of.To) {
		of.From, of.To = of.From.Add(last.Sub(of.To)), last
	}
	evidence, err := GatherEvidence(ctx, collector, t, of)
	if err != nil {
		return "", false, err
	}
	limit := tuning.Limit(evidence)
	return limit.Text, limit.Known(), nil
}

// lastOfAll returns the last time at which all workers reported that still reported at heard. It is zero if none did.
func lastOfAll(series []Series, heard time.Time) (last time.Time) {
	for _, of := range byLabel(series, "worker") {
		times := sum(of).TimesMs
		if len(times) == 0 {
			continue
		}
		at := time.UnixMilli(times[len(times)-1])
		if !at.Before(heard) && (last.IsZero() || at.Before(last)) {
			last = at
		}
	}
	return last
}
