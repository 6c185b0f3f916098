package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// The document's Tests 6 and 7 as runs.
const (
	run6 = "../../internal/lab/report/testdata/runs/test6"
	run7 = "../../internal/lab/report/testdata/runs/test7"
)

// A run states what its tables say.
func TestARunIsJudgedAsItsTable(t *testing.T) {
	for _, c := range []struct{ analysis, run, table string }{
		{"data", run6, "data-scaling-test6.csv"}, {"queries", run7, "query-scaling-test7.csv"},
		{"scaling", run6, "data-scaling-test6.csv"},
	} {
		t.Run(c.analysis, func(t *testing.T) {
			run, table := asJSON(t, "analyze", c.analysis, "--input", c.run),
				asJSON(t, "analyze", c.analysis, "--input", documents+c.table)
			part := map[string]string{"data": "fits", "queries": "fit", "scaling": "rows"}[c.analysis]
			assert.Equal(t, at(t, table, part), at(t, run, part))
			if c.analysis == "data" {
				assert.Empty(t, at(t, run, "audit"), "a run has all components, the document's table has not")
			}
		})
	}
}

// Runs size as their tables do, and need no flags for what they know: the limit, and the record rate of the queries.
func TestSizeFromRuns(t *testing.T) {
	load := []string{"size", "--records-per-s", "300000", "--queries", "400", "--from"}
	runs := asJSON(t, append(load, run6+","+run7)...)
	files := asJSON(t, append(load, documents+"data-scaling-test6.csv,"+documents+"query-scaling-test7.csv",
		"--query-records-per-s", "68400", "--limit", "200ms")...)
	for _, same := range []string{"filter_bolts_for_records", "filter_bolts_for_queries", "cpu_cores", "memory_mib",
		"machines", "limit_ms"} {
		assert.Equal(t, at(t, files, same), at(t, runs, same), same)
	}
	yaml := at(t, runs, "yaml")
	assert.Contains(t, yaml, "bullet.topology.dsl.spout.parallelism: 47  # 30 to 71; parallelism over records/s")
	assert.Contains(t, yaml, "bullet.topology.dsl.bolt.memory.off.heap.load: 192.0")
	assert.NotContains(t, yaml, "record rate of the query test is unknown")

	mixed := asJSON(t, append(load, run6, documents+"query-scaling-test7.csv", "--query-records-per-s", "68400")...)
	assert.Equal(t, at(t, runs, "filter_bolts_for_queries"), at(t, mixed, "filter_bolts_for_queries"),
		"a run beside a file")
	stricter := asJSON(t, append(load[:4:4], "20", "--from", run6+","+run7, "--limit", "15ms")...)
	assert.Equal(t, 15.0, stricter["limit_ms"], "the command line's own")
}

func TestResourcesOfARun(t *testing.T) {
	got := asJSON(t, "analyze", "resources", "--input", run7+"/trials/02-8-filter-bolts")
	assert.Equal(t, 82.3, at(t, got, "totals", "cpu_cores"))
	assert.Empty(t, at(t, got, "audit"))
	_, err := tune(t, "analyze", "resources", "--input", run7)
	require.ErrorContains(t, err,
		"is a run of 3 configurations; choose one by naming the directory of one of its trials: "+
			filepath.Join(run7, "trials", "01-4-filter-bolts"))
}

// A trial's directory is its run with that trial alone, to every analysis.
func TestATrialIsARunOfItsOwn(t *testing.T) {
	of := func(dir string) int {
		return len(at(t, asJSON(t, "analyze", "queries", "--input", dir), "rows").([]any))
	}
	assert.Equal(t, 3, of(run7))
	assert.Equal(t, 1, of(run7+"/trials/02-8-filter-bolts"))
}

// failing is a copy of a run of which no step was OK.
func failing(t *testing.T, run string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "failing")
	require.NoError(t, os.CopyFS(dir, os.DirFS(run)))
	progress, err := os.ReadFile(filepath.Join(dir, runstore.ProgressFile))
	require.NoError(t, err)
	steps, err := filepath.Glob(filepath.Join(dir, runstore.TrialsDir, "*", runstore.StepsDir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, steps)
	sum := func(text []byte) []byte { return fmt.Appendf(nil, "%x", sha256.Sum256(text)) }
	for _, step := range steps {
		was, err := os.ReadFile(step)
		require.NoError(t, err)
		is := bytes.ReplaceAll(was, []byte(`"verdict": "OK"`), []byte(`"verdict": "inconclusive"`))
		progress = bytes.ReplaceAll(progress, sum(was), sum(is))
		require.NoError(t, os.WriteFile(step, is, 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, runstore.ProgressFile), progress, 0o644))
	return dir
}

func TestRunsThatHaveNotWhatIsAskedFor(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.CopyFS(empty, os.DirFS(run6)))
	for _, name := range []string{runstore.TrialsDir, runstore.ResultFile} {
		require.NoError(t, os.RemoveAll(filepath.Join(empty, name)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(empty, runstore.ProgressFile), nil, 0o644))
	damaged := filepath.Join(t.TempDir(), "damaged")
	require.NoError(t, os.CopyFS(damaged, os.DirFS(run6)))
	require.NoError(t, os.WriteFile(filepath.Join(damaged, runstore.TrialsDir, "01-for-69700", runstore.StepsDir,
		"01.json"), []byte("{}"), 0o644))
	load := []string{"size", "--records-per-s", "300000", "--queries", "400", "--from"}
	for name, c := range map[string]struct {
		args []string
		says []string
		code int
	}{
		"no run": {[]string{"analyze", "queries", "--input", t.TempDir()},
			[]string{"is not a run directory, because it has no experiment.yaml",
				"name a CSV file or an output directory of tune run"}, exitFailed},
		"of queries": {[]string{"analyze", "data", "--input", run7},
			[]string{"is a run of experiment document (analysis: queries) and has filter bolts by queries but no data volumes",
				"name a run with analysis: data"}, exitFailed},
		"of volumes": {[]string{"analyze", "concurrency", "--input", run6},
			[]string{"(analysis: data) and has data volumes but no simultaneous queries"}, exitFailed},
		"of one, scaling": {[]string{"analyze", "scaling", "--input", run7}, []string{"but no data volumes"},
			exitFailed},
		"nothing measured": {[]string{"analyze", "data", "--input", empty},
			[]string{"no step of the run was measured", "tune run --resume " + empty}, exitFailed},
		"a damaged step": {[]string{"analyze", "data", "--input", damaged}, []string{"was changed: its SHA-256"},
			exitFailed},
		"no components": {[]string{"analyze", "resources", "--input", sampleRun},
			[]string{"the resource request of the topologies is unknown"}, exitFailed},
		"size, one of two": {append(load, run6), []string{"has no table of filter bolts by queries",
			"or a run with analysis: queries (Test 7)"}, exitUsage},
		"size, two of one": {append(load, run7, run7), []string{"are both tables of filter bolts by queries"},
			exitUsage},
		"no step was OK": {[]string{"analyze", "data", "--input", failing(t, run6)},
			[]string{"no configuration of the run held any of its loads (steps: 5 FAIL, 11 inconclusive)",
				"tune report"}, exitFailed},
		"size, none was OK": {append(load, run6, failing(t, run7)),
			[]string{"held any of its loads (steps: 6 FAIL, 16 inconclusive)"}, exitFailed},
		"size, below all": {append(load, run6, run7, "--limit", "1ms"),
			[]string{"every measured point is above the limit of 1 ms"}, exitFailed},
		"size, nothing yet": {append(load, empty, run7), []string{"no step of the run was measured"}, exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := tune(t, c.args...)
			require.Error(t, err)
			assert.Empty(t, out)
			for _, say := range c.says {
				assert.ErrorContains(t, err, say)
			}
			assert.Equal(t, c.code, code(err))
		})
	}
}
