package report_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// The steps that bound the capacity are named with their reasons, and so is every other step that was not OK.
func TestTheLeadNamesTheStepsThatBoundTheCapacity(t *testing.T) {
	c := column{label: "as it is", memoryMiB: 100}
	for _, step := range []cell{{value: 50, latencyMs: 12, verdict: tuning.OK},
		{value: 100, latencyMs: 30, verdict: tuning.Inconclusive}, {value: 200, latencyMs: 201, verdict: tuning.Fail}} {
		step.cores, step.recordsPerS, step.mibPerS = 1, 1000, 1.8
		c.cells = append(c.cells, step)
	}
	_, page := written(t, asRun(t, runstore.OfConcurrency, runstore.Queries, []column{c}))
	lead, _, _ := strings.Cut(page, "\n## ")
	ok, fail, other := strings.Index(lead, "Last OK: 50 queries"), strings.Index(lead, "First FAIL: 200 queries: "),
		strings.Index(lead, "100 queries: ")
	assert.True(t, ok > 0 && fail > ok && other > fail, lead)
	assert.NotContains(t, lead, "more like it")
	assert.Contains(t, lead, "Capacity: holds 50, fails at 200 simultaneous queries, the limiter is unknown")
	assert.Contains(t, lead, "Cost per query not determined: only 1 of the capacity steps were OK")
}

// If no load held, the capacity still has a bound.
func TestTheLeadOfAFailureHasABound(t *testing.T) {
	c := column{label: "as it is", memoryMiB: 100, cells: []cell{{value: 50, latencyMs: 300, cores: 1,
		recordsPerS: 1000, mibPerS: 1.8, verdict: tuning.Fail}}}
	r, page := written(t, asRun(t, runstore.OfConcurrency, runstore.Queries, []column{c}))
	assert.Contains(t, page, "Capacity: below 50 simultaneous queries, ")
	assert.Contains(t, page, "Cost per query not determined: ")
	assert.Len(t, r.Answer(), 2, "the limiter and the cost")
}
