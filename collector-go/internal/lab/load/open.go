package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// OpenOptions are the rate and the limits of an OpenLoop.
type OpenOptions struct {
	// Rate is the number of queries started per second, whether or not earlier ones have returned.
	Rate float64
	// Duration is how long queries are started; 0 means until the context ends.
	Duration time.Duration
	// MostInFlight limits the queries in flight. A query beyond the limit waits, and its latency counts meanwhile. If
	// the run ends first, it is not submitted at all.
	MostInFlight int
	// Probes is how many probes the queries use in turn.
	Probes int
	// Prefix begins the probes' values; "" means "probe".
	Prefix string
	// Grace is how long after its own end a query may take to return before it counts as timed out.
	Grace time.Duration
	// Part is the share of the queries that this client starts. Rate, Probes and Prefix are those of the whole run;
	// MostInFlight is this client's.
	Part Part
	// Start is when the run begins; zero means when Run is called. If it has passed, the queries scheduled since then
	// start late.
	Start time.Time
	// Skip makes a query that exceeds MostInFlight not wait: it is not submitted, and its latency is the time until a
	// query ends. Use it for loops that run indefinitely, which must not submit missed queries later.
	Skip bool
	// InFlight counts the queries in flight; nil means that nobody needs the count.
	InFlight *InFlight
}

// maxProbes is the number of probes of the topology's record source.
const maxProbes = 1000

// DefaultOpenOptions limit the queries in flight to the default limit of a gateway.
func DefaultOpenOptions(rate float64, duration time.Duration) OpenOptions {
	return OpenOptions{Rate: rate, Duration: duration, MostInFlight: 2000, Probes: 10,
		Grace: DefaultClosedOptions().Grace}
}

// Validate returns an error that names an invalid option.
func (o OpenOptions) Validate() error {
	switch {
	case !(o.Rate > 0) || math.IsInf(o.Rate, 0):
		return fmt.Errorf("the rate must be greater than 0 queries/s, not %v", o.Rate)
	case o.Duration < 0 || o.Grace < 0:
		return errors.New("durations must not be negative")
	case o.MostInFlight < 1:
		return fmt.Errorf("the maximum number of queries in flight must be at least 1, not %d", o.MostInFlight)
	case o.Probes < 1 || o.Probes > maxProbes:
		return fmt.Errorf("the number of probes must be between 1 and %d, not %d", maxProbes, o.Probes)
	}
	return nil
}

// OpenLoop is the open load model: it starts query k of the run at k/Rate seconds after the start, whether or not the
// earlier queries have returned. Independent users behave like this, so only this model shows the latency they get.
//
// Every scheduled query has exactly one outcome. A query that could not start in time starts late or is reported as
// not submitted. Its latency counts from its scheduled start in both cases, so an overload of the client or of the
// topology raises the latency and cannot hide.
type OpenLoop struct {
	query   Query
	target  Submitter
	options OpenOptions
	observe func(Outcome)

	mu      sync.Mutex
	began   time.Time // zero before Run
	counts  Counts
	skipped []int // queries that found the limit reached since the last query ended
	over    int   // number of scheduled queries, once the run is over
	ended   bool
}

// NewOpenLoop returns a client that has started nothing. observe is called once for every scheduled query, from many
// goroutines.
func NewOpenLoop(query Query, target Submitter, options OpenOptions, observe func(Outcome)) (*OpenLoop, error) {
	if err := errors.Join(query.Validate(), options.Validate()); err != nil {
		return nil, err
	}
	return &OpenLoop{query: query, target: target, options: options, observe: observe}, nil
}

// permit is the permission for one query to be in flight, and the time since when it has been free. That time separates
// a late client from a query that had to wait for the limit.
type permit struct{ freed time.Time }

// Run starts queries for the options' duration and returns when all have ended. If ctx ends before, the queries in
// flight are abandoned. It may be called once.
func (o *OpenLoop) Run(ctx context.Context) {
	began := time.Now()
	if !o.options.Start.IsZero() {
		began = o.options.Start
	}
	o.mu.Lock()
	o.began = began
	o.mu.Unlock()

	starting := ctx
	if o.options.Duration > 0 {
		var cancel context.CancelFunc
		starting, cancel = context.WithDeadline(ctx, began.Add(o.options.Duration))
		defer cancel()
	}
	var queries sync.WaitGroup
	permits := make(chan permit, o.options.MostInFlight)
	for range o.options.MostInFlight {
		permits <- permit{began}
	}
	d := desk{o.query, o.target, o.options.Grace, ctx}
	k := 0
	for ; o.within(o.intended(k)); k++ {
		free, what := o.await(ctx, starting, o.intended(k), permits)
		if what == noPermit {
			o.count(func() { o.skipped = append(o.skipped, k) })
			continue
		}
		if what == overNow {
			break
		}
		s := start{o.intended(k), o.intended(k)}
		if free.freed.After(s.ready) {
			s.ready = free.freed
		}
		o.count(func() { o.counts.begin() })
		slot := o.options.Part.query(k)
		queries.Go(func() {
			ended := o.options.InFlight.begin()
			o.end(d.ask(slot, probeValue(o.options.Prefix, slot%o.options.Probes), s))
			ended()
			permits <- permit{time.Now()}
		})
	}
	o.leave(k, time.Now())
	queries.Wait()
}

// intended returns the scheduled start of query k of the part.
func (o *OpenLoop) intended(k int) time.Time {
	return o.began.Add(time.Duration(float64(o.options.Part.query(k)) / o.options.Rate * float64(time.Second)))
}

// within reports whether a moment is before the run's end.
func (o *OpenLoop) within(moment time.Time) bool {
	return o.options.Duration == 0 || moment.Before(o.began.Add(o.options.Duration))
}

// scheduledBy returns how many queries were scheduled to start up to a moment, and before the run's end.
func (o *OpenLoop) scheduledBy(moment time.Time) int {
	if o.options.Duration > 0 && moment.Sub(o.began) > o.options.Duration {
		moment = o.began.Add(o.options.Duration)
	}
	// this may be too low because of rounding; the loop corrects it
	n := max(0, o.options.Part.Share(int(moment.Sub(o.began).Seconds()*o.options.Rate))-1)
	for !o.intended(n).After(moment) && o.within(o.intended(n)) {
		n++
	}
	return n
}

// turn is the result of waiting for a query's start.
type turn int

const (
	started turn = iota
	noPermit
	overNow
)

// await waits until a query is scheduled to start and has a permit, or the run is over. A query that is scheduled and
// has a permit starts however late the client is, even after the last scheduled start. The end of starting only ends
// the wait for a permit. The context run ends with the queries in flight.
func (o *OpenLoop) await(run, starting context.Context, intended time.Time, permits <-chan permit) (permit, turn) {
	if time.Until(intended) > 0 {
		WaitUntil(run, intended)
	}
	if run.Err() != nil {
		return permit{}, overNow
	}
	select {
	case free := <-permits:
		return free, started
	default:
	}
	if o.options.Skip {
		return permit{}, noPermit
	}
	select {
	case free := <-permits:
		return free, started
	case <-starting.Done():
		return permit{}, overNow
	}
}

// leave reports the queries from k on that were scheduled by the end and never submitted.
func (o *OpenLoop) leave(k int, end time.Time) {
	o.mu.Lock()
	o.ended, o.over = true, max(k, o.scheduledBy(end))
	o.mu.Unlock()
	o.missSkipped(end)
	for ; k < o.over; k++ {
		o.miss(k, end)
	}
}

// miss reports a scheduled query as not submitted.
func (o *OpenLoop) miss(k int, end time.Time) {
	intended, slot := o.intended(k), o.options.Part.query(k)
	outcome := Outcome{
		Class: o.query.Class(), Slot: slot, Probe: probeValue(o.options.Prefix, slot%o.options.Probes),
		IntendedMs: intended.UnixMilli(), SubmittedMs: end.UnixMilli(), FinishedMs: end.UnixMilli(),
		LatencyUs: max(1, end.Sub(intended).Microseconds()), End: NotSubmitted,
	}
	o.count(func() { o.counts.end(NotSubmitted) })
	o.observe(outcome)
}

// missSkipped reports the queries that were skipped so far as not submitted.
func (o *OpenLoop) missSkipped(now time.Time) {
	var skipped []int
	o.count(func() { skipped, o.skipped = o.skipped, nil })
	for _, k := range skipped {
		o.miss(k, now)
	}
}

func (o *OpenLoop) end(outcome Outcome) {
	o.count(func() { o.counts.end(outcome.End) })
	o.observe(outcome)
	o.missSkipped(time.UnixMilli(outcome.FinishedMs))
}

func (o *OpenLoop) count(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// Counts implements Client.
func (o *OpenLoop) Counts() Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	scheduled := o.over
	if !o.ended && !o.began.IsZero() {
		scheduled = max(o.counts.Submitted, o.scheduledBy(time.Now()))
	}
	return o.counts.at(scheduled)
}
