package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
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

// Progress is where a run reports what it does.
type Progress interface {
	// Say prints a line that stays.
	Say(format string, args ...any)
	// Show prints what holds at the moment; the next call replaces it.
	Show(format string, args ...any)
}

// Ports are the connections of a session to the outside world. All must be safe for concurrent use, since the
// goroutines of queries, of the watch and of the step use them at the same time. Tests replace them with fakes.
type Ports struct {
	Source  Source // nil where the records are not ours: nobody steers them, and only the collector knows of them
	Queries load.Submitter
	// LoadHosts makes an asker of load clients on other hosts, which sends queries where they reach it; nil where this
	// process asks Queries itself. observe is called once for every query that was due, failed where a client ends.
	LoadHosts   func(observe func(load.Outcome), failed context.CancelCauseFunc) load.Asker
	Slices      Slices
	Machine     Machine
	Annotations Annotations // nil: steps are not annotated
	// Processes gives the processes whose share of the host is reported, by name.
	Processes func() map[string]int
	Progress  Progress
	// Outcomes receives a line of JSON for every query that ended.
	Outcomes io.Writer
}

// observe stores an outcome and appends it to the outcomes file. The goroutine of each query calls it. A failed write
// is kept for Written and does not end the step.
func (s *Session) observe(outcome load.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes = append(s.outcomes, outcome)
	line, err := json.Marshal(outcome)
	if err == nil {
		_, err = s.ports.Outcomes.Write(append(line, '\n'))
	}
	s.writeErr = errors.Join(s.writeErr, err)
}

// Written returns an error if any outcome could not be written to the outcomes file.
func (s *Session) Written() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writeErr != nil {
		return fmt.Errorf("keep the queries' outcomes: %w", s.writeErr)
	}
	return nil
}

// clients summarises the step's queries.
func (s *Session) clients(step runstore.Step) runstore.Clients {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := load.Summarise(s.outcomes, windowOf(step))
	return runstore.Clients{
		Submitted: sum.Submitted, Returned: sum.Returned, Failed: sum.Failed, Refused: sum.Refused,
		Unfinished: sum.Unfinished, CutOff: sum.CutOff, NotSubmitted: sum.NotSubmitted,
		AverageResultSize: tuning.Figure(sum.AverageResultSize), GeneratedRecords: sum.Generated, DueRecords: sum.Due,
		MissingRecords: sum.Missing, RepeatedRecords: sum.Repeated, ForeignRecords: sum.Foreign,
		LatencyMeanMs: tuning.Figure(sum.LatencyMeanMs), LatencyP50Ms: tuning.Figure(sum.LatencyP50Ms),
		LatencyP99Ms: tuning.Figure(sum.LatencyP99Ms),
		LowerBounds:  sum.LowerBounds, LatenessP99Ms: tuning.Figure(sum.LatenessP99Ms),
		Hosts: s.hosts(step),
	}
}

// hosts summarises the step's queries by the load hosts that asked them, with what these used in its measured time.
func (s *Session) hosts(step runstore.Step) (all []runstore.ClientHost) {
	for _, host := range step.Clients.Hosts {
		var asked []load.Outcome
		for _, o := range s.outcomes {
			if o.Host == host.Host {
				asked = append(asked, o)
			}
		}
		sum := load.Summarise(asked, windowOf(step))
		host.Submitted, host.NotSubmitted, host.LatenessP99Ms = sum.Submitted, sum.NotSubmitted,
			tuning.Figure(sum.LatenessP99Ms)
		all = append(all, host)
	}
	return all
}

// latencies are those of the step's queries, ms, ascending; of one that gave no answer it is how long it took at least.
func (s *Session) latencies(step runstore.Step) []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return load.Latencies(s.outcomes, windowOf(step))
}

func windowOf(step runstore.Step) load.Window {
	return load.Window{Start: time.UnixMilli(step.StartMs), Measured: time.UnixMilli(step.MeasuredFromMs),
		End: time.UnixMilli(step.EndMs)}
}

func figure(f float64) tuning.Figure {
	if math.IsInf(f, 0) {
		return tuning.Unknown
	}
	return tuning.Figure(f)
}
