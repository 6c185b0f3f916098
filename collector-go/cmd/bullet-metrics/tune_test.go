package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documents is where the document's own tables are.
const documents = "../../internal/lab/csvtable/testdata/document/"

// tune runs a command of tune as a shell would, and gives what it wrote and the exit code.
func tune(t *testing.T, args ...string) (out string, failure error) {
	t.Helper()
	root := newRootCommand()
	var written bytes.Buffer
	root.SetOut(&written)
	root.SetArgs(append([]string{"tune"}, args...))
	err := root.ExecuteContext(t.Context())
	return written.String(), err
}

func code(err error) int {
	if err == nil {
		return exitDone
	}
	return exitCode(err)
}

// asJSON is a command's result; the numbers are float64.
func asJSON(t *testing.T, args ...string) map[string]any {
	t.Helper()
	out, err := tune(t, append(args, "--output", "json")...)
	require.NoError(t, err)
	var result map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &result), out)
	return result
}

// at walks into a result: keys and indices.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch key := step.(type) {
		case string:
			object, ok := v.(map[string]any)
			require.True(t, ok, "%v is no object", v)
			require.Contains(t, object, key)
			v = object[key]
		case int:
			v = v.([]any)[key]
		}
	}
	return v
}

func TestResourcesOfTheDocument(t *testing.T) {
	got := asJSON(t, "analyze", "resources", "--input", documents+"resources-test1-3.csv")
	assert.Equal(t, map[string]any{"parallelism": 455.0, "cpu_cores": 219.5, "total_memory_mib": 170496.0},
		got["totals"])
	assert.Equal(t, 5.0, got["machines"])
	assert.Equal(t, "cpu", got["limiting"])
	assert.Equal(t, []any{}, got["audit"])
	assert.Equal(t, 11.0, got["audited_totals"])

	got = asJSON(t, "analyze", "resources", "--input", documents+"resources-test1-3.csv",
		"--memory-per-machine-mib", "20000")
	assert.Equal(t, "memory", got["limiting"])
	assert.Equal(t, 9.0, got["machines"])
}

func TestMaxSpoutPendingOfTheDocument(t *testing.T) {
	got := asJSON(t, "analyze", "resources", "--input", documents+"resources-test1-3.csv", "--batch-size", "500",
		"--max-spout-pending", "30", "--kafka-partitions", "60")
	assert.Equal(t, 15_000.0, at(t, got, "spouts", "records_per_spout"))
	assert.Equal(t, 960_000.0, at(t, got, "spouts", "records_in_all"))
	assert.Equal(t, 2.0, at(t, got, "spouts", "filter_bolts_per_spout"))
	assert.Contains(t, at(t, got, "spouts", "warnings", 0), "4 of them have no partition")
}

func TestConcurrencyOfTheDocument(t *testing.T) {
	got := asJSON(t, "analyze", "concurrency", "--input", documents+"concurrency-test3.csv", "--expected", "10")
	var verdicts []any
	for _, step := range got["steps"].([]any) {
		verdicts = append(verdicts, at(t, step, "verdict"))
	}
	assert.Equal(t, []any{"baseline", "OK", "OK", "FAIL", "FAIL"}, verdicts)
	assert.Equal(t, 200.0, at(t, got, "capacity", "last_ok"))
	assert.Equal(t, 300.0, at(t, got, "capacity", "first_fail"))
	assert.Equal(t, 90_000.0, got["baseline_cpu_ms_per_minute"])
	assert.InDelta(t, 460, at(t, got, "marginal_cpu_ms_per_minute_per_query", "value"), 1e-9)
	assert.InDelta(t, 396.35, at(t, got, "marginal_cpu_ms_per_minute_per_query", "low"), 0.01)
	assert.InDelta(t, 523.65, at(t, got, "marginal_cpu_ms_per_minute_per_query", "high"), 0.01)

	got = asJSON(t, "analyze", "concurrency", "--input", documents+"concurrency-test4.csv", "--expected", "10")
	assert.Equal(t, 735.0, at(t, got, "capacity", "last_ok"))
	assert.Equal(t, 800.0, at(t, got, "capacity", "first_fail"))
}

func TestQueriesOfTheDocument(t *testing.T) {
	got := asJSON(t, "analyze", "queries", "--input", documents+"query-scaling-test7.csv", "--limit", "200ms")
	for i, want := range []struct{ bolts, last, first, knee, recommended float64 }{{4, 50, 60, 40, 32},
		{8, 140, 160, 140, 112}, {20, 500, 550, 500, 400}} {
		row := at(t, got, "rows", i)
		assert.Equal(t, want.bolts, at(t, row, "filter_bolts"))
		assert.Equal(t, want.last, at(t, row, "capacity", "last_ok"))
		assert.Equal(t, want.first, at(t, row, "capacity", "first_fail"))
		assert.Equal(t, false, at(t, row, "capacity", "censored"))
		assert.Equal(t, map[string]any{"queries": want.knee, "stable": true}, at(t, row, "knee"))
		assert.Equal(t, want.recommended, at(t, row, "recommended_queries"))
	}
	assert.InDelta(t, 28.680, at(t, got, "fit", "queries_per_core"), 0.001)
	assert.InDelta(t, -2197.4, at(t, got, "fit", "intercept"), 0.1)
	assert.InDelta(t, 8.816, at(t, got, "fit", "low"), 0.001)
	assert.InDelta(t, 50.794, at(t, got, "fit", "high"), 0.001)
	assert.InDelta(t, 0.9975, at(t, got, "fit", "r2_midpoints"), 0.0001)
}

func TestDataOfTheDocument(t *testing.T) {
	got := asJSON(t, "analyze", "data", "--input", documents+"data-scaling-test6.csv")
	records, gib := at(t, got, "fits", "records_per_core"), at(t, got, "fits", "gib_per_core")
	assert.InDelta(t, 782, at(t, records, "slope"), 0.5)
	assert.InDelta(t, 0.964, at(t, records, "r2"), 0.0005)
	assert.InDelta(t, 761, at(t, records, "through_origin"), 0.5)
	assert.InDelta(t, 1.30, at(t, gib, "slope"), 0.005)
	assert.InDelta(t, 1.25, at(t, gib, "through_origin"), 0.005)
	assert.InDelta(t, 3.163, at(t, got, "fits", "mib_per_core", "slope"), 0.0005)
	assert.Len(t, got["rows"], 6)
	assert.InDelta(t, 844.54, at(t, got, "rows", 5, "records_per_core"), 0.01,
		"the document's 850 is its last row's ratio")
	audit := got["audit"].([]any)
	assert.Len(t, audit, 12)
	for _, finding := range audit {
		assert.Equal(t, "partial", at(t, finding, "verdict"))
	}
	assert.Equal(t, 5.0, at(t, audit[2], "line"))
}

func TestScalingOfTheDocument(t *testing.T) {
	got := asJSON(t, "analyze", "scaling", "--input", documents+"data-scaling-test6.csv")
	assert.Len(t, got["rows"], 6, "a volume is one row, not one for each component")
	assert.InDelta(t, 69_700*1189.4/98.3, at(t, got, "rows", 5, "ideal"), 1e-6)
	assert.InDelta(t, 69_700+0.75*69_700*(1189.4/98.3-1), at(t, got, "rows", 5, "discounted"), 1e-6)
	assert.Equal(t, 0.0, at(t, got, "usl", "contention", "value"))
}

// Every command writes every form, and its figures as SVG and PNG.
func TestEveryFormOfEveryCommand(t *testing.T) {
	size := []string{"size", "--records-per-s", "300000", "--queries", "300", "--from",
		documents + "data-scaling-test6.csv," + documents + "query-scaling-test7.csv"}
	commands := map[string][]string{"size": size}
	for _, a := range analyses {
		commands[a.name] = sampleOf(t, a.name)
	}
	known := map[string][]string{"resources": {"resources"},
		"concurrency": {"concurrency-cpu", "concurrency-completeness"},
		"queries":     {"queries-latency", "queries-capacity"},
		"data":        {"data-records", "data-volume", "data-memory"}, "scaling": {"scaling"}, "size": {"size-cores"}}
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "figures")
			var shown string
			for _, form := range []string{"json", "table", "markdown"} {
				out, err := tune(t, append(args, "--output", form, "--figures", dir)...)
				require.NoError(t, err)
				assert.NotContains(t, out, "NaN")
				assert.NotContains(t, out, "Inf")
				if form == "markdown" {
					assert.Contains(t, out, "\n| ")
					shown = out
				}
			}
			figures := drawn(t, dir)
			assert.Subset(t, figures, known[name])
			for _, figure := range figures {
				assert.Contains(t, shown, figure+".svg)")
				for suffix, head := range map[string]string{".svg": "<?xml", ".png": "\x89PNG"} {
					drawing, err := os.ReadFile(filepath.Join(dir, figure+suffix))
					require.NoError(t, err)
					assert.True(t, strings.HasPrefix(string(drawing), head), "%s%s", figure, suffix)
				}
			}
		})
	}
}

// sampleOf are the arguments of an analysis's sample on its page.
func sampleOf(t *testing.T, analysis string) []string {
	page, err := os.ReadFile("../../../" + analysisPages[analysis])
	require.NoError(t, err)
	for _, block := range console.FindAllStringSubmatch(string(page), -1) {
		if args := strings.Fields(strings.ReplaceAll(block[1], "collector-go/internal/", "../../internal/")); args[1] ==
			analysis {
			return args
		}
	}
	require.Fail(t, analysisPages[analysis]+" has no sample of "+analysis)
	return nil
}

// drawn are the names of the figures in a directory.
func drawn(t *testing.T, dir string) (names []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".svg"))
	}
	return names
}

func TestWrongUsageOfTune(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain.csv")
	require.NoError(t, os.WriteFile(plain, []byte("component,parallelism,cpu_cores,on_heap_mib\na,4,2,10\n"), 0o644))
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no input": {[]string{"analyze", "queries"}, "--input is missing"},
		"unknown form": {[]string{"analyze", "queries", "--input", plain, "--output", "xml"},
			"choose one of table, json, markdown"},
		"limit without unit": {[]string{"analyze", "queries", "--input", plain, "--limit", "200"},
			"use a duration, for example 30s or 5m"},
		"limit of nothing": {[]string{"analyze", "queries", "--input", plain, "--limit", "0s"}, "positive time"},
		"tolerance":        {[]string{"analyze", "concurrency", "--input", plain, "--tolerance", "1"}, "tolerance"},
		"confidence":       {[]string{"analyze", "data", "--input", plain, "--confidence", "95"}, "such as 0.95"},
		"machine": {[]string{"analyze", "resources", "--input", plain, "--cores-per-machine", "0"},
			"cores per machine"},
		"cpu word": {[]string{"analyze", "resources", "--input", plain, "--cpu", "some"},
			"must be total or each"},
		"cpu unsaid": {[]string{"analyze", "resources", "--input", plain}, "--cpu each"},
		"cpu said otherwise": {[]string{"analyze", "resources", "--input", documents + "resources-test1-3.csv",
			"--cpu", "each"}, "remove --cpu"},
		"misspelled analysis": {[]string{"analyze", "querys"}, `did you mean "queries"`},
		"unknown command":     {[]string{"conjure"}, "see bullet-metrics tune --help"},
		"an argument":         {[]string{"analyze", "data", "file.csv"}, "takes no argument"},
		"size without load":   {[]string{"size", "--from", plain}, "--records-per-s is missing"},
		"size without files":  {[]string{"size", "--records-per-s", "1", "--queries", "1"}, "--from is missing"},
		"size without a grid": {[]string{"size", "--records-per-s", "300000", "--queries", "1", "--from",
			documents + "data-scaling-test6.csv"}, "no table of filter bolts by queries"},
		"size of two grids": {[]string{"size", "--records-per-s", "300000", "--queries", "1", "--from",
			documents + "query-scaling-test7.csv", documents + "query-scaling-test7.csv"}, "give only one of each kind"},
		"size outside": {[]string{"size", "--records-per-s", "2009000", "--queries", "700", "--from",
			documents + "data-scaling-test6.csv", documents + "query-scaling-test7.csv"}, "700 queries is 40% above"},
		"size outside, records": {[]string{"size", "--records-per-s", "2009000", "--queries", "300", "--from",
			documents + "data-scaling-test6.csv", documents + "query-scaling-test7.csv"},
			"2,009,000 records/s is 100% above the largest value that was measured, 1,004,500. Measure there, or give --extrapolate"},
		"size outside, below": {[]string{"size", "--records-per-s", "6970", "--queries", "300", "--from",
			documents + "data-scaling-test6.csv", documents + "query-scaling-test7.csv"}, "90% below the smallest value"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := tune(t, c.args...)
			require.Error(t, err)
			assert.Equal(t, exitUsage, code(err), err.Error())
			assert.Contains(t, err.Error(), c.says)
			assert.Empty(t, out)
		})
	}
	got := asJSON(t, "analyze", "resources", "--input", plain, "--cpu", "each")
	assert.Equal(t, 8.0, at(t, got, "totals", "cpu_cores"))
	got = asJSON(t, "analyze", "resources", "--input", plain, "--cpu", "total")
	assert.Equal(t, 2.0, at(t, got, "totals", "cpu_cores"))
}

func TestAFileThatIsAbsentIsWrongUsage(t *testing.T) {
	_, err := tune(t, "analyze", "data", "--input", filepath.Join(t.TempDir(), "absent.csv"))
	assert.Equal(t, exitUsage, code(err))
	assert.ErrorContains(t, err, "absent.csv")
}

func TestAFileThatCannotBeJudgedIsAFailure(t *testing.T) {
	_, err := tune(t, "analyze", "data", "--input", t.TempDir())
	assert.Equal(t, exitFailed, code(err))
	assert.ErrorContains(t, err, "is not a run directory")
}
