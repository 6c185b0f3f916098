package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// trial launches a topology, measures the steps that are still missing, and ends the topology. The end has its own
// time limit and does not depend on ctx, because a topology must also be killed when the user interrupts the run.
func (c *Runner) trial(ctx context.Context, t *runstore.Trial) error {
	if _, more := c.next(t); !more && t.State == runstore.Underway {
		return c.trialFinished(t) // all steps are stored; only the event of the trial's end is missing
	}
	t.Launches++
	name := c.name(t)
	c.progress.Say("trial %d of %d: %s", t.Number, len(c.run.Trials), t.Label)
	started := runstore.Event{Kind: runstore.TrialStarted, Trial: t.Number, Launch: t.Launches, Text: name}
	if err := c.append(started); err != nil {
		return err
	}
	t.State = runstore.Underway
	logs := filepath.Join(t.Dir, runstore.LogsDir)
	began := c.now()
	launched, err := c.launcher.Launch(ctx, t.PlannedTrial, name)
	if err == nil {
		c.progress.Say("trial %d: topology %s submitted after %.0f s", t.Number, name, c.now().Sub(began).Seconds())
		err = c.measure(ctx, t, name, launched)
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	if launched != nil {
		c.announceEnd(ending, launched.Ports.Annotations, name)
		c.describe(ending, t.PlannedTrial, name, launched.Ports)
	}
	if ended := c.launcher.End(ending, logs, err != nil); ended != nil {
		c.progress.Say("trial %d: cannot end the topology: %v", t.Number, ended)
	}
	if err != nil {
		return err
	}
	return c.trialFinished(t)
}

// endLimit bounds the time for ending a topology.
const endLimit = 2 * time.Minute

// announceEnd informs the collector that the topology is about to be killed on purpose. Without the annotation, the
// collector would raise an alert because the topology is silent.
func (c *Runner) announceEnd(ctx context.Context, annotations measure.Annotations, name string) {
	if annotations == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, announceLimit)
	defer cancel()
	if err := annotations.Annotate(ctx, measure.Killed(name, c.now())); err != nil {
		c.progress.Say("cannot tell the collector that topology %s is killed on purpose; the alert BulletMetricsCollectorBlind may fire: %v",
			name, err)
	}
}

// announceLimit bounds the announcement, so that an unreachable collector does not delay a trial.
const announceLimit = 10 * time.Second

// trialFinished records the end of a trial. Without the event, a resumed run would launch the trial's topology again.
func (c *Runner) trialFinished(t *runstore.Trial) error {
	t.State = runstore.Finished
	return c.append(runstore.Event{Kind: runstore.TrialFinished, Trial: t.Number})
}

// name returns the name of the topology. Each launch has its own, so that the series of one launch are never confused
// with those of another in the collector.
func (c *Runner) name(t *runstore.Trial) string {
	name := fmt.Sprintf("%s-%02d", c.run.Plan.Topology, t.Number)
	if t.Launches > 1 {
		name += fmt.Sprintf("-launch%d", t.Launches)
	}
	return name
}

// measure opens a session on a launched topology and measures the missing steps. It saves the figures of finished
// steps even if a later step fails. An error on launched.Failed cancels the session with that error as its cause.
func (c *Runner) measure(parent context.Context, t *runstore.Trial, name string, launched *Launched) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	go func() {
		select {
		case err := <-launched.Failed:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	if err := c.writer.BeginTrial(t.PlannedTrial, launched.Settings, launched.Arguments); err != nil {
		return err
	}
	outcomes, err := os.OpenFile(filepath.Join(t.Dir, runstore.OutcomesFile),
		os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer outcomes.Close()
	ports := launched.Ports
	ports.Progress, ports.Outcomes = c.progress, outcomes
	session, err := measure.Open(ctx, measure.SessionOptions{
		Topology: name, Workers: t.Workers, Wait: c.options.Wait, Plan: c.run.Plan, Lateness: c.options.Lateness,
		Run:   c.run.Manifest.ID,
		Trial: t.Label, Environment: launched.Environment, FirstStepBy: c.bound(),
	}, ports, launched.Submitted)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer session.Close()
	err = c.steps(session, t)
	if parent.Err() == nil {
		kept := c.keep(session, t, launched)
		if errors.Is(err, kept) { // the cause of the session's end made this fail too
			kept = nil
		}
		err = errors.Join(err, kept, session.Written())
	}
	return err
}

// bound sets the deadline of a run with Options.End, and returns the latest start of the first step that leaves time
// for LeastSteps steps. It returns the zero time without an end.
func (c *Runner) bound() (firstStepBy time.Time) {
	if c.options.End.IsZero() {
		return time.Time{}
	}
	step := c.run.Plan.StepTime()
	c.options.Deadline = c.options.End.Add(-step)
	return c.options.Deadline.Add(-time.Duration(max(0, c.options.LeastSteps-1)) * step)
}

// steps measures the cost steps and then the steps that the search asks for. A search that runs out of time keeps what
// it has measured; the result states that steps are missing.
func (c *Runner) steps(session *measure.Session, t *runstore.Trial) error {
	if err := c.setRate(session, t); err != nil {
		return err
	}
	for {
		planned, more := c.next(t)
		if !more {
			return nil
		}
		if c.late() && len(runstore.Measured(t.Steps)) >= c.options.LeastSteps {
			c.leftOut = true
			c.progress.Say("trial %d: the time limit has passed; the remaining steps are left out", t.Number)
			return nil
		}
		step, err := c.step(session, t, planned)
		if err != nil {
			return err
		}
		t.Steps = append(t.Steps, step)
	}
}

// order is the step to measure next. Attempt counts the measurements of the same load from 1.
type order struct {
	kind    runstore.StepKind
	value   float64
	attempt int
}

// next returns the next step of a trial; the boolean is false if none is missing. It depends on the stored steps and
// the time that is left, so a resumed run continues with the same step. The dedicated cost steps come first, in their
// order; then the capacity search decides.
func (c *Runner) next(t *runstore.Trial) (order, bool) {
	searched := runstore.Measured(t.Steps)
	loads := c.run.Plan.CostLoads
	if done := len(t.Steps) - len(searched); done < len(loads) && len(searched) == 0 && c.affordsCost(done) {
		before := 0
		for _, load := range loads[:done] {
			if load == loads[done] {
				before++
			}
		}
		return order{runstore.CostStep, loads[done], before + 1}, true
	}
	value, attempt, more := c.search(t).Next(searched)
	// a value that the search itself chose is not in the plan and is a load step
	planned, _ := tuning.First(t.PlannedTrial.Steps, func(s runstore.PlannedStep) bool { return s.Value == value })
	return order{cmp.Or(planned.Kind, runstore.LoadStep), value, attempt}, more
}

// affordsCost reports whether the remaining cost steps and the capacity search after them fit before the deadline. If
// not, the cost steps are left out, because the capacity is the main result.
func (c *Runner) affordsCost(done int) bool {
	plan := c.run.Plan
	if c.options.Deadline.IsZero() {
		return true
	}
	left := plan.CostTime() / time.Duration(len(plan.CostLoads)) * time.Duration(len(plan.CostLoads)-done)
	search := plan.StepTime() * time.Duration(max(0, c.options.LeastSteps-1))
	if c.now().Add(left + search).After(c.options.Deadline) {
		c.costLeftOut = true
		return false
	}
	return true
}

// setRate sets the record rate of the run, which is calibrated once. The rate is stored as an event before any step is
// measured at it, so a resumed run continues at the same rate.
func (c *Runner) setRate(session *measure.Session, t *runstore.Trial) error {
	if c.run.Plan.Axis == runstore.RecordsPerSecond || c.run.Plan.Load.NoSource() {
		return nil // each step sets its own rate, or the source cannot be controlled
	}
	if c.rate > 0 {
		return session.SetRate(c.rate)
	}
	found, err := session.Calibrate()
	if err != nil {
		return err
	}
	rate := float64(found.RecordsPerSecond)
	c.rate, c.calibration, c.calibratedIn = rate, found, t.Number
	text, err := json.Marshal(found)
	if err != nil {
		return err
	}
	event := runstore.Event{Kind: runstore.RateCalibrated, Trial: t.Number, Launch: t.Launches, RecordsPerSecond: &rate,
		Text: string(text)}
	c.run.Events = append(c.run.Events, event)
	return c.append(event)
}

// step measures one step and stores it. The event step_started is written just before the load is applied, and the
// step's file before the event of its end. A resumed run therefore either has the whole step or measures it again.
func (c *Runner) step(session *measure.Session, t *runstore.Trial, next order) (runstore.Step, error) {
	number := len(t.Steps) + 1
	step, err := session.Step(measure.StepOrder{Kind: next.kind, Value: next.value, Number: number,
		Attempt: next.attempt, Launch: t.Launches, Begun: func(time.Time) error {
			return c.append(runstore.Event{Kind: runstore.StepStarted, Trial: t.Number, Launch: t.Launches,
				Step: number, Attempt: next.attempt, Value: &next.value})
		}})
	if err != nil {
		return step, err
	}
	if err := c.writer.FinishStep(t.PlannedTrial, step, c.now().UnixMilli()); err != nil {
		return step, err
	}
	c.sayStep(t, step)
	return step, nil
}

// sayStep prints a step's verdict as soon as it is known.
func (c *Runner) sayStep(t *runstore.Trial, s runstore.Step) {
	var figures string
	for _, f := range s.Figures {
		if f.Measured.Known() && f.Goal.Figure != tuning.FailedQueries {
			figures += fmt.Sprintf(", %s", f.String())
		}
	}
	which := ""
	if s.Kind == runstore.CostStep {
		which = " (cost step)"
	}
	if s.Attempt > 1 {
		which += fmt.Sprintf(" (attempt %d)", s.Attempt)
	}
	host := "host"
	if c.run.Plan.Launch == runstore.CommandLaunch {
		host = "tune run's host"
	}
	c.progress.Say("trial %d, %s %s%s: %s%s; %s records/s, %s idle %.0f%%", t.Number,
		tuning.Digits(tuning.Figure(s.Value)), c.run.Plan.Axis.Unit(),
		which, s.Verdict, figures, recordsText(s.RecordsPerSecond), host, 100*float64(s.HostIdle))
	for _, reason := range s.Reasons {
		c.progress.Say("  %s", reason)
	}
}

// recordsText formats a record rate. An unknown rate is a word, because 0 would claim that no record came.
func recordsText(perSecond tuning.Figure) string {
	if !perSecond.Known() {
		return "unknown"
	}
	return fmt.Sprintf("%.0f", float64(perSecond))
}

// keep saves the trial's figures in its directory, together with those of its earlier launches. Earlier launches are
// joined from the newest to the oldest, because each is put before what is there. A trial without a step has nothing
// to save.
func (c *Runner) keep(session *measure.Session, t *runstore.Trial, launched *Launched) error {
	if len(t.Steps) == 0 {
		return nil
	}
	last := t.Steps[len(t.Steps)-1]
	until := time.UnixMilli(last.EndMs)
	run, err := session.Figures(until)
	if err != nil {
		return err
	}
	for _, launch := range slices.Backward(c.earlier(t)) {
		before, err := session.EarlierFigures(launch.name, launch.from, launch.until)
		if err != nil {
			return err
		}
		run.Join(before)
	}
	if launched.CollectorRestarts != nil {
		run.CollectorRestarts = launched.CollectorRestarts()
	}
	if c.calibratedIn == t.Number {
		run.Calibration = c.calibration
	}
	run.Settings = t.Settings
	if err := c.writer.SaveFigures(t.PlannedTrial, *run); err != nil {
		return err
	}
	return c.record(session, t, until)
}

// launch is an earlier launch of a trial that measured steps. It has a name because the collector stores the series of
// each launch under its own topology name.
type launch struct {
	name        string
	from, until time.Time
}

// earlier returns the launches of a trial before the current one. A launch without a finished step is left out,
// because its series are not needed.
func (c *Runner) earlier(t *runstore.Trial) (all []launch) {
	for _, e := range c.run.Events {
		if e.Kind != runstore.TrialStarted || e.Trial != t.Number {
			continue
		}
		l := launch{name: e.Text, from: time.UnixMilli(e.AtMs)}
		for _, s := range t.Steps {
			if s.Launch == e.Launch {
				l.until = time.UnixMilli(s.EndMs)
			}
		}
		if !l.until.IsZero() {
			all = append(all, l)
		}
	}
	return all
}

// record saves the further series that the experiment asks for. Each launch writes the whole file and replaces that of
// an earlier launch.
func (c *Runner) record(session *measure.Session, t *runstore.Trial, until time.Time) error {
	if len(c.run.Plan.Record) == 0 {
		return nil
	}
	series, err := session.Recorded(c.run.Plan.Record, until)
	if err != nil {
		return err
	}
	text, err := json.Marshal(series)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.Dir, runstore.SeriesFile), text, 0o644)
}
