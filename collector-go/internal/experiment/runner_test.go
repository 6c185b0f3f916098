package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// measure runs an experiment on the fake, in the bubble's time.
func measure(t *testing.T, ctx context.Context, fake *fakeTopology, change func(*Options)) (*report.Run, string, error) {
	t.Helper()
	o := DefaultOptions()
	change(&o)
	var outcomes bytes.Buffer
	runner, err := NewRunner(o, Ports{
		Source: fake, Queries: fake, Slices: fake, Marks: fake, Machine: fake, Progress: &journal{}, Outcomes: &outcomes,
		Processes: func() map[string]int { return map[string]int{"worker 1": 10, "gone": 100} },
	})
	require.NoError(t, err)
	run, err := runner.Run(ctx, time.Now())
	return run, outcomes.String(), err
}

func verdicts(t *testing.T, run *report.Run) (out []tuning.Verdict) {
	t.Helper()
	r, err := report.Build(run)
	require.NoError(t, err)
	for _, s := range r.Steps {
		out = append(out, s.Verdict)
	}
	return out
}

func TestARunOfADecentTopology(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		run, outcomes, err := measure(t, context.Background(), fake, func(*Options) {})
		require.NoError(t, err)
		require.Len(t, run.Steps, 4)
		assertMarked(t, run, fake.marked)
		assert.InDelta(t, 0.4, float64(run.Steps[0].HostIdle), 0.05)
		assert.InDelta(t, float64(run.Calibration.RecordsPerSecond), float64(run.Steps[3].RecordsPerSecond), 5)
		assert.Equal(t, 10.0, float64(run.Steps[3].Clients.AverageResultSize))
		assert.Zero(t, run.Steps[3].Clients.MissingRecords)
		assert.Len(t, run.Workers, 2)
		assert.Equal(t, []int{11}, run.Workers[0].Pids)
		assert.Equal(t, []tuning.Verdict{tuning.OK, tuning.OK, tuning.OK, tuning.OK}, verdicts(t, run))
		assert.GreaterOrEqual(t, strings.Count(outcomes, "\n"), 2*10+2*20+40, "each query is on file")
		assert.Equal(t, []string{"worker 1", everythingElse}, []string{run.Steps[0].Shares[0].Process, run.Steps[0].Shares[1].Process})
		assert.InDelta(t, 0.05, float64(run.Steps[0].Shares[0].Ratio), 0.01, "a tenth of one of two cores")
		assert.Empty(t, run.Notes)
	})
}

// assertMarked finds each step on the time axis, closed.
func assertMarked(t *testing.T, run *report.Run, marked map[string]Mark) {
	t.Helper()
	require.Len(t, marked, len(run.Steps))
	for i, step := range run.Steps {
		m := marked[fmt.Sprintf("run-%d-step-%d", run.SubmittedMs, i+1)]
		assert.Equal(t, fmt.Sprintf("Step %d/4: %d queries", i+1, step.Queries), m.Title)
		assert.Equal(t, []int64{step.StartMs, step.EndMs}, []int64{m.Start.UnixMilli(), m.End.UnixMilli()})
		assert.Equal(t, run.Topology, m.Topology)
		assert.Contains(t, m.Tags, "step")
	}
}

func TestABoundedRunKeepsItsTime(t *testing.T) {
	for _, bound := range []time.Duration{150 * time.Second, 3 * time.Minute, 4 * time.Minute, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			started := time.Now()
			run, _, err := measure(t, context.Background(), newFake(), func(o *Options) { o.Bound = bound })
			require.NoError(t, err)
			assert.GreaterOrEqual(t, len(run.Steps), 3)
			assert.LessOrEqual(t, time.Since(started), bound-reportTime)
			assert.NotContains(t, verdicts(t, run), tuning.Inconclusive)
			for _, step := range run.Steps {
				assert.GreaterOrEqual(t, step.Clients.Returned, step.Queries/2, "of %d queries", step.Queries)
			}
		})
	}
}

func TestLostRecordsAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		fake.lossy = true
		run, _, err := measure(t, context.Background(), fake, func(*Options) {})
		require.NoError(t, err)
		assert.Equal(t, []tuning.Verdict{tuning.OK, tuning.Fail, tuning.Fail, tuning.Fail}, verdicts(t, run))
		assert.Equal(t, 9.0, float64(run.Steps[1].Clients.AverageResultSize))
	})
}

func TestQueriesThatNeverReturnFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		fake.stalled = true
		run, _, err := measure(t, context.Background(), fake, func(*Options) {})
		require.NoError(t, err)
		assert.Equal(t, []tuning.Verdict{tuning.OK, tuning.Fail, tuning.Fail, tuning.Fail}, verdicts(t, run))
	})
}

func TestSlicesThatDoNotComeAreNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		go func() { time.Sleep(2 * time.Minute); fake.slowTail = true }()
		run, _, err := measure(t, context.Background(), fake, func(o *Options) { o.Bound = 3 * time.Minute })
		require.NoError(t, err)
		require.NotEmpty(t, run.Notes)
		assert.Contains(t, run.Notes[0], "w:1")
	})
}

// The collector is away for ten seconds just when the figures are to be read.
func TestACollectorThatIsAwayForAMomentIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		var since time.Time
		fake.away = func() bool {
			if time.Since(fake.start) < 3*time.Minute {
				return false
			}
			if since.IsZero() {
				since = time.Now()
			}
			return time.Since(since) < 10*time.Second
		}
		run, _, err := measure(t, context.Background(), fake, func(*Options) {})
		require.NoError(t, err)
		assert.False(t, since.IsZero())
		assert.Len(t, run.Workers, 2)
	})
}

func TestWorkersThatDoNotReportEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := newFake()
		fake.mute = true
		_, _, err := measure(t, context.Background(), fake, func(*Options) {})
		require.ErrorContains(t, err, "2 workers to report")
	})
}

// An interrupt may come at any moment; whenever it does, the run ends at once and leaves no query under way. The bubble itself
// fails the test when a goroutine is left.
func TestAnInterruptEndsTheRunAtOnce(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Second, 25 * time.Second, time.Minute, 3 * time.Minute, 290 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			interrupted := errors.New("interrupted")
			started := time.Now()
			go func() { time.Sleep(after); cancel(interrupted) }()
			_, _, err := measure(t, ctx, newFake(), func(*Options) {})
			require.ErrorIs(t, err, interrupted)
			assert.LessOrEqual(t, time.Since(started)-after, time.Second)
		})
	}
}

func TestAGivenRateIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, _, err := measure(t, context.Background(), newFake(), func(o *Options) { o.RecordsPerSecond = 321 })
		require.NoError(t, err)
		assert.InDelta(t, 321, float64(run.Steps[0].RecordsPerSecond), 1)
		assert.False(t, run.Calibration.TargetIdle.Known())
	})
}

func TestOptionsAreChecked(t *testing.T) {
	for name, spoil := range map[string]func(*Options){
		"steps":    func(o *Options) { o.Ladder = []int{0, 10} },
		"baseline": func(o *Options) { o.Ladder = []int{5, 10, 20} },
		"queries":  func(o *Options) { o.Ladder = []int{0, 10, 2000} },
		"bound":    func(o *Options) { o.Bound = 10 * time.Second },
		"idle":     func(o *Options) { o.TargetIdle = 1 },
		"slices":   func(o *Options) { o.SliceWidth = time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			require.NoError(t, o.Validate())
			spoil(&o)
			assert.Error(t, o.Validate())
		})
	}
}
