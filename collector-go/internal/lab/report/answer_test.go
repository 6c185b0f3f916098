package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// A person reads these lines: what is written into a cell where no limiter is known makes no sentence.
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

// Each limiter is named once, also where it limited one step alone and another together with something else.
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
