package load

import (
	"context"
	"sync"
	"time"
)

// HeldOptions configure a Held.
type HeldOptions struct {
	// Grace is how long after its own end a query may take to return before it has failed.
	Grace time.Duration
	// Backoff is how long a slot waits after a failure, so that a broken gateway is not stormed.
	Backoff time.Duration
	// Prefix begins the probes' values; "" for "probe".
	Prefix string
	// Part is the share of the slots that this client holds queries in.
	Part Part
	// UnderWay counts the queries under way; nil for nobody.
	UnderWay *UnderWay
}

// DefaultHeldOptions allow the topology 15 s to answer a query that is over, and ask a failing gateway once a second a
// slot.
func DefaultHeldOptions() HeldOptions {
	return HeldOptions{Grace: 15 * time.Second, Backoff: time.Second}
}

// Held is the closed load model: it keeps a constant number of queries in flight. Each slot has its own goroutine and
// its own probe, and submits its query again as soon as the last one has returned. If a topology slows down, it
// receives fewer queries; use OpenLoop to measure latency at a given arrival rate.
//
// Methods are safe for concurrent use. A slot ends only between two queries, so lowering the number takes as long as
// the queries live.
type Held struct {
	query   Query
	options HeldOptions
	observe func(Outcome)
	desk    desk

	ctx    context.Context // of the queries; ends with Close
	cancel context.CancelFunc

	mu        sync.Mutex
	target    int
	running   map[int]bool
	active    inFlight
	submitted int
	counts    map[End]int
	slots     sync.WaitGroup
}

// NewHeld returns a Held that holds no query yet. observe is called once for every query that ended, from many
// goroutines.
func NewHeld(query Query, target Submitter, options HeldOptions, observe func(Outcome)) *Held {
	ctx, cancel := context.WithCancel(context.Background())
	return &Held{
		query: query, options: options, observe: observe, desk: desk{query, target, options.Grace, ctx},
		ctx: ctx, cancel: cancel, running: map[int]bool{}, counts: map[End]int{},
	}
}

// Hold changes how many queries the run holds, of which the part has its share. New ones start at once; superfluous
// ones end by themselves and are not repeated.
func (h *Held) Hold(n int) { h.HoldWithin(n, 0) }

// HoldWithin is Hold with the starts of new queries spread evenly over a period. Queries of equal length that start
// together also end together, again and again. The topology would then alternate between bursts and idle periods, and
// its mean figures would describe neither.
func (h *Held) HoldWithin(n int, spread time.Duration) { h.holdFrom(n, time.Now(), spread) }

// holdFrom is HoldWithin with the first start at a moment. Of several parts each begins as much after the one before
// as spreads their queries evenly together.
func (h *Held) holdFrom(n int, from time.Time, spread time.Duration) {
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

// Progress is how many queries are under way now, and how many ended in which manner.
func (h *Held) Progress() (active, returned, failed int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.active.now, h.counts[Returned], h.counts[Failed] + h.counts[TimedOut]
}

// Counts implements Client.
func (h *Held) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return newCounts(h.submitted, h.submitted, h.active, h.counts)
}

// Drain starts no more queries and waits until those under way have returned or ctx ends.
func (h *Held) Drain(ctx context.Context) error {
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

// Close abandons the queries under way, which end as CutOff or Unfinished, and returns when all have. It may be called
// twice.
func (h *Held) Close() {
	h.cancel()
	h.slots.Wait()
}

func (h *Held) run(slot int, intended time.Time) {
	for h.await(intended); h.wanted(slot); {
		ended := h.options.UnderWay.begin()
		outcome := h.desk.ask(slot, probeValue(h.options.Prefix, slot), start{intended, intended})
		h.count(outcome)
		h.observe(outcome)
		ended()
		intended = intended.Add(outcome.Latency())
		if outcome.End == Failed || outcome.End == TimedOut {
			intended = h.backOff(intended)
		}
	}
}

// wanted reports whether the slot goes on; if not it is free from now on.
func (h *Held) wanted(slot int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slot < h.target && h.ctx.Err() == nil {
		h.active.begin()
		h.submitted++
		return true
	}
	delete(h.running, slot)
	return false
}

func (h *Held) count(outcome Outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active.end()
	h.counts[outcome.End]++
}

// backOff waits, and returns when the next query is meant to start.
func (h *Held) backOff(failed time.Time) time.Time {
	next := failed.Add(h.options.Backoff)
	h.await(next)
	return next
}

// await waits until a moment, or Close.
func (h *Held) await(moment time.Time) {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.ctx.Done():
	}
}
