package report_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// reported returns a run's report and the directory into which it was written.
func reported(t *testing.T, dir string) (*report.RunReport, string) {
	t.Helper()
	r, err := report.OpenRunReport(dir)
	require.NoError(t, err)
	out := t.TempDir()
	require.NoError(t, r.Write(out))
	return r, out
}

// asText converts values to text, because values with unknown figures (NaN) do not compare as equal.
func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(text)
}

// The CSV file of volumes has everything that was reported about the components. Its analysis gives the results of the
// run's report.
func TestDataOfARunIsReadBack(t *testing.T) {
	r, out := reported(t, asRun(t, runstore.OfData, runstore.RecordsPerSecond, test6(t)))
	table, rows, err := csvtable.Data(filepath.Join(out, "data.csv"), csvtable.CPUUnsaid)
	require.NoError(t, err)
	require.Len(t, rows, 6*4, "six volumes of four components")
	assert.Empty(t, table.Notes, "no column that is not used")
	assert.Equal(t, fmt.Sprint(r.Tables().Volumes), fmt.Sprint(rows))
	assert.Equal(t, []any{"DataSpout", 16, report.Figure(0.5), report.Figure(1024), report.Figure(192)},
		[]any{rows[0].Component.Name, rows[0].Component.Parallelism, rows[0].Component.CPUCoresEach,
			rows[0].Component.OnHeapMiB, rows[0].Component.OffHeapMiB})
	again, err := tuning.AnalyzeData(rows, tuning.DefaultConfidence)
	require.NoError(t, err)
	assert.Equal(t, asText(t, r.Results.Data), asText(t, again))
	assert.Equal(t, 12, again.AuditedTotals)
	assert.Empty(t, again.Audit, "all components are there, so the totals follow from them")
}

// If the topology reported nothing, the table has only volumes and no invented memory.
func TestDataOfARunThatReportedNoComponents(t *testing.T) {
	dir := asRun(t, runstore.OfData, runstore.RecordsPerSecond,
		[]column{{label: "one", cores: 3, memoryMiB: 100, cells: []cell{
			{value: 1000, latencyMs: 5, recordsPerS: 1001.5, mibPerS: 2, verdict: tuning.OK},
			{value: 2000, latencyMs: 900, recordsPerS: 1500, mibPerS: 3, verdict: tuning.Fail}}}})
	edited(t, dir, runstore.TrialsDir+"/01-one/run.json", func(run *runstore.Figures) { run.Requested = nil })
	r, err := report.OpenRunReport(dir)
	require.NoError(t, err)
	assert.Empty(t, r.Tables().Volumes, "neither requested nor used cores are known")

	edited(t, dir, runstore.TrialsDir+"/01-one/run.json", func(run *runstore.Figures) {
		run.Requested = &runstore.ResourceRequest{Components: []runstore.Component{{Name: "FilterBolt", Parallelism: 3,
			CPUCoresTotal: 3, OnHeapMiB: tuning.Unknown, OffHeapMiB: tuning.Unknown, MemoryMiB: tuning.Unknown}},
			Totals: tuning.StatedTotals{Parallelism: 3, CPUCores: 3, MemoryMiB: tuning.Unknown}}
	})
	r, out := reported(t, dir)
	_, rows, err := csvtable.Data(filepath.Join(out, "data.csv"), csvtable.CPUUnsaid)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	assert.Equal(t, 1001.5, rows[0].RecordsPerS)
	assert.False(t, report.Figure(rows[0].TotalMemoryMiB).Known(), "not 1 MiB, nor 0")
	again, err := tuning.AnalyzeData(rows, tuning.DefaultConfidence)
	require.NoError(t, err)
	assert.Equal(t, asText(t, r.Results.Data), asText(t, again))
}

// Points without information about the topology keep their verdicts. By their latency alone they would be OK.
func TestQueriesOfARunAreReadBack(t *testing.T) {
	columns := test7(t)
	spoilt := map[float64]tuning.Verdict{100: tuning.Limited, 120: tuning.Inconclusive, 140: tuning.Fail}
	for i := range columns[1].cells {
		if v, found := spoilt[columns[1].cells[i].value]; found {
			columns[1].cells[i].verdict = v // all three have latencies of 10 to 18 ms
		}
	}
	r, out := reported(t, asRun(t, runstore.OfQueries, runstore.Queries, columns))
	table, err := csvtable.Queries(filepath.Join(out, "queries.csv"))
	require.NoError(t, err)
	assert.Empty(t, table.Notes)
	assert.Equal(t, report.Figure(68_400), table.RecordsPerS)
	again, err := tuning.AnalyzeQueries(table.Points, r.Tables().QueryGoals)
	require.NoError(t, err)
	assert.Equal(t, asText(t, r.Results.Queries), asText(t, again))
	row := again.Rows[1]
	assert.Equal(t, []float64{80, 140}, []float64{*row.Capacity.LastOK, *row.Capacity.FirstFail},
		"140 queries failed for another reason than their latency")
	assert.Contains(t, again.Notes,
		"8 filter bolts: left out, because they say nothing about the topology: 100 queries (limited), 120 queries (inconclusive)")
}

func TestStepsOfARunAreReadBack(t *testing.T) {
	dir := asRun(t, runstore.OfConcurrency, runstore.Queries,
		[]column{{label: "one", cores: 3, memoryMiB: 100, cells: []cell{
			{value: 0, latencyMs: 5, recordsPerS: 1000, verdict: tuning.OK},
			{value: 100, latencyMs: 5, recordsPerS: 1000,
				verdict: tuning.OK},
			{value: 200, latencyMs: 5, recordsPerS: 1000, verdict: tuning.OK},
			{value: 300, latencyMs: 5, recordsPerS: 1000,
				verdict: tuning.Limited}}}})
	cpu := runstore.Slices{}
	for i := range 25 {
		put(&cpu, originMs+int64(i)*10_000, float64(7*i+i*i))
	}
	edited(t, dir, runstore.TrialsDir+"/01-one/run.json", func(run *runstore.Figures) {
		run.Workers = []runstore.Worker{{Name: "a:1", CPUSeconds: cpu, GCSeconds: cpu, HeapUsedBytes: cpu}}
	})
	r, out := reported(t, dir)
	_, rows, err := csvtable.Concurrency(filepath.Join(out, "concurrency-1.csv"))
	require.NoError(t, err)
	own := r.Tables().Concurrency[0]
	goals := tuning.DefaultGoals()
	goals.ExpectedResultSize, goals.Tolerance = float64(own.ExpectedResultSize), own.Tolerance()
	again, err := tuning.AnalyzeConcurrency(rows, goals, tuning.DefaultConfidence)
	require.NoError(t, err)
	assert.Equal(t, tuning.Limited, again.Steps[3].Verdict, "its answers were whole, and it says nothing all the same")
	reported := r.Results.Concurrency[0].Concurrency
	assert.Equal(t, asText(t, reported.Steps), asText(t, again.Steps))
	assert.Equal(t, reported.Capacity, again.Capacity)
	assert.Equal(t, reported.BaselineTotalCPUCores, again.BaselineTotalCPUCores)
	assert.Equal(t, reported.MarginalWhileComplete.Value, again.MarginalWhileComplete.Value)
	assert.Equal(t, []tuning.CostSource{tuning.FromClimb, ""}, []tuning.CostSource{reported.CostFrom, again.CostFrom})
}

// The document's Tests 6 and 7 as runs are in testdata, for the tests of commands and docs/tune/capacity.md. They must
// stay readable when the format of a run grows, and have the figures that such a run has today. UPDATE_GOLDEN=1 go test
// -run DocumentsRuns regenerates them.
func TestTheDocumentsRuns(t *testing.T) {
	for name, dir := range map[string]string{
		"test6": asRun(t, runstore.OfData, runstore.RecordsPerSecond, test6(t)),
		"test7": asRun(t, runstore.OfQueries, runstore.Queries, test7(t)),
	} {
		kept := filepath.Join("testdata", "runs", name)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			require.NoError(t, os.RemoveAll(kept))
			require.NoError(t, os.CopyFS(kept, os.DirFS(dir)))
		}
		then, err := report.OpenRunReport(kept)
		require.NoError(t, err)
		now, err := report.OpenRunReport(dir)
		require.NoError(t, err)
		assert.Equal(t, asText(t, now.Results), asText(t, then.Results),
			"type: UPDATE_GOLDEN=1 go test ./internal/lab/report -run DocumentsRuns")
	}
}
