package tuning_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// tried returns attempts at the loads 100, 200 and so on.
func tried(verdicts ...tuning.Verdict) (steps []tuning.RunStep) {
	for i, v := range verdicts {
		steps = append(steps, tuning.RunStep{Value: float64(100 * (i + 1)), Verdict: v, HostIdle: tuning.Unknown})
	}
	return steps
}

func TestTheVerdictOfAConfiguration(t *testing.T) {
	capacity := func(least tuning.Figure) []tuning.Goal {
		return []tuning.Goal{{Figure: tuning.CapacityFigure, Statistic: tuning.AtEnd, AtMost: tuning.Unknown,
			AtLeast: least}}
	}
	const ok, fail, limited, unclear = tuning.OK, tuning.Fail, tuning.Limited, tuning.Inconclusive
	for name, c := range map[string]struct {
		rules tuning.RunRules
		steps []tuning.RunStep
		want  tuning.Verdict
		text  string
	}{
		"nothing was measured":         {tuning.RunRules{}, nil, unclear, "not measured"},
		"all goals were met":           {tuning.RunRules{}, tried(ok, ok), ok, "at least 200"},
		"a search found the capacity":  {tuning.RunRules{Searches: true}, tried(ok, fail), ok, "holds 100, fails at 200"},
		"a search ended too early":     {tuning.RunRules{Searches: true}, tried(ok, ok), unclear, "at least 200"},
		"nothing was held":             {tuning.RunRules{}, tried(fail, fail), fail, "below 100"},
		"a miss fails the run":         {tuning.RunRules{FailFails: true}, tried(ok, fail), fail, "holds 100, fails at 200"},
		"a step was not judged":        {tuning.RunRules{FailFails: true}, tried(ok, unclear), unclear, "at least 100"},
		"a search past such a step":    {tuning.RunRules{}, tried(ok, unclear, fail), ok, "holds 100, fails at 300"},
		"the load did not arrive":      {tuning.RunRules{}, tried(ok, limited), limited, "at least 100"},
		"the wanted capacity was held": {tuning.RunRules{Goals: capacity(200)}, tried(ok, ok, fail), ok, "holds 200, fails at 300"},
		"a smaller one failed":         {tuning.RunRules{Goals: capacity(300)}, tried(ok, ok, fail), fail, "holds 200, fails at 300"},
		"the goal lies between them":   {tuning.RunRules{Goals: capacity(250)}, tried(ok, ok, fail), unclear, "holds 200, fails at 300"},
		"attempts contradict each other": {tuning.RunRules{FailFails: true}, append(tried(ok, ok), tried(ok, fail)...), unclear,
			"at least 100"},
	} {
		got := c.rules.Judge(c.steps)
		assert.Equal(t, c.want, got.Verdict, name)
		assert.Equal(t, c.text, got.Capacity.Text(), name)
	}
}

// Two trials are judged by all their attempts together. Steps for the cost of a query say nothing about the capacity.
func TestTrialsAreJudgedTogether(t *testing.T) {
	forCost := tuning.RunStep{Value: 50, ForCost: true, Verdict: tuning.Fail, HostIdle: 0.02}
	first := append(tried(tuning.OK, tuning.Inconclusive), forCost)
	got := tuning.RunRules{}.Judge(first, tried(tuning.OK, tuning.OK, tuning.Fail))
	assert.Equal(t, "holds 200, fails at 300", got.Capacity.Text())
	assert.Empty(t, got.Capacity.Inconclusive, "the other launch decided it")
	assert.InDelta(t, 0.02, float64(got.LeastHostIdle), 0)
	assert.Equal(t, []string{tuning.UnknownLimiter}, got.Limiters, "no evidence was gathered for the FAIL")
}

func TestTheAttemptThatExplainsAStep(t *testing.T) {
	steps := append(tried(tuning.OK, tuning.Fail, tuning.Inconclusive), tried(tuning.Fail, tuning.OK, tuning.OK)...)
	steps = append(steps, tuning.RunStep{Value: 100, ForCost: true, Verdict: tuning.OK})
	assert.Equal(t, []int{3, 4, 5, 6}, tuning.LastAttempts(steps))
	assert.Equal(t, []int{3, 1, 5, 6}, tuning.Explained(steps), "a FAIL is explained although a later attempt was OK")
}

func TestAttemptsAreCombined(t *testing.T) {
	const ok, fail, unclear = tuning.OK, tuning.Fail, tuning.Inconclusive
	for _, c := range []struct {
		of   []tuning.Verdict
		want tuning.Verdict
	}{
		{nil, unclear}, {[]tuning.Verdict{ok}, ok}, {[]tuning.Verdict{ok, unclear, ok}, ok},
		{[]tuning.Verdict{unclear, fail}, fail}, {[]tuning.Verdict{ok, fail, ok}, unclear},
	} {
		assert.Equal(t, c.want, tuning.Combined(c.of), "%v", c.of)
	}
}

// Each limiter is named once, even if it limited one step alone and another step together with something else.
func TestALimiterIsNamedOnce(t *testing.T) {
	steps := tried(tuning.Fail, tuning.Fail, tuning.OK)
	steps[0].Limitation = &tuning.Limitation{Limiters: []tuning.Limiter{tuning.LimitedByHost}}
	steps[1].Limitation = &tuning.Limitation{Limiters: []tuning.Limiter{tuning.LimitedByGC, tuning.LimitedByHost}}
	steps[2].Limitation = &tuning.Limitation{Limiters: []tuning.Limiter{tuning.LimitedByClient}}
	assert.Equal(t, []string{"the host", "garbage collection"}, tuning.RunRules{}.Judge(steps).Limiters)
}
