package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

const searched = `experiment: bolts
title: A search
goals:
  - {figure: filter_latency, statistic: mean, at_most: 500ms}
topology: {conf: conf.yaml}
steps: {warm_up: 10s, sustain: 15s}
load: {duration: 10s, matching_per_second: 1.2}
launch:
  local: {workers: 1, worker_heap: 384MiB}
  slice_width: 5s
  slice_lateness: 2s
search:
  target: {queries: 30, records_per_second: 300, latency: 200ms, completeness: 99%}
  budget: {trials: 50}
  noise: 5%
  settings:
    - {name: bullet.topology.filter.bolt.parallelism, as: filter, from: 1, to: 6, step: 1, cost: 1, easier: more}
    - {name: topology.worker.childopts, as: heap, written: "-Xmx{}m", values: [64, 128, 256], cost: 0.001, easier: more}
  start: [1, 64]
`

// newSearch returns a search from the text of its file.
func newSearch(t *testing.T, text string) *runner.Search {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "search.yaml")
	for name, text := range map[string]string{path: text, filepath.Join(dir, "conf.yaml"): "bullet.topology.name: x\n"} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	file, _, err := experimentfile.ReadSearch(path, true)
	require.NoError(t, err)
	s, err := runner.NewSearch(file, false)
	require.NoError(t, err)
	return s
}

// searchWorld is a fake cluster that holds 10 queries for each filter bolt, somewhat fewer with a small heap.
type searchWorld struct {
	*world
	// played are the trials that were launched. before is called before each launch, with the number of launches; its
	// error is that of the launch.
	played []string
	before func(launched int, label string) error
}

func (w *searchWorld) Launch(ctx context.Context, t runstore.PlannedTrial, name string) (*runner.Launched, error) {
	w.played = append(w.played, fmt.Sprintf("%d %s", t.Number, t.Label))
	if w.before != nil {
		if err := w.before(len(w.played), t.Label); err != nil {
			w.launches = append(w.launches, name)
			return nil, err
		}
	}
	filter, heap := float64(t.Point[0].Value), float64(t.Point[1].Value)
	w.capacity[t.Label] = 10 * filter / (1 + 20/heap)
	return w.world.Launch(ctx, t, name)
}

// searchDir creates the run directory of a search.
func searchDir(t *testing.T, s *runner.Search, text string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := runstore.Create(dir, []byte(text), s.File.SearchPlan(), runstore.Manifest{ExperimentPath: s.File.Path()})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return dir
}

// continueSearch runs a search in its directory, as a new process would.
func continueSearch(t *testing.T, ctx context.Context, s *runner.Search, dir string, w *searchWorld, say *journal,
	limit time.Duration) (*runstore.Result, error) {
	t.Helper()
	if w.world == nil {
		w.world = newWorld()
	}
	writer, err := runstore.Open(dir)
	require.NoError(t, err)
	defer writer.Close()
	o := runner.Options{Chooser: s, LeastSteps: 1, Lateness: 2 * time.Second}
	if limit > 0 {
		o.Deadline = time.Now().Add(limit)
	}
	return runner.New(o, reread(t, dir), writer, w, say).Run(ctx)
}

// inSearch runs a test in virtual time, with a new search and its directory.
func inSearch(t *testing.T, text string, test func(t *testing.T, s *runner.Search, dir string)) {
	synctest.Test(t, func(t *testing.T) {
		s := newSearch(t, text)
		test(t, s, searchDir(t, s, text))
	})
}

func result(t *testing.T, s *runner.Search, dir string) *optimize.Result {
	t.Helper()
	r, err := s.Result(s.Trials(reread(t, dir)))
	require.NoError(t, err)
	return r
}

func TestASearchIsRunToItsProof(t *testing.T) {
	inSearch(t, searched, func(t *testing.T, s *runner.Search, dir string) {
		w := &searchWorld{}
		_, err := continueSearch(t, t.Context(), s, dir, w, &journal{}, 0)
		require.NoError(t, err)
		found := result(t, s, dir)
		assert.True(t, found.Proven)
		assert.Equal(t, "filter=4 heap=64", found.Best.Text)
		assert.Less(t, len(w.played), 18)
		assert.Equal(t, "1 filter=1 heap=64", w.played[0])
		assert.Equal(t, "bolts-02", w.launches[1], "each trial has its own topology name")
		assert.DirExists(t, filepath.Join(dir, runstore.TrialsDir, "01-filter=1-heap=64"))
		run := reread(t, dir)
		require.NotNil(t, run.Result)
		assert.Len(t, run.Result.Trials, len(w.played), "it is a run like any other")
		assert.Equal(t, tuning.Figure(300), run.Plan.Load.RecordsPerSecond)

		first := s.Trials(run)[0]
		assert.Greater(t, first.Seconds, 25.0)
		assert.Equal(t, "start of the search", first.Why)
		space, err := experimentfile.ReadSpace(filepath.Join(dir, runner.SpaceFile))
		require.NoError(t, err)
		from, _, err := s.File.Simulation(space)
		require.NoError(t, err)
		assert.Len(t, from.Rows, len(w.played), "each trial is recorded")
		assert.InDelta(t, first.Seconds, float64(from.Rows[0].Seconds), 1e-9)
	})
}

// A killed process leaves its files. A new process continues in the same way and repeats the interrupted trial.
func TestAKilledSearchGoesOn(t *testing.T) {
	var expected []string
	inSearch(t, searched, func(t *testing.T, s *runner.Search, dir string) {
		w := &searchWorld{}
		_, err := continueSearch(t, t.Context(), s, dir, w, &journal{}, 0)
		require.NoError(t, err)
		expected = w.played
	})
	require.Greater(t, len(expected), 3)
	for at := 1; at < len(expected); at++ {
		for _, during := range []bool{true, false} {
			inSearch(t, searched, func(t *testing.T, s *runner.Search, dir string) {
				ctx, kill := context.WithCancelCause(t.Context())
				killed := errors.New("killed")
				w, say := &searchWorld{}, &journal{}
				if during {
					w.before = func(launched int, _ string) error {
						if launched == at {
							kill(killed)
							return killed
						}
						return nil
					}
				} else {
					say.said = func(line string) {
						if strings.HasPrefix(line, fmt.Sprintf("trial %d: ", at+1)) {
							kill(killed) // the next trial was chosen
						}
					}
				}
				_, err := continueSearch(t, ctx, s, dir, w, say, 0)
				assert.ErrorIs(t, err, killed)

				again, from := &searchWorld{}, at-1
				if !during {
					from = at
				}
				assert.Len(t, s.Trials(reread(t, dir)), from)
				_, err = continueSearch(t, t.Context(), s, dir, again, &journal{}, 0)
				require.NoError(t, err)
				assert.Equal(t, expected[from:], again.played)
				entries, err := os.ReadDir(filepath.Join(dir, runstore.TrialsDir))
				require.NoError(t, err)
				assert.Len(t, entries, len(expected), "an interrupted trial has one directory")
			})
		}
	}
}

func TestABudgetAndATimeLimitEndASearch(t *testing.T) {
	inSearch(t, strings.Replace(searched, "trials: 50", "trials: 3", 1), func(t *testing.T, s *runner.Search, dir string) {
		w := &searchWorld{}
		_, err := continueSearch(t, t.Context(), s, dir, w, &journal{}, 0)
		require.NoError(t, err)
		assert.Len(t, w.played, 3)
		assert.False(t, result(t, s, dir).Proven)

		larger, w := newSearch(t, searched), &searchWorld{} // a change of the budget keeps the trials
		require.NoError(t, larger.CheckTerms(reread(t, dir)))
		ended, err := continueSearch(t, t.Context(), larger, dir, w, &journal{}, 10*time.Second)
		require.NoError(t, err)
		assert.Len(t, w.played, 1, "no trial starts after ten seconds, and none is interrupted")
		assert.Contains(t, ended.Notes[len(ended.Notes)-1], "The time limit passed")
		assert.Len(t, larger.Trials(reread(t, dir)), 4)
		assert.Equal(t, runstore.Finished, reread(t, dir).Trials[3].State)
	})
}

func TestOneTrialThatCannotBeMeasuredIsTriedAgain(t *testing.T) {
	inSearch(t, searched, func(t *testing.T, s *runner.Search, dir string) {
		w, say := &searchWorld{}, &journal{}
		w.before = func(launched int, _ string) error {
			if launched == 2 {
				return errors.New("the topology did not come up")
			}
			return nil
		}
		_, err := continueSearch(t, t.Context(), s, dir, w, say, 0)
		require.NoError(t, err)
		assert.Contains(t, say.text(), "could not be measured: the topology did not come up")
		_, label, _ := strings.Cut(w.played[1], " ")
		assert.Equal(t, "3 "+label, w.played[2])
		assert.True(t, result(t, s, dir).Proven)
		run := reread(t, dir)
		assert.Equal(t, 2, run.Trials[2].Repeat)
		assert.Equal(t, run.Trials[1].Configuration, run.Trials[2].Configuration)

		again := &searchWorld{}
		_, err = continueSearch(t, t.Context(), s, dir, again, say, 0)
		require.NoError(t, err)
		assert.Empty(t, again.played, "a failed trial that was repeated is not run again")
	})
}

func TestACommonFaultEndsTheSearchAndLeavesNoVerdict(t *testing.T) {
	inSearch(t, searched, func(t *testing.T, s *runner.Search, dir string) {
		w := &searchWorld{}
		w.before = func(launched int, _ string) error {
			if launched > 1 {
				return errors.New("address already in use")
			}
			return nil
		}
		_, err := continueSearch(t, t.Context(), s, dir, w, &journal{}, 0)
		assert.ErrorContains(t, err, "3 trials in a row could not be measured")
		assert.ErrorContains(t, err, "address already in use")
		assert.Len(t, w.played, 4)
		for _, trial := range s.Trials(reread(t, dir))[1:] {
			assert.Equal(t, tuning.Inconclusive, trial.Verdict)
		}

		again := &searchWorld{}
		_, err = continueSearch(t, t.Context(), s, dir, again, &journal{}, 0)
		require.NoError(t, err)
		assert.Equal(t, w.played[1:], again.played[:3], "they run again, in their own directories")
		for _, trial := range reread(t, dir).Trials {
			assert.Equal(t, runstore.Finished, trial.State)
		}
	})
}

func TestAGridIsRunOverSeveralInvocations(t *testing.T) {
	inSearch(t, searched, func(t *testing.T, s *runner.Search, dir string) {
		s.Grid = true
		require.Len(t, s.Points(), 18)
		var played []string
		for range 10 {
			w := &searchWorld{}
			_, err := continueSearch(t, t.Context(), s, dir, w, &journal{}, 5*time.Minute)
			require.NoError(t, err)
			played = append(played, w.played...)
			assert.Len(t, s.Left(reread(t, dir)), 18-len(played))
		}
		var labels []string
		for _, each := range played {
			_, label, _ := strings.Cut(each, " ")
			labels = append(labels, label)
		}
		slices.Sort(labels)
		assert.Len(t, slices.Compact(labels), 18, "each once")
		assert.Len(t, played, 18)
	})
}

// failsFor is a hook that fails to launch one configuration.
func failsFor(broken string) func(int, string) error {
	return func(_ int, label string) error {
		if label == broken {
			return errors.New("no topology")
		}
		return nil
	}
}

// A topology that fails to start twice counts as FAIL if another configuration is measured after it.
func TestAConfigurationThatDoesNotComeUpFails(t *testing.T) {
	inSearch(t, searched, func(t *testing.T, s *runner.Search, dir string) {
		w := &searchWorld{before: failsFor("filter=3 heap=256")} // the proof relies on this trial
		_, err := continueSearch(t, t.Context(), s, dir, w, &journal{}, 0)
		require.NoError(t, err)
		found := result(t, s, dir)
		assert.True(t, found.Proven)
		assert.Equal(t, "filter=4 heap=64", found.Best.Text)
	})
	inSearch(t, searched, func(t *testing.T, s *runner.Search, dir string) {
		s.Grid = true
		w := &searchWorld{before: failsFor("filter=1 heap=64")} // the first configuration
		_, err := continueSearch(t, t.Context(), s, dir, w, &journal{}, 0)
		require.NoError(t, err)
		assert.Len(t, w.played, 19)
		assert.Equal(t, "2 filter=1 heap=64", w.played[1], "once more")
		run := reread(t, dir)
		assert.Empty(t, s.Left(run))
		assert.Equal(t, tuning.Fail, s.Trials(run)[0].Verdict)
		run.Trials = run.Trials[:2]
		assert.Equal(t, tuning.Inconclusive, s.Trials(run)[0].Verdict, "until another trial was measured after it")
	})
}

// If such a topology is the last of a search, the search measures an earlier configuration again. That shows that the
// cluster still works, so the failure is a verdict.
func TestTheLastConfigurationOfASearchMayFailToComeUp(t *testing.T) {
	two := strings.NewReplacer("from: 1, to: 6, step: 1", "values: [2, 4]", "[64, 128, 256]", "[64]",
		"start: [1, 64]", "start: [4, 64]").Replace(searched)
	inSearch(t, two, func(t *testing.T, s *runner.Search, dir string) {
		w, say := &searchWorld{before: failsFor("filter=2 heap=64")}, &journal{}
		_, err := continueSearch(t, t.Context(), s, dir, w, say, 0)
		require.NoError(t, err)
		assert.Equal(t, []string{"1 filter=4 heap=64", "2 filter=2 heap=64", "3 filter=2 heap=64", "4 filter=4 heap=64"},
			w.played)
		assert.Contains(t, say.text(), "shows whether the cluster still works, because filter=2 heap=64 could not be measured")
		found := result(t, s, dir)
		assert.True(t, found.Proven)
		assert.Equal(t, "filter=4 heap=64", found.Best.Text)
	})
	inSearch(t, two, func(t *testing.T, s *runner.Search, dir string) {
		w := &searchWorld{before: func(launched int, _ string) error {
			if launched > 1 {
				return errors.New("no supervisor")
			}
			return nil
		}}
		_, err := continueSearch(t, t.Context(), s, dir, w, &journal{}, 0)
		assert.ErrorContains(t, err, "3 trials in a row could not be measured", "a broken cluster is no verdict")
		assert.False(t, result(t, s, dir).Proven)
	})
}

// A search replays the trials of a grid. It finds a configuration that costs no more than the best of the grid, in at
// most a third of the time.
func TestTheTrialsOfAGridAreASpaceForTheSearch(t *testing.T) {
	inSearch(t, strings.Replace(searched, "to: 6", "to: 12", 1), func(t *testing.T, s *runner.Search, dir string) {
		s.Grid = true
		_, err := continueSearch(t, t.Context(), s, dir, &searchWorld{}, &journal{}, 0)
		require.NoError(t, err)
		require.NoError(t, s.Record(reread(t, dir)))
		data, err := experimentfile.ReadSpace(filepath.Join(dir, runner.SpaceFile))
		require.NoError(t, err)
		from, _, err := s.File.Simulation(data)
		require.NoError(t, err)
		found, err := optimize.Simulate(s.Search, from)
		require.NoError(t, err)
		simulated, err := s.Result(found)
		require.NoError(t, err)
		assert.True(t, simulated.Proven)
		assert.LessOrEqual(t, simulated.Best.Cost, result(t, s, dir).Best.Cost)
		seconds := func(all []optimize.Trial) (sum float64) {
			for _, each := range all {
				sum += each.Seconds
			}
			return sum
		}
		assert.LessOrEqual(t, 3*seconds(found), seconds(s.Trials(reread(t, dir))))
	})
}

func TestTrialsOnOtherTermsAreNotMixed(t *testing.T) {
	s := newSearch(t, searched)
	run := reread(t, searchDir(t, s, searched))
	require.NoError(t, s.CheckTerms(run))
	other := newSearch(t, strings.Replace(searched, "queries: 30", "queries: 31", 1))
	assert.ErrorContains(t, other.CheckTerms(run), "has trials with another target, load or launch")
	assert.NoError(t, newSearch(t, strings.Replace(searched, "to: 6", "to: 8", 1)).CheckTerms(run))
}

// measuredRun returns a run with one trial, which has a step or none.
func measuredRun(t *testing.T, s *runner.Search, step *runstore.Step) *runstore.Run {
	t.Helper()
	planned := s.File.SearchTrial(optimize.Point{0, 0})
	planned.Number = 1
	dir := searchDir(t, s, searched)
	w, err := runstore.Open(dir)
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialPlanned, Planned: &planned}))
	require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialStarted, Trial: 1, Launch: 1}))
	require.NoError(t, w.BeginTrial(planned, nil, runstore.Arguments{}))
	if step == nil {
		require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialFailed, Trial: 1,
			Text: "waited 2m0s for 3 workers"}))
	} else {
		require.NoError(t, w.FinishStep(planned, *step, 1))
		require.NoError(t, w.SaveFigures(planned, runstore.Figures{FilterLatencySeconds: []runstore.Slices{
			{TimesMs: []int64{5000, 10000, 15000, 20000}, Values: []tuning.Figure{9, 0.1, 0.2, 0.3}},
			{TimesMs: []int64{10000, 15000}, Values: []tuning.Figure{0.1, tuning.Unknown}}}}))
		require.NoError(t, w.Record(runstore.Event{Kind: runstore.TrialFinished, Trial: 1}))
	}
	return reread(t, dir)
}

func stepOf(verdict tuning.Verdict, limiters ...tuning.Limiter) *runstore.Step {
	goal := func(f tuning.GoalFigure, s tuning.Statistic, v tuning.Figure) tuning.GoalOutcome {
		return tuning.GoalOutcome{Goal: tuning.Goal{Figure: f, Statistic: s}, Measured: v}
	}
	return &runstore.Step{Number: 1, Attempt: 1, Launch: 1, Verdict: verdict, Reasons: []string{"why"},
		MeasuredFromMs: 5000, EndMs: 20000, CPUCores: 1.5, HostIdle: 0.3, RecordsPerSecond: 499,
		CatchUpRatio: tuning.Unknown,
		Clients:      runstore.Clients{ExpectedRecords: 100, MissingRecords: 7},
		Limitation:   &tuning.Limitation{Limiters: limiters},
		Figures: []tuning.GoalOutcome{goal(tuning.FilterLatency, tuning.Mean, 12),
			goal(tuning.FilterLatency, tuning.Max, 340)}}
}

// outcome is the outcome of a search's only trial.
func outcome(t *testing.T, text string, step *runstore.Step) optimize.Trial {
	t.Helper()
	s := newSearch(t, text)
	all := s.Trials(measuredRun(t, s, step))
	require.Len(t, all, 1)
	return all[0]
}

func TestTheVerdictOfTheStepIsTheTrials(t *testing.T) {
	byMax := strings.Replace(searched, "statistic: mean", "statistic: max", 1)
	o := outcome(t, byMax, stepOf(tuning.Fail, tuning.LimitedByFilterCPU, tuning.LimitedByGC))
	assert.Equal(t, tuning.Fail, o.Verdict)
	assert.Equal(t, tuning.Figure(340), o.LatencyMs, "the experiment's latency goal is for the maximum")
	assert.InDelta(t, 0.93, float64(o.Completeness), 1e-12)
	assert.False(t, o.CatchUp.Known())
	assert.Equal(t, tuning.LimitedByFilterCPU, o.Limiter)
	assert.InDelta(t, 0.2887, float64(o.Noise), 1e-4,
		"0.1, 0.2 and 0.3 s: the deviation of their mean is 0.0577, above the file's 5%")
	assert.Empty(t, outcome(t, searched, stepOf(tuning.OK, tuning.LimitedByHost)).Limiter,
		"a configuration that held the load has no limiter")

	s := newSearch(t, searched)
	used := s.Used(measuredRun(t, s, stepOf(tuning.OK)), optimize.Point{0, 0})
	assert.Equal(t, runner.Used{CPUCores: 1.5, RecordsPerSecond: 499, HostIdle: 0.3}, used)
	assert.Equal(t, []string{"Its workers used 1.5 CPU cores at 499 records/s.",
		"The host was 30% idle, so it cannot carry twice the load, which would need 140% of it."}, used.Findings())
}

func TestNoiseIsWhatIsStatedOrShown(t *testing.T) {
	for stated, want := range map[string]tuning.Figure{"  noise: 5%\n": 0.2887, "  noise: 40%\n": 0.4, "": 0.2887} {
		text := strings.Replace(searched, "  noise: 5%\n", stated, 1)
		assert.InDelta(t, float64(want), float64(outcome(t, text, stepOf(tuning.OK)).Noise), 1e-4, stated)
	}
	quiet := stepOf(tuning.OK)
	quiet.MeasuredFromMs, quiet.EndMs = 5000, 10000
	assert.False(t, outcome(t, strings.Replace(searched, "  noise: 5%\n", "", 1), quiet).Noise.Known(),
		"one launch does not show how launches differ")
}

// If Storm holds the spouts back, an experiment counts that as a limit outside the topology. For a search that changes
// the setting it is a failure.
func TestALimitThatIsTriedIsAFailure(t *testing.T) {
	pending := strings.Replace(searched, `name: topology.worker.childopts, as: heap, written: "-Xmx{}m"`,
		"name: topology.max.spout.pending, as: heap", 1)
	for text, want := range map[string]tuning.Verdict{searched: tuning.Limited, pending: tuning.Fail} {
		o := outcome(t, text, stepOf(tuning.Limited, tuning.LimitedByPending))
		assert.Equal(t, want, o.Verdict)
		assert.Equal(t, tuning.LimitedByPending, o.Limiter)
	}
}

func TestAWorkerThatRanOutOfHeapIsAVerdict(t *testing.T) {
	s := newSearch(t, searched)
	run := measuredRun(t, s, nil)
	assert.Equal(t, tuning.Inconclusive, s.Trials(run)[0].Verdict, "a failed launch is no verdict by itself")
	log := filepath.Join(run.Trials[0].Dir, runstore.LogsDir, "worker-6700.log")
	require.NoError(t, os.WriteFile(log,
		[]byte("STDERR Terminating due to java.lang.OutOfMemoryError: Java heap space\n"), 0o644))
	o := s.Trials(run)[0]
	assert.Equal(t, tuning.Fail, o.Verdict)
	assert.Equal(t, tuning.LimitedByRestart, o.Limiter)
	assert.False(t, o.LatencyMs.Known())
}
