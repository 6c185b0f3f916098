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
}
