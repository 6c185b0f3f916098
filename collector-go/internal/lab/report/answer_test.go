package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// People read these lines, so they must not contain the texts that table cells have for unknown limiters.
func TestTheAnswerNamesWhatLimited(t *testing.T) {
	for want, limiters := range map[string][]string{
		"  a: limited by filter CPU, GC": {"filter CPU", "cannot tell", "GC", "nothing"},
		"  a: limited by the host":       {"the host"},
		"  a: nothing was at its limit":  {"nothing"},
		"  a: what limited it is not known: evidence is missing or contradicts itself; the report names it": {"nothing",
			"cannot tell"},
	} {
		r := RunReport{Rows: []RowReport{{Label: "a", Limiters: limiters}}}
		assert.Equal(t, []string{want}, r.Answer(), "%q", limiters)
	}
}

// Each limiter is named once, even if it limited one step alone and another step together with something else.
func TestALimiterIsNamedOnce(t *testing.T) {
	step := func(value float64, by ...tuning.Limiter) TrialStep {
		l := tuning.Limitation{Limiters: by}
		return TrialStep{Step: runstore.Step{Value: value, StartMs: int64(value), Verdict: tuning.Fail, Limitation: &l}}
	}
	row := RowReport{}
	row.add(TrialReport{Steps: []TrialStep{step(1, tuning.LimitedByHost),
		step(2, tuning.LimitedByGC, tuning.LimitedByHost)}})
	assert.Equal(t, []string{"the host", "garbage collection"}, row.Limiters)
}
