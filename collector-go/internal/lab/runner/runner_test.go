package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

const grid = `experiment: grid
title: Bolts by queries
analysis: queries
goals:
  - {figure: filter_latency, statistic: mean, at_most: 200ms}
  - {figure: result_size, statistic: mean, at_least: 9.9}
on_fail: bracket
topology: {conf: x.yaml}
grid:
  - {axis: bolts, setting: bolts.parallelism, values: [1, 2]}
steps:
  values: [10, 20, 30, 40, 50, 60, 70]
  warm_up: 10s
  sustain: 15s
  search: binary
load: {records_per_second: 300, duration: 10s, matching_per_second: 1.2}
launch:
  local: {workers: 1, worker_heap: 384MiB}
  slice_width: 5s
  slice_lateness: 2s
`

// begin creates the directory of a new run.
func begin(t *testing.T, text string) string {
	t.Helper()
	file, err := experimentfile.Parse("grid.yaml", []byte(text))
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "run")
	w, err := runstore.Create(dir, []byte(text), file.Plan(),
		runstore.Manifest{ID: "run", StartedMs: time.Now().UnixMilli()})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return dir
}

// goOn continues a run's directory, as a new process would.
func goOn(t *testing.T, ctx context.Context, dir string, w *world, say *journal, o runner.Options) (
	*runstore.Result, error) {
	t.Helper()
	run, err := runstore.Read(dir)
	require.NoError(t, err)
	writer, err := runstore.Open(dir)
	require.NoError(t, err)
	defer writer.Close()
	o.Lateness = 2 * time.Second
	return runner.New(o, run, writer, w, say).Run(ctx)
}

func reread(t *testing.T, dir string) *runstore.Run {
	t.Helper()
	run, err := runstore.Read(dir)
	require.NoError(t, err)
	return run
}

func TestAGridIsSearched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, say := newWorld(), &journal{}
		w.capacity["bolts 1"], w.capacity["bolts 2"] = 35, 1000
		dir := begin(t, grid)
		result, err := goOn(t, t.Context(), dir, w, say, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, tuning.Inconclusive, result.Verdict, "a search that ended at its bound has no answer")
		assert.Equal(t, []tuning.Verdict{tuning.OK, tuning.Inconclusive},
			[]tuning.Verdict{result.Rows[0].Verdict, result.Rows[1].Verdict}, "a bracketed capacity is what was looked for")
		assert.Equal(t, runstore.ExitDone, result.ExitCode)
		require.Len(t, result.Rows, 2)
		assert.Equal(t, "holds 30, fails at 40", result.Rows[0].Capacity.String())
		assert.Equal(t, "at least 70", result.Rows[1].Capacity.String())

		run := reread(t, dir)
		assert.Equal(t, result, run.Result)
		assert.Less(t, len(run.Trials[0].Steps), 5, "seven values by halves")
		assert.Equal(t, []string{"grid-01", "grid-02"}, w.launches)
		assert.Equal(t, w.launches, w.ended)
		assert.Equal(t, w.launches, w.killed,
			"that a topology is killed on purpose is annotated before it is: else its silence wakes somebody")
		assert.Zero(t, w.again)
		assert.Len(t, w.annotations, len(run.Trials[0].Steps)+len(run.Trials[1].Steps)+len(run.Trials),
			"each step is on the axis, and each end")
		for _, trial := range run.Trials {
			assertWhole(t, trial)
		}
		assert.Contains(t, say.text(), "FAIL")
		assert.Contains(t, say.text(), "mean filter latency 900 ms is above 200 ms")
	})
}

// assertWhole checks that a finished trial has all its files.
func assertWhole(t *testing.T, trial runstore.Trial) {
	t.Helper()
	assert.Equal(t, runstore.Finished, trial.State)
	figures, err := trial.Figures()
	require.NoError(t, err)
	assert.Len(t, figures.Steps, len(trial.Steps))
	built, err := report.Build(figures, runstore.Plan{Axis: runstore.Queries})
	require.NoError(t, err)
	assert.Zero(t, built.Collection.MissingSlices)
	titles := map[string]int{}
	for _, m := range figures.Annotations {
		titles[m.Title]++
	}
	assert.Len(t, titles, 1+len(trial.Steps), "the trial's annotations are kept with it: %v", titles)
	assert.Equal(t, 1, titles["Changed a setting of "+figures.Topology])
	assertDetailed(t, trial, figures)
	for _, step := range trial.Steps {
		assert.Equal(t, int64(15_000), step.EndMs-step.MeasuredFromMs)
		assert.Equal(t, step.Queries, int(step.Value))
		assert.GreaterOrEqual(t, step.Clients.Returned, step.Queries)
		assert.Zero(t, step.Clients.MissingRecords)
		assert.NotEmpty(t, step.Evidence)
		assert.InDelta(t, 300+70*1.2, float64(step.RecordsPerSecond), 1)
		assert.InDelta(t, 0.5, float64(step.HostIdle), 0.01)
	}
	for _, file := range []string{runstore.SettingsFile, runstore.ArgumentsFile, runstore.OutcomesFile} {
		assert.FileExists(t, filepath.Join(trial.Dir, file))
	}
}

func TestATrialThatCannotBeLaunchedEndsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.broken["bolts 1"] = errors.New("Nimbus is away")
		w.capacity["bolts 2"] = 45
		dir := begin(t, grid)
		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, runstore.ExitFailed, result.ExitCode)
		assert.Equal(t, tuning.Inconclusive, result.Verdict)
		assert.Equal(t, runstore.Failed, result.Trials[0].State)
		assert.Equal(t, "Nimbus is away", result.Trials[0].Error)
		assert.Equal(t, "holds 40, fails at 50", result.Rows[1].Capacity.String())
		assert.Equal(t, 1, w.again, "what broke is not trusted")

		// A resumed run tries it again, and keeps what exists.
		delete(w.broken, "bolts 1")
		w.capacity["bolts 1"] = 15
		before := w.launches
		result, err = goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, append(before, "grid-01-launch2"), w.launches)
		assert.Equal(t, runstore.ExitDone, result.ExitCode)
		assert.Equal(t, "holds 10, fails at 20", result.Rows[0].Capacity.String())
	})
}

func TestAPartThatDiesFailsItsTrialOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		say := &journal{said: func(line string) {
			if strings.Contains(line, "trial 1, ") {
				w.failed <- errors.New("the gateway ended: exit status 137")
			}
		}}
		dir := begin(t, grid)
		result, err := goOn(t, t.Context(), dir, w, say, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, runstore.Failed, result.Trials[0].State)
		assert.Contains(t, result.Trials[0].Error, "the gateway ended: exit status 137")
		assert.Equal(t, 1, result.Trials[0].Steps, "what was measured is kept")
		assert.Equal(t, runstore.Finished, result.Trials[1].State)
	})
}

// The run is interrupted during the second trial and then resumed. Finished steps stay the same, byte for byte, and
// nothing is counted twice.
func TestAnInterruptedRunGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.capacity["bolts 1"], w.capacity["bolts 2"] = 35, 55
		ctx, interrupt := context.WithCancelCause(t.Context())
		stop := errors.New("interrupted")
		say := &journal{said: func(line string) {
			if strings.HasPrefix(line, "trial 2, 40") {
				go func() { time.Sleep(12 * time.Second); interrupt(stop) }() // within the next step
			}
		}}
		dir := begin(t, grid)
		_, err := goOn(t, ctx, dir, w, say, runner.Options{})
		require.ErrorIs(t, err, stop)
		half := reread(t, dir)
		require.Nil(t, half.Result)
		assert.Equal(t, runstore.Finished, half.Trials[0].State)
		assert.Equal(t, runstore.Underway, half.Trials[1].State)
		require.Len(t, half.Trials[1].Steps, 1)
		kept := map[string]string{}
		for _, file := range stepFiles(dir) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			kept[file] = string(text)
		}
		outcomes := lines(t, half.Trials[0])

		time.Sleep(time.Hour)
		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, []string{"grid-01", "grid-02", "grid-02-launch2"}, w.launches)
		assert.Equal(t, "holds 50, fails at 60", result.Rows[1].Capacity.String())
		for file, text := range kept {
			now, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, text, string(now), "a finished step is kept")
		}
		resumed := reread(t, dir)
		assert.Equal(t, outcomes, lines(t, resumed.Trials[0]), "a finished trial is not touched")
		seen := map[float64]int{}
		for i, step := range resumed.Trials[1].Steps {
			assert.Equal(t, i+1, step.Number)
			seen[step.Value]++
			assert.LessOrEqual(t, step.Clients.Submitted, 4*step.Queries,
				"no query of the first launch counts in the second's steps")
		}
		for value, n := range seen {
			assert.Equal(t, 1, n, "%v was measured once", value)
		}
		assert.Equal(t, []int{1, 2}, []int{resumed.Trials[1].Steps[0].Launch, resumed.Trials[1].Steps[1].Launch})
		require.Len(t, result.Notes, 1)
		assert.Contains(t, result.Notes[0], "was launched again")
		assertJoined(t, resumed.Trials[1])
	})
}

// assertDetailed checks that each step has the sharing figures of its own launch.
func assertDetailed(t *testing.T, trial runstore.Trial, figures *runstore.Figures) {
	t.Helper()
	for i, step := range figures.Steps {
		assert.Equal(t, trial.Steps[i].Launch, step.Launch)
		name := fmt.Sprintf("grid-%02d", trial.Number)
		if step.Launch > 1 {
			name += fmt.Sprintf("-launch%d", step.Launch)
		}
		require.NotNil(t, step.Sharing)
		require.Len(t, step.Sharing.Traffic, 1)
		assert.Equal(t, "worker of "+name, step.Sharing.Traffic[0].From)
	}
}

// assertJoined checks that the series of both launches are on one axis, and that no total falls.
func assertJoined(t *testing.T, trial runstore.Trial) {
	t.Helper()
	figures, err := trial.Figures()
	require.NoError(t, err)
	require.Len(t, figures.Workers, 1)
	assertDetailed(t, trial, figures)
	titles := map[string]bool{}
	for _, m := range figures.Annotations {
		titles[m.Title] = true
	}
	assert.Subset(t, titles, map[string]bool{"Changed a setting of grid-02": true,
		"Changed a setting of grid-02-launch2": true}, "of both launches")
	built, err := report.Build(figures, runstore.Plan{Axis: runstore.Queries})
	require.NoError(t, err)
	assert.Zero(t, built.Collection.MissingSlices, "between the launches nothing is expected")
	assert.Equal(t, 1, built.Collection.Relaunches)
	assert.Greater(t, built.Collection.BetweenLaunchesMs, int64(3_600_000))
	cpu := figures.Workers[0].CPUSeconds
	first, last := trial.Steps[0], trial.Steps[len(trial.Steps)-1]
	assert.LessOrEqual(t, cpu.TimesMs[0], first.EndMs)
	assert.Equal(t, last.EndMs, cpu.TimesMs[len(cpu.TimesMs)-1])
	for i := range cpu.Values[1:] {
		assert.GreaterOrEqual(t, cpu.Values[i+1], cpu.Values[i])
		assert.Greater(t, cpu.TimesMs[i+1], cpu.TimesMs[i])
	}
}

// lines returns the outcomes in a trial's file, one per query.
func lines(t *testing.T, trial runstore.Trial) (all []load.Outcome) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(trial.Dir, runstore.OutcomesFile))
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var o load.Outcome
		require.NoError(t, json.Unmarshal([]byte(line), &o))
		all = append(all, o)
	}
	return all
}

func TestAStarvedMachineIsInconclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.capacity["bolts 1"], w.capacity["bolts 2"] = 5, 5 // this would be a FAIL
		w.starved = func() bool { return true }
		dir := begin(t, grid)
		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, tuning.Inconclusive, result.Verdict)
		assert.Equal(t, runstore.ExitDone, result.ExitCode)
		for _, trial := range reread(t, dir).Trials {
			for _, step := range trial.Steps {
				assert.Equal(t, tuning.Inconclusive, step.Verdict)
				assert.Contains(t, step.Reasons[0], "of the host was idle")
			}
			assert.Len(t, trial.Steps, 14, "each of the seven values was measured twice")
		}
		assert.Contains(t, result.Rows[0].Capacity.Note, "inconclusive at 10, 20")
	})
}

func TestAFailThatFailsIs99(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.capacity["bolts 1"], w.capacity["bolts 2"] = 35, 100
		dir := begin(t, strings.Replace(grid, "on_fail: bracket", "on_fail: fail", 1))
		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, tuning.Fail, result.Verdict)
		assert.Equal(t, runstore.ExitMissed, result.ExitCode)
		assert.Equal(t, tuning.OK, result.Rows[1].Verdict)
	})
}

func TestAGoalOfTheCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.capacity["bolts 1"], w.capacity["bolts 2"] = 35, 55
		goal := "  - {figure: capacity, at_least: 50}\non_fail: bracket"
		dir := begin(t, strings.Replace(grid, "on_fail: bracket", goal, 1))
		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, []tuning.Verdict{tuning.Fail, tuning.OK},
			[]tuning.Verdict{result.Rows[0].Verdict, result.Rows[1].Verdict})
		assert.Equal(t, runstore.ExitMissed, result.ExitCode)
	})
}

// The deadline ends a run in order, with the results so far.
func TestATimeLimitLeavesTheRestOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		dir := begin(t, grid)
		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{Deadline: time.Now().Add(time.Minute)})
		require.NoError(t, err)
		assert.Equal(t, tuning.Inconclusive, result.Verdict)
		assert.Equal(t, runstore.Waiting, result.Trials[1].State)
		assert.Positive(t, result.Trials[0].Steps)
		assert.Contains(t, result.Notes[0], "time limit")
		assert.Len(t, w.launches, 1)
	})
}

const volumes = `experiment: volumes
title: Configurations by records
analysis: data
goals:
  - {figure: catch_up, at_least: 2}
on_fail: bracket
topology: {conf: x.yaml}
steps:
  axis: records_per_second
  values: [100, 200, 400]
  warm_up: 5s
  sustain: 10s
  search: step
  confirm: false
  repeats: 2
  catch_up: {factor: 5, sustain: 10s}
load: {queries: 5, duration: 10s, matching_per_second: 1.2}
record: [storm_capacity_ratio, 'bullet_active_queries{component="JoinBolt"}']
launch:
  local: {workers: 1, worker_heap: 384MiB}
  slice_width: 5s
  slice_lateness: 2s
`

// If the host has no idle CPU during the catch-up, the step says nothing about the topology, even if the host had
// enough before.
func TestAHostThatStarvesWhileRecordsAreCaughtUpIsInconclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.carries["volumes"], w.starvesAbove = 500+10*1.2, 1500
		dir := begin(t, volumes)
		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Contains(t, result.Rows[0].Capacity.Note, "inconclusive at 400")
		steps := reread(t, dir).Trials[0].Steps
		last := steps[len(steps)-1]
		assert.Equal(t, tuning.Inconclusive, last.Verdict)
		assert.Contains(t, last.Reasons[0], "0% of the host was idle")
		assert.InDelta(t, 0.5, float64(last.HostIdle), 0.01, "the step itself had enough of it")
		assert.Contains(t, strings.Join(last.Notes, "\n"), "the limiter is the one of the catch-up period")
	})
}

func TestCatchingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.carries["volumes"] = 500 + 10*1.2
		dir := begin(t, volumes)
		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, "holds 200, fails at 400", result.Rows[0].Capacity.String())
		require.Len(t, result.Trials, 2, "the repeat is a launch of its own")
		require.Len(t, result.Rows, 1)
		run := reread(t, dir)
		steps := run.Trials[0].Steps
		require.Len(t, steps, 3)
		for i, want := range []float64{5, 2.5, 1.25} {
			assert.InDelta(t, want, float64(steps[i].CatchUpRatio), 0.05)
			assert.Equal(t, 5, steps[i].Queries)
			assert.InDelta(t, steps[i].Value+10*1.2, float64(steps[i].RecordsPerSecond), 2)
		}
		text, err := os.ReadFile(filepath.Join(run.Trials[0].Dir, runstore.SeriesFile))
		require.NoError(t, err)
		assert.Contains(t, string(text), "storm_capacity_ratio")
	})
}

// A step's records are what its source counted and the collector stored. The gateway's status belongs to another
// moment.
func TestAStepsRecordsAreThoseThatTheSourceCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.uncounted = 0.025
		dir := begin(t, grid)
		_, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		for _, s := range reread(t, dir).Trials[0].Steps {
			assert.InDelta(t, 0.975*384, float64(s.RecordsPerSecond), 0.01)
		}
	})
}

// A run whose calibration never reached its target is inconclusive, whatever the verdicts of its steps.
func TestACalibrationWithoutAnAnswerIsInconclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, say := newWorld(), &journal{}
		dir := begin(t, strings.Replace(grid, "records_per_second: 300, ", "leave_idle: 80%, ", 1)) // half is idle at any rate
		result, err := goOn(t, t.Context(), dir, w, say, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, tuning.Inconclusive, result.Verdict)
		for _, row := range result.Rows {
			assert.Equal(t, tuning.Inconclusive, row.Verdict)
		}
		r, err := report.OpenRunReport(dir)
		require.NoError(t, err)
		assert.Equal(t, tuning.Inconclusive, r.Verdict)
		page := t.TempDir()
		require.NoError(t, r.Write(page))
		text, err := os.ReadFile(filepath.Join(page, "report.md"))
		require.NoError(t, err)
		first, _, _ := strings.Cut(string(text), "\n## ")
		const why = "o record rate leaves 80% of the host idle: 50 records/s left 50%, 1,000 records/s 50%"
		assert.Contains(t, first, why)
		assert.Contains(t, first, "The figures hold for the record rate that was measured.\n\n- "+tuning.RateAdvice)
		assert.Contains(t, say.text(), why)
		assert.Contains(t, strings.Join(runner.Summary(reread(t, dir).Plan, *result), "\n"), why+". "+tuning.RateAdvice)
	})
}

// The rate is calibrated once, stored, and used again after an interrupt.
func TestTheRateIsCalibratedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, say := newWorld(), &journal{}
		dir := begin(t, strings.Replace(grid, "records_per_second: 300, ", "leave_idle: 50%, ", 1))
		_, err := goOn(t, t.Context(), dir, w, say, runner.Options{})
		require.NoError(t, err)
		calibrated := 0
		for _, e := range reread(t, dir).Events {
			if e.Kind == runstore.RateCalibrated {
				calibrated++
				assert.Equal(t, 1000.0, *e.RecordsPerSecond)
			}
		}
		assert.Equal(t, 1, calibrated)
		assert.Equal(t, 1, strings.Count(say.text(), "calibration: using"))
	})
}

// On a host whose idle share keeps changing, the ramp ends after 40 s.
func TestTheRampEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, said := newWorld(), []time.Time{}
		began := time.Now()
		w.starved = func() bool { return time.Since(began)/(5*time.Second)%2 == 0 }
		say := &journal{said: func(line string) {
			if strings.HasPrefix(line, "calibration: ") {
				said = append(said, time.Now())
			}
		}}
		dir := begin(t, strings.Replace(grid, "records_per_second: 300, ", "leave_idle: 50%, ", 1))
		_, err := goOn(t, t.Context(), dir, w, say, runner.Options{})
		require.NoError(t, err)
		assert.Greater(t, len(said), 4)
		assert.LessOrEqual(t, said[len(said)-1].Sub(said[0]), 35*time.Second, "the first reading takes 5 s")
	})
}
