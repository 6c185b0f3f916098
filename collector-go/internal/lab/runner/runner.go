// Package runner runs an experiment: it executes the trials of a plan one after the other and stores them in a run
// directory. A run that was interrupted or killed resumes from that directory.
//
// The package owns the order in which steps are measured, the retries, and the meaning of a failure: a trial that
// cannot be measured is recorded as failed and does not end the run. It must not know how a step is measured
// (internal/lab/measure), how it is judged (internal/lab/tuning) or how files look (internal/lab/runstore). The
// Launcher interface hides how a topology is started; Local and Command implement it.
//
// Start reading at Runner.Run in runner.go, then Runner.trial in trial.go, which handles one launch. Package runstore
// computes the result of a run from its trials (Run.Judge). search.go chooses the trials of a search (tune optimize).
package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// Options are the settings of a run that are not part of its plan. A resumed run may have other options than before.
type Options struct {
	// Deadline is the time after which no further step is begun; the zero time means no limit.
	Deadline time.Time
	// End is when the last step must have ended; the zero time means no limit. A step that would end later is not
	// started, except that the first LeastSteps steps always run.
	End        time.Time
	LeastSteps int
	// Lateness is the allowed lateness of the collector: the time from the end of a slice until it is complete.
	Lateness time.Duration
	// Wait limits the time until a topology emits its first records; 0 selects the default.
	Wait time.Duration
	// Chooser adds trials to those of the plan, for a search; nil means none. With a Chooser, LeastSteps must be 1, so
	// that a trial that was launched before the deadline measures its step.
	Chooser Chooser
}

// Chooser chooses the trials of a run one after the other. Its answers depend only on the stored run, so a resumed run
// continues in the same way.
type Chooser interface {
	// Next returns the next trial and the reason for it, or nil if the run needs no further trial.
	Next(run *runstore.Run) (*runstore.PlannedTrial, string, error)
	// Again returns how many of the last trials failed and must be run again when the run is resumed. Other failed
	// trials are final, because the Chooser has chosen a repeat.
	Again(run *runstore.Run) int
}

// Runner executes one run of an experiment, new or resumed. All methods must be called from one goroutine.
//
// The run directory is the only state that survives. The Runner writes an event or a file before it relies on it, and
// New rebuilds everything else from the events. A killed run therefore loses at most the step that was being measured.
type Runner struct {
	options  Options
	run      *runstore.Run
	writer   *runstore.Writer
	launcher Launcher
	progress measure.Progress
	now      func() time.Time

	rate float64 // calibrated or given, records/s; 0 if unknown
	// calibration is how the rate was found; calibratedIn is the number of the trial that did it, 0 if none did.
	calibration  tuning.Calibration
	calibratedIn int
	leftOut      bool // something was not measured because the time limit had passed
	costLeftOut  bool // the cost steps were not measured for the same reason
	notes        []string
}

// New returns a Runner that continues from the events of a run directory; a new directory has none. It starts nothing.
// The calibrated record rate is taken from the events, because steps at two different rates would not be comparable.
func New(options Options, run *runstore.Run, writer *runstore.Writer, launcher Launcher,
	progress measure.Progress) *Runner {
	c := &Runner{options: options, run: run, writer: writer, launcher: launcher, progress: progress, now: time.Now}
	if given := run.Plan.Load.RecordsPerSecond; given.Known() {
		c.rate = float64(given)
	}
	for _, e := range run.Events {
		if e.Kind == runstore.RateCalibrated && e.RecordsPerSecond != nil {
			c.rate, c.calibratedIn = *e.RecordsPerSecond, e.Trial
			if json.Unmarshal([]byte(e.Text), &c.calibration) != nil {
				c.calibratedIn = 0 // an older run stored only the rate
			}
		}
		if e.Kind == runstore.RunResumed {
			c.noteResumption(e)
		}
	}
	return c
}

func (c *Runner) noteResumption(e runstore.Event) {
	c.notes = append(c.notes, fmt.Sprintf("The run was interrupted and resumed at %s: %s.",
		time.UnixMilli(e.AtMs).UTC().Format("15:04:05 UTC"), e.Text))
}

func (c *Runner) append(e runstore.Event) error {
	e.AtMs = c.now().UnixMilli()
	return c.writer.Record(e)
}

// Run executes what is left of the plan and returns the result. It returns an error only if ctx ended or the directory
// could not be written; the run can then be resumed from its directory. The failure of one trial is part of the
// result.
func (c *Runner) Run(ctx context.Context) (*runstore.Result, error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
	final := 0 // the failed trials before this one are not run again
	if c.options.Chooser != nil {
		final = len(c.run.Trials) - c.options.Chooser.Again(c.run)
	}
	for i := 0; ; i++ {
		if i == len(c.run.Trials) {
			if more, err := c.choose(ctx); err != nil {
				return nil, err
			} else if !more {
				return c.finish()
			}
		}
		trial := &c.run.Trials[i]
		if trial.State == runstore.Finished || trial.State == runstore.Failed && i < final {
			continue
		}
		if c.late() {
			c.leftOut = true
			continue
		}
		err := c.trial(ctx, trial)
		switch {
		case ctx.Err() != nil:
			return nil, errors.Join(context.Cause(ctx),
				c.append(runstore.Event{Kind: runstore.RunInterrupted, Trial: trial.Number,
					Text: context.Cause(ctx).Error()}))
		case err != nil:
			c.progress.Say("trial %d (%s) could not be measured: %v", trial.Number, trial.Label, err)
			trial.State, trial.Error = runstore.Failed, err.Error()
			failed := runstore.Event{Kind: runstore.TrialFailed, Trial: trial.Number, Text: err.Error()}
			if err := c.append(failed); err != nil {
				return nil, err
			}
		}
	}
}

// choose adds the next trial of the Chooser to the plan. It returns false if there is none, or if the deadline has
// passed. The Chooser gets the run as it is stored, which is also what it gets when the run is resumed.
func (c *Runner) choose(ctx context.Context) (bool, error) {
	if c.options.Chooser == nil {
		return false, nil
	}
	stored, err := runstore.Read(c.run.Dir)
	if err != nil {
		return false, err
	}
	planned, why, err := c.options.Chooser.Next(stored)
	switch {
	case err != nil || planned == nil:
		return false, err
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case c.late():
		c.leftOut = true
		return false, nil
	}
	c.progress.Say("trial %d: %s (%s)", planned.Number, planned.Label, why)
	c.run.Plan.Trials = append(c.run.Plan.Trials, *planned)
	c.run.Trials = append(c.run.Trials, runstore.Trial{PlannedTrial: *planned, State: runstore.Waiting,
		Dir: runstore.TrialDir(c.run.Dir, *planned)})
	return true, c.append(runstore.Event{Kind: runstore.TrialPlanned, Planned: planned, Text: why})
}

// begin records that the run begins or resumes.
func (c *Runner) begin() error {
	if len(c.run.Events) == 0 {
		return c.append(runstore.Event{Kind: runstore.RunStarted})
	}
	kept := 0
	for _, t := range c.run.Trials {
		kept += len(t.Steps)
	}
	e := runstore.Event{Kind: runstore.RunResumed,
		Text: fmt.Sprintf("%d finished steps were kept, and the topology of the interrupted trial was launched again",
			kept)}
	c.progress.Say("resuming with %d finished steps", kept)
	err := c.append(e)
	e.AtMs = c.now().UnixMilli()
	c.noteResumption(e)
	return err
}

// late reports whether the deadline has passed.
func (c *Runner) late() bool {
	return !c.options.Deadline.IsZero() && c.now().After(c.options.Deadline)
}

// finish computes the result from what was measured and stores it.
func (c *Runner) finish() (*runstore.Result, error) {
	if c.leftOut {
		c.notes = append(c.notes, "The time limit passed before everything was measured; the rest was left out.")
	}
	if c.costLeftOut && slices.ContainsFunc(c.run.Trials, func(t runstore.Trial) bool { return len(t.Steps) > 0 }) {
		c.notes = append(c.notes,
			fmt.Sprintf("There was no time for the dedicated cost steps (%s); the cost per query is fitted to the steps of the capacity search that were OK.",
				c.run.Plan.CostTime().Round(time.Second)))
	}
	result := c.run.Judge()
	result.FinishedMs, result.Notes = c.now().UnixMilli(), append(result.Notes, c.notes...)
	if err := c.writer.SaveResult(result); err != nil {
		return nil, err
	}
	return &result, c.append(runstore.Event{Kind: runstore.RunFinished, Verdict: result.Verdict})
}

// search returns the capacity search over a trial's planned loads.
func (c *Runner) search(t *runstore.Trial) tuning.Search {
	return tuning.Search{Kind: c.run.Plan.Search, InconclusiveRepeats: c.run.Plan.InconclusiveRepeats,
		Confirm: c.run.Plan.Confirm,
		Values:  tuning.Each(t.PlannedTrial.Steps, func(s runstore.PlannedStep) float64 { return s.Value })}
}

// Launcher starts and ends topologies. At most one topology runs at a time, because two would share the hosts and
// neither could be measured. Local and Command implement it. All methods must be called from one goroutine.
type Launcher interface {
	// Launch submits a trial's topology under a name, and returns when the cluster has accepted it. The caller must
	// call End even after an error.
	Launch(ctx context.Context, t runstore.PlannedTrial, name string) (*Launched, error)
	// End kills the topology that was launched last and saves its logs to a directory. It takes bounded time. If
	// broken is true, the trial failed for an unknown reason: a local cluster is then restarted before the next
	// launch.
	End(ctx context.Context, logs string, broken bool) error
	// Stop ends everything. It is called once, at the end. If hasten is closed, it kills the processes instead of
	// waiting for a clean end.
	Stop(hasten <-chan struct{}) error
}

// Launched is a topology that was submitted.
type Launched struct {
	Submitted time.Time
	// Ports are the connections of a session. The caller sets Progress and Outcomes.
	Ports measure.Ports
	// Failed receives the error of a part that died and could not be restarted; nil if nobody watches.
	Failed <-chan error
	// Arguments are how the topology was launched; Settings is the Bullet YAML byte for byte.
	Arguments   runstore.Arguments
	Settings    []byte
	Environment measure.Environment
	// CollectorRestarts returns the number of restarts of the run's own collector; nil if the run has none.
	CollectorRestarts func() int
}

// prepare returns what is known of a launch before the topology is submitted: the Bullet YAML, the settings, and the
// ports to the collector and to this machine.
func prepare(conf, collector string, access measure.CollectorAccess, t runstore.PlannedTrial) (l *Launched, err error) {
	l = &Launched{}
	if l.Settings, err = textfile.Read(conf, textfile.Most); err != nil {
		return nil, err
	}
	c, err := measure.NewCollector(collector, access)
	if err != nil {
		return nil, err
	}
	l.Ports = measure.Ports{Slices: c, Annotations: c, Calculator: c, Facts: c}
	for _, e := range t.Settings {
		l.Arguments.Settings = append(l.Arguments.Settings, e.Key+"="+e.Value)
	}
	l.Ports.Machine, err = measure.NewProc()
	return l, err
}

// Summary returns the result as lines of text: the verdict, one line per row, failed trials and notes. tune run prints
// it at its end; the result itself is in result.json.
func Summary(plan runstore.Plan, r runstore.Result) (lines []string) {
	lines = append(lines, fmt.Sprintf("verdict: %s", r.Verdict))
	for _, row := range r.Rows {
		line := fmt.Sprintf("  %s: %s", row.Label, row.Verdict)
		if plan.Analysis != runstore.OfTimeline { // a timeline has no capacity
			line += ", capacity: " + row.Capacity.Of(plan.Axis.Unit())
		}
		lines = append(lines, line)
	}
	for _, t := range r.Trials {
		if t.State == runstore.Failed {
			lines = append(lines, fmt.Sprintf("  trial %d could not be measured: %s", t.Number, t.Error))
		}
	}
	return append(lines, tuning.Each(r.Notes, func(note string) string { return "  " + note })...)
}

// describeLimit bounds the requests to a collector that may be gone.
const describeLimit = 10 * time.Second

// describe saves the configuration that a topology reports about itself. It asks just before the topology ends, when
// its workers have had time to report. A topology that broke is asked too, because its settings may explain why. The
// answer is stored with the trial. The first answer also completes the manifest of the run, for example with the
// version of Storm. If the collector cannot answer, nothing is saved.
func (c *Runner) describe(ctx context.Context, trial runstore.PlannedTrial, name string, ports measure.Ports) {
	if ports.Facts == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, describeLimit)
	defer cancel()
	t, err := ports.Facts.Topology(ctx, name)
	if err != nil {
		return
	}
	limit := tuning.Unknown
	if ports.Calculator != nil {
		if known, err := measure.HeapLimit(ctx, ports.Calculator, name, time.Now()); err == nil {
			limit = known
		}
	}
	reported := t.ReportedConfig(limit)
	if c.writer.SaveReportedConfig(trial, reported) != nil {
		return // the trial was never begun
	}
	if m := &c.run.Manifest; m.Versions.Storm == "" {
		m.Add(reported)
		_ = c.writer.SaveManifest(*m) // a manifest without these facts is better than none
	}
}
