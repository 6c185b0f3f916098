package diagnosis

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// stored answers expressions that contain a metric's name with a function of time.
type stored map[string]func(at time.Time) float64

func (s stored) LinesBetween(_ context.Context, expression string, from, to time.Time, step time.Duration) (
	lines []Line, err error) {
	for metric, f := range s {
		if !strings.Contains(expression, metric) {
			continue
		}
		line := Line{Labels: map[string]string{"component": "FilterBolt"}}
		for at := from; !at.After(to); at = at.Add(step) {
			if v := f(at); !math.IsNaN(v) {
				line.TimesMs, line.Values = append(line.TimesMs, at.UnixMilli()), append(line.Values, v)
			}
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func ports(s stored, active ...Alert) Ports {
	return Ports{Figures: s, Active: func() []Alert { return active },
		Annotations: func(context.Context, string, time.Time, time.Time) []Annotation { return nil }}
}

// level returns a function with one value before a time and another one after it.
func level(before, after float64, since time.Time) func(time.Time) float64 {
	return func(at time.Time) float64 {
		if at.Before(since) {
			return before
		}
		return after
	}
}

var slow = Alert{Name: "Slow", State: "firing", Began: noon, Topology: "bullet", Summary: "filters take 310 ms"}

// A topology that was submitted ten minutes ago has few records at first. They did not rise since.
func TestTheStartOfATopologyIsNoChange(t *testing.T) {
	started, more := noon.Add(-10*time.Minute), noon.Add(-4*time.Minute)
	p := ports(stored{
		"bullet_source_records_total": func(at time.Time) float64 {
			switch {
			case at.Before(started):
				return math.NaN()
			case at.Before(started.Add(100 * time.Second)):
				return 100
			}
			return 500
		},
		"bullet_active_queries": func(at time.Time) float64 {
			if at.Before(started) {
				return math.NaN()
			}
			return level(50, 100, more)(at)
		},
	}, slow)
	a, err := Explain(t.Context(), p, Question{Alert: "Slow", Now: noon})
	require.NoError(t, err)
	require.Len(t, a.Changes, 1)
	assert.Equal(t, "running queries", a.Changes[0].Name)
	assert.WithinDuration(t, more, a.Changes[0].Since, time.Minute)
	require.NotNil(t, a.Cause)
	assert.Contains(t, a.Cause.Text, "50")
}

func TestWhatMovedFirstComesFirstWithItsNumbers(t *testing.T) {
	p := ports(stored{
		"bullet_source_records_total":     level(500, 1500, noon.Add(-9*time.Minute)),
		"storm_capacity_ratio":            level(0.3, 0.95, noon.Add(-5*time.Minute)),
		"bullet_worker_cpu_seconds_total": level(2, 2, noon),
		"bullet_worker_restarts_total":    level(0, 1, noon.Add(-4*time.Minute)),
		"storm_receive_queue_full_ratio":  level(0, 0.05, noon.Add(-4*time.Minute)),  // too small to matter
		"bullet_source_lag_records":       level(0, 7000, noon.Add(-40*time.Minute)), // before the window
		"bullet_worker_gc_seconds_total":  func(time.Time) float64 { return math.NaN() },
		// scatter
		"bullet_worker_heap_limit_bytes": func(at time.Time) float64 {
			return 0.5 + 0.2*math.Sin(float64(at.Unix()))
		},
		"bullet_filter_latency_mean_second": level(0.004, 0.310, noon.Add(-3*time.Minute)),
	}, slow)
	p.Annotations = func(_ context.Context, topology string, from, to time.Time) []Annotation {
		assert.Equal(t, "bullet", topology)
		assert.Equal(t, noon, to)
		return []Annotation{{Time: noon.Add(-9 * time.Minute), Title: "step 3: 40 queries"},
			{Time: noon.Add(-4 * time.Minute), Title: "worker h:6700 started again"}}
	}
	p.Limit = func(_ context.Context, _ string, from, to, _ time.Time) (string, bool, error) {
		assert.WithinDuration(t, noon.Add(-4*time.Minute), from, 45*time.Second,
			"since the cause, not in the mean of all the time before it")
		assert.WithinDuration(t, noon.Add(time.Minute), to, 45*time.Second)
		return "limited by filter CPU: 0.95 of what its executors can have", true, nil
	}
	a, err := Explain(t.Context(), p, Question{Alert: "Slow", Now: noon.Add(time.Minute)})
	require.NoError(t, err)
	var names []string
	for _, c := range a.Changes {
		names = append(names, c.Name)
	}
	assert.Equal(t, []string{"records read", "busy share of the busiest task",
		"worker restarts", "filter latency (mean of the slowest task)"}, names)
	first := a.Changes[0]
	assert.InDelta(t, 500, first.Before, 1e-9)
	assert.InDelta(t, 1500, first.After, 1e-9)
	assert.InDelta(t, 9*60, first.Lead, 45, "a step of the figure at most")
	assert.Equal(t, "worker h:6700 started again", a.Annotations[0].Title, "the last before the alert comes first")
	assert.InDelta(t, 240, a.Annotations[0].Before, 0)

	text := a.Text()
	for _, want := range []string{
		"Slow firing since 2026-11-21 12:00:00 UTC, topology bullet", "filters take 310 ms",
		"Limit: limited by filter CPU",
		"4 min before  worker h:6700 started again", "500 records/s  1500 records/s  x 3.0",
		"4 ms           310 ms          x 77.5",
		"bullet.topology.filter.bolt.parallelism",
	} {
		assert.Contains(t, text, want)
	}
}

// A person may ask one minute after the alert began, and the cause may be less than a minute before that. Changes
// after the beginning are not the cause.
func TestWhatMovedJustBeforeTheAlertIsNamed(t *testing.T) {
	p := ports(stored{
		"bullet_filter_latency_mean_second": level(0.004, 0.310, noon.Add(-40*time.Second)),
		"bullet_source_records_total":       level(500, 1500, noon.Add(40*time.Second)),
		"storm_capacity_ratio":              level(0.3, 0.95, noon.Add(80*time.Second)),
	}, slow)
	for _, later := range []time.Duration{time.Minute, 2 * time.Minute, time.Hour} {
		a, err := Explain(t.Context(), p, Question{Alert: "Slow", Now: noon.Add(later)})
		require.NoError(t, err)
		if assert.Len(t, a.Changes, 1, "asked after %s", later) {
			assert.Equal(t, "filter latency (mean of the slowest task)", a.Changes[0].Name)
			assert.InDelta(t, 0.310, a.Changes[0].After, 1e-9)
			assert.GreaterOrEqual(t, a.Changes[0].Lead, 0.0)
		}
	}
}

func TestNothingMoved(t *testing.T) {
	a, err := Explain(t.Context(), ports(stored{"bullet_source_records_total": level(5, 5, noon)}, slow),
		Question{Alert: "Slow", Topology: "bullet"})
	require.NoError(t, err)
	assert.Empty(t, a.Changes)
	assert.Contains(t, a.Text(), "no metric changed its level")
	assert.Contains(t, a.Text(), "none: no changed settings")
}

func TestAnAlertThatHasEndedIsFoundByItsLastStretch(t *testing.T) {
	on := func(at time.Time) float64 {
		firing := !at.Before(noon) && at.Before(noon.Add(5*time.Minute)) || at.Before(noon.Add(-2*time.Hour))
		if firing {
			return 1
		}
		return math.NaN()
	}
	a, err := Explain(t.Context(), ports(stored{"ALERTS": on}), Question{Alert: "Slow", Now: noon.Add(time.Hour)})
	require.NoError(t, err)
	assert.Equal(t, "ended", a.Alert.State)
	require.NotNil(t, a.Alert.Ended)
	assert.True(t, a.Alert.Ended.After(a.Alert.Began))
	assert.Contains(t, a.Text(), a.Alert.Name+" ended "+clock(*a.Alert.Ended)+", began "+clock(a.Alert.Began))
	assert.WithinDuration(t, noon, a.At, 15*time.Second)
}

func TestAnAlertThatNeverWas(t *testing.T) {
	_, err := Explain(t.Context(), ports(stored{}, slow), Question{Alert: "Slwo", Topology: "bullet", Now: noon})
	var unknown *UnknownAlertError
	require.ErrorAs(t, err, &unknown)
	assert.ErrorContains(t, err,
		"alert Slwo of topology bullet was not active within the last day; active now: Slow")
}

func TestOfSeveralTheOneThatFiresLongestIsMeant(t *testing.T) {
	at := func(state string, minutes int) Alert {
		return Alert{Name: "Slow", State: state, Began: noon.Add(time.Duration(minutes) * time.Minute)}
	}
	a, err := Explain(t.Context(), ports(stored{}, at("pending", -9), at("firing", -2), at("firing", -5)),
		Question{Alert: "Slow"})
	require.NoError(t, err)
	assert.Equal(t, at("firing", -5), a.Alert)
}

// A worker that fell silent after the alert began did not cause it, nor did one that fell silent when the topology was
// killed.
func TestSilenceAfterTheAlertOrAKillIsNoLimit(t *testing.T) {
	for name, c := range map[string]struct {
		run   *Run
		heard time.Time
	}{
		"running":                {&Run{State: "running"}, noon.Add(-time.Minute)},
		"unknown":                {nil, noon.Add(-time.Minute)},
		"killed later":           {&Run{State: "killed", Since: noon.Add(30 * time.Second)}, noon.Add(-time.Minute)},
		"killed before":          {&Run{State: "killed", Since: noon.Add(-3 * time.Minute)}, noon.Add(-4 * time.Minute)},
		"stopped before":         {&Run{State: "stopped", Since: noon.Add(-3 * time.Minute)}, noon.Add(-4 * time.Minute)},
		"silent, without a word": {&Run{State: "silent", Since: noon.Add(-3 * time.Minute)}, noon.Add(-time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			p := ports(stored{}, slow)
			p.Run = func(context.Context, string) *Run { return c.run }
			asked := false
			p.Limit = func(_ context.Context, _ string, _, _, heard time.Time) (string, bool, error) {
				asked = true
				assert.Equal(t, c.heard, heard)
				return "", false, nil
			}
			_, err := Explain(t.Context(), p, Question{Alert: "Slow", Now: noon.Add(2 * time.Minute)})
			require.NoError(t, err)
			assert.True(t, asked)
		})
	}
}

func TestAJudgeThatFailsIsANote(t *testing.T) {
	p := ports(stored{}, slow)
	p.Limit = func(context.Context, string, time.Time, time.Time, time.Time) (string, bool, error) {
		return "", false, errors.New("no evidence")
	}
	a, err := Explain(t.Context(), p, Question{Alert: "Slow"})
	require.NoError(t, err)
	assert.Contains(t, a.Notes[0], "no evidence")
}

// Noise around a level is no change. A move of ten times the scatter is found at the right time.
func TestNoiseIsNoChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		moved := rapid.IntRange(42, 56).Draw(t, "moved")
		f := figure{least: 0.01}
		line := func(move float64) Line {
			var l Line
			for i := range 61 {
				v := 10 + random.NormFloat64()
				if i >= moved {
					v += move
				}
				l.TimesMs, l.Values = append(l.TimesMs, int64(i)), append(l.Values, v)
			}
			return l
		}
		_, found := f.change(line(0), 41, math.MaxInt64)
		assert.False(t, found, "noise")
		c, found := f.change(line(15), 41, math.MaxInt64)
		assert.True(t, found, "a move")
		assert.InDelta(t, moved, c.Since.UnixMilli(), 1)
	})
}

// The rate over a window rises in a ramp. Wherever the points are, the level after the change is the one it reaches.
func TestLevelsAreWithoutTheRampBetweenThem(t *testing.T) {
	const step, window = 45_000, 150_000
	for phase := int64(0); phase < step; phase += 1000 {
		changed := 50*step - phase
		var l Line
		for i := range int64(56) {
			share := min(1, max(0, float64(i*step-changed)/window))
			l.TimesMs, l.Values = append(l.TimesMs, i*step), append(l.Values, 0.3+share*0.6)
		}
		c, found := figure{least: 0.1}.change(l, 41*step, math.MaxInt64)
		require.True(t, found)
		assert.InDelta(t, 0.3, c.Before, 0.001, "phase %d", phase)
		assert.InDelta(t, 0.9, c.After, 0.001, "phase %d", phase)
	}
}

func TestEveryFigureAsksForItsTopologyAlone(t *testing.T) {
	for _, f := range figures {
		ask := f.ask(`b"x`)
		assert.NotContains(t, ask, "{}")
		assert.NotContains(t, ask, "COMPONENT")
		assert.Contains(t, ask, `topology="b\"x"`)
		assert.NotContains(t, f.ask(""), "topology=")
	}
}
