package measure

import (
	"context"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
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
		s.ports.Progress.Say("calibration: %s; measuring at %.0f records/s, so the run will be inconclusive", missed, rate)
	} else {
		s.ports.Progress.Say("calibration: using %.0f records/s", rate)
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
