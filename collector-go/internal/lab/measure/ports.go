package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Source is the topology's record source as seen through its gateway. load.Gateway implements it.
type Source interface {
	SetControl(context.Context, load.Control) error
	Status(context.Context) (load.Status, error)
}

// Stored reads what a collector stored in (from, to].
type Stored interface {
	// Slices returns the slices of the series that match a selector.
	Slices(ctx context.Context, selector string, from, to time.Time) ([]Series, error)
	// Collection returns how complete the collected data are.
	Collection(ctx context.Context, topology string, from, to time.Time) (*collection.Collection, error)
}

// Slices also reads the ends of the newest slices and a topology's annotations. Collector implements it.
type Slices interface {
	Stored
	Newest(ctx context.Context, selector string, at time.Time) ([]Newest, error)
	// AnnotationsWithin returns the annotations that overlap [from, to], sorted by time.
	AnnotationsWithin(ctx context.Context, topology string, from, to time.Time) ([]Annotation, error)
}

// Machine reports the CPU time of the host and of its processes. Proc implements it.
type Machine interface {
	Host() (HostTime, error)
	Process(pid int) (time.Duration, bool)
}

// Progress receives the messages of a run.
type Progress = load.Progress

// Ports are the connections of a session to the outside world. All must be safe for concurrent use, because the
// goroutines of queries, of the watch and of the step use them at the same time. Tests replace them with fakes.
type Ports struct {
	Source  Source // nil for a foreign source, which cannot be controlled: only the collector reports its records
	Queries load.Submitter
	// LoadHosts returns an asker that runs queries from load clients on other hosts. It is nil if this process runs
	// the queries through Queries. observe is called once for every scheduled query; failed is called if a client
	// ends.
	LoadHosts   func(observe func(load.Outcome), failed context.CancelCauseFunc) load.Asker
	Slices      Slices
	Machine     Machine
	Annotations Annotations // nil: steps are not annotated
	// Calculator and Facts may be nil; percentiles from histograms and evidence are then unknown.
	Calculator Calculator
	Facts      Facts
	// Processes returns the process ids whose share of the host is reported, by name.
	Processes func() map[string]int
	Progress  Progress
	// Outcomes receives one line of JSON for every query that has ended.
	Outcomes io.Writer
}

// observe stores an outcome and appends it to the outcomes file. Each query calls it on its own goroutine. A failed
// write does not end the step; Written returns the error.
func (s *Session) observe(outcome load.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outcomes = append(s.outcomes, outcome)
	s.writeErr = errors.Join(s.writeErr, json.NewEncoder(s.ports.Outcomes).Encode(outcome))
}

// Written returns an error if any outcome could not be written to the outcomes file.
func (s *Session) Written() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writeErr != nil {
		return fmt.Errorf("store the outcomes of the queries: %w", s.writeErr)
	}
	return nil
}

// clients summarises the step's queries.
func (s *Session) clients(step runstore.Step) runstore.Clients {
	s.mu.Lock()
	defer s.mu.Unlock()
	clients := load.Summarise(s.outcomes, windowOf(step))
	clients.Hosts = s.hosts(step)
	return clients
}

// hosts summarises the step's queries for each load host and adds the CPU that the host's client used in the measured
// time.
func (s *Session) hosts(step runstore.Step) (all []runstore.ClientHost) {
	for _, host := range step.Clients.Hosts {
		var asked []load.Outcome
		for _, o := range s.outcomes {
			if o.Host == host.Host {
				asked = append(asked, o)
			}
		}
		sum := load.Summarise(asked, windowOf(step))
		host.Submitted, host.NotSubmitted, host.LatenessP99Ms = sum.Submitted, sum.NotSubmitted, sum.LatenessP99Ms
		all = append(all, host)
	}
	return all
}

// latencies returns the latencies of the step's queries in ms, ascending. For a query without an answer it is a lower
// bound.
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
