package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Limits for waiting.
const (
	pollInterval     = 500 * time.Millisecond
	sourceReadyLimit = 2 * time.Minute
	followLimit      = 30 * time.Second
	workersLimit     = 2 * time.Minute // Options.Wait replaces it if it is longer
	gatherLimit      = 30 * time.Second
)

// Durations of the calibration: the time for the topology to adapt to a new rate, the time over which the host is then
// observed, and the longest ramp.
const (
	settleTime  = time.Second
	readingTime = 4 * time.Second
	rampTime    = 40 * time.Second
)

// poll calls ask until it returns true. Errors before the limit are ignored; when the limit has passed, the last one
// is returned.
func (s *Session) poll(ctx context.Context, limit time.Duration, what string,
	ask func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("waited %s for %s", limit, what))
	defer cancel()
	var last error
	err := poll.Until(ctx, pollInterval, func() (yes bool) {
		if yes, last = ask(ctx); !yes {
			s.ports.Progress.Show("waiting for %s", what)
		}
		return yes
	})
	if err != nil && last != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return err
}

// awaitSource waits until the topology's source has emitted records. A report alone is no proof, because a source may
// report before it emits any.
func (s *Session) awaitSource(ctx context.Context, limit time.Duration) error {
	if s.ports.Source == nil {
		return nil // the source reports only to the collector
	}
	return s.poll(ctx, limit, "the topology's first records", func(ctx context.Context) (bool, error) {
		status, err := s.ports.Source.Status(ctx)
		return status.Reporting > 0 && status.Emitted > 0, err
	})
}

// setRate requests background records and the records that queries look for, and waits until all tasks follow. A
// foreign source cannot be controlled; setRate then does nothing.
func (s *Session) setRate(ctx context.Context, rate float64) error {
	if s.ports.Source == nil {
		return nil
	}
	control := load.Control{RecordsPerSecond: rate, Probes: load.Probes(s.query, s.o.Plan.MostQueries())}
	if err := s.ports.Source.SetControl(ctx, control); err != nil {
		return fmt.Errorf("set the record rate: %w", err)
	}
	return s.poll(ctx, followLimit, "the record source to follow", func(ctx context.Context) (bool, error) {
		status, err := s.ports.Source.Status(ctx)
		return status.Reporting > 0 && status.Following == status.Reporting, err
	})
}

// calibrate searches for the record rate in one ramp of at most rampTime. It takes at least one reading, and starts
// none that would end after FirstStepBy. If no reading was close enough, it sets the closest rate and reports that the
// target was missed.
func (s *Session) calibrate(ctx context.Context) (tuning.Calibration, error) {
	c := calibration{targetIdle: float64(s.o.Plan.Load.TargetIdle)}
	end := time.Now().Add(rampTime)
	if by := s.o.FirstStepBy; !by.IsZero() && by.Before(end) {
		end = by
	}
	fits := func() bool { return len(c.readings) == 0 || !time.Now().Add(settleTime+readingTime).After(end) }
	rate, done := c.next()
	for ; !done && fits(); rate, done = c.next() {
		idle, err := s.readIdle(ctx, rate)
		if err != nil {
			return tuning.Calibration{}, err
		}
		c.add(rate, idle)
		s.ports.Progress.Say("calibration: %.0f records/s leave %s of the host idle (target: %s)", rate,
			tuning.PercentIn(tuning.Figure(idle), 0), tuning.PercentIn(tuning.Figure(c.targetIdle), 0))
	}
	found := calibrationReport(c, rate)
	if missed := found.Missed(tuning.Unknown); missed != "" {
		s.ports.Progress.Say("calibration: %s; measuring at %.0f records/s beside those that match the queries, so the run will be inconclusive", missed, rate)
	} else {
		s.ports.Progress.Say("calibration: using %.0f records/s, beside those that match the queries", rate)
	}
	return found, s.setRate(ctx, rate)
}

// calibrationReport returns the calibration with all readings, so that a report can show how the rate was found.
func calibrationReport(c calibration, rate float64) tuning.Calibration {
	out := tuning.Calibration{TargetIdle: tuning.Figure(c.targetIdle), RecordsPerSecond: tuning.Figure(rate)}
	for _, reading := range c.readings {
		out.Readings = append(out.Readings, tuning.Reading{RecordsPerSecond: tuning.Figure(reading.rate),
			HostIdle: figure(reading.idle)})
	}
	return out
}

// readIdle sets a rate, waits settleTime, and then observes the host for readingTime. It returns the idle ratio of the
// readingTime alone.
func (s *Session) readIdle(ctx context.Context, rate float64) (float64, error) {
	if err := s.setRate(ctx, rate); err != nil {
		return 0, err
	}
	status := func() string { return fmt.Sprintf("calibration: trying %.0f records/s", rate) }
	if err := s.until(ctx, time.Now().Add(settleTime), status); err != nil {
		return 0, err
	}
	before, err := s.ports.Machine.Host()
	if err != nil {
		return 0, err
	}
	if err := s.until(ctx, time.Now().Add(readingTime), status); err != nil {
		return 0, err
	}
	after, err := s.ports.Machine.Host()
	return after.idleSince(before), err
}

// watchWorkers ends the run early if the workers do not report, because a run without their figures is useless. It
// shows no progress, because it runs concurrently with the steps, which show theirs.
func (s *Session) watchWorkers(ctx context.Context, since time.Time, fail context.CancelCauseFunc) {
	watcher := &Session{o: s.o, ports: s.ports}
	watcher.ports.Progress = quiet{s.ports.Progress}
	if err := watcher.awaitWorkers(ctx, since); err != nil {
		fail(err)
		return
	}
	s.ports.Progress.Say("all workers report: %d", s.o.Workers)
}

// awaitWorkers waits until the required number of workers have reported since a moment.
func (s *Session) awaitWorkers(ctx context.Context, since time.Time) error {
	what := fmt.Sprintf("%d workers to report their CPU time to the collector: %s", s.o.Workers,
		workersHint[s.elsewhere()])
	reporting := 0
	err := s.poll(ctx, max(workersLimit, s.o.Wait), what, func(ctx context.Context) (bool, error) {
		series, err := s.ports.Slices.Slices(ctx, s.selector(cpuMetric), since, time.Now())
		reporting = len(byLabel(series, "worker"))
		return reporting >= s.o.Workers, err
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w (%d report)", err, reporting)
	}
	return err
}

// quiet is a Progress that prints no current state.
type quiet struct{ Progress }

// Show does nothing; the run itself shows the current state.
func (quiet) Show(string, ...any) {}

// workersHint says where to look if workers do not report, for a cluster elsewhere and for the local one.
var workersHint = map[bool]string{
	true:  "check the logs of the workers, whether they reach the collector, and launch.command.workers (bullet-metrics doctor helps)",
	false: "see the logs of the workers in storm/logs",
}

// awaitSlices waits until every series of the report has its slice that ends at end. It also waits for the existing
// series of further selectors. The error names the series that lag, because one worker may have died while the others
// report.
func (s *Session) awaitSlices(ctx context.Context, limit time.Duration, end time.Time, further ...string) error {
	var lagging []string
	err := s.poll(ctx, limit, "the collector's last slices", func(ctx context.Context) (bool, error) {
		var err error
		lagging, err = s.lagging(ctx, end, further)
		return err == nil && len(lagging) == 0, err
	})
	if err != nil && len(lagging) > 0 {
		return fmt.Errorf("%w: %v", err, lagging)
	}
	return err
}

// lagging returns the names of the series whose newest slice ends before end. A series that the report needs also lags
// if it does not exist. Series of the further selectors need not exist.
func (s *Session) lagging(ctx context.Context, end time.Time, further []string) ([]string, error) {
	var lagging []string
	needed := []string{s.selector(cpuMetric), s.selector(heapMetric), s.selector(queriesMetric, joinBolt),
		s.selector(latencyMetric)}
	for i, selector := range append(slices.Clone(needed), further...) {
		newest, err := s.ports.Slices.Newest(ctx, selector, time.Now())
		if err != nil {
			return nil, err
		}
		for _, series := range newest {
			if series.EndMs < end.UnixMilli() {
				lagging = append(lagging, fmt.Sprintf("%s of %s%s", selector, series.Labels["worker"],
					series.Labels["task"]))
			}
		}
		if len(newest) == 0 && i < len(needed) {
			lagging = append(lagging, selector)
		}
	}
	slices.Sort(lagging)
	return slices.Compact(lagging), nil
}

// tail returns how long after the last step its slices may still arrive. A packed slice of the sampler comes up to two
// slice widths after its end and closes when the lateness has passed.
func (s *Session) tail() time.Duration { return 2*s.width + s.o.Lateness + 5*time.Second }

// nextSlice returns the first slice end that is not before t. Slices are aligned with the Unix epoch.
func nextSlice(t time.Time, width time.Duration) time.Time {
	ms, step := t.UnixMilli(), width.Milliseconds()
	return time.UnixMilli((ms + step - 1) / step * step)
}

// leastStartUp is the minimum warm-up limit for a topology that was just launched. It applies to runs whose plan does
// not set one.
const leastStartUp = 10 * time.Second

// warmUp applies the plan's start-up queries to a topology that was just launched. It ends when the CPU cost per
// record is steady or the plan's longest start-up has passed, and waits for the queries to end. New workers compile
// the code that they run, including code that only queries use, so that the cost falls from slice to slice. It also
// looks up the processes once, because that takes time and must not fall between two looks.
func (s *Session) warmUp() error {
	s.warm = true
	s.ports.Processes()
	if s.o.Plan.StartUpQueries > 0 {
		s.asker.Hold(s.o.Plan.StartUpQueries, time.Now().Add(s.asker.Lead()), 0)
		defer s.finishQueries()
	}
	defer func() { s.loaded = time.Now() }()
	began := time.Now()
	limit := s.startUp(began)
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	for {
		costs, err := s.recordCosts(s.ctx, began)
		if err == nil && tuning.Steady(costs) {
			s.ports.Progress.Say("the topology was steady after %s of warm-up", time.Since(began).Round(time.Second))
			return nil
		}
		next := nextSlice(time.Now().Add(time.Millisecond), s.width)
		if s.until(ctx, next, func() string { return "warming up the workers" }) == nil {
			continue
		}
		if s.ctx.Err() == nil {
			note := fmt.Sprintf("the warm-up of the launch ended after %s, before the CPU per record was "+
				"steady; workers may still have been compiling", limit.Round(time.Second))
			s.ports.Progress.Say("%s", note)
			s.notes = append(s.notes, note)
		}
		return context.Cause(s.ctx)
	}
}

// startUp returns the limit for the duration of the warm-up.
func (s *Session) startUp(began time.Time) time.Duration {
	limit := max(leastStartUp, load.DurationOf(s.o.Plan.StartUpMs))
	if by := s.o.FirstStepBy; !by.IsZero() {
		left := by.Sub(began)
		if s.o.Plan.StartUpQueries > 0 {
			left -= load.DurationOf(s.o.Plan.Load.QueryDurationMs) // time for the queries to end
		}
		limit = min(limit, max(leastStartUp, left/2))
	}
	return limit
}

// recordCosts returns the CPU seconds of all workers per record, for each slice since a moment. Costs are unknown if
// nobody reports records.
func (s *Session) recordCosts(ctx context.Context, since time.Time) (costs []tuning.Figure, err error) {
	read := s.reader(ctx, since, time.Now())
	workers := read.read(cpuMetric)
	sources, _ := read.records()
	return costsOf(sum(workers), sum(sources)), read.err
}

// costsOf divides the increase of the CPU total by the increase of the record total, slice by slice. It ends at the
// last slice that has records.
func costsOf(cpu, records runstore.Slices) (costs []tuning.Figure) {
	last := int64(0)
	if n := len(records.TimesMs); n > 0 {
		last = records.TimesMs[n-1]
	}
	for i := 1; i < len(cpu.TimesMs) && cpu.TimesMs[i] <= last; i++ {
		taken := records.ValueAt(cpu.TimesMs[i]) - records.ValueAt(cpu.TimesMs[i-1])
		costs = append(costs, (cpu.Values[i]-cpu.Values[i-1])/taken)
	}
	return costs
}

// leastMeasured is the minimum number of slices in a step that ends early. With fewer slices the limiter cannot be
// determined.
const leastMeasured = 3

// untilCertain waits for a step's end and returns when the step ended. If the plan has EndEarly, the step ends as soon
// as the mean filter latency is certain to miss its goal, whatever the remaining slices contain. It checks after each
// stored slice, but never before leastMeasured slices. An early end is a slice boundary.
func (s *Session) untilCertain(ctx context.Context, measured, end time.Time, status func() string) (time.Time, error) {
	if limit := tuning.MeanLatencyLimit(s.o.Plan.Goals); s.o.Plan.EndEarly && limit.Known() {
		for slice := measured.Add(leastMeasured * s.width); slice.Before(end); slice = slice.Add(s.width) {
			in := slice.Add(s.o.Lateness + pollInterval)
			if !in.Before(end) {
				break
			}
			if err := s.until(ctx, in, status); err != nil {
				return end, err
			}
			all, err := s.ports.Slices.Slices(ctx, s.selector(latencyMetric), measured, slice)
			// an error of the collector proves nothing, so the step goes on
			if err == nil && float64(leastMean(all, measured, slice, end, s.width)) > float64(limit) {
				early := nextSlice(time.Now(), s.width)
				s.ports.Progress.Say("the step ends %[2]s early, because its mean filter latency is certain to exceed %[1]s ms",
					tuning.Digits(limit), end.Sub(early))
				end = early
				break
			}
		}
	}
	return end, s.until(ctx, end, status)
}

// leastMean returns the lower bound of the mean over all tasks and all slices of (from, end], in ms. It counts the
// slices after now, and missing ones, as 0.
func leastMean(tasks []Series, from, now, end time.Time, width time.Duration) tuning.Figure {
	within := runstore.Span{From: from.UnixMilli(), To: now.UnixMilli()}
	var least []tuning.Figure
	for _, task := range tasks {
		low, high := within.Within(task.Slices)
		sum := tuning.Figure(0)
		for _, v := range task.Slices.Values[low:high] {
			if v.Known() {
				sum += v
			}
		}
		least = append(least, 1000*sum/tuning.Figure(end.Sub(from)/width))
	}
	return runstore.Average(least)
}
