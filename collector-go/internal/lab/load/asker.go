package load

import (
	"context"
	"sync"
	"time"
)

// Asker submits the queries of a session, by the closed model, the open model or both at once. It hides whether one
// process or several load clients do so. Here submits from this process; hosts.Hosts (load/hosts) distributes the
// queries over clients on several hosts. Outcomes go to an observer that was given at construction. It is safe for
// concurrent use.
type Asker interface {
	// Lead is how long before its start time an order must be given to arrive in time.
	Lead() time.Duration
	// Hold sets the number of queries held. New queries start from a moment on, spread evenly over a period;
	// superfluous ones end by themselves and are not repeated.
	Hold(n int, from time.Time, spread time.Duration)
	// Open starts queries at a rate. done is closed when all of them have ended and were observed, or the asker is
	// closed. Part and Start are of the whole run.
	Open(o OpenOptions) (done <-chan struct{}, err error)
	// InFlightBefore returns the number of queries that were submitted before a moment and have not been observed. An
	// error means that it is unknown.
	InFlightBefore(ctx context.Context, before time.Time) (int, error)
	// InFlight returns the approximate number of queries in flight; it never waits.
	InFlight() int
	// Usage returns the CPU that load clients on other hosts have used so far, by part. It is empty for this process,
	// and never waits.
	Usage() []Usage
	// Close abandons the queries in flight and returns when all were observed. It may be called twice.
	Close()
}

// Usage is the CPU that a load client had used at one moment.
type Usage struct {
	Host string
	// At is that moment; CPU is the CPU time used until then.
	At  time.Time
	CPU time.Duration
	// Cores is the number of processors that the client may use.
	Cores int
}

// Here is the Asker of this process. It consists of one ClosedLoop and any number of open loops, which share one count
// of the queries in flight.
type Here struct {
	query    Query
	target   Submitter
	part     Part
	observe  func(Outcome)
	closed   *ClosedLoop
	inFlight *InFlight

	ctx    context.Context // for the open loops; ends with Close
	cancel context.CancelFunc
	loops  sync.WaitGroup
}

// NewHere returns an asker for a part of each order. It submits nothing yet. observe is called once for every
// scheduled query, from many goroutines.
func NewHere(query Query, target Submitter, part Part, observe func(Outcome)) *Here {
	h := &Here{query: query, target: target, part: part, observe: observe, inFlight: NewInFlight()}
	options := DefaultClosedOptions()
	options.Part, options.InFlight = part, h.inFlight
	h.closed = NewClosedLoop(query, target, options, observe)
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// Lead implements Asker.
func (*Here) Lead() time.Duration { return 0 }

// Hold implements Asker.
func (h *Here) Hold(n int, from time.Time, spread time.Duration) { h.closed.HoldFrom(n, from, spread) }

// Open implements Asker. The part gets its share of the limit of queries in flight.
func (h *Here) Open(o OpenOptions) (<-chan struct{}, error) {
	o.Part, o.MostInFlight, o.InFlight = h.part, max(min(1, o.MostInFlight), h.part.Share(o.MostInFlight)), h.inFlight
	loop, err := NewOpenLoop(h.query, h.target, o, h.observe)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	h.loops.Go(func() { defer close(done); loop.Run(h.ctx) })
	return done, nil
}

// InFlightBefore implements Asker.
func (h *Here) InFlightBefore(_ context.Context, before time.Time) (int, error) {
	return h.inFlight.Before(before), nil
}

// InFlight implements Asker.
func (h *Here) InFlight() int { return h.inFlight.Now() }

// Usage implements Asker. It returns nil, because the CPU of this process is measured from outside.
func (*Here) Usage() []Usage { return nil }

// Close implements Asker.
func (h *Here) Close() {
	h.cancel()
	h.closed.Close()
	h.loops.Wait()
}

// InFlight counts the queries in flight, from the submission of a query until its outcome was observed. A step uses it
// to wait for exactly the queries that were submitted before its end. It is safe for concurrent use. A nil InFlight
// counts nothing.
type InFlight struct {
	mu      sync.Mutex
	next    int64
	started map[int64]time.Time
}

// NewInFlight returns a counter without queries.
func NewInFlight() *InFlight { return &InFlight{started: map[int64]time.Time{}} }

// begin counts a query until end is called.
func (u *InFlight) begin() (end func()) {
	if u == nil {
		return func() {}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	id := u.next
	u.next++
	u.started[id] = time.Now()
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.started, id)
	}
}

// Before returns the number of queries in flight that were started before a moment.
func (u *InFlight) Before(moment time.Time) (n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, started := range u.started {
		if started.Before(moment) {
			n++
		}
	}
	return n
}

// Now returns the number of queries in flight.
func (u *InFlight) Now() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.started)
}
