package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A person reads these lines: what is written into a cell where no limiter is known makes no sentence.
func TestTheAnswerNamesWhatLimited(t *testing.T) {
	for want, limiters := range map[string][]string{
		"  a: limited by filter CPU, GC": {"filter CPU", "cannot tell", "GC", "nothing"},
		"  a: limited by the host":       {"the host"},
		"  a: nothing was at its limit":  {"nothing"},
		"  a: what limited it is not known: evidence is missing or contradicts itself; the report names it": {"nothing", "cannot tell"},
	} {
		r := RunReport{Rows: []RowReport{{Label: "a", Limiters: limiters}}}
		assert.Equal(t, []string{want}, r.Answer(), "%q", limiters)
	}
}
