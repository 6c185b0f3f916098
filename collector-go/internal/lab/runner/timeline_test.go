package runner_test

import (
	"context"
	"errors"
	"os"
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

const timelines = `experiment: timelines
title: A record's way
analysis: timeline
goals:
  - {figure: added_delay, statistic: mean, at_most: 10ms}
topology: {conf: x.yaml}
grid:
  - {axis: bolts, setting: bolts.parallelism, values: [1, 2]}
steps:
  kind: timeline
  timeline_queries: 40
  timeline_records: generated
  values: [1]
  warm_up: 10s
  sustain: 30s
load: {records: 1, records_per_second: 300, duration: 10s, matching_per_second: 5}
launch:
  local: {workers: 1, worker_heap: 384MiB}
  slice_width: 5s
  slice_lateness: 2s
`

// A run of two timelines is interrupted in the second. The first is kept unchanged. The second is measured again,
// without queries of the interrupted attempt.
func TestAFinishedTimelineIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		ctx, interrupt := context.WithCancelCause(t.Context())
		stop := errors.New("interrupted")
		say := &journal{said: func(line string) {
			if strings.HasPrefix(line, "trial 1, 1 queries") {
				go func() { time.Sleep(30 * time.Second); interrupt(stop) }() // within the measured time of the second
			}
		}}
		dir := begin(t, timelines)
		_, err := goOn(t, ctx, dir, w, say, runner.Options{})
		require.ErrorIs(t, err, stop)
		files := stepFiles(dir)
		require.Len(t, files, 1)
		kept, err := os.ReadFile(files[0])
		require.NoError(t, err)

		result, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
		require.NoError(t, err)
		assert.Equal(t, tuning.OK, result.Verdict, say.text())
		assert.Equal(t, []string{"timelines-01", "timelines-02", "timelines-02-launch2"}, w.launches)
		now, err := os.ReadFile(files[0])
		require.NoError(t, err)
		assert.Equal(t, string(kept), string(now))
		for _, trial := range reread(t, dir).Trials {
			require.Len(t, trial.Steps, 1)
			assertTimeline(t, trial)
		}
	})
}

// assertTimeline checks the stages of the world's records, and that the step has only the probe's queries.
func assertTimeline(t *testing.T, trial runstore.Trial) {
	t.Helper()
	step := trial.Steps[0]
	got := step.Timeline
	require.NotNil(t, got)
	assert.Equal(t, []int{40, 40, 40}, []int{got.Queries, got.Returned, len(got.Traces)})
	for _, stage := range got.Stages {
		assert.Equal(t, 40, stage.Count, stage.Name)
		assert.InDelta(t, map[string]float64{
			tuning.RecordMade: 170, tuning.KafkaReceived: 190, tuning.BulletReceived: 210, tuning.BulletFiltered: 212,
			tuning.QuerySubmitted: -30, tuning.QueryReceived: 0,
			tuning.QueryFinished: 220, tuning.QueryReturned: 230,
		}[stage.Name], float64(stage.MeanMs), 1, stage.Name)
	}
	assert.InDelta(t, 10, float64(got.FindTime.Value), 1e-9)
	require.NotNil(t, step.AddedDelayMs)
	assert.InDelta(t, 8, float64(*step.AddedDelayMs), 1e-9)
	assert.NotEmpty(t, got.Skews)
	for _, skew := range got.Skews {
		assert.False(t, skew.Excludes0(), "one clock")
	}
	assert.Equal(t, 40, step.Clients.Returned)
	assert.InDelta(t, 1, float64(step.Clients.AverageResultSize), 1e-9)
	assert.Empty(t, step.Notes)
}
