package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
)

// Progress shows the progress of a session to a person.
type Progress interface {
	Say(format string, args ...any)  // a line that stays
	Show(format string, args ...any) // a line that the next one replaces
}

// Session runs queries at a constant rate or concurrency and collects their outcomes, with progress, an outcomes file,
// records made for the queries, and a common start with the sessions of other clients.
type Session struct {
	Query      Query
	Target     Submitter
	Open       OpenOptions   // if Rate is above 0; its part, start and grace hold for held queries, too
	Concurrent int           // number of queries to keep running, or 0
	Duration   time.Duration // 0: until the context ends
	Endpoint   string        // kind of the target, for the outcomes
	URL        string        // of the target, for the outcomes
	Source     string        // address of the record source; "" for none
	Records    *float64      // records per second that match no query; nil: unchanged
	Outcomes   string        // file for the outcomes; "" for none
	Collector  string        // that counted the topology's queries; "" for none
	Topology   string        // in the collector
	Progress   Progress

	tally    *Tally
	timeline Timeline
	lines    *OutcomesWriter // nil for none
	report   Report
}

// sessionProbes begins the values of a session's probes.
const sessionProbes = "load"

// Run runs the session and passes its report to present. It returns after the record source is back in its former
// state, and with the error of ctx if ctx ended before the start.
func (s *Session) Run(ctx context.Context, present func(*Report) error) (err error) {
	s.tally = NewTally()
	s.report = Report{Run: Run{Part: s.Open.Part, URL: address.URL(s.URL).String(), Processors: runtime.GOMAXPROCS(0),
		Target: s.Endpoint, Class: s.Query.Class(), Query: s.Query.BQL("…"), Rate: s.Open.Rate, Concurrent: s.Concurrent,
		StartMs: s.Open.Start.UnixMilli(), DurationMs: s.Duration.Milliseconds()}, Tally: s.tally}
	closeOutcomes, err := s.openOutcomes()
	if err != nil {
		return err
	}
	undo, err := s.order(ctx)
	if err != nil {
		return errors.Join(err, closeOutcomes())
	}
	defer func() { err = errors.Join(err, undo()) }()
	if err := s.awaitStart(ctx); err != nil {
		return errors.Join(err, closeOutcomes())
	}
	s.drive(ctx)
	if err := closeOutcomes(); err != nil {
		return err
	}
	s.report.Moments = s.timeline.Moments()
	s.report.ClientLimit = ClientLimit("the load client", s.tally.Result().Lateness.P99, runtime.GOMAXPROCS(0))
	s.report.Active = CountedBy(ctx, s.Collector, s.Topology, s.report.Began, s.report.End, s.Progress)
	return present(&s.report)
}

// awaitStart waits until the common start of all parts.
func (s *Session) awaitStart(ctx context.Context) error {
	wait := time.Until(s.Open.Start)
	switch {
	case s.Open.Start.IsZero():
		return nil
	case wait < 0:
		return fmt.Errorf("--start was %s ago when the record source was ready: choose a later one",
			(-wait).Round(time.Millisecond))
	}
	s.Progress.Say("part %s of the run begins in %s", s.Open.Part, wait.Round(time.Second))
	if !WaitUntil(ctx, s.Open.Start) {
		return context.Cause(ctx)
	}
	return nil
}

// openOutcomes creates the outcomes file, if there is one. closing completes and closes it.
func (s *Session) openOutcomes() (closing func() error, err error) {
	if s.Outcomes == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(s.Outcomes)
	if err != nil {
		return nil, err
	}
	buffer := bufio.NewWriter(file)
	var run *Run
	if !s.Open.Part.Whole() {
		run = &s.report.Run
	}
	s.lines = NewOutcomesWriter(buffer, run)
	return func() error {
		if run != nil && s.ran() {
			s.lines.End(s.report.End)
		}
		return errors.Join(s.lines.Err(), buffer.Flush(), file.Close())
	}, nil
}

// ran reports whether the session reached its start.
func (s *Session) ran() bool { return !s.report.End.IsZero() }

// order lets the record source make the records that the queries look for. If the run has several parts, only the first
// one does, and undoes it when all queries of all parts have ended.
func (s *Session) order(ctx context.Context) (undo func() error, err error) {
	if s.Source == "" || s.Open.Part.Number > 1 {
		return func() error { return nil }, nil
	}
	probes := s.Open.Probes
	if s.Concurrent > 0 {
		probes = s.Concurrent
	}
	gateway := NewGateway(s.Source, 1)
	restore, err := gateway.Order(ctx, ProbesNamed(sessionProbes, s.Query, probes), s.Records)
	if err != nil {
		gateway.Close()
		return nil, fmt.Errorf("%w; use --source none for a topology without a record source", err)
	}
	return func() error {
		defer gateway.Close()
		s.awaitOthers(ctx)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return restore(ctx)
	}, nil
}

// awaitOthers waits until the last query that another part may have started has ended.
func (s *Session) awaitOthers(ctx context.Context) {
	if s.Open.Part.Whole() || !s.ran() || ctx.Err() != nil {
		return
	}
	end := s.Open.Start.Add(s.Duration + s.Query.Life() + s.Open.Grace)
	s.Progress.Say("waiting %s for the last queries of the other parts, which need the record source",
		time.Until(end).Round(time.Second))
	WaitUntil(ctx, end)
}

func (s *Session) observe(o Outcome) {
	s.tally.Add(o)
	if s.lines != nil {
		s.lines.Add(o)
	}
}

// drive runs the queries and returns when all have ended.
func (s *Session) drive(ctx context.Context) {
	var client Client
	var run func()
	if s.Open.Rate > 0 {
		options := s.Open
		options.Prefix = sessionProbes
		open, err := NewOpenLoop(s.Query, s.Target, options, s.observe)
		if err != nil {
			panic(err) // the caller has validated the options
		}
		client, run = open, func() { open.Run(ctx) }
	} else {
		options := DefaultClosedOptions()
		options.Grace, options.Prefix, options.Part = s.Open.Grace, sessionProbes, s.Open.Part
		closed := NewClosedLoop(s.Query, s.Target, options, s.observe)
		client, run = closed, func() { s.hold(ctx, closed) }
	}
	watching, stop := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	s.report.Began = time.Now()
	watch.Go(func() { s.watch(watching, client) })
	run()
	stop()
	watch.Wait()
	s.report.End = time.Now()
	s.report.PeakInFlight = client.Counts().MostInFlight
}

// hold keeps queries running for the session's duration, and lets those in flight end.
func (s *Session) hold(ctx context.Context, closed *ClosedLoop) {
	defer closed.Close()
	running := ctx
	if s.Duration > 0 {
		var cancel context.CancelFunc
		running, cancel = context.WithTimeout(ctx, s.Duration)
		defer cancel()
	}
	closed.Hold(s.Concurrent)
	<-running.Done()
	_ = closed.Drain(ctx) // its error is the end of ctx, which the caller sees
}

// watch shows the progress every second, and keeps a line every ten seconds.
func (s *Session) watch(ctx context.Context, client Client) {
	s.Progress.Say("   time  submitted  waiting  in flight  returned  failed        p99")
	lines := 0
	s.timeline.Watch(ctx, time.Second, client, s.tally, func(m Moment) {
		row := m.row(s.report.Began)
		if lines++; lines%10 == 0 {
			s.Progress.Say("%s", row)
		}
		s.Progress.Show("%s", row)
	})
}

func (m Moment) row(began time.Time) string {
	p99 := "-"
	if m.P99Ms != nil {
		p99 = fmt.Sprintf("%.0f ms", *m.P99Ms)
	}
	elapsed := time.UnixMilli(m.TimeMs).Sub(began).Round(time.Second)
	return fmt.Sprintf("%7s %10d %8d %10d %9d %7d %10s", elapsed, m.Submitted, m.Waiting, m.InFlight, m.Returned,
		m.Failed+m.TimedOut, p99)
}

// CountedBy returns how many queries the topology ran according to a collector. It returns nil without a collector, and
// nil with a message if the number is unknown.
func CountedBy(ctx context.Context, collector, topology string, began, end time.Time, progress Progress) *Active {
	if collector == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	active, err := activeWithin(ctx, collector, topology, began, end)
	switch {
	case err != nil:
		progress.Say("number of queries in the topology unknown: %v", err)
	case active == nil:
		progress.Say("number of queries in the topology unknown: the collector at %s has no slice of bullet_active_queries of topology %s between %s and %s",
			collector, topology, began.Format(time.TimeOnly), end.Format(time.TimeOnly))
	}
	return active
}

// Active states how many queries a topology ran according to the stored slices.
type Active struct {
	Most    float64 `json:"most"`
	UntilMs int64   `json:"until_ms"` // the end of the newest slice
}

// activeWithin asks a collector, or any Prometheus, how many queries a topology ran. It reads bullet_active_queries,
// summed over JoinBolt's tasks, of the slices that ended in (from, to]; it returns nil if none is stored. By default a
// slice is available about 14 s after its end. address is "host:port" or a URL.
func activeWithin(ctx context.Context, address, topology string, from, to time.Time) (*Active, error) {
	asked, err := client.New(address, client.Access{})
	if err != nil {
		return nil, err
	}
	defer asked.Close()
	series, err := asked.Slices(ctx, fmt.Sprintf(`bullet_active_queries{topology=%s,component="JoinBolt"}`,
		strconv.Quote(topology)), from, to)
	if err != nil {
		return nil, err
	}
	byEnd := map[int64]float64{}
	for _, one := range series {
		for _, slice := range one.Values {
			if n := float64(slice.Value); !math.IsNaN(n) {
				byEnd[int64(slice.Timestamp)] += n
			}
		}
	}
	if len(byEnd) == 0 {
		return nil, nil
	}
	active := &Active{}
	for endMs, n := range byEnd {
		active.Most, active.UntilMs = max(active.Most, n), max(active.UntilMs, endMs)
	}
	return active, nil
}
