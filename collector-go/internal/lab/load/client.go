package load

import (
	"context"
	"sync"
	"time"
)

// Client submits queries. ClosedLoop and OpenLoop implement it.
type Client interface {
	// Counts returns the current counts of the client.
	Counts() Counts
}

// Counts accounts for every query of a client. Two identities hold: Scheduled = Submitted + Waiting + NotSubmitted,
// and Submitted = InFlight + Returned + Failed + TimedOut + Unfinished + CutOff.
type Counts struct {
	// Scheduled is the number of queries that were scheduled until now.
	Scheduled int `json:"due"`
	// Submitted is the number of those that were submitted.
	Submitted int `json:"submitted"`
	// Waiting is the number of scheduled queries that are not submitted yet, because of the limit of queries in flight
	// or because the client is late.
	Waiting int `json:"waiting"`
	// InFlight is the number of submitted queries that have not ended.
	InFlight int `json:"in_flight"`
	// MostInFlight is the largest value that InFlight had.
	MostInFlight int `json:"most_in_flight"`
	// Ends of the other queries.
	Ends
}

// begin counts a query that is submitted.
func (c *Counts) begin() {
	c.Submitted++
	c.InFlight++
	c.MostInFlight = max(c.MostInFlight, c.InFlight)
}

// end counts the end of a query. A query that was never submitted was not in flight.
func (c *Counts) end(how End) {
	c.add(how)
	if how != NotSubmitted {
		c.InFlight--
	}
}

// at returns the counts at a time at which a number of queries had been scheduled.
func (c Counts) at(scheduled int) Counts {
	c.Scheduled, c.Waiting = scheduled, max(0, scheduled-c.Submitted-c.NotSubmitted)
	return c
}

// Ends counts queries by how they ended.
type Ends struct {
	Returned     int `json:"returned"`
	Failed       int `json:"failed"`
	TimedOut     int `json:"timed_out"`
	Unfinished   int `json:"unfinished"`
	CutOff       int `json:"cut_off"`
	NotSubmitted int `json:"not_submitted"`
}

// add counts a query. An unknown end, which only an edited file can have, counts nowhere.
func (e *Ends) add(how End) {
	counts := map[End]*int{Returned: &e.Returned, Failed: &e.Failed, TimedOut: &e.TimedOut, Unfinished: &e.Unfinished,
		CutOff: &e.CutOff, NotSubmitted: &e.NotSubmitted}
	if n := counts[how]; n != nil {
		*n++
	}
}

// ClosedOptions configure a ClosedLoop.
type ClosedOptions struct {
	// Grace is how long after its own end a query may take to return before it counts as failed.
	Grace time.Duration
	// Backoff is how long a slot waits after a failure, so that a broken gateway is not flooded.
	Backoff time.Duration
	// Prefix begins the probes' values; "" means "probe".
	Prefix string
	// Part is the share of the slots in which this client holds queries.
	Part Part
	// InFlight counts the queries in flight; nil means that nobody needs the count.
	InFlight *InFlight
}

// DefaultClosedOptions allow the topology 15 s to answer a query after the query's end. Each slot retries a failing
// gateway once a second.
func DefaultClosedOptions() ClosedOptions {
	return ClosedOptions{Grace: 15 * time.Second, Backoff: time.Second}
}

// ClosedLoop is the closed load model: it keeps a constant number of queries in flight. Each slot has its own
// goroutine and its own probe, and submits its query again as soon as the last one has returned. If a topology slows
// down, it receives fewer queries; use OpenLoop to measure latency at a given arrival rate.
//
// Methods are safe for concurrent use. A slot ends only between two queries, so lowering the number takes as long as
// the queries live.
type ClosedLoop struct {
	options ClosedOptions
	observe func(Outcome)
	desk    desk

	ctx    context.Context // for the queries; ends with Close
	cancel context.CancelFunc

	mu      sync.Mutex
	target  int
	running map[int]bool
	counts  Counts
	slots   sync.WaitGroup
}

// NewClosedLoop returns a ClosedLoop that holds no query yet. observe is called once for every query that ended, from
// many goroutines.
func NewClosedLoop(query Query, target Submitter, options ClosedOptions, observe func(Outcome)) *ClosedLoop {
	ctx, cancel := context.WithCancel(context.Background())
	return &ClosedLoop{
		options: options, observe: observe, desk: desk{query, target, options.Grace, ctx},
		ctx: ctx, cancel: cancel, running: map[int]bool{},
	}
}

// Hold sets the number of queries that the whole run keeps in flight; this part takes its share. New ones start at
// once; superfluous ones end by themselves and are not repeated.
func (h *ClosedLoop) Hold(n int) { h.HoldFrom(n, time.Now(), 0) }

// HoldFrom is Hold with the first start at a moment, and the starts of new queries spread evenly over a period.
// Queries of equal length that start together also end together, again and again. The topology would then alternate
// between bursts and idle periods, and its mean figures would describe neither. With several parts, the starts of all
// of them together are spread evenly.
func (h *ClosedLoop) HoldFrom(n int, from time.Time, spread time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.target = n
	var starting []int
	for slot := range n {
		if h.options.Part.has(slot) && !h.running[slot] && h.ctx.Err() == nil {
			starting = append(starting, slot)
		}
	}
	all := time.Duration(len(starting) * h.options.Part.parts())
	for i, slot := range starting {
		h.running[slot] = true
		h.slots.Go(func() { h.run(slot, from.Add(spread*time.Duration(h.options.Part.query(i))/all)) })
	}
}

// Counts implements Client.
func (h *ClosedLoop) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts.at(h.counts.Submitted)
}

// Drain starts no more queries and waits until those in flight have returned or ctx ends.
func (h *ClosedLoop) Drain(ctx context.Context) error {
	h.Hold(0)
	done := make(chan struct{})
	go func() { h.slots.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		h.Close()
		<-done
		return ctx.Err()
	}
}

// Close abandons the queries in flight, which end as CutOff or Unfinished, and returns when all have ended. It may be
// called twice.
func (h *ClosedLoop) Close() {
	h.cancel()
	h.slots.Wait()
}

func (h *ClosedLoop) run(slot int, intended time.Time) {
	for WaitUntil(h.ctx, intended); h.wanted(slot); {
		ended := h.options.InFlight.begin()
		outcome := h.desk.ask(slot, probeValue(h.options.Prefix, slot), start{intended, intended})
		h.count(outcome)
		h.observe(outcome)
		ended()
		intended = intended.Add(outcome.Latency())
		if outcome.End == Failed || outcome.End == TimedOut {
			intended = intended.Add(h.options.Backoff)
			WaitUntil(h.ctx, intended)
		}
	}
}

// wanted reports whether the slot should submit another query. If not, the slot is free from then on.
func (h *ClosedLoop) wanted(slot int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slot < h.target && h.ctx.Err() == nil {
		h.counts.begin()
		return true
	}
	delete(h.running, slot)
	return false
}

func (h *ClosedLoop) count(outcome Outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts.end(outcome.End)
}

// WaitUntil waits until a moment, and reports whether the moment came before ctx ended. A moment in the past has come.
func WaitUntil(ctx context.Context, moment time.Time) bool {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
