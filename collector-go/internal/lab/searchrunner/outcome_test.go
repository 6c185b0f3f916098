package searchrunner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// measuredRun returns a run with one step or with none.
func measuredRun(t *testing.T, s *Search, step *runstore.Step) *runstore.Run {
	t.Helper()
	p := optimize.Point{0, 0}
	plan := s.Plan(Order{Number: 1, Point: p, Label: s.Space.Text(p)})
	dir := filepath.Join(t.TempDir(), "run")
	w, err := runstore.Create(dir, s.Text, plan, runstore.Manifest{})
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialStarted, Trial: 1, Launch: 1}))
	require.NoError(t, w.BeginTrial(plan.Trials[0], nil, runstore.Arguments{}))
	if step == nil {
		require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialFailed, Trial: 1,
			Text: "waited 2m0s for 3 workers"}))
	} else {
		require.NoError(t, w.FinishStep(plan.Trials[0], *step, 1))
		require.NoError(t, w.SaveFigures(plan.Trials[0], runstore.Figures{FilterLatencySeconds: []runstore.Slices{
			{TimesMs: []int64{5000, 10000, 15000, 20000}, Values: []tuning.Figure{9, 0.1, 0.2, 0.3}},
			{TimesMs: []int64{10000, 15000}, Values: []tuning.Figure{0.1, tuning.Unknown}}}}))
	}
	run, err := runstore.Read(dir)
	require.NoError(t, err)
	return run
}

func stepOf(verdict tuning.Verdict, limiters ...tuning.Limiter) *runstore.Step {
	goal := func(f tuning.GoalFigure, s tuning.Statistic, v tuning.Figure) tuning.GoalOutcome {
		return tuning.GoalOutcome{Goal: tuning.Goal{Figure: f, Statistic: s}, Measured: v}
	}
	return &runstore.Step{Number: 1, Attempt: 1, Launch: 1, Verdict: verdict, Reasons: []string{"why"},
		MeasuredFromMs: 5000, EndMs: 20000, CPUCores: 1.5, HostIdle: 0.3, RecordsPerSecond: 499,
		CatchUpRatio: tuning.Unknown,
		Clients:      runstore.Clients{DueRecords: 100, MissingRecords: 7},
		Limitation:   &tuning.Limitation{Limiters: limiters},
		Figures: []tuning.GoalOutcome{goal(tuning.FilterLatency, tuning.Mean, 12),
			goal(tuning.FilterLatency, tuning.Max, 340)}}
}

func TestTheVerdictOfTheEngineIsTheTrials(t *testing.T) {
	s := open(t)
	o, err := s.OutcomeOf(measuredRun(t, s, stepOf(tuning.Fail, tuning.LimitedByFilterCPU, tuning.LimitedByGC)))
	require.NoError(t, err)
	assert.Equal(t, tuning.Fail, o.Verdict)
	assert.Equal(t, tuning.Figure(340), o.LatencyMs, "the experiment's latency goal is of the maximum")
	assert.InDelta(t, 0.93, float64(o.Completeness), 1e-12)
	assert.False(t, o.CatchUp.Known())
	assert.Equal(t, tuning.LimitedByFilterCPU, o.Limiter)
	assert.Equal(t, []string{"why"}, o.Reasons)
	assert.InDelta(t, 0.2887, float64(o.Noise), 1e-4,
		"0.1, 0.2 and 0.3 s: the deviation of their mean is 0.0577, above the file's 5%")
	assert.Equal(t, tuning.Figure(1.5), o.CPUCores)

	o, err = s.OutcomeOf(measuredRun(t, s, stepOf(tuning.OK, tuning.LimitedByHost)))
	require.NoError(t, err)
	assert.Empty(t, o.Limiter, "what held ran against nothing")
}

func TestNoiseIsWhatIsStatedOrShown(t *testing.T) {
	for stated, want := range map[string]tuning.Figure{"noise: 5%\n": 0.2887, "noise: 40%\n": 0.4, "": 0.2887} {
		s, err := opened(t, strings.Replace(searched, "noise: 5%\n", stated, 1), experimented)
		require.NoError(t, err)
		o, err := s.OutcomeOf(measuredRun(t, s, stepOf(tuning.OK)))
		require.NoError(t, err)
		assert.InDelta(t, float64(want), float64(o.Noise), 1e-4, stated)
	}
	s, err := opened(t, strings.Replace(searched, "noise: 5%\n", "", 1), experimented)
	require.NoError(t, err)
	quiet := stepOf(tuning.OK)
	quiet.MeasuredFromMs, quiet.EndMs = 5000, 10000
	o, err := s.OutcomeOf(measuredRun(t, s, quiet))
	require.NoError(t, err)
	assert.False(t, o.Noise.Known(), "one launch does not show what differs between launches")
}

// If Storm holds the spouts back, an experiment counts that as a limit outside the topology. For a search that changes
// the setting it is a failure.
func TestALimitThatIsTriedIsAFailure(t *testing.T) {
	pending := strings.Replace(searched, `name: topology.worker.childopts, as: heap, written: "-Xmx{}m"`,
		"name: topology.max.spout.pending, as: heap", 1)
	for text, want := range map[string]tuning.Verdict{searched: tuning.Limited, pending: tuning.Fail} {
		s, err := opened(t, text, experimented)
		require.NoError(t, err)
		o, err := s.OutcomeOf(measuredRun(t, s, stepOf(tuning.Limited, tuning.LimitedByPending)))
		require.NoError(t, err)
		assert.Equal(t, want, o.Verdict)
		assert.Equal(t, tuning.LimitedByPending, o.Limiter)
	}
}

func TestAWorkerThatRanOutOfHeapIsAVerdict(t *testing.T) {
	s := open(t)
	run := measuredRun(t, s, nil)
	_, err := s.OutcomeOf(run)
	assert.EqualError(t, err, "waited 2m0s for 3 workers", "that nothing came is no verdict by itself")
	log := filepath.Join(run.Trials[0].Dir, runstore.LogsDir, "worker-6700.log")
	require.NoError(t, os.WriteFile(log,
		[]byte("STDERR Terminating due to java.lang.OutOfMemoryError: Java heap space\n"), 0o644))
	o, err := s.OutcomeOf(run)
	require.NoError(t, err)
	assert.Equal(t, tuning.Fail, o.Verdict)
	assert.Equal(t, tuning.LimitedByRestart, o.Limiter)
	assert.False(t, o.LatencyMs.Known())
}
