package measure

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// StepOrder describes the next step. Value is the load along the plan's axis. Number counts the steps of the trial
// from 1; Attempt counts the measurements of the same load. Begun is called once, just before the load is applied; its
// error ends the step.
type StepOrder struct {
	Kind                    runstore.StepKind
	Value                   float64
	Number, Attempt, Launch int
	Begun                   func(start time.Time) error
}

// Step runs one step and returns it with its verdict. It prepares the topology (warm-up of the JVMs, backlog, record
// rate) and holds the load for warm_up and sustain. It then runs the catch-up if the plan has one, waits for late
// slices and running queries, and judges.
//
// A step starts at a slice boundary of the collector, and so does its measured part. Figures of whole slices can be
// read back from the collector exactly; a partial slice would mix this step with its neighbours. An error means that
// the step was not measured; a missed goal is a verdict and not an error.
func (s *Session) Step(order StepOrder) (runstore.Step, error) {
	step, err := s.run(order)
	if err != nil {
		return runstore.Step{}, s.cause(err)
	}
	return step, nil
}

// run executes the phases of a step. It returns an error as soon as a phase fails; a resumed run then measures the
// whole step again.
func (s *Session) run(order StepOrder) (runstore.Step, error) {
	plan := s.o.Plan
	step := runstore.Step{Number: order.Number, Kind: order.Kind, Value: order.Value, Attempt: order.Attempt,
		Launch: order.Launch, QueriesPerSecond: tuning.Unknown, CatchUpRatio: tuning.Unknown, Notes: []string{}}
	if err := s.prepare(&step); err != nil {
		return step, err
	}
	lead := s.asker.Lead()
	start := nextSlice(time.Now().Add(lead), s.width)
	if err := s.until(s.ctx, start.Add(-lead), func() string { return "waiting for the next slice" }); err != nil {
		return step, err
	}
	if err := order.Begun(start); err != nil {
		return step, err
	}
	measured := start.Add(load.DurationOf(plan.WarmUpMs))
	end := measured.Add(load.DurationOf(plan.SustainMs))
	note := s.annotationOf(step, start)
	if err := s.hold(&step, start, measured, end); err != nil {
		return step, err
	}
	early := step.EndMs < end.UnixMilli()
	end = time.UnixMilli(step.EndMs)
	s.loaded, s.offered = end, nil
	if !early { // a step that ended early misses a goal, so its catch-up does not matter
		if err := s.catchUp(&step); err != nil {
			return step, err
		}
	}
	if err := s.settle(&step, end); err != nil {
		return step, err
	}
	if s.ctx.Err() != nil {
		return step, context.Cause(s.ctx)
	}
	if err := s.judge(&step); err != nil {
		return step, err
	}
	if step.HostIdle >= s.o.Plan.MinHostIdle {
		s.shares = tuning.Each(step.Shares, runstore.Share.Evidence)
	}
	note.EndMs, note.Text = step.EndMs, string(step.Verdict)
	s.annotate(s.ctx, note)
	return step, nil
}

// prepare brings the topology into the state in which a step starts: warm, without a backlog of earlier load, and with
// the record rate of the step. A cost step also waits until all earlier queries have ended.
func (s *Session) prepare(step *runstore.Step) error {
	if !s.warm {
		if err := s.setAxis(step); err != nil {
			return err
		}
		if err := s.warmUp(); err != nil {
			return err
		}
	}
	if step.Kind == runstore.CostStep {
		s.finishQueries()
	}
	if err := s.drain(step); err != nil {
		return err
	}
	step.Notes, s.notes = append(step.Notes, s.notes...), nil
	return s.setAxis(step)
}

// setAxis sets the record rate of the source, and stores in the step which query load it applies. The quantity on the
// axis replaces its counterpart in the plan's load. A rate that is already set is not set again.
func (s *Session) setAxis(step *runstore.Step) error {
	rate := s.rate
	step.Queries = s.o.Plan.Load.Queries
	switch s.o.Plan.Axis {
	case runstore.RecordsPerSecond:
		rate = step.Value
	case runstore.QueriesPerSecond:
		step.QueriesPerSecond = tuning.Figure(step.Value)
	default:
		step.Queries = int(step.Value)
	}
	if s.o.Plan.Axis == runstore.RecordsPerSecond && s.o.Plan.Load.QueriesPerSecond.Known() {
		step.QueriesPerSecond = s.o.Plan.Load.QueriesPerSecond
	}
	step.RecordsPerSecondAsked = tuning.Figure(rate)
	if s.ports.Source == nil {
		step.RecordsPerSecondAsked = tuning.Unknown
		return nil
	}
	if step.Number > 1 && rate == s.rate && !s.paused {
		return nil
	}
	s.paused = false
	return s.SetRate(rate)
}

// annotationOf creates the step's annotation at its start. The caller stores it again at the step's end under the same
// id, with an end and a verdict.
func (s *Session) annotationOf(step runstore.Step, start time.Time) Annotation {
	title := fmt.Sprintf("%s, step %d: %s %s", s.o.Trial, step.Number, shortNumber(step.Value), s.o.Plan.Axis.Unit())
	if step.Attempt > 1 {
		title += fmt.Sprintf(" (attempt %d)", step.Attempt)
	}
	m := Annotation{Topology: s.o.Topology, Annotation: runstore.Annotation{
		ID:      fmt.Sprintf("%s-%s-step-%d", s.o.Run, s.o.Topology, step.Number),
		StartMs: start.UnixMilli(), Title: title,
		Tags: []string{"step", clipTag("run-" + s.o.Run), clipTag("experiment-" + s.o.Plan.Experiment)}}}
	s.annotate(s.ctx, m)
	return m
}

// maxTagBytes is the collector's limit for an annotation's tag.
const maxTagBytes = 64

// clipTag shortens a tag, because the collector refuses longer ones.
func clipTag(tag string) string { return tag[:min(len(tag), maxTagBytes)] }

// shortNumber formats a load for titles.
func shortNumber(v float64) string { return fmt.Sprintf("%.6g", v) }

// hold applies the step's load until its end. Queries start one after the other over the warm-up, or over the life of
// a query if that is shorter. With load clients on other hosts the load starts no earlier than they can be reached.
func (s *Session) hold(step *runstore.Step, start, measured, end time.Time) error {
	from := start
	if soonest := time.Now().Add(s.asker.Lead()); soonest.After(from) {
		from = soonest
	}
	if step.Kind == runstore.TimelineStep {
		s.asker.Hold(0, from, 0) // a timeline step has only the probe's queries
	} else {
		s.asker.Hold(step.Queries, from, min(s.query.Life(), measured.Sub(start)))
	}
	if step.QueriesPerSecond > 0 {
		o := openOptions(float64(step.QueriesPerSecond), end.Sub(start), s.query.Life(), s.o.Plan.MostQueries())
		o.Start = from
		done, err := s.asker.Open(o)
		if err != nil {
			return err
		}
		defer s.ended(done)
	}
	status := func() string {
		return fmt.Sprintf("step %d: %s %s, %s left; %d queries running", step.Number, shortNumber(step.Value),
			s.o.Plan.Axis.Unit(), time.Until(end).Round(time.Second), s.asker.InFlight())
	}
	var probing sync.WaitGroup
	if step.Kind == runstore.TimelineStep {
		probing.Go(func() { s.timeline(step, measured, end) })
	}
	err := s.watchStep(step, start, measured, end, status)
	probing.Wait()
	if err != nil {
		return err
	}
	step.MiBPerSecond = step.RecordsPerSecond * s.o.Plan.Load.MeanRecordBytes / (1 << 20)
	return nil
}

// ended waits until the queries of an open loop have ended, or the session has.
func (s *Session) ended(done <-chan struct{}) {
	select {
	case <-done:
	case <-s.ctx.Done():
	}
}

// openOptions limits an open loop to the probes that the source emits. MostInFlight allows for every query in flight
// to time out at the given rate. The client itself therefore never delays a query.
func openOptions(rate float64, length, life time.Duration, probes int) load.OpenOptions {
	o := load.DefaultOpenOptions(rate, length)
	o.Probes = max(1, min(o.Probes, probes))
	o.MostInFlight = max(o.MostInFlight, int(math.Ceil(rate*(life+o.Grace).Seconds()))+1)
	return o
}

// settle waits, for a bounded time, until the last slices of the step are stored and its queries have ended. What is
// missing then is noted in the step, which is judged nevertheless. It returns an error only if the number of running
// queries is unknown, because a lost load client makes the step worthless.
func (s *Session) settle(step *runstore.Step, end time.Time) error {
	limit := s.queryLimit() + s.tail()
	ctx, cancel := context.WithTimeoutCause(s.ctx, limit, fmt.Errorf("not complete after %s", limit.Round(time.Second)))
	defer cancel()
	var late []string // the series of records that the step's figures need from the collector
	if s.collected() {
		late = []string{s.selector(recordsMetric), s.selector(lagMetric)}
	}
	if err := s.awaitSlices(ctx, limit, s.loaded, late...); err != nil && s.ctx.Err() == nil {
		step.Notes = append(step.Notes, fmt.Sprintf("some of the last slices were missing when the step was judged: %v",
			err))
	}
	var unknown error
	err := s.poll(ctx, limit, "the step's last queries", func(ctx context.Context) (bool, error) {
		step.Overdue, unknown = s.asker.InFlightBefore(ctx, end)
		return unknown == nil && step.Overdue == 0, unknown
	})
	switch {
	case err != nil && unknown != nil:
		return err
	case err != nil && s.ctx.Err() == nil:
		step.Notes = append(step.Notes, fmt.Sprintf("%d queries of the step were still running when it was judged",
			step.Overdue))
	}
	return nil
}

// judge reads the figures of the step from the collector and calls tuning.JudgeGoals. If only the catch-up ratio was
// missed, it judges again with the evidence of the catch-up period, because the step itself met its other goals.
func (s *Session) judge(step *runstore.Step) error {
	from, to := time.UnixMilli(step.MeasuredFromMs), time.UnixMilli(step.EndMs)
	var figures runstore.Figures
	if err := s.read(to, time.UnixMilli(step.StartMs).Add(-s.width), &figures); err != nil {
		return err
	}
	step.Clients = s.clients(*step)
	used := figures.Usage(runstore.Span{From: step.MeasuredFromMs, To: step.EndMs})
	step.CPUCores, step.Workers = runstore.Total(used.CPU), len(used.CPU)
	e := s.evidence(*step, from, to)
	e.FromMs, e.ToMs = step.MeasuredFromMs, step.EndMs
	e.SourceRate = tuning.SourceRateEvidence{AskedPerSecond: step.RecordsPerSecondAsked +
		tuning.Figure(s.probesPerSecond()), MadePerSecond: step.RecordsPerSecond}
	if mean, _ := s.during(runstore.Span{From: step.MeasuredFromMs, To: step.EndMs}); mean > 0 {
		e.Queries.Submitted = mean
	}
	s.inFlight(e.Queries.BySlice)
	measured, err := s.measures(step, &figures)
	if err != nil {
		return err
	}
	goals := tuning.GoalStep{
		OwnMs: tuning.Figure(s.o.Plan.Load.QueryDurationMs), Measured: measured, HasQueries: step.Queries > 0 ||
			step.QueriesPerSecond > 0, NoneToMatch: s.o.Plan.Load.NoneToMatch(), Unfinished: step.Overdue,
		HostIdle:  step.HostIdle,
		LeastIdle: s.o.Plan.MinHostIdle, Evidence: e,
	}
	outcomes, judgement, limitation := tuning.JudgeGoals(s.o.Plan.Goals, goals)
	if s.offered != nil && missedAlone(outcomes, tuning.CatchUp) {
		e = s.evidenceOfOffer(*step)
		goals.Evidence, goals.HostIdle = e, e.Host.IdleRatio
		outcomes, judgement, limitation = tuning.JudgeGoals(s.o.Plan.Goals, goals)
		step.Notes = append(step.Notes,
			"the limiter is the one of the catch-up period, because the step missed only the catch-up goal")
	}
	step.Figures, step.Verdict, step.Reasons = outcomes, judgement.Verdict, append([]string{}, judgement.Reasons...)
	step.Evidence, step.Limitation = &e, &limitation
	step.Complete()
	s.detail(step)
	return context.Cause(s.ctx)
}

// evidence returns the evidence for the limiter of a step. It is unknown if the collector could not be asked. The
// run's own observations are added after the collector's figures. The number of workers only grows: a worker that was
// seen once is missed when it is silent.
func (s *Session) evidence(step runstore.Step, from, to time.Time) tuning.Evidence {
	e := tuning.NoEvidence()
	if s.ports.Facts != nil {
		t, err := s.ports.Facts.Topology(s.ctx, s.o.Topology)
		if err == nil {
			e, err = GatherEvidence(s.ctx, s.ports.Slices, t, TimeRange{from, to, s.width, s.workers})
		}
		if err != nil {
			e = tuning.NoEvidence()
			e.Notes = append(e.Notes, err.Error())
		}
	}
	if n := e.Workers.Expected; n.Known() {
		s.workers = max(s.workers, int(n))
	}
	s.o.Environment.addTo(&e)
	lag := e.Source.LagEnd
	addStep(&e, step, float64(s.o.Plan.MinHostIdle))
	e.Host.SharesBefore = s.shares
	e.Client.HeldMs = s.heldMs(step)
	if s.collected() {
		e.Source.LagEnd = lag // the gateway's lag is that of the record maker
	}
	return e
}

// heldMs returns how long the step's queries are held, in ms. It is unknown if their duration is itself measured.
func (s *Session) heldMs(step runstore.Step) tuning.Figure {
	hasLatencyGoal := slices.ContainsFunc(s.o.Plan.Goals,
		func(g tuning.Goal) bool { return g.Figure == tuning.QueryLatency })
	byRate := s.o.Plan.Axis == runstore.QueriesPerSecond || s.o.Plan.Load.QueriesPerSecond > 0
	if step.Queries == 0 || hasLatencyGoal || byRate {
		return tuning.Unknown
	}
	return tuning.Figure(s.o.Plan.Load.QueryDurationMs)
}

// missedAlone reports whether a goal for the given figure was missed and no goal for another figure.
func missedAlone(outcomes []tuning.GoalOutcome, figure tuning.GoalFigure) bool {
	missed := false
	for _, o := range outcomes {
		if o.Verdict == tuning.Fail && o.Goal.Figure != figure {
			return false
		}
		missed = missed || o.Verdict == tuning.Fail
	}
	return missed
}

// evidenceOfOffer returns the evidence for the limiter during the catch-up period. In that period a source that makes
// fewer records than requested is not a limiter.
func (s *Session) evidenceOfOffer(plain runstore.Step) tuning.Evidence {
	o := s.offered
	fill(&plain, o.looks[0], o.looks[1])
	e := s.evidence(plain, o.from, o.to)
	e.FromMs, e.ToMs = o.from.UnixMilli(), o.to.UnixMilli()
	return e
}

// measures returns the step's figures in all statistics that goals may ask for. Figures that were not measured are
// Unknown or not set; a goal for one is then inconclusive.
func (s *Session) measures(step *runstore.Step, figures *runstore.Figures) (tuning.StepMeasures, error) {
	m := tuning.StepMeasures{}
	from, to := step.MeasuredFromMs, step.EndMs
	within := runstore.Span{From: from, To: to}
	most := 1000 * tuning.Largest(tuning.Each(figures.FilterLatencySeconds, within.Most))
	m.Set(tuning.FilterLatency, tuning.Mean, runstore.Average(figures.FilterLatencyMs(within)))
	m.Set(tuning.FilterLatency, tuning.Max, most)
	latencies := s.latencies(*step)
	for statistic, p := range map[tuning.Statistic]float64{tuning.P50: 0.5, tuning.P95: 0.95, tuning.P99: 0.99,
		tuning.Max: 1} {
		m.Set(tuning.QueryLatency, statistic, tuning.Figure(load.Percentile(latencies, p)))
	}
	m.Set(tuning.QueryLatency, tuning.Mean, step.Clients.LatencyMeanMs)
	m.Set(tuning.ResultSize, tuning.Mean, step.Clients.AverageResultSize)
	m.Set(tuning.Completeness, tuning.Mean, step.Clients.Completeness())
	m.Set(tuning.FailedQueries, tuning.Mean, step.Clients.FailedShare())
	if err := s.takeIn(step, m); err != nil {
		return nil, err
	}
	m.Set(tuning.CatchUp, tuning.Mean, step.CatchUpRatio)
	if step.AddedDelayMs != nil {
		m.Set(tuning.AddedDelay, tuning.Mean, *step.AddedDelayMs)
	}
	return m, s.filterPercentiles(m, from, to)
}

// filterPercentiles asks the collector for those percentiles of the filter latency that a goal names. They need the
// hook's histogram. Without a calculator or such a goal it asks nothing.
func (s *Session) filterPercentiles(m tuning.StepMeasures, fromMs, toMs int64) error {
	quantiles := map[tuning.Statistic]float64{tuning.P50: 0.5, tuning.P95: 0.95, tuning.P99: 0.99}
	for _, g := range s.o.Plan.Goals {
		q, asked := quantiles[g.Statistic]
		if g.Figure != tuning.FilterLatency || !asked || s.ports.Calculator == nil {
			continue
		}
		expression := fmt.Sprintf("1000 * histogram_quantile(%g, sum(increase(%s[%dms])))", q,
			s.selector(latencyHistogram), toMs-fromMs)
		v, err := s.ports.Calculator.Calculate(s.ctx, expression, time.UnixMilli(toMs))
		if err != nil {
			return err
		}
		m.Set(g.Figure, g.Statistic, v)
	}
	return nil
}

// latencyHistogram is the filter latency as a histogram, from the latency hook.
const latencyHistogram = "bullet_filter_latency_seconds"

// Bounds of the calibration.
const (
	firstRate = 1000.0 // records/s
	// lowestRate and highestRate bound the search. A search that ends at a bound has not reached its target
	// (tuning.Calibration.Missed). The highest rate is more than any source can emit, so that a large host does not
	// end the search.
	lowestRate  = 50.0
	highestRate = 10_000_000.0
	maxReadings = 8
	// closeEnough is the largest accepted distance between an idle ratio and the target. Two readings in a row must be
	// that close, because the cost of a record falls while the JVMs still compile.
	closeEnough = 0.04
	// guessedBase is the assumed busy ratio without any records, until two readings determine it.
	guessedBase = 0.15
	// largestFactor bounds the factor by which the rate changes from one reading to the next.
	largestFactor = 6.0
	// saturated is the idle ratio below which the host is overloaded. Such a reading does not show by how much.
	saturated = 0.05
)

// reading is one measurement of the host: the idle ratio at a record rate.
type reading struct{ rate, idle float64 }

// calibration searches for the record rate that leaves a target ratio of the host idle. It assumes that the busy ratio
// is a linear function of the rate, which holds well below saturation. It does no I/O: the session takes the readings.
type calibration struct {
	targetIdle float64
	readings   []reading
}

// next returns the next rate to try. If done is true, the search has ended and the rate is its result. If no reading
// was close enough, that is the rate of the closest reading.
func (c *calibration) next() (rate float64, done bool) {
	if len(c.readings) == 0 {
		return firstRate, false
	}
	last := c.readings[len(c.readings)-1]
	if c.close(last) {
		settled := len(c.readings) > 1 && c.close(c.readings[len(c.readings)-2])
		return last.rate, settled || len(c.readings) >= maxReadings
	}
	rate = c.estimate(last)
	stuck := rate == last.rate // at a bound: another reading would try the same
	if stuck || len(c.readings) >= maxReadings {
		return c.closest(), true
	}
	if rate < last.rate && !c.warm() {
		return last.rate, false
	}
	return rate, false
}

// warm reports whether two readings in a row at the same rate left about the same idle. Until then the workers may
// still compile, so a busy host is no reason to lower the rate.
func (c *calibration) warm() bool {
	for i, r := range c.readings[1:] {
		if before := c.readings[i]; before.rate == r.rate && r.idle-before.idle < closeEnough {
			return true
		}
	}
	return false
}

// closest returns the rate of the reading that is closest to the target. Of equally close readings it takes the last.
func (c *calibration) closest() float64 {
	best := c.readings[0]
	for _, r := range c.readings[1:] {
		if math.Abs(r.idle-c.targetIdle) <= math.Abs(best.idle-c.targetIdle) {
			best = r
		}
	}
	return best.rate
}

func (c *calibration) close(r reading) bool { return math.Abs(r.idle-c.targetIdle) <= closeEnough }

func (c *calibration) add(rate, idle float64) { c.readings = append(c.readings, reading{rate, idle}) }

func (c *calibration) estimate(last reading) float64 {
	busy, base := 1-last.idle, c.base(last)
	wanted := max(1-c.targetIdle-base, 0.01)
	factor := wanted / max(busy-base, 0.01)
	rate := last.rate * min(max(factor, 1/largestFactor), largestFactor)
	return math.Round(min(max(rate, lowestRate), highestRate))
}

// base returns the busy ratio without records. It extrapolates the line through the last two readings, and returns a
// guess if there is only one reading or the line is not plausible.
func (c *calibration) base(last reading) float64 {
	guess := min(guessedBase, (1-last.idle)/2)
	if len(c.readings) < 2 || last.idle < saturated {
		return guess
	}
	before := c.readings[len(c.readings)-2]
	slope := (before.idle - last.idle) / (last.rate - before.rate)
	base := 1 - last.idle - slope*last.rate
	if !(slope > 0) || !(base >= 0 && base < 1-last.idle) {
		return guess
	}
	return base
}
