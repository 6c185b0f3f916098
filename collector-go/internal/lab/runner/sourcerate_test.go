package runner_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// A starved host names the process whose share rose since the last step with idle CPU.
func TestAStarvedHostNamesWhoseShareRose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		// time since the launch, in ns, from which the worker uses three quarters more of the host's two cores
		var busyFrom atomic.Int64
		w.worker = func(since time.Duration) time.Duration {
			used := since / 5 // a tenth of two cores
			if busy := time.Duration(busyFrom.Load()); busy > 0 {
				used += (since - busy) * 3 / 2
			}
			return used
		}
		w.starved = func() bool { return busyFrom.Load() > 0 }
		say := &journal{said: func(line string) {
			if busyFrom.Load() == 0 && strings.HasPrefix(line, "trial 1, 10 queries") {
				busyFrom.Store(int64(time.Since(w.topology["grid-01"].began)))
			}
		}}
		file := strings.NewReplacer("[10, 20, 30, 40, 50, 60, 70]", "[10, 20, 30]", "search: binary",
			"search: full\n  inconclusive_repeats: 0").Replace(grid)
		dir := begin(t, file)
		_, err := goOn(t, t.Context(), dir, w, say, runner.Options{})
		require.NoError(t, err)
		steps := reread(t, dir).Trials[0].Steps
		require.Len(t, steps, 3)
		for _, s := range steps[1:] {
			assert.Equal(t, tuning.Inconclusive, s.Verdict)
			assert.Contains(t, s.Limitation.Text, "the share of worker 1 rose from 10% to 85%",
				"%g queries, against those of 10", s.Value)
		}
	})
}

// If the source makes only a hundred of the requested records, no step is OK, even if every goal is met.
func TestAStepOfTooFewRecordsIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.carries["bolts 1"] = 100
		dir := begin(t, grid)
		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, []tuning.Verdict{tuning.Limited, tuning.Inconclusive},
			[]tuning.Verdict{result.Rows[0].Verdict, result.Rows[1].Verdict})
		for _, s := range reread(t, dir).Trials[0].Steps {
			assert.Equal(t, tuning.Limited, s.Verdict)
			assert.Contains(t, s.Reasons[0],
				"limited by the record source: the record source emitted 100 of the 384 requested records/s, 26%")
			e := s.Evidence
			require.NotNil(t, e)
			assert.InDelta(t, 300+70*1.2, float64(e.SourceRate.AskedPerSecond), 1e-9,
				"with those that the queries look for")
			assert.Equal(t, s.EndMs, e.ToMs)
		}
	})
}
