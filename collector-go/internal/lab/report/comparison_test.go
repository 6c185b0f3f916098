package report_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
)

// testFour writes the two runs of Test 4's story, with three launches each.
func testFour(t *testing.T) (before, after string) {
	t.Helper()
	before, after = filepath.Join(t.TempDir(), "little"), filepath.Join(t.TempDir(), "much")
	tellAll(t, before, "as it is", littleHeap, littleHeap.again(1), littleHeap.again(2))
	tellAll(t, after, "as it is", muchHeap, muchHeap.again(1), muchHeap.again(2))
	return before, after
}

func figureOf(t *testing.T, s compare.StepChange, name string) compare.FigureChange {
	t.Helper()
	for _, f := range s.Figures {
		if f.Name == name {
			return f
		}
	}
	require.Failf(t, "no figure", "%s has no %q", s.Name, name)
	return compare.FigureChange{}
}

// storyLines is the diff of Test 4's story: the heap of the filter bolts, and the heap of the workers in effect.
var storyLines = []string{
	"- bullet.topology.filter.bolt.memory.on.heap.load: 384", "+ bullet.topology.filter.bolt.memory.on.heap.load: 1024",
	"- worker.heap_flags: -Xmx4096m", "+ worker.heap_flags: -Xmx3072m", "- worker.heap_limit: 4096 MiB",
	"+ worker.heap_limit: 3072 MiB",
}

// Test 4's story: a larger heap for the filter bolts reduces garbage collection and with it CPU. More and smaller
// workers lower the mean of a worker by more than they lower the total cost.
func TestTheStoryOfTest4(t *testing.T) {
	before, after := testFour(t)
	c, err := report.Compare(before, after, 0.95)
	require.NoError(t, err)
	require.Len(t, c.Configurations, 1)
	p := c.Configurations[0]
	assert.Equal(t, storyLines, p.Lines)
	assert.Empty(t, p.Moved, "a heap is none of the eight")
	assert.Equal(t, []tuning.Variable{tuning.ClusterLoad}, p.Undetermined)

	require.Len(t, p.Steps, 4)
	for _, s := range p.Steps {
		total, mean, gc := figureOf(t, s, "CPU of all workers"), figureOf(t, s, "CPU, mean of a worker"),
			figureOf(t, s, "GC of all workers")
		truth := littleHeap.total(int(s.Value)) * 60_000
		now := muchHeap.total(int(s.Value)) * 60_000
		assert.InEpsilon(t, truth, float64(total.Before), 0.05)
		assert.True(t, total.Clear && total.Change.Low <= tuning.Figure(now-truth) &&
			tuning.Figure(now-truth) <= total.Change.High, "%s: %v holds %g", s.Name, total.Change, now-truth)
		assert.Less(t, float64(total.Change.High-total.Change.Low), 0.15*truth, "an interval that means something")
		assert.Less(t, mean.Ratio.Value, total.Ratio.Value-0.2, "the mean falls by more than the cost")
		workers := figureOf(t, s, "workers")
		assert.Equal(t, []tuning.Figure{5, 8}, []tuning.Figure{workers.Before, workers.After})
		assert.True(t, gc.Clear && gc.Ratio.High < -0.8, "%v", gc.Ratio)
	}
	last := p.Steps[3]
	assert.Equal(t, []tuning.Verdict{tuning.Fail, tuning.OK}, []tuning.Verdict{last.VerdictBefore, last.VerdictAfter})
	size := figureOf(t, last, "result size")
	assert.InDelta(t, 8.9, float64(size.Before), 0.1)
	assert.True(t, size.Clear && size.Change.Low > 0, "%v", size.Change)
	assert.False(t, figureOf(t, p.Steps[1], "result size").Clear, "both were whole")

	require.Len(t, p.GC, 4)
	assert.InDelta(t, 0.25, float64(p.GC[0].Before.ShareOfCPU), 0.02)
	assert.InDelta(t, 0.04, float64(p.GC[0].After.ShareOfCPU), 0.02)
	assert.True(t, p.GCBefore.WithCPU.Value.Known())
	assert.Equal(t, compare.NoneProven, c.Comparison.Guard(0.05).Verdict)
	back, err := report.Compare(after, before, 0.95)
	require.NoError(t, err)
	worse := back.Comparison.Guard(0.05)
	assert.Equal(t, compare.Regressed, worse.Verdict)
	back.Guard = &worse
	assert.Contains(t, back.Document().Text(), "Guard at 5.0%: regression of ")
}

func TestAComparisonIsWrittenOut(t *testing.T) {
	before, after := testFour(t)
	c, err := report.Compare(before, after, 0.95)
	require.NoError(t, err)
	a := c.Document()
	text := a.Text()
	for _, want := range []string{"3 values differ, but none of the eight controlled variables",
		"bullet.topology.filter.bolt.memory.on.heap.load", "CPU of all workers -2", "G1 Young Generation",
		"the same", "cores"} {
		assert.Contains(t, text, want)
	}
	assert.Contains(t, text, "\nConfiguration diff\n  "+strings.Join(storyLines, "\n  ")+
		"\n\nDifferences by controlled variable\n")
	assert.Contains(t, a.Markdown(""), "\n## Configuration diff\n\n```diff\n"+strings.Join(storyLines, "\n")+"\n```\n")
	assert.Contains(t, text, "one of the runs does not state them: how free the cluster is.")
	out := t.TempDir()
	if dir := os.Getenv("REPORT_OUT"); dir != "" {
		out = filepath.Join(dir, "compare")
		require.NoError(t, os.MkdirAll(out, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(out, "compare.txt"), []byte(text), 0o644))
	}
	require.NoError(t, chart.WriteFigures(a.Drawings(), out))
	if os.Getenv("UPDATE_IMAGES") != "" {
		drawn, err := os.ReadFile(filepath.Join(out, "overlay.svg"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("../../../../docs/images/overlay.svg", drawn, 0o644))
	}
	for _, name := range []string{"changes.svg", "overlay.png"} {
		assert.FileExists(t, filepath.Join(out, name))
	}
	data, err := json.Marshal(c)
	require.NoError(t, err)
	var decoded struct{ Configurations []struct{ Lines []string } }
	require.NoError(t, json.Unmarshal(data, &decoded))
	assert.Equal(t, storyLines, decoded.Configurations[0].Lines)
}

// A figure with one launch on a side has no interval, and a note gives the reason.
func TestOneLaunchASideHasNoIntervals(t *testing.T) {
	before, after := testFour(t)
	c, err := report.Compare(before+"/trials/01-as-it-is", after+"/trials/01-as-it-is", 0.95)
	require.NoError(t, err)
	for _, s := range c.Configurations[0].Steps {
		for _, f := range s.Figures {
			assert.False(t, f.Clear || f.Change.Low.Known(), "%s, %s: %v", s.Name, f.Name, f.Difference)
		}
	}
	assert.Contains(t, c.Document().Text(),
		"only one launch each: the variation between launches is unknown")
}

// Configurations that were measured at different values are compared at the common ones. This does not count as a
// change of a variable.
func TestOtherStepsMoveNothing(t *testing.T) {
	before, after := testFour(t)
	edited(t, after, runstore.PlanFile, func(plan *runstore.Plan) {
		plan.Trials[0].Steps = append(plan.Trials[0].Steps, runstore.PlannedStep{Kind: runstore.LoadStep, Value: 735})
	})
	c, err := report.Compare(before, after, 0.95)
	require.NoError(t, err)
	assert.Contains(t, c.Configurations[0].Lines, "+ steps.values: 0, 100, 200, 300, 735")
	assert.Empty(t, c.Configurations[0].Moved)
}

// edited changes a JSON file of a run directory.
func edited[T any](t *testing.T, dir, file string, change func(*T)) {
	t.Helper()
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	value := new(T)
	require.NoError(t, json.Unmarshal(text, value))
	change(value)
	text, err = json.Marshal(value)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text, 0o644))
}

// Each row says, in every output format, whether the two intervals can contain the same capacity.
func TestCapacitiesAreCompared(t *testing.T) {
	before, after := testFour(t)
	for name, c := range map[string]struct {
		before, after, cell, says string
		overlap                   bool
	}{
		"another": {before, after, "| as it is | holds 200, fails at 300 | at least 300 | queries | no |",
			"Capacity: holds 200, fails at 300 before, at least 300 after (queries); the intervals do not overlap, so the capacity changed.",
			false},
		"the same": {before, before, "| as it is | holds 200, fails at 300 | holds 200, fails at 300 | queries | yes |",
			"Capacity: holds 200, fails at 300 before, holds 200, fails at 300 after (queries); the intervals overlap, so the capacity may be the same.",
			true},
	} {
		t.Run(name, func(t *testing.T) {
			compared, err := report.Compare(c.before, c.after, 0.95)
			require.NoError(t, err)
			a := compared.Document()
			assert.Contains(t, a.Text(), c.says)
			assert.Contains(t, a.Text(), "Intervals overlap")
			assert.Contains(t, a.Markdown(""), c.says)
			assert.Contains(t, a.Markdown(""), c.cell)
			data, err := json.Marshal(compared)
			require.NoError(t, err)
			var decoded struct {
				Configurations []struct {
					Capacity struct {
						Overlap *bool `json:"intervals_overlap"`
						Before  tuning.Interval
					}
				}
			}
			require.NoError(t, json.Unmarshal(data, &decoded))
			require.NotNil(t, decoded.Configurations[0].Capacity.Overlap)
			assert.Equal(t, c.overlap, *decoded.Configurations[0].Capacity.Overlap)
			assert.InDelta(t, 200, *decoded.Configurations[0].Capacity.Before.LastOK, 0)
		})
	}
}

// A run that is compared with itself has no changes.
func TestARunAgainstItselfIsTheSame(t *testing.T) {
	before, _ := testFour(t)
	c, err := report.Compare(before, before, 0.95)
	require.NoError(t, err)
	assert.Empty(t, c.Configurations[0].Changes)
	for _, s := range c.Configurations[0].Steps {
		for _, f := range s.Figures {
			assert.False(t, f.Clear, "%s, %s: %v", s.Name, f.Name, f.Difference)
		}
	}
}

// Two configurations of one run can be compared by the directories of their trials.
func TestTrialsOfOneRunAreCompared(t *testing.T) {
	trials := sampleRun + "/trials"
	c, err := report.Compare(trials+"/01-1-filter-bolts", trials+"/02-2-filter-bolts", 0.95)
	require.NoError(t, err)
	p := c.Configurations[0]
	assert.Equal(t, []tuning.Variable{tuning.Parallelism}, p.Moved)
	require.Len(t, p.Steps, 4)
	assert.Equal(t, []tuning.Verdict{tuning.Fail, tuning.OK},
		[]tuning.Verdict{p.Steps[3].VerdictBefore, p.Steps[3].VerdictAfter})
}

func TestATrialThatIsNotThereIsNamedWithThoseThatAre(t *testing.T) {
	trials := sampleRun + "/trials"
	_, err := report.Compare(trials+"/01-1", trials+"/02-2-filter-bolts", 0.95)
	require.ErrorContains(t, err, `the run has no trial "01-1"; it has 01-1-filter-bolts, 02-2-filter-bolts`)
}

func TestRunsWithNothingInCommonAreAnError(t *testing.T) {
	before, _ := testFour(t)
	_, err := report.Compare(before, sampleRun, 0.95)
	require.ErrorContains(t, err, "no configuration in common")
	_, err = report.Compare(before, t.TempDir(), 0.95)
	require.ErrorContains(t, err, "not a run directory")
}

// The documentation of comparisons shows the output for the sample runs.
func TestTheComparisonPageIsTrue(t *testing.T) {
	before, after := testFour(t)
	c, err := report.Compare(before, after, 0.95)
	require.NoError(t, err)
	page, err := os.ReadFile("../../../../docs/tune/compare.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "```\n100 queries\n")
	require.True(t, found)
	block, _, _ = strings.Cut(block, "```")
	assert.Contains(t, c.Document().Text(), "100 queries\n"+block)
}
