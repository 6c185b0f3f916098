package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sampleRun = "../../internal/lab/runstore/testdata/sample"

func TestTuneReportWritesARunsReport(t *testing.T) {
	out := t.TempDir()
	text, err := program("tune", "report", sampleRun, "--out", out)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(out, "report.html")+"\n", text)
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "holds 40, fails at 80")

	// A trial alone.
	out = t.TempDir()
	_, err = program("tune", "report", sampleRun+"/trials/01-1-filter-bolts", "--out", out)
	require.NoError(t, err)
	assert.FileExists(t, filepath.Join(out, "report.md"))
}

func TestTuneCompareShowsWhatChanged(t *testing.T) {
	before, after := sampleRun+"/trials/01-1-filter-bolts", sampleRun+"/trials/02-2-filter-bolts"
	text, err := program("tune", "compare", before, after)
	require.NoError(t, err, "a change is a result")
	assert.Contains(t, text, "parallelism of components")
	assert.Contains(t, text, "CPU of all workers")

	text, err = program("tune", "compare", before, after, "--output", "json")
	require.NoError(t, err)
	assert.True(t, json.Valid([]byte(text)))

	text, err = program("tune", "compare", after, before, "--fail-on-regression", "10")
	require.NoError(t, err, "one launch of a baseline proves no regression")
	assert.Contains(t, text, "Guard at 10%: not provable.")
	assert.Contains(t, text,
		"80 queries: the baseline was launched once, but a proof needs 3 launches (steps.repeats: 3)")
}

func TestTuneReportAndCompareSayWhatIsWrong(t *testing.T) {
	empty := t.TempDir()
	for want, line := range map[string][]string{
		"is not a run directory": {"tune", "report", empty},
		"not a run directory":    {"tune", "compare", empty, sampleRun},
	} {
		_, err := program(line...)
		require.ErrorContains(t, err, want)
		assert.Equal(t, exitFailed, exitCode(err))
	}
	for want, line := range map[string][]string{
		"takes one argument (run directory)": {"tune", "report"},
		"takes two directories":              {"tune", "compare", sampleRun},
		"must not be negative":               {"tune", "compare", sampleRun, sampleRun, "--fail-on-regression", "-1"},
		"choose one of":                      {"tune", "compare", sampleRun, sampleRun, "--output", "xml"},
	} {
		_, err := program(line...)
		require.ErrorContains(t, err, want)
		assert.Equal(t, exitUsage, exitCode(err))
	}
}
