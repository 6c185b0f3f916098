package hosts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// Options configure the load clients and their queries.
type Options struct {
	// Hosts lists the hosts; one client is started on each.
	Hosts   []string
	Connect Connect
	// Target is where queries go, as the hosts reach it. Connections limits the connections of each client.
	Target      load.Target
	Connections int
	Class       load.Class
	Query       load.Parameters
}

// Hosts combines load clients on several hosts into one load.Asker. Every order goes to all of them, for the whole
// run, and each client does its part. Nothing is submitted before Asker was called.
//
// The first client that ends early makes the whole measurement invalid, because the load is smaller from then on. That
// is reported once; the other clients go on until Close.
type Hosts struct {
	all []*host

	ending context.Context // ends with Close
	end    context.CancelFunc
	tasks  sync.WaitGroup
	closed sync.Once

	mu      sync.Mutex
	observe func(load.Outcome)
	fail    func(error)
	failed  error // the first failure
}

// startLimit bounds the start of the clients and the comparison of their clocks.
const startLimit = 30 * time.Second

// Start starts a client on each host, and returns when all are ready and their clocks were compared. If one fails, the
// error names the host and quotes the last output of its command, and no client is left running.
func Start(ctx context.Context, o Options) (*Hosts, error) {
	if _, err := load.NewQuery(o.Class, o.Query); err != nil {
		return nil, err
	}
	h := &Hosts{}
	h.ending, h.end = context.WithCancel(context.Background())
	for _, name := range o.Hosts {
		connection, err := o.Connect(name)
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("load host %s: %w", name, err)
		}
		each := newHost(name, connection)
		each.report, each.fail = h.report, h.failWith
		h.all = append(h.all, each)
		h.tasks.Go(each.read)
	}
	if err := h.begin(ctx, o); err != nil {
		h.Close()
		return nil, err
	}
	for _, each := range h.all {
		h.tasks.Go(func() { h.watch(each) })
	}
	return h, nil
}

// begin sends the begin order to all clients concurrently, because one after the other would add up their times.
func (h *Hosts) begin(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("no answer within %s", startLimit))
	defer cancel()
	order := beginOrder{Protocol: protocol, Target: o.Target, Connections: o.Connections, Class: o.Class,
		Limit: o.Query.Limit, DurationMs: o.Query.Duration.Milliseconds(), MatchingPerSecond: o.Query.PerSecond,
		NoSource: o.Query.NoSource, BQL: o.Query.Text}
	return h.each(func(i int, each *host) error {
		mine := order
		mine.Part = load.Part{Number: i + 1, Of: len(h.all)}
		return each.begin(ctx, mine)
	})
}

// each calls do for all hosts concurrently, and joins the errors.
func (h *Hosts) each(do func(i int, each *host) error) error {
	problems := make([]error, len(h.all))
	var group sync.WaitGroup
	for i, each := range h.all {
		group.Go(func() { problems[i] = do(i, each) })
	}
	group.Wait()
	return errors.Join(problems...)
}

// silence is the number of seconds after which a silent client counts as dead; a client reports its state every
// second.
const silence = 30

// watch kills a client that has been silent for too long, because a host that lost its network does not close its
// connection. It counts ticks instead of the time, so that seconds in which this program was stopped do not count.
func (h *Hosts) watch(each *host) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	before, silent := -1, 0
	for {
		select {
		case <-ticker.C:
		case <-each.ended:
			return
		case <-h.ending.Done():
			return
		}
		if lines := each.lines(); lines != before {
			before, silent = lines, 0
		} else if silent++; silent == silence {
			h.failWith(fmt.Errorf("load host %s: no message from the client for %d s", each.name, silence))
			each.connection.Kill()
		}
	}
}

// Asker returns the clients as one asker. observe is called once for every scheduled query, with its times by this
// host's clock. failed is called once if a client ends early, with the host's name and its last output; the load is
// then no longer the ordered one. Asker must be called once.
func (h *Hosts) Asker(observe func(load.Outcome), failed func(error)) load.Asker {
	h.mu.Lock()
	h.observe, h.fail = observe, failed
	already := h.failed
	h.mu.Unlock()
	if already != nil {
		failed(already)
	}
	return h
}

// report observes an outcome. Without an observer nothing was ordered yet, so no outcome is lost.
func (h *Hosts) report(o load.Outcome) {
	h.mu.Lock()
	observe := h.observe
	h.mu.Unlock()
	if observe != nil { // a client without orders has no outcome
		observe(o)
	}
}

// failWith keeps the first failure and reports it; later ones usually follow from it.
func (h *Hosts) failWith(err error) {
	h.mu.Lock()
	first, fail := h.failed == nil, h.fail
	if first {
		h.failed = err
	}
	h.mu.Unlock()
	if first && fail != nil {
		fail(err)
	}
}

// Lead implements load.Asker. It is two round trips to the farthest host, plus time for the hosts' CPUs.
func (h *Hosts) Lead() time.Duration {
	farthest := time.Duration(0)
	for _, each := range h.all {
		farthest = max(farthest, each.roundTrip)
	}
	return 200*time.Millisecond + 2*farthest
}

// Hold implements load.Asker. The start is converted to each client's own clock, so that all of them begin at the same
// time, however long the order takes.
func (h *Hosts) Hold(n int, from time.Time, spread time.Duration) {
	for _, each := range h.all {
		each.send(order{Hold: &holdOrder{n, each.theirs(from), spread.Milliseconds()}})
	}
}

// Open implements load.Asker. Options are validated here, so that a mistake is one error and not one for each host.
// done is also closed if a client ends, because its queries get no outcome any more.
func (h *Hosts) Open(o load.OpenOptions) (<-chan struct{}, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	var answers []<-chan answer
	for _, each := range h.all {
		id, comes := each.expect(ofOpen)
		answers = append(answers, comes)
		each.send(order{Open: &openOrder{ID: id, Rate: o.Rate, StartMs: each.theirs(o.Start),
			DurationMs: o.Duration.Milliseconds(), MostInFlight: o.MostInFlight, Probes: o.Probes,
			GraceMs: o.Grace.Milliseconds()}})
	}
	done := make(chan struct{})
	h.tasks.Go(func() {
		defer close(done)
		for i, each := range h.all {
			_, _ = each.await(h.ending, answers[i]) // the end of a client is reported elsewhere
		}
	})
	return done, nil
}

// InFlightBefore implements load.Asker. It asks all clients concurrently. If one does not answer, the sum is unknown.
func (h *Hosts) InFlightBefore(ctx context.Context, before time.Time) (int, error) {
	counts := make([]int, len(h.all))
	err := h.each(func(i int, each *host) error {
		id, comes := each.expect(ofCount)
		each.send(order{Count: &countOrder{id, each.theirs(before)}})
		a, err := each.await(ctx, comes)
		if err == nil {
			counts[i] = a.Count.InFlight
		}
		return err
	})
	total := 0
	for _, n := range counts {
		total += n
	}
	return total, err
}

// InFlight implements load.Asker.
func (h *Hosts) InFlight() (n int) {
	for _, each := range h.all {
		_, now := each.usage()
		n += now
	}
	return n
}

// Usage implements load.Asker.
func (h *Hosts) Usage() (all []load.Usage) {
	for _, each := range h.all {
		usage, _ := each.usage()
		all = append(all, usage)
	}
	return all
}

// Close implements load.Asker. It ends all clients concurrently, within closeLimit. It may be called twice.
func (h *Hosts) Close() {
	h.closed.Do(func() {
		_ = h.each(func(_ int, each *host) error { each.close(); return nil })
		h.end()
	})
	h.tasks.Wait()
}
