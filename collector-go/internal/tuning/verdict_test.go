package tuning_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

var nan = math.NaN()

func TestJudge(t *testing.T) {
	good := tuning.StepFigures{Queries: 20, FilterLatencyMeanMs: 3, AverageResultSize: 10, Returned: 40, HostIdle: 0.3}
	idle := tuning.StepFigures{FilterLatencyMeanMs: 3, AverageResultSize: nan, HostIdle: 0.4}
	with := func(f tuning.StepFigures, change func(*tuning.StepFigures)) tuning.StepFigures { change(&f); return f }

	for name, c := range map[string]struct {
		figures tuning.StepFigures
		want    tuning.Verdict
		reason  string
	}{
		"all goals met":              {good, tuning.OK, ""},
		"no queries need no results": {idle, tuning.OK, ""},
		"latency at the limit":       {with(good, func(f *tuning.StepFigures) { f.FilterLatencyMeanMs = 200 }), tuning.OK, ""},
		"latency above the limit":    {with(good, func(f *tuning.StepFigures) { f.FilterLatencyMeanMs = 200.1 }), tuning.Fail, "200.1 ms is above 200 ms"},
		"latency fails an idle step": {with(idle, func(f *tuning.StepFigures) { f.FilterLatencyMeanMs = 900 }), tuning.Fail, "900.0 ms"},
		"results at the tolerance":   {with(good, func(f *tuning.StepFigures) { f.AverageResultSize = 9.9 }), tuning.OK, ""},
		"results below it":           {with(good, func(f *tuning.StepFigures) { f.AverageResultSize = 8.9 }), tuning.Fail, "8.90 is below 9.90"},
		"a failed query":             {with(good, func(f *tuning.StepFigures) { f.Failed = 1 }), tuning.Fail, "1 of 41 queries failed"},
		"latency unknown":            {with(good, func(f *tuning.StepFigures) { f.FilterLatencyMeanMs = nan }), tuning.Inconclusive, "no filter latency"},
		"host idle unknown":          {with(good, func(f *tuning.StepFigures) { f.HostIdle = nan }), tuning.Inconclusive, "how busy the host was"},
		"nothing returned": {with(good, func(f *tuning.StepFigures) { f.AverageResultSize, f.Returned = nan, 0 }),
			tuning.Inconclusive, "no query returned"},
		"unfinished queries": {with(good, func(f *tuning.StepFigures) { f.Unfinished = 3 }), tuning.Inconclusive, "3 queries had not returned"},
		"a starved host excuses a failure": {with(good, func(f *tuning.StepFigures) { f.HostIdle, f.FilterLatencyMeanMs = 0.04, 900 }),
			tuning.Inconclusive, "only 4.0% of the host was idle"},
		"unless the topology is the limit": {with(good, func(f *tuning.StepFigures) {
			f.HostIdle, f.FilterLatencyMeanMs, f.LimitedByTopology = 0.04, 900, true
		}), tuning.Fail, "900.0 ms"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tuning.DefaultGoals().Judge(c.figures)
			require.Equal(t, c.want, got.Verdict, got.Reasons)
			if c.want == tuning.OK {
				assert.Empty(t, got.Reasons)
				return
			}
			require.NotEmpty(t, got.Reasons)
			assert.Contains(t, got.Reasons[0], c.reason)
		})
	}
}

func TestOverall(t *testing.T) {
	of := func(verdicts ...tuning.Verdict) (steps []tuning.Judgement) {
		for _, v := range verdicts {
			steps = append(steps, tuning.Judgement{Verdict: v})
		}
		return steps
	}
	assert.Equal(t, tuning.OK, tuning.Overall(of(tuning.OK, tuning.OK)))
	assert.Equal(t, tuning.Inconclusive, tuning.Overall(of(tuning.OK, tuning.Inconclusive)))
	assert.Equal(t, tuning.Fail, tuning.Overall(of(tuning.Inconclusive, tuning.Fail, tuning.OK)))
	assert.Equal(t, tuning.Inconclusive, tuning.Overall(nil))
}

func TestGoalsValidate(t *testing.T) {
	require.NoError(t, tuning.DefaultGoals().Validate())
	for name, spoil := range map[string]func(*tuning.Goals){
		"latency":   func(g *tuning.Goals) { g.FilterLatencyLimitMs = nan },
		"results":   func(g *tuning.Goals) { g.ExpectedResultSize = 0 },
		"tolerance": func(g *tuning.Goals) { g.Tolerance = 1 },
		"idle":      func(g *tuning.Goals) { g.MinHostIdle = -0.1 },
	} {
		t.Run(name, func(t *testing.T) {
			goals := tuning.DefaultGoals()
			spoil(&goals)
			assert.Error(t, goals.Validate())
		})
	}
}
