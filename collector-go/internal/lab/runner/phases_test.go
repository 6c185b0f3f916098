package runner_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

const phases = `experiment: phases
title: The cost of queries, then how many are held
analysis: concurrency
goals:
  - {figure: filter_latency, statistic: mean, at_most: 200ms}
on_fail: bracket
topology: {conf: x.yaml}
steps:
  values: [10, 20, 30, 40, 50]
  warm_up: 10s
  sustain: 15s
  search: step
  expected_capacity: 40
  start_up: 2m
load: {records_per_second: 300, duration: 10s, matching_per_second: 1.2}
launch:
  local: {workers: 1, worker_heap: 384MiB}
  slice_width: 5s
  slice_lateness: 2s
`

// loads returns the values of the steps of a kind, in the order in which they were measured.
func loads(steps []runstore.Step, kind runstore.StepKind) (all []float64) {
	for _, s := range steps {
		if s.Kind == kind {
			all = append(all, s.Value)
		}
	}
	return all
}

// The cost steps come first: mirrored loads of at most half of the expected capacity, each begun without queries in
// flight. Then the search ascends and measures its two bounds once more.
func TestTheCostIsMeasuredBeforeTheCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, say := newWorld(), &journal{}
		w.capacity["phases"] = 35
		dir := begin(t, phases)
		result, err := goOn(t, t.Context(), dir, w, say, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, "holds 30, fails at 40", result.Rows[0].Capacity.String())
		trial := reread(t, dir).Trials[0]
		assert.Equal(t, []float64{0, 10, 20, 20, 10, 0}, loads(trial.Steps[:6], runstore.CostStep))
		assert.Equal(t, []float64{10, 20, 30, 40, 30, 40}, loads(trial.Steps, runstore.LoadStep))
		for i, attempt := range []int{1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 2, 2} {
			assert.Equal(t, attempt, trial.Steps[i].Attempt, "step %d", i+1)
			assert.Empty(t, trial.Steps[i].Notes, "step %d", i+1)
		}
		outcomes := lines(t, trial)
		for _, step := range trial.Steps[:6] {
			for _, o := range outcomes {
				assert.False(t, o.SubmittedMs < step.StartMs-1000 && o.FinishedMs > step.StartMs,
					"a query of the load before step %d is under way in it", step.Number)
			}
		}
		assert.Equal(t, 1, result.Trials[0].Left, "50 is above what failed")
		assert.Contains(t, say.text(), "trial 1, 20 queries (cost step) (attempt 2): OK")
	})
}

// After an interrupt during the cost steps, the remaining ones are measured in their order, and none twice.
func TestTheCostGoesOnAfterAnInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.capacity["phases"] = 15
		stop := &journal{said: func(line string) {
			if strings.HasPrefix(line, "trial 1, 20 queries (cost step)") {
				w.failed <- assert.AnError
			}
		}}
		dir := begin(t, phases)
		_, err := goOn(t, t.Context(), dir, w, stop, runner.Options{})
		require.NoError(t, err)
		kept := reread(t, dir).Trials[0]
		require.Equal(t, runstore.Failed, kept.State)
		require.Equal(t, []float64{0, 10, 20}, loads(kept.Steps, runstore.CostStep))

		_, err = goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		trial := reread(t, dir).Trials[0]
		assert.Equal(t, []float64{0, 10, 20, 20, 10, 0}, loads(trial.Steps, runstore.CostStep))
		assert.Equal(t, []int{1, 1, 1, 2}, []int{trial.Steps[0].Launch, trial.Steps[1].Launch, trial.Steps[2].Launch,
			trial.Steps[3].Launch})
		assert.Equal(t, []float64{10, 20, 10, 20}, loads(trial.Steps, runstore.LoadStep))
	})
}

// The warm-up ends when the cost of a record no longer changes. If that takes longer than the start-up's limit, it is
// noted.
func TestAStartUpEndsWhenARecordCostsWhatItDid(t *testing.T) {
	for name, c := range map[string]struct {
		compiling   time.Duration
		least, most time.Duration
		noted       bool
	}{
		"at rest at once":         {0, 30 * time.Second, 50 * time.Second, false},
		"compiling for 1 minute":  {time.Minute, 70 * time.Second, 110 * time.Second, false},
		"compiling for 3 minutes": {3 * time.Minute, 120 * time.Second, 140 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.capacity["phases"] = 15
				w.cpu = func(since time.Duration) float64 { // halved every 10 s while the workers compile
					total := since.Seconds()
					for s := 0.0; s < min(since, c.compiling).Seconds(); s += 5 {
						total += 100 * (1 - s/200)
					}
					return total
				}
				dir := begin(t, phases)
				_, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
				require.NoError(t, err)
				first := reread(t, dir).Trials[0].Steps[0]
				took := time.UnixMilli(first.StartMs).Sub(w.topology["phases-01"].began)
				assert.GreaterOrEqual(t, took, c.least)
				assert.LessOrEqual(t, took, c.most)
				assert.Equal(t, c.noted, strings.Contains(strings.Join(first.Notes, "\n"),
					"before the CPU per record was steady"), "%v", first.Notes)
			})
		})
	}
}

// Code that only queries use is compiled while the start-up's queries are held. Without them, that CPU is part of the
// first load.
func TestStartUpQueriesEndBeforeTheFirstStep(t *testing.T) {
	const compiling, steady = 50.0, 0.25 // compiling: s after the first query with one core more; steady: cores
	for name, c := range map[string]struct {
		steps   string
		held    int
		compile float64 // cores above steady in the first load with queries
	}{
		"as many as the least load": {"start_up: 2m", 10, 0},
		"as the file says":          {"start_up: 2m\n  start_up_queries: 15", 15, 0},
		"none":                      {"start_up: 2m\n  start_up_queries: 0", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.capacity["phases"] = 15
				var first time.Time
				var mu sync.Mutex
				w.ask = func(context.Context) error {
					mu.Lock()
					defer mu.Unlock()
					if first.IsZero() {
						first = time.Now()
					}
					return nil
				}
				w.cpu = func(since time.Duration) float64 {
					mu.Lock()
					defer mu.Unlock()
					total := steady * since.Seconds()
					if !first.IsZero() {
						queried := w.topology["phases-01"].began.Add(since).Sub(first).Seconds()
						total += min(max(queried, 0), compiling)
					}
					return total
				}
				file := strings.NewReplacer("start_up: 2m", c.steps, "[10, 20, 30, 40, 50]", "[0, 10]",
					"  expected_capacity: 40\n", "")
				dir := begin(t, file.Replace(phases))
				_, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
				require.NoError(t, err)
				trial := reread(t, dir).Trials[0]
				assert.InDelta(t, steady, float64(trial.Steps[0].CPUCores), 1e-9, "0 queries")
				assert.InDelta(t, steady+c.compile, float64(trial.Steps[1].CPUCores), 1e-9, "10 queries")
				started := 0
				for _, o := range lines(t, trial) {
					if o.SubmittedMs >= trial.Steps[0].StartMs {
						continue
					}
					assert.LessOrEqual(t, o.FinishedMs, trial.Steps[0].StartMs,
						"a query of the start-up is under way in the first step")
					if o.SubmittedMs < first.UnixMilli()+1000 {
						started++
					}
				}
				assert.Equal(t, c.held, started)
			})
		})
	}
}

// If there is no time for both the cost steps and the minimum number of steps, the cost steps are left out and that is
// noted.
func TestABoundedRunLeavesTheCostsLoadsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		dir := begin(t, phases)
		began := time.Now()
		result, err := goOn(t, t.Context(), dir, w, &journal{},
			runner.Options{End: began.Add(160 * time.Second), LeastSteps: 3})
		require.NoError(t, err)
		assert.LessOrEqual(t, time.Since(began), 170*time.Second)
		trial := reread(t, dir).Trials[0]
		assert.Empty(t, loads(trial.Steps, runstore.CostStep))
		assert.GreaterOrEqual(t, len(trial.Steps), 3)
		assert.True(t, result.Rows[0].Capacity.Censored, "a bound below the capacity")
		assert.Contains(t, strings.Join(result.Notes, "\n"), "There was no time for the dedicated cost steps")
		assert.Equal(t, tuning.Inconclusive, result.Verdict, "the climb ended at its last value")
	})
}

// If only the verdict matters, a step ends once it is certain to miss its goal. Its verdict is the same as that of a
// whole step.
func TestAStepEndsOnceItIsCertainToFail(t *testing.T) {
	for name, c := range map[string]struct {
		capacity float64
		endEarly bool
		verdict  tuning.Verdict
		measured time.Duration
	}{
		// 3 of 12 slices of 900 ms are a mean of 225 ms; the third is stored 5 s after its end
		"certain to fail":    {5, true, tuning.Fail, 25 * time.Second},
		"the figures wanted": {5, false, tuning.Fail, time.Minute},
		"holds":              {1000, true, tuning.OK, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, say := newWorld(), &journal{}
				w.capacity["phases"] = c.capacity
				file, err := experimentfile.Parse("phases.yaml",
					[]byte(strings.NewReplacer("sustain: 15s", "sustain: 1m", "expected_capacity: 40", "confirm: false",
						"[10, 20, 30, 40, 50]", "[10]").Replace(phases)))
				require.NoError(t, err)
				plan := file.Plan()
				plan.EndEarly = c.endEarly
				dir := filepath.Join(t.TempDir(), "run")
				writer, err := runstore.Create(dir, []byte(phases), plan, runstore.Manifest{ID: "run"})
				require.NoError(t, err)
				require.NoError(t, writer.Close())
				result, err := goOn(t, t.Context(), dir, w, say, runner.Options{})
				require.NoError(t, err)
				assert.Equal(t, c.verdict, result.Verdict)
				step := reread(t, dir).Trials[0].Steps[0]
				assert.Equal(t, c.measured.Milliseconds(), step.EndMs-step.MeasuredFromMs)
			})
		})
	}
}
