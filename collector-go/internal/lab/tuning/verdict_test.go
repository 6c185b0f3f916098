package tuning_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

var nan = math.NaN()

// stepFigures are the figures that judge a step in these tests, with the document's goals.
type stepFigures struct {
	Queries, Returned, Failed, Unfinished            int
	FilterLatencyMeanMs, AverageResultSize, HostIdle float64
}

func (f stepFigures) judge(e tuning.Evidence) (tuning.Judgement, tuning.Limitation) {
	m := tuning.StepMeasures{}
	m.Set(tuning.FilterLatency, tuning.Mean, tuning.Figure(f.FilterLatencyMeanMs))
	m.Set(tuning.ResultSize, tuning.Mean, tuning.Figure(f.AverageResultSize))
	m.Set(tuning.FailedQueries, tuning.Mean, tuning.Figure(f.Failed)/tuning.Figure(max(1, f.Failed+f.Returned)))
	goals := []tuning.Goal{atMost(tuning.FilterLatency, tuning.Mean, 200), atLeast(tuning.ResultSize, tuning.Mean, 9.9),
		atMost(tuning.FailedQueries, tuning.Mean, 0)}
	_, judgement, limitation := tuning.JudgeGoals(goals, tuning.GoalStep{Measured: m, HasQueries: f.Queries > 0,
		Unfinished: f.Unfinished,
		HostIdle:   tuning.Figure(f.HostIdle), LeastIdle: 0.05, Evidence: e})
	return judgement, limitation
}

func TestJudge(t *testing.T) {
	good := stepFigures{Queries: 20, FilterLatencyMeanMs: 3, AverageResultSize: 10, Returned: 40, HostIdle: 0.3}
	idle := stepFigures{FilterLatencyMeanMs: 3, AverageResultSize: nan, HostIdle: 0.4}
	with := func(f stepFigures, change func(*stepFigures)) stepFigures { change(&f); return f }

	for name, c := range map[string]struct {
		figures stepFigures
		want    tuning.Verdict
		reason  string
	}{
		"all goals met":              {good, tuning.OK, ""},
		"no queries need no results": {idle, tuning.OK, ""},
		"latency at the limit":       {with(good, func(f *stepFigures) { f.FilterLatencyMeanMs = 200 }), tuning.OK, ""},
		"latency above the limit": {with(good, func(f *stepFigures) { f.FilterLatencyMeanMs = 200.1 }), tuning.Fail,
			"200.1 ms is above 200 ms"},
		"latency fails an idle step": {with(idle, func(f *stepFigures) { f.FilterLatencyMeanMs = 900 }),
			tuning.Fail, "900 ms"},
		"results at the tolerance": {with(good, func(f *stepFigures) { f.AverageResultSize = 9.9 }), tuning.OK, ""},
		"results below it": {with(good, func(f *stepFigures) { f.AverageResultSize = 8.9 }), tuning.Fail,
			"8.9 records is below 9.9 records"},
		"a failed query": {with(good, func(f *stepFigures) { f.Failed = 1 }), tuning.Fail,
			"share of failed queries 2.44% is above 0%"},
		"latency unknown": {with(good, func(f *stepFigures) { f.FilterLatencyMeanMs = nan }),
			tuning.Inconclusive, "the mean filter latency was not measured"},
		"host idle unknown": {with(good, func(f *stepFigures) { f.HostIdle = nan }), tuning.Inconclusive,
			"the idle share of the host"},
		"nothing returned": {with(good, func(f *stepFigures) { f.AverageResultSize, f.Returned = nan, 0 }),
			tuning.Inconclusive, "the mean result size was not measured"},
		"unfinished queries": {with(good, func(f *stepFigures) { f.Unfinished = 3 }), tuning.Inconclusive,
			"3 queries had not ended"},
		"a starved host excuses a failure": {with(good, func(f *stepFigures) {
			f.HostIdle, f.FilterLatencyMeanMs = 0.04, 900
		}),
			tuning.Inconclusive, "only 4.0% of the host was idle"},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := c.figures.judge(tuning.NoEvidence())
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
	of := func(verdicts ...tuning.Verdict) []tuning.Verdict { return verdicts }
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
