// Package canary runs one query of each class continuously at a fixed rate, and records latency, outcome and
// completeness. It delivers them as samples to a collector, and as summaries of each minute and hour to its caller.
//
// A canary shows what users of a production topology experience, even when nobody measures it. Its load is therefore
// small and bounded, and a query that cannot start in time is counted as missed instead of being submitted later.
//
// The package owns the schedule, the aggregation and the probes in the record source. It must know nothing of the
// topology behind the queries. Start reading at Canary.Run; recorder.go builds samples, keeper.go keeps the probes.
package canary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

// Options define the queries of a canary and their rate.
type Options struct {
	// Classes lists the query classes. One query of each is submitted per Every.
	Classes []load.Class
	Every   time.Duration
	// Query holds the parameters that all classes share.
	Query load.Parameters
	// Own are the user's own queries, reported under their names next to the classes.
	Own []load.TextQuery
	// MostInFlight limits the queries in flight for each class. A query beyond the limit is counted as missed.
	MostInFlight int
	// Grace is how long after its own end a query may take to return before it counts as timed out.
	Grace time.Duration
	// Reading is the interval at which samples are delivered.
	Reading time.Duration
}

// DefaultOptions submit a query of each class every 10 s. Each query lives 5 s and finds about 50 records.
func DefaultOptions() Options {
	return Options{
		Classes: load.Classes(), Every: 10 * time.Second, Query: load.Parameters{Duration: 5 * time.Second,
			PerSecond: 10},
		MostInFlight: 3, Grace: 15 * time.Second, Reading: 10 * time.Second,
	}
}

// Validate returns an error that names the invalid option.
func (o Options) Validate() error {
	switch {
	case len(o.all()) == 0:
		return errors.New("a canary requires at least one class of queries, or a query of your own")
	case o.Every < 100*time.Millisecond || o.Reading < time.Second:
		return fmt.Errorf("the interval of queries must be at least 100 ms and that of readings at least 1 s, not %s and %s",
			o.Every, o.Reading)
	case o.MostInFlight < 1:
		return fmt.Errorf("the maximum number of queries in flight must be at least 1, not %d", o.MostInFlight)
	}
	_, err := o.queries()
	return err
}

// queries returns the queries of the classes and then the user's own ones.
func (o Options) queries() (all []load.Query, err error) {
	seen := map[load.Class]bool{}
	for _, class := range o.Classes {
		if seen[class] {
			return nil, fmt.Errorf("class %s is listed twice", class)
		}
		seen[class] = true
		query, err := load.NewQuery(class, o.Query)
		if err != nil {
			return nil, err
		}
		all = append(all, query)
	}
	for _, q := range o.Own {
		if seen[q.Of] {
			return nil, fmt.Errorf("two queries have the name %s", q.Of)
		}
		seen[q.Of] = true
		if err := q.Validate(); err != nil {
			return nil, fmt.Errorf("query %s: %w", q.Of, err)
		}
		all = append(all, q)
	}
	return all, nil
}

// all returns the classes and the names of the user's own queries.
func (o Options) all() []load.Class {
	return slices.Concat(o.Classes, tuning.Each(o.Own, load.TextQuery.Class))
}

// Records is the topology's record source, as far as the canary needs it. load.Gateway implements it.
type Records interface {
	Control(context.Context) (load.Control, error)
	SetControl(context.Context, load.Control) error
	Status(context.Context) (load.Status, error)
}

// Samples accepts readings for a collector and never blocks. sender.Sender implements it.
type Samples interface {
	Offer([]sender.Sample)
}

// Canary holds the parts of a canary. New starts nothing. Run may be called once; it starts one goroutine per query
// and returns only after all have ended.
type Canary struct {
	options  Options
	target   load.Submitter
	samples  Samples
	report   func(Summary)
	queries  []load.Query
	recorder *Recorder
	keeper   *keeper
	minute   *period
	hour     *period
}

// New returns a canary. records, samples and report may be nil: then completeness is not judged, nothing is delivered,
// or no summaries are reported.
func New(o Options, target load.Submitter, records Records, samples Samples, report func(Summary)) (*Canary, error) {
	o.Query.NoSource = records == nil
	if err := o.Validate(); err != nil {
		return nil, err
	}
	queries, err := o.queries()
	if err != nil {
		return nil, err
	}
	c := &Canary{
		options: o, target: target, samples: samples, report: report, queries: queries,
		recorder: NewRecorder(o.Reading, o.Every, o.all()...),
		minute:   newPeriod(time.Minute, o.all()), hour: newPeriod(time.Hour, o.all()),
	}
	var probes []load.Probe
	for i, class := range o.Classes {
		probes = append(probes, load.ProbesNamed(prefix(class), queries[i], 1)...)
	}
	if records != nil && len(probes) > 0 {
		c.keeper = &keeper{records: records, probes: probes}
	}
	return c, nil
}

// prefix begins the value of the probe of a class.
func prefix(class load.Class) string { return "canary-" + string(class) }

// Run submits queries until ctx ends. Before it returns it delivers a last reading, reports the current minute and
// hour, and removes its probes from the source.
func (c *Canary) Run(ctx context.Context) error {
	began := time.Now()
	c.minute.begin(began)
	c.hour.begin(began)
	var parts sync.WaitGroup
	if c.keeper != nil {
		// An unreachable source is asked again, because a canary must survive restarts of the topology.
		parts.Go(func() { poll.Every(ctx, lookEvery, func() { c.keeper.look(ctx) }) })
	}
	for i, query := range c.queries {
		// Queries are spread over the interval, so that classes do not start together.
		offset := c.options.Every * time.Duration(i) / time.Duration(len(c.queries))
		parts.Go(func() { c.ask(ctx, query, offset) })
	}
	c.read(time.Now()) // zeros, so that later totals show an increase
	c.watch(ctx)
	parts.Wait()
	now := time.Now()
	c.read(now)
	c.say(c.minute.end(now), c.hour.end(now))
	if c.keeper != nil {
		return c.keeper.takeBack()
	}
	return nil
}

// ask submits the queries of one class until ctx ends.
func (c *Canary) ask(ctx context.Context, query load.Query, offset time.Duration) {
	if !load.WaitUntil(ctx, time.Now().Add(offset)) {
		return
	}
	options := load.OpenOptions{
		Rate: 1 / c.options.Every.Seconds(), MostInFlight: c.options.MostInFlight, Probes: 1,
		Prefix: prefix(query.Class()), Grace: c.options.Grace, Skip: true,
	}
	loop, err := load.NewOpenLoop(query, c.target, options, c.observe)
	if err != nil {
		panic(err) // impossible, because New has validated it
	}
	loop.Run(ctx)
}

func (c *Canary) observe(o load.Outcome) {
	bySource := slices.Contains(c.options.Classes, o.Class)
	if c.keeper != nil && bySource && !c.keeper.steadySince(time.UnixMilli(o.SubmittedMs)) {
		// the probes were not set during the whole query, so its completeness is unknown
		o.Expected, o.Missing = 0, 0
	}
	c.recorder.Add(o)
	c.minute.add(o)
	c.hour.add(o)
}

// watch delivers readings and reports summaries at their times until ctx ends.
func (c *Canary) watch(ctx context.Context) {
	readings := time.NewTicker(c.options.Reading)
	defer readings.Stop()
	minutes := time.NewTimer(time.Until(c.minute.over()))
	defer minutes.Stop()
	for {
		select {
		case now := <-readings.C:
			c.read(now)
		case now := <-minutes.C:
			summaries := []*Summary{c.minute.end(now), nil}
			if !now.Before(c.hour.over()) {
				summaries[1] = c.hour.end(now)
				c.hour.begin(now)
			}
			c.minute.begin(now)
			c.say(summaries...)
			minutes.Reset(time.Until(c.minute.over()))
		case <-ctx.Done():
			return
		}
	}
}

func (c *Canary) read(now time.Time) {
	if c.samples != nil {
		c.samples.Offer(c.recorder.Samples(now))
	}
}

func (c *Canary) say(summaries ...*Summary) {
	for _, s := range summaries {
		if s != nil && c.report != nil {
			c.report(*s)
		}
	}
}

// Summary summarises the queries that ended in a minute or an hour.
type Summary struct {
	// Length is a minute or an hour; From and To are the part of it that was observed.
	Length   time.Duration
	From, To time.Time
	Classes  []ClassSummary
}

// ClassSummary is the summary of one class.
type ClassSummary struct {
	Class  load.Class
	Result load.Result
}

// period aggregates the queries that end during a minute or an hour. It is safe for concurrent use, because each query
// reports from its own goroutine.
type period struct {
	length  time.Duration
	classes []load.Class

	mu    sync.Mutex
	from  time.Time
	tally map[load.Class]*load.Tally
}

func newPeriod(length time.Duration, classes []load.Class) *period {
	return &period{length: length, classes: classes}
}

// begin starts a period with empty tallies of all classes, so that a class without queries still has a line.
func (p *period) begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from, p.tally = now, map[load.Class]*load.Tally{}
	for _, class := range p.classes {
		p.tally[class] = load.NewTally()
	}
}

// over returns the end of the period: the next full minute or hour after its beginning. The first period is therefore
// shorter, and all later ones are aligned with the clock.
func (p *period) over() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.from.Truncate(p.length).Add(p.length)
}

// add counts an outcome in the period in which its query ended.
func (p *period) add(o load.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if tally := p.tally[o.Class]; tally != nil {
		tally.Add(o)
	}
}

// end returns the summary of the queries that have ended in the period. It does not begin the next period.
func (p *period) end(now time.Time) *Summary {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &Summary{Length: p.length, From: p.from, To: now}
	for _, class := range p.classes {
		s.Classes = append(s.Classes, ClassSummary{class, p.tally[class].Result()})
	}
	return s
}
