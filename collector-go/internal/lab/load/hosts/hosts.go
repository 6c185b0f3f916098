package hosts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// Options are what load clients are to ask, and where they run.
type Options struct {
	// Hosts are where a client each is started.
	Hosts   []string
	Connect Connect
	// Target is where queries go, as the hosts reach it; up to Connections of a client's share its connections.
	Target      load.Target
	Connections int
	Class       load.Class
	Query       load.Parameters
}

// Hosts are load clients that were started, each on its host, and together one load.Asker. Every order goes to all of
// them, for the whole run, and each client does its part. Nothing is asked before Asker was called.
//
// The first client that ends before it was to makes the whole measurement invalid, because the load is smaller from
// then on. That is reported once; the other clients go on until Close.
type Hosts struct {
	query load.Query
	all   []*host

	ending context.Context // ends with Close
	end    context.CancelFunc
	tasks  sync.WaitGroup
	closed sync.Once

	mu      sync.Mutex
	observe func(load.Outcome)
	fail    func(error)
	failed  error // the first that came
}

// startLimit is how long a client may take to its start, and to compare clocks.
const startLimit = 30 * time.Second

// Start starts a client on each host, and returns once all are ready and their clocks were compared. Where one cannot
// be, the error names the host and has what its command wrote last, and none is left.
func Start(ctx context.Context, o Options) (*Hosts, error) {
	query, err := load.NewQuery(o.Class, o.Query)
	if err != nil {
		return nil, err
	}
	h := &Hosts{query: query}
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

// begin has all clients begin at the same time, since starting one after the other would take as long as all of them.
func (h *Hosts) begin(ctx context.Context, o Options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("nothing came within %s", startLimit))
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

// each does something of all hosts at a time, and joins the errors.
func (h *Hosts) each(do func(i int, each *host) error) error {
	problems := make([]error, len(h.all))
	var group sync.WaitGroup
	for i, each := range h.all {
		group.Go(func() { problems[i] = do(i, each) })
	}
	group.Wait()
	return errors.Join(problems...)
}

// silence is how many seconds a client may not be heard of: it reports its state every second.
const silence = 30

// watch ends a client of which nothing is heard: a host that lost its network does not close its connection. It counts
// ticks in place of the time, so that seconds in which this program was stopped itself do not count.
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
			h.failWith(fmt.Errorf("load host %s: nothing was heard of its client for %d s", each.name, silence))
			each.connection.Kill()
		}
	}
}

// Asker returns the clients as one asker. observe is called once for every query that was due, with its times by this
// host's clock; failed once, where a client ends before it was to, with the host's name and what it wrote last: what is
// measured then is not the load that was ordered. It is called once.
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

// report observes an outcome. Without an observer nothing was ordered yet, so there is no outcome to lose.
func (h *Hosts) report(o load.Outcome) {
	h.mu.Lock()
	observe := h.observe
	h.mu.Unlock()
	if observe != nil { // who was not ordered to ask anything has no outcome
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

// Lead implements load.Asker: two round trips to the host that is the farthest, and what its processors may need.
func (h *Hosts) Lead() time.Duration {
	farthest := time.Duration(0)
	for _, each := range h.all {
		farthest = max(farthest, each.roundTrip)
	}
	return 200*time.Millisecond + 2*farthest
}

// Hold implements load.Asker. The moment is given by each client's own clock, so that all of them begin at the same
// time however long the order takes to each.
func (h *Hosts) Hold(n int, from time.Time, spread time.Duration) {
	for _, each := range h.all {
		each.send(order{Hold: &holdOrder{n, each.theirs(from), spread.Milliseconds()}})
	}
}

// Open implements load.Asker. Options are checked here, so that a mistake is one error and not one for each host. done
// also closes where a client ends: its queries have no outcome any more.
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
			_, _ = each.await(h.ending, answers[i]) // whose client has ended is known by that
		}
	})
	return done, nil
}

// InFlightBefore implements load.Asker: it asks all clients at the same time. Where one does not answer, the sum is not
// known.
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

// Close implements load.Asker: it ends the clients, all at the same time, within closeLimit. It may be called twice.
func (h *Hosts) Close() {
	h.closed.Do(func() {
		_ = h.each(func(_ int, each *host) error { each.close(); return nil })
		h.end()
	})
	h.tasks.Wait()
}
