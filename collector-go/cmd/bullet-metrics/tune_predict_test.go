package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/predict"
)

// tables are the document's own.
const (
	test6Table = "../../internal/lab/csvtable/testdata/document/data-scaling-test6.csv"
	test7Table = "../../internal/lab/csvtable/testdata/document/query-scaling-test7.csv"
)

func predicted(t *testing.T, args ...string) *predict.Answers {
	t.Helper()
	text, err := tune(t, append([]string{"predict", "--output", "json"}, args...)...)
	require.NoError(t, err)
	var a predict.Answers
	require.NoError(t, json.Unmarshal([]byte(text), &a), text)
	return &a
}

// Test 7's text has what its table here has not: 28 filter bolts held 600 queries and failed at 650, at 68,400 R/s.
func TestPredictOfBoltsThatAreNotInTheTable(t *testing.T) {
	a := predicted(t, "--from", test7Table, "--query-records-per-s", "68400", "--set",
		"bullet.topology.filter.bolt.parallelism=28", "--queries", "600")
	require.Len(t, a.Answers, 1)
	p := a.Answers[0].Predictions[0]
	assert.Equal(t, 28.0, p.Setup.Executors["FilterBolt"])
	capacity := p.Capacity[0]
	assert.Equal(t, "queries at 200 ms", capacity.Name)
	assert.True(t, capacity.Low < 650 && 600 < capacity.High, "%v", capacity)
	assert.Contains(t, p.Beyond[0].Text(), "28 FilterBolt executors: 1.4 times the largest measured value, 20")
	assert.Equal(t, []string{test7Table}, a.Answers[0].From)
}

// Test 5 of the document: 1,162 executors, 26 machines, far from anything that was measured, and it states that.
func TestPredictOfTest5(t *testing.T) {
	args := []string{"../../../topology/experiments/test5.yaml", "--from", test6Table, "--queries", "680"}
	a := predicted(t, args...)
	p := a.Answers[0].Predictions[0]
	executors := 0.0
	for _, n := range p.Setup.Executors {
		executors += n
	}
	assert.Equal(t, 1162.0, executors)
	assert.InDelta(t, 756_000, float64(p.Load.RecordsPerSecond), 1e-9)
	require.NotNil(t, p.Request)
	assert.Equal(t, 26, p.Request.Machines)
	assert.InEpsilon(t, 1179.8, p.Request.CPUCores, 0.01, "the document's own total")
	assert.Equal(t, 26.0, float64(p.Machines.Value))
	held := p.Figures[0]
	assert.Equal(t, string(predict.CoresHeld), held.Name)
	assert.True(t, held.Low < 1179.8 && 1179.8 < held.High, "%v", held)
	text, err := tune(t, append([]string{"predict"}, args...)...)
	require.NoError(t, err)
	assert.Contains(t, text, "never measured and not included in the figures: 680 queries")
	assert.Contains(t, text, "1,162 executors in total")
}

// Every step of an experiment's file is asked, of runs as of tables; a run's own configuration is where --set begins.
func TestPredictOfAnExperimentsStepsAndOfARunsConfiguration(t *testing.T) {
	a := predicted(t, "../../../topology/experiments/test7.yaml", "--from", test7Table,
		"--query-records-per-s", "68400")
	assert.Len(t, a.Answers[0].Predictions, 7+8+7+6+7+5+3+2)
	assert.Equal(t, 4.0, a.Answers[0].Predictions[0].Setup.Executors["FilterBolt"])
	drawn := t.TempDir()
	text, err := tune(t, "predict", "--from", test7Table, "--set", "bullet.topology.filter.bolt.parallelism=12",
		"--queries", "100,200,300", "--figures", drawn, "--output", "markdown")
	require.NoError(t, err)
	assert.Contains(t, text, "predicted-latency-1.svg")
	assert.FileExists(t, filepath.Join(drawn, "predicted-latency-1.png"))

	a = predicted(t, "--from", sampleRun, "--set", "bullet.topology.filter.bolt.parallelism=3", "--set",
		"topology.worker.max.heap.size.mb=768", "--queries", "20,60")
	require.Len(t, a.Answers[0].Predictions, 2)
	p := a.Answers[0].Predictions[1]
	assert.Equal(t, 3.0, p.Setup.Executors["FilterBolt"])
	assert.Equal(t, 768.0, p.Setup.HeapMiB)
	assert.Equal(t, 60.0, p.Load.Queries)
	var names []string
	for _, f := range p.Figures {
		names = append(names, f.Name)
		assert.True(t, f.Low <= f.Value && f.Value <= f.High, "%v", f)
	}
	assert.Equal(t, []string{"filter latency, mean", "utilization of the filter bolts", "CPU of all workers",
		"GC of all workers", "heap used, all workers"}, names)
	assert.Equal(t, "a query, CPU of all workers", p.Costs[0].Name)
}

func TestPredictStatesWhatIsWrong(t *testing.T) {
	for want, line := range map[string][]string{
		"--from is missing":                    {"predict"},
		"--check needs run":                    {"predict", "--check"},
		"is not KEY=VALUE":                     {"predict", "--from", test7Table, "--set", "x"},
		"choose one of table":                  {"predict", "--from", test7Table, "--output", "xml"},
		"at most one FILE":                     {"predict", "--from", test7Table, "a", "b"},
		`--queries "-1": must not be negative`: {"predict", "--from", test7Table, "--queries", "-1"},
		"takes its runs as argument":           {"predict", "--check", test7Table, "--from", test7Table},
	} {
		_, err := tune(t, line...)
		require.ErrorContains(t, err, want)
		assert.Equal(t, exitUsage, exitCode(err), want)
	}
	for want, line := range map[string][]string{
		"neither a run directory nor a directory of runs": {"predict", "--from", t.TempDir()},
		"no such file":              {"predict", "none.yaml", "--from", test7Table},
		"set --query-records-per-s": {"predict", "--from", test7Table, "--records-per-s", "1000"},
		"the nearest is bullet.topology.filter.bolt.parallel": {"predict", "--from", sampleRun, "--set",
			"bullet.topology.filter.bolt.parallellism=3"},
		"setting bullet.topology.filter.bolt.parallelism: \"x": {"predict", "--from", sampleRun, "--set",
			"bullet.topology.filter.bolt.parallelism=x"},
	} {
		_, err := tune(t, line...)
		require.ErrorContains(t, err, want)
		assert.Equal(t, exitFailed, exitCode(err), want)
	}
}

// The check of a table, as text and as JSON.
func TestPredictChecksItself(t *testing.T) {
	text, err := tune(t, "predict", "--check", test6Table)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(text, "Check of the predictions against measured steps (goals held)\n"),
		text)
	assert.Contains(t, text, "data-scaling-test6.csv, line 3")
	text, err = tune(t, "predict", "--check", test6Table, "--output", "json")
	require.NoError(t, err)
	var c predict.Check
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	assert.Len(t, c.Steps, 12)
}
