package report_test

import (
	"cmp"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// onePlan returns the plan of a run with one trial.
func onePlan() runstore.Plan {
	u := tuning.Unknown
	return runstore.Plan{
		Experiment: "one", Title: "One trial", Analysis: runstore.OfConcurrency, Axis: runstore.Queries,
		Launch: runstore.LocalLaunch, MinHostIdle: 0.05,
		Goals: []tuning.Goal{{Figure: tuning.ResultSize, Statistic: tuning.Mean, AtMost: u, AtLeast: 9.9}},
		Load: runstore.Load{Class: "raw", QueryLimit: 10, QueryDurationMs: 10_000, QueriesPerSecond: u,
			RecordsPerSecond: u, TargetIdle: 0.4, CatchUpFactor: u, MatchingPerSecond: 0.4, MeanRecordBytes: 1843},
		Trials: []runstore.PlannedTrial{{Number: 1, Label: "one", Configuration: 1, Repeat: 1}},
	}
}

// oneTrial returns the report of a run directory with one trial that has the given figures.
func oneTrial(t *testing.T, figures *runstore.Figures) *report.RunReport {
	t.Helper()
	dir, plan := filepath.Join(t.TempDir(), "run"), onePlan()
	w, err := runstore.Create(dir, []byte("experiment: one\n"), plan,
		runstore.Manifest{ID: "one-1", Versions: runstore.Versions{Bullet: "two | parts <of> it"}})
	require.NoError(t, err)
	defer w.Close()
	trial := plan.Trials[0]
	require.NoError(t, w.BeginTrial(trial, []byte("a: 1\n"), runstore.Arguments{}))
	require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialStarted, Trial: 1, Launch: 1}))
	for i, step := range figures.Steps {
		step.Number, step.Value, step.Kind = i+1, float64(step.Queries), cmp.Or(step.Kind, runstore.LoadStep)
		require.NoError(t, w.FinishStep(trial, step, step.EndMs))
	}
	require.NoError(t, w.SaveFigures(trial, *figures))
	require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialFinished, Trial: 1}))
	r, err := report.OpenRunReport(dir)
	require.NoError(t, err)
	return r
}

func markdown(t *testing.T, figures *runstore.Figures) string {
	t.Helper()
	return oneTrial(t, figures).Document().Markdown("figures")
}

func page(t *testing.T, figures *runstore.Figures) string {
	t.Helper()
	text, err := oneTrial(t, figures).Document().HTML()
	require.NoError(t, err)
	return string(text)
}
