package report_test

import (
	"encoding/json"
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

const sampleRun = "../runstore/testdata/sample"

// copied returns a copy of a run directory that a test may change.
func copied(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.CopyFS(dir, os.DirFS(from)))
	return dir
}

func TestTheReportOfARunsDirectory(t *testing.T) {
	r, err := report.OpenRunReport(sampleRun)
	require.NoError(t, err)
	out := t.TempDir()
	require.NoError(t, r.Write(out))
	for _, file := range []string{"report.html", "report.md", "report.json", "queries.csv",
		"figures/queries-latency.svg", "figures/queries-capacity.png", "figures/trial-01-timeline.svg"} {
		assert.FileExists(t, filepath.Join(out, file))
	}
	markdown, err := os.ReadFile(filepath.Join(out, "report.md"))
	require.NoError(t, err)
	for _, want := range []string{
		"# A made-up grid of filter bolts by queries (FAIL)",
		"| 1 filter bolts | FAIL | holds 40, fails at 80 | cannot tell | 300 (95%: 300 to 300) | 22% | 1 |",
		"| 2 filter bolts | OK | at least 80 | – | 300 (95%: 300 to 300) | 2.1% | 1 |",
		"| 4 filter bolts | inconclusive | not measured |",
		"- 1 filter bolts, 80 queries (FAIL): Mean filter latency 812.5 ms is above 200 ms. Average result size 8.40 is below 9.90: records were lost. Limiter unknown: no evidence was gathered.",
		"4 filter bolts could not be measured: the topology was not submitted: exit status 1.",
		"bullet.topology.filter.bolt.parallelism: 1",
		"| bullet.topology.filter.bolt.parallelism | 1 | 2 | 4 |",
		"| Java of the workers | 17.0.9 |",
	} {
		assert.Contains(t, string(markdown), want)
	}
	first, rest, _ := strings.Cut(string(markdown), "\n## ")
	for _, want := range []string{
		"\n\nLargest capacity: at least 80 simultaneous queries (2 filter bolts).\n\n- Not measured: 4 filter bolts.\n- Last OK: 2 filter bolts, 80 queries (mean filter latency 13 ms, mean result size 10 records).\n- 1 filter bolts, 80 queries: mean filter latency 812.5 ms is above 200 ms.\n",
		"](figures/queries-latency.svg)",
		"| Configuration | Verdict | Capacity, simultaneous queries | Limited by | Each query adds, ms/min of CPU | Host idle, minimum | Mean records/s |\n",
	} {
		assert.Contains(t, first, want, "on the first screen")
	}
	first, _, _ = strings.Cut(rest, "## Query scaling")
	for _, want := range []string{"Steps that were not OK", "## Data quality",
		"| Trial | Collection | Missing slices |"} {
		assert.Contains(t, first, want, "on the first page")
	}
	var decoded struct {
		Verdict  tuning.Verdict
		Rows     []struct{ Capacity tuning.Interval }
		Verdicts struct{ Queries *tuning.Queries } `json:"judged"`
	}
	data, err := os.ReadFile(filepath.Join(out, "report.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &decoded))
	assert.Equal(t, tuning.Fail, decoded.Verdict)
	assert.InDelta(t, 80, *decoded.Rows[0].Capacity.FirstFail, 0)
	assert.Len(t, decoded.Verdicts.Queries.Rows, 2)
}

// An interrupted run has no result, but its measurements are reported.
func TestAnInterruptedRunIsReported(t *testing.T) {
	dir := copied(t, sampleRun)
	require.NoError(t, os.Remove(filepath.Join(dir, runstore.ResultFile)))
	r, err := report.OpenRunReport(dir)
	require.NoError(t, err)
	assert.Equal(t, tuning.Inconclusive, r.Verdict)
	out := t.TempDir()
	require.NoError(t, r.Write(out))
	markdown, err := os.ReadFile(filepath.Join(out, "report.md"))
	require.NoError(t, err)
	assert.Contains(t, string(markdown), "continue it with bullet-metrics tune run --resume")
	assert.Contains(t, string(markdown), "812.5")
}

// A run without any measured step has an empty report.
func TestARunBeforeItsFirstStepIsReported(t *testing.T) {
	dir := copied(t, sampleRun)
	require.NoError(t, os.Remove(filepath.Join(dir, runstore.ResultFile)))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, runstore.TrialsDir)))
	require.NoError(t, os.WriteFile(filepath.Join(dir, runstore.ProgressFile), nil, 0o644))
	r, err := report.OpenRunReport(dir)
	require.NoError(t, err)
	require.NoError(t, r.Write(t.TempDir()))
}

func TestADirectoryThatIsNoRunIsAnError(t *testing.T) {
	_, err := report.OpenRunReport(t.TempDir())
	require.ErrorIs(t, err, runstore.ErrNoRun)
}
