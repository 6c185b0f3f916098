package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// People read these lines, so they must not contain the texts that table cells have for unknown limiters.
func TestTheAnswerNamesWhatLimited(t *testing.T) {
	for want, limiters := range map[string][]string{
		"  a: limited by filter CPU, GC": {"filter CPU", "cannot tell", "GC", "nothing"},
		"  a: limited by the host":       {"the host"},
		"  a: nothing was at its limit":  {"nothing"},
		"  a: the limiter is unknown, because evidence is missing or contradictory": {"nothing",
			"cannot tell"},
	} {
		r := RunReport{Rows: []RowReport{{Label: "a", RunJudgement: tuning.RunJudgement{Limiters: limiters}}}}
		assert.Equal(t, []string{want}, r.Answer(), "%q", limiters)
	}
}
