package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// again returns another launch of a story's configuration.
func (s story) again(repeat int) story {
	s.repeat, s.startMs = repeat, s.startMs+int64(repeat)*10_000_000
	return s
}

// The report of a run with Test 4's two configurations compares them.
func TestARunComparesItsConfigurations(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	tellAll(t, dir, "", littleHeap, muchHeap)
	r, text := written(t, dir)
	require.Len(t, r.Compared, 1)
	c := r.Compared[0]
	assert.Equal(t, []string{"384 MiB", "1024 MiB"}, []string{c.Before, c.After})
	assert.Equal(t, storyLines, c.Lines)
	for _, want := range []string{
		"## 1024 MiB against 384 MiB", "Before: 384 MiB. After: 1024 MiB. Both are configurations of this run.",
		"| bullet.topology.filter.bolt.memory.on.heap.load | 384 | 1024 | – |", "\n```diff\n" +
			strings.Join(storyLines, "\n") + "\n```\n",
		"| 0 queries | CPU of all workers | ms/min |", "| GC of all workers | ms/min |",
		"| heap used, all workers | MiB |", "| heap used, mean of a worker | MiB |",
		"| 100 queries | G1 Young Generation |", "GC time is the wall time of pauses", "figures/changes-1024-MiB.svg",
		"Only one launch each: the variation between launches is unknown, so there are no confidence intervals.",
	} {
		assert.Contains(t, text, want)
	}
	all, mean := figureOf(t, c.Steps[0], "heap used, all workers"),
		figureOf(t, c.Steps[0], "heap used, mean of a worker")
	assert.InDelta(t, 5*float64(mean.Before), float64(all.Before), 1)
	assert.InDelta(t, 8*float64(mean.After), float64(all.After), 1)
	assert.NotContains(t, text, "could not be compared")
}

// The cost of a query is compared over the steps that were OK, and not with the slices of one launch alone.
func TestTheCostOfAQueryIsCompared(t *testing.T) {
	before, after := filepath.Join(t.TempDir(), "little"), filepath.Join(t.TempDir(), "much")
	tellAll(t, before, "as it is", littleHeap, littleHeap.again(1), littleHeap.again(2))
	tellAll(t, after, "as it is", muchHeap, muchHeap.again(1), muchHeap.again(2))
	c, err := report.Compare(before, after, 0.95)
	require.NoError(t, err)
	p := c.Configurations[0]
	require.Len(t, p.Marginal, 2)
	total := p.Marginal[0]
	// Each query adds perQuery / (1 - gc) cores.
	truth := func(s story) float64 { return s.perQuery / (1 - s.gc) * 60_000 }
	assert.InEpsilon(t, truth(littleHeap), float64(total.Before), 0.1)
	assert.InEpsilon(t, truth(muchHeap), float64(total.After), 0.1)
	change := tuning.Figure(truth(muchHeap) - truth(littleHeap))
	assert.True(t, total.Change.Low <= change && change <= total.Change.High, "%v holds %g", total.Change, change)
	text := c.Document().Text()
	assert.Contains(t, text, "Cost per query")
	assert.Contains(t, text, "CPU that a query adds, all workers: before ")

	assert.Len(t, p.GCBefore.Steps, 3*4, "of all launches")
	alone, err := report.Compare(before+"/trials/01-as-it-is", after+"/trials/01-as-it-is", 0.95)
	require.NoError(t, err)
	one, three := alone.Configurations[0].GCBefore.WithCPU, p.GCBefore.WithCPU
	assert.False(t, one.Low.Known(), "too few slices for an interval: %v", one)
	assert.True(t, three.Low.Known() && three.High.Known(), "three launches have enough: %v", three)
}

// A run about queries per core states the cost of a query, too.
func TestQueriesPerCoreComeWithTheCostOfAQuery(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	tellAll(t, dir, "as it is", littleHeap, littleHeap.again(1))
	plan, err := os.ReadFile(filepath.Join(dir, runstore.PlanFile))
	require.NoError(t, err)
	require.Contains(t, string(plan), `"analysis": "concurrency"`)
	plan = []byte(strings.Replace(string(plan), `"analysis": "concurrency"`, `"analysis": "queries"`, 1))
	require.NoError(t, os.WriteFile(filepath.Join(dir, runstore.PlanFile), plan, 0o644))
	r, text := written(t, dir)
	assert.Contains(t, text, "## Query scaling at a filter latency")
	assert.Contains(t, text, "## Cost per query")
	assert.Contains(t, text, "figures/cost-cpu.svg")
	assert.Empty(t, r.Results.Concurrency)
	require.Len(t, r.Results.Costs, 1)
	c := r.Results.Costs[0]
	assert.Equal(t, 2*3, c.TotalFitWhileComplete.Points, "three steps that were OK, two launches")
	assert.InEpsilon(t, littleHeap.total(0)*60_000, float64(c.BaselineTotalCPUMsPerMinute), 0.05)
	assert.InEpsilon(t, 5*float64(c.Steps[0].AverageGCMsPerMinute), float64(c.Steps[0].TotalGCMsPerMinute), 1e-9)

	a := report.OfCost(c.Concurrency).Text()
	assert.Contains(t, a, "Baseline without queries: ")
	assert.Contains(t, a, " ms/min in the whole topology (")
	assert.Contains(t, a, "In the whole topology, each query adds: ")
	assert.Equal(t, tuning.FromClimb, c.CostFrom)
	assert.Contains(t, a, "Total GC ms/min")
	assert.NotContains(t, a, "A step is OK if")
}

// Configurations without a common step, such as the smallest and the largest of Test 7, are distinguished only by their
// settings.
func TestConfigurationsWithoutACommonStepHaveNoPictureOfChanges(t *testing.T) {
	r, err := report.OpenRunReport("testdata/runs/test7")
	require.NoError(t, err)
	require.Len(t, r.Compared, 2)
	common, apart := r.Compared[0].Document(), r.Compared[1].Document()
	assert.Len(t, common.Figures, 1)
	assert.NotContains(t, strings.Join(common.Findings, "\n"), "in both")
	assert.Empty(t, apart.Figures)
	assert.Contains(t, apart.Findings, "No figures are compared, because no step was measured in both configurations.")
}
