package report_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
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

// climbOf returns a trial with cost steps and a climb that holds 100 and fails at 200. The steps of the climb are not
// in the order of their load. The step of 150 was limited by the load client.
func climbOf(limiter tuning.Limiter) column {
	c := mirrored(1.000, 1.030, 1.090, 1.080, 1.010, 0.970)
	for _, step := range []cell{{value: 200, cores: 1.7, verdict: tuning.Fail, limiter: limiter},
		{value: 150, cores: 1.4, verdict: tuning.Limited, limiter: tuning.LimitedByClient},
		{value: 100, cores: 1.6, verdict: tuning.OK}} {
		step.latencyMs, step.recordsPerS, step.mibPerS = 5, 1000, 1.8
		c.cells = append(c.cells, step)
	}
	return c
}

// The capacity is limited by what limited its first FAIL. Another step may have another limiter.
func TestTheLimiterIsThatOfTheFirstFail(t *testing.T) {
	for limiter, want := range map[tuning.Limiter]string{tuning.LimitedByGC: "limited by garbage collection",
		"": "the limiter is unknown, because evidence is missing or contradictory"} {
		r, page := written(t, asRun(t, runstore.OfConcurrency, runstore.Queries, []column{climbOf(limiter)}))
		assert.Contains(t, page, "\n\nCapacity: holds 100, fails at 200 simultaneous queries, "+want+".\n\n- Last OK: 100 queries.\n- First FAIL: 200 queries: ")
		assert.Contains(t, page, "\n- 150 queries: limited by the load client: it was full.\n", "with its own reason, in short")
		assert.Contains(t, r.Answer()[0], want)
		assert.Contains(t, section(t, page, "All configurations"),
			"| holds 100, fails at 200 | "+map[bool]string{true: "cannot tell", false: string(limiter)}[limiter == ""]+" |")
	}
}

// A FAIL that several launches share is named once.
func TestTheLeadNamesABoundOnce(t *testing.T) {
	one, other := climbOf(tuning.LimitedByGC), climbOf(tuning.LimitedByGC)
	other.repeatOf = 1
	_, page := written(t, asRun(t, runstore.OfConcurrency, runstore.Queries, []column{one, other}))
	lead, _, _ := strings.Cut(page, "\n![")
	assert.Equal(t, 1, strings.Count(lead, " 200 queries: "), lead)
	assert.Contains(t, lead, "\n- First FAIL: as it is (repeat 2), 200 queries: limited by garbage collection: it was full.\n")
}

// The first figure shows what the first lines state.
func TestTheFirstFigureShowsTheFirstLines(t *testing.T) {
	r, page := written(t, asRun(t, runstore.OfConcurrency, runstore.Queries, []column{climbOf(tuning.LimitedByGC)}))
	svg, err := r.Document().Main.SVG()
	require.NoError(t, err)
	cost := regexp.MustCompile(`Each query adds (.*) of CPU in the whole topology (\(95%: .*\))\.`).FindStringSubmatch(page)
	require.NotNil(t, cost, page)
	for _, want := range []string{"last OK: 100", "first FAIL: 200, limited by garbage collection",
		"each query adds " + cost[1] + " " + cost[2], "measured, cost steps", "other steps, not fitted (hollow: not OK)"} {
		assert.Contains(t, string(svg), ">"+want+"<")
	}
	dots := regexp.MustCompile(`<path d="M[^"]*A[^"]*"`).FindAllString(string(svg), -1)
	assert.Len(t, dots, 6+3+2, "each step once, and two in the legend")
}

// A cost that was refused has no line.
func TestTheFirstFigureHasNoRefusedLine(t *testing.T) {
	c := climbOf(tuning.LimitedByGC)
	c.cells = c.cells[6:]
	r, page := written(t, asRun(t, runstore.OfConcurrency, runstore.Queries, []column{c}))
	assert.Contains(t, page, "Cost per query not determined: ")
	for _, figure := range []string{"capacity", "concurrency-cpu"} {
		i := slices.IndexFunc(r.Document().Drawings(), func(f chart.Figure) bool { return f.Name == figure })
		require.GreaterOrEqual(t, i, 0)
		svg, err := r.Document().Drawings()[i].SVG()
		require.NoError(t, err)
		assert.Contains(t, string(svg), "measured")
		assert.NotContains(t, string(svg), "each query adds")
		assert.NotContains(t, string(svg), "least squares")
	}
}

// The first table is the climb in the order of its load. The cost steps are apart.
func TestTheClimbIsInTheOrderOfItsLoad(t *testing.T) {
	_, page := written(t, asRun(t, runstore.OfConcurrency, runstore.Queries, []column{climbOf(tuning.LimitedByGC)}))
	loads := func(text string) (all []string) {
		for _, row := range regexp.MustCompile(`(?m)^\| (\d.*?) \| `).FindAllStringSubmatch(text, -1) {
			all = append(all, row[1])
		}
		return all
	}
	lead, _, _ := strings.Cut(page, "\n## ")
	assert.Equal(t, []string{"100", "150", "200"}, loads(lead))
	climb, cost, _ := strings.Cut(section(t, page, "Steps"), "### Cost steps")
	assert.Equal(t, []string{"100", "150", "200"}, loads(climb))
	assert.Equal(t, []string{"0, for the cost", "0, for the cost", "20, for the cost", "20, for the cost",
		"60, for the cost", "60, for the cost"}, loads(cost))
}
