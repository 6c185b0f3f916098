package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// An interrupt may come at any moment: in the warm-up, in a cost step, while a step settles, or in the search. The run
// ends at once and leaves no query in flight; the bubble fails the test if a goroutine is left. A resumed run measures
// what is missing, and nothing twice.
func TestAnInterruptEndsARunAtOnce(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Second, 45 * time.Second, 61 * time.Second, 3 * time.Minute,
		347 * time.Second, 8 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.capacity["phases"] = 35
			ctx, cancel := context.WithCancelCause(t.Context())
			interrupted, started := errors.New("interrupted"), time.Now()
			go func() { time.Sleep(after); cancel(interrupted) }()
			dir := begin(t, phases)
			_, err := goOn(t, ctx, dir, w, &journal{}, runner.Options{})
			require.ErrorIs(t, err, interrupted, "after %s", after)
			assert.LessOrEqual(t, time.Since(started)-after, time.Second)
			assert.Equal(t, w.launches, w.ended)

			result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
			require.NoError(t, err)
			trial := reread(t, dir).Trials[0]
			assert.Equal(t, []float64{0, 10, 20, 20, 10, 0}, loads(trial.Steps, runstore.CostStep), "after %s", after)
			assert.Equal(t, []float64{10, 20, 30, 40, 30, 40}, loads(trial.Steps, runstore.LoadStep), "after %s", after)
			assert.Equal(t, "holds 30, fails at 40", result.Rows[0].Capacity.String())
		})
	}
}

// once returns a function that is true for a period which begins later by the given time.
func once(later, length time.Duration) func() bool {
	from := time.Now().Add(later)
	return func() bool {
		now := time.Now()
		return !now.Before(from) && now.Before(from.Add(length))
	}
}

// The collector is unreachable for ten seconds, at different times of a step.
func TestACollectorThatIsAwayForAMomentIsAskedAgain(t *testing.T) {
	for _, later := range []time.Duration{20 * time.Second, 70 * time.Second, 75 * time.Second, 85 * time.Second,
		100 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.capacity["phases"], w.away = 35, once(later, 10*time.Second)
			dir := begin(t, phases)
			result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
			require.NoError(t, err)
			assert.Equal(t, runstore.ExitDone, result.ExitCode, "away after %s", later)
			assert.Equal(t, "holds 30, fails at 40", result.Rows[0].Capacity.String())
			for _, step := range reread(t, dir).Trials[0].Steps {
				assert.Equal(t, 1, step.Workers, "step %d, away after %s", step.Number, later)
			}
		})
	}
}

// A collector that stays unreachable ends the trial. The steps before it are kept, and a resumed run continues after
// them.
func TestACollectorThatStaysAwayEndsTheTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.capacity["phases"], w.away = 35, once(3*time.Minute, 24*time.Hour)
		dir := begin(t, phases)
		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, runstore.ExitFailed, result.ExitCode)
		assert.Contains(t, result.Trials[0].Error, "connection refused")
		kept := result.Trials[0].Steps
		assert.Positive(t, kept)

		w.away = nil
		result, err = goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, runstore.ExitDone, result.ExitCode)
		trial := reread(t, dir).Trials[0]
		assert.Equal(t, []int{1, 2}, []int{trial.Steps[kept-1].Launch, trial.Steps[kept].Launch})
		assert.Equal(t, []float64{0, 10, 20, 20, 10, 0}, loads(trial.Steps, runstore.CostStep))
	})
}

func TestSlicesThatDoNotComeAreNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.capacity["phases"], w.stale = 15, once(2*time.Minute, 24*time.Hour)
		dir := begin(t, phases)
		_, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		steps := reread(t, dir).Trials[0].Steps
		assert.Empty(t, steps[0].Notes)
		last := strings.Join(steps[len(steps)-1].Notes, "\n")
		assert.Contains(t, last, "some of the last slices were missing when the step was judged")
		assert.Contains(t, last, "w:1", "whose they are")
	})
}

func TestWorkersThatDoNotReportEndTheTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.mute = true
		result, err := goOn(t, t.Context(), begin(t, phases), w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, runstore.ExitFailed, result.ExitCode)
		assert.Contains(t, result.Trials[0].Error, "1 workers to report")
	})
}

// Queries that never return, and answers that lack a record, fail every load except 0 queries.
func TestLostAnswersFail(t *testing.T) {
	for name, spoil := range map[string]func(*world){
		"never return":  func(w *world) { w.ask = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() } },
		"lack a record": func(w *world) { w.lossy = true },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				spoil(w)
				text := strings.Replace(phases, "on_fail: bracket",
					"  - {figure: result_size, statistic: mean, at_least: 9.9}\non_fail: bracket", 1)
				dir := begin(t, text)
				result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
				require.NoError(t, err)
				assert.Equal(t, tuning.Fail, result.Verdict)
				assert.Equal(t, "below 10", result.Rows[0].Capacity.String())
				for _, step := range reread(t, dir).Trials[0].Steps {
					assert.Equal(t, step.Queries > 0, step.Verdict == tuning.Fail, "%d queries: %s %v", step.Queries,
						step.Verdict, step.Reasons)
				}
			})
		})
	}
}
