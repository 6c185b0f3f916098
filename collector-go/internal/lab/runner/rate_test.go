package runner_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

const rate = `experiment: rate
title: Queries at a constant rate
analysis: queries
goals:
  - {figure: query_latency, statistic: p99, at_most: 11s}
  - {figure: query_latency, statistic: p50, at_most: 11s}
  - {figure: failed_queries, at_most: 50%}
topology: {conf: x.yaml}
steps:
  axis: queries_per_second
  values: [20]
  warm_up: 10s
  sustain: 30s
  start_up_queries: 0
  inconclusive_repeats: 0
load: {records_per_second: 300, duration: 10s, matching_per_second: 1.2}
launch:
  local: {workers: 1, worker_heap: 384MiB}
  slice_width: 5s
  slice_lateness: 2s
`

// stretch is a period of time relative to the first query.
type stretch struct {
	from, length time.Duration

	mu    sync.Mutex
	first time.Time
}

// left returns how long the period still lasts; 0 before and after it.
func (s *stretch) left() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.IsZero() {
		s.first = time.Now()
	}
	if at := time.Since(s.first); at >= s.from && at < s.from+s.length {
		return s.from + s.length - at
	}
	return 0
}

// measureRate runs the experiment and returns its step.
func measureRate(t *testing.T, ask func(context.Context) error) runstore.Step {
	t.Helper()
	w := newWorld()
	w.ask = ask
	dir := begin(t, rate)
	_, err := goOn(t, t.Context(), dir, w, &journal{}, runner.Options{})
	require.NoError(t, err)
	steps := reread(t, dir).Trials[0].Steps
	require.Len(t, steps, 1)
	return steps[0]
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// For 2 s within a step the topology accepts no query. The queries scheduled in that time are late, which the high
// percentiles show.
func TestAStallWithinAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stall := &stretch{from: 20 * time.Second, length: 2 * time.Second}
		step := measureRate(t, func(ctx context.Context) error { return wait(ctx, stall.left()) })
		assert.Equal(t, tuning.Fail, step.Verdict, "%v", step.Reasons)
		assert.InDelta(t, 11_900, float64(step.Figures[0].Measured), 1,
			"p99: the 9th slowest of 800; the slowest waited for 2 s, the next for 50 ms less")
		assert.Contains(t, step.Reasons, "p99 query latency 1.9 s late is above 1 s late",
			"of queries that run for 10 s themselves")
		assert.InDelta(t, 10_300, float64(step.Figures[1].Measured), 1, "p50")
		assert.Equal(t, 800, step.Clients.Submitted, "those of the warm-up that lived on are among them")
		assert.Zero(t, step.Clients.LowerBounds)
	})
}

// The queries of the stall are lost instead. A query without an answer must still count.
func TestQueriesThatAStallSwallowsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stall := &stretch{from: 20 * time.Second, length: 2 * time.Second}
		step := measureRate(t, func(ctx context.Context) error {
			if stall.left() > 0 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		assert.Equal(t, tuning.Fail, step.Verdict, "%v", step.Reasons)
		assert.InDelta(t, 25_000, float64(step.Figures[0].Measured), 1, "p99: at least until they timed out")
		assert.InDelta(t, 40.0/800, float64(step.Figures[2].Measured), 1e-9, "they are failed queries")
		assert.Equal(t, []int{40, 40}, []int{step.Clients.LowerBounds, step.Clients.Failed})
	})
}

// A full endpoint is not a failure of the topology.
func TestRefusalsLimitAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := &stretch{from: 15 * time.Second, length: 20 * time.Second}
		step := measureRate(t, func(context.Context) error {
			if full.left() > 0 {
				return &load.StatusError{Method: "POST", URL: "http://g/q", Code: 429, Status: "429 Too Many Requests",
					Text: "the limit is 2000"}
			}
			return nil
		})
		assert.Equal(t, tuning.Limited, step.Verdict, "%v", step.Reasons)
		assert.Equal(t, []int{400, 400}, []int{step.Clients.Refused, step.Clients.Failed})
		l := step.Limitation
		require.NotNil(t, l)
		assert.Contains(t, l.Limiters, tuning.LimitedByEndpoint)
		assert.Contains(t, l.Text, "the query endpoint refused 400 queries")
	})
}
