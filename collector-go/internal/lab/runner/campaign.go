// Package runner runs an experiment: the trials of its plan one after the other, into a run's directory, from which
// it can go on after an interrupt. It decides in which order what is measured and what a failure means; what a step is,
// and how it is judged, it leaves to internal/lab/experiment and internal/lab/tuning. A trial that cannot be measured
// ends no other.
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
)

// Options are what a campaign takes beside its plan.
type Options struct {
	// Deadline is when no further step is begun; the zero time for none.
	Deadline time.Time
	// Bound is how long it may take from the first topology's submission to the end of the last step, 0 for as long as
	// it takes: a step that would end later is not begun, but for the first LeastSteps.
	Bound      time.Duration
	LeastSteps int
	// Lateness is the collector's.
	Lateness time.Duration
	// Wait is how long a topology may take to its first records; 0 for the usual.
	Wait time.Duration
}

// Campaign is one run of an experiment, new or resumed.
type Campaign struct {
	options  Options
	run      *runstore.Run
	writer   *runstore.Writer
	launcher Launcher
	progress measure.Progress
	now      func() time.Time

	rate float64 // calibrated or given; 0 until it is known
	// calibration is how the rate was found, in the trial calibratedIn; 0 for none.
	calibration  runstore.Calibration
	calibratedIn int
	leftOut      bool // something was not measured since the time had passed
	costLeftOut  bool // so what a query costs
	notes        []string
}

// New returns a campaign that goes on with what a run's directory has; a new one has nothing. It starts nothing.
func New(options Options, run *runstore.Run, writer *runstore.Writer, launcher Launcher,
	progress measure.Progress) *Campaign {
	c := &Campaign{options: options, run: run, writer: writer, launcher: launcher, progress: progress, now: time.Now}
	if given := run.Plan.Load.RecordsPerSecond; given.Known() {
		c.rate = float64(given)
	}
	for _, e := range run.Events {
		if e.Kind == runstore.RateCalibrated && e.RecordsPerSecond != nil {
			c.rate, c.calibratedIn = *e.RecordsPerSecond, e.Trial
			if json.Unmarshal([]byte(e.Text), &c.calibration) != nil {
				c.calibratedIn = 0 // an older run's, which has the rate alone
			}
		}
		if e.Kind == runstore.RunResumed {
			c.noteResumption(e)
		}
	}
	return c
}

func (c *Campaign) noteResumption(e runstore.Event) {
	c.notes = append(c.notes, fmt.Sprintf("The run was interrupted and resumed at %s: %s.",
		time.UnixMilli(e.AtMs).UTC().Format("15:04:05 UTC"), e.Text))
}

func (c *Campaign) append(e runstore.Event) error {
	e.AtMs = c.now().UnixMilli()
	return c.writer.Record(e)
}

// Run runs what is left of the plan. The result is there unless ctx ended first or the directory could not be written;
// the directory can then be gone on with.
func (c *Campaign) Run(ctx context.Context) (*runstore.Result, error) {
	if err := c.begin(); err != nil {
		return nil, err
	}
	for i := range c.run.Trials {
		trial := &c.run.Trials[i]
		if trial.State == runstore.Finished {
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
	return c.finish()
}

// begin states that the run begins, or goes on.
func (c *Campaign) begin() error {
	if len(c.run.Events) == 0 {
		return c.append(runstore.Event{Kind: runstore.RunStarted})
	}
	kept := 0
	for _, t := range c.run.Trials {
		kept += len(t.Steps)
	}
	e := runstore.Event{Kind: runstore.RunResumed,
		Text: fmt.Sprintf("%d finished steps were kept, the topology of the trial that was under way was launched again",
			kept)}
	c.progress.Say("resuming: %d finished steps are kept", kept)
	err := c.append(e)
	e.AtMs = c.now().UnixMilli()
	c.noteResumption(e)
	return err
}

// late reports whether the deadline has passed.
func (c *Campaign) late() bool {
	return !c.options.Deadline.IsZero() && c.now().After(c.options.Deadline)
}

// finish draws the result from what was measured, and keeps it.
func (c *Campaign) finish() (*runstore.Result, error) {
	if c.leftOut {
		c.notes = append(c.notes,
			"The time limit had passed before everything was measured: what is missing was left out.")
	}
	if c.costLeftOut && slices.ContainsFunc(c.run.Trials, func(t runstore.Trial) bool { return len(t.Steps) > 0 }) {
		c.notes = append(c.notes,
			fmt.Sprintf("The loads that measure what a query costs alone take %s, for which there was no time: the cost is by the steps of the climb that were OK.",
				c.run.Plan.CostTime().Round(time.Second)))
	}
	result := Conclude(c.run.Plan, c.run.Trials, c.run.Unanswered())
	result.FinishedMs, result.Notes = c.now().UnixMilli(), append(result.Notes, c.notes...)
	if err := c.writer.SaveResult(result); err != nil {
		return nil, err
	}
	return &result, c.append(runstore.Event{Kind: runstore.RunFinished, Verdict: result.Verdict})
}

// search is the search of a trial's row.
func (c *Campaign) search(t *runstore.Trial) tuning.Search {
	s := tuning.Search{Kind: c.run.Plan.Search, InconclusiveRepeats: c.run.Plan.InconclusiveRepeats,
		Confirm: c.run.Plan.Confirm}
	for _, step := range t.PlannedTrial.Steps {
		s.Values = append(s.Values, step.Value)
	}
	return s
}
