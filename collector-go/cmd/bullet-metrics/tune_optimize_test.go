package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
)

// searches is where searches and their spaces as data are.
const searches = "../../../topology/experiments/optimize/"

func textOf(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func yamlOf(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "it.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// found is what a search on a space as data comes to, both given as texts.
func found(t *testing.T, file, space string) (*optimize.Result, error) {
	out, failure := tune(t, "optimize", yamlOf(t, file), "--simulate", yamlOf(t, space), "--output", "json")
	var r optimize.Result
	require.NoError(t, json.Unmarshal([]byte(out), &r), "%v", failure)
	return &r, failure
}

// Test 6: for each volume the configuration that the authors ended with, proven by the next smaller one.
func TestOptimizeEndsWhereTestSixEnded(t *testing.T) {
	file, space := textOf(t, searches+"test6.yaml"), textOf(t, searches+"test6-space.yaml")
	all := 0
	for _, c := range []struct {
		recordsPerS, configuration, trials int
	}{{69700, 307, 3}, {216825, 920, 3}, {374370, 1535, 2}, {524266, 2149, 3}, {724390, 3070, 3}, {1004500, 4024, 3}} {
		r, err := found(t, strings.Replace(file, "374370,", fmt.Sprint(c.recordsPerS)+",", 1), space)
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"configuration": float64(c.configuration)}, r.Best.Settings)
		assert.True(t, r.Proven)
		assert.LessOrEqual(t, len(r.Trials), c.trials, "of 6 configurations")
		t.Logf("%d R/s: configuration %d, %d trials", c.recordsPerS, c.configuration, len(r.Trials))
		all += len(r.Trials)
	}
	assert.LessOrEqual(t, all, 17, "36 in a full grid")
}

// Test 7, the part of its table that is given: which filter bolts each load needs.
func TestOptimizeEndsWhereTestSevenEnded(t *testing.T) {
	file, space := textOf(t, searches+"test7.yaml"), textOf(t, searches+"test7-space.yaml")
	for queries, bolts := range map[int]float64{1: 4, 50: 4, 60: 8, 140: 8, 350: 20, 500: 20} {
		r, err := found(t, strings.Replace(file, "queries: 500", fmt.Sprintf("queries: %d", queries), 1), space)
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"bullet.topology.filter.bolt.parallelism": bolts}, r.Best.Settings,
			"%d queries", queries)
		assert.True(t, r.Proven)
		assert.LessOrEqual(t, len(r.Trials), 2)
	}
	r, err := found(t, strings.Replace(file, "queries: 500", "queries: 600", 1), space)
	assert.Equal(t, exitMissed, code(err), "20 bolts do not hold 600, and more are not in the table")
	assert.Nil(t, r.Best)
	assert.True(t, r.Proven)
}

// The authors raised the queries step by step; with queries as what is tried, where less is easier, the search ends at
// the same capacities.
func TestOptimizeFindsTheCapacitiesOfTestSeven(t *testing.T) {
	rows := strings.Replace(textOf(t, searches+"test7-space.yaml"), "[filter, queries,", "[filter, held,", 1)
	rows = rows[:strings.Index(rows, "settings:")] + rows[strings.Index(rows, "table:"):]
	ours, theirs := 0, 0
	for _, c := range []struct {
		filter, capacity int
		steps            string
	}{{4, 50, "1, 10, 20, 30, 40, 50, 60"}, {8, 140, "40, 60, 80, 100, 120, 140, 160, 170"},
		{20, 500, "350, 400, 450, 500, 550, 600, 650"}} {
		file := fmt.Sprintf(
			"experiment: capacity\ntitle: x\nsearch:\n  target: {latency: 200ms}\n  settings:\n  - {name: filter, values: [%d]}\n  - {name: held, values: [%s], cost: -1, easier: less}\n",
			c.filter, c.steps)
		r, err := found(t, file, rows)
		require.NoError(t, err)
		assert.Equal(t, map[string]any{"filter": float64(c.filter), "held": float64(c.capacity)}, r.Best.Settings)
		assert.True(t, r.Proven)
		t.Logf("%d filter bolts: %d queries, %d trials of %d", c.filter, c.capacity, len(r.Trials),
			strings.Count(c.steps, ",")+1)
		ours, theirs = ours+len(r.Trials), theirs+strings.Count(c.steps, ",")+1
	}
	assert.Equal(t, 22, theirs)
	assert.LessOrEqual(t, ours, 11)
}

// The kept trials of a cluster: from a bad start to the cheapest that holds, in a third of the grid's time.
func TestOptimizeFindsTheGridsBestOnTheKeptTrials(t *testing.T) {
	text := textOf(t, searches+"small-space.yaml")
	var grid struct {
		Table struct {
			Columns []string
			Rows    [][]any
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(text), &grid))
	column := func(row []any, name string) float64 {
		n, _ := strconv.ParseFloat(fmt.Sprint(row[slices.Index(grid.Table.Columns, name)]), 64)
		return n
	}
	tried, cheapest, seconds := map[string]bool{}, math.Inf(1), 0.0
	for _, row := range grid.Table.Rows {
		tried[fmt.Sprint(row[:3])] = true
		seconds += column(row, "seconds")
		if row[slices.Index(grid.Table.Columns, "verdict")] == "OK" {
			cheapest = min(cheapest, column(row, "filter")+0.0005*column(row, "heap"))
		}
	}
	require.Len(t, tried, 36, "the whole grid")

	r, err := found(t, textOf(t, searches+"../optimize-small.yaml"), text)
	require.NoError(t, err)
	assert.True(t, r.Proven)
	assert.InDelta(t, cheapest, r.Best.Cost, 1e-9)
	assert.Equal(t, "FAIL", string(r.Trials[0].Verdict), "the start does not hold it")
	searched := 0.0
	for _, trial := range r.Trials {
		searched += trial.Seconds
	}
	assert.LessOrEqual(t, searched, seconds/3)
	t.Logf("cost %v after %d trials, %.0f s; the grid's %d trials took %.0f s", r.Best.Cost, len(r.Trials), searched,
		len(grid.Table.Rows), seconds)
}

func TestOptimizeShowsTheWayAndTheProof(t *testing.T) {
	args := []string{"optimize", searches + "sample.yaml", "--simulate", searches + "sample-space.yaml"}
	out, err := tune(t, args...)
	require.NoError(t, err)
	for _, want := range []string{"(proven)", "Best configuration", "Trials", "Reasons for the trials", "Proof", "Pareto front",
		"filter=1 heap=128 pending=5", "start of the search",
		"  topology.worker.max.heap.size.mb: 1024", "- topology.max.spout.pending: 5",
		"+ topology.max.spout.pending: 80"} {
		assert.Contains(t, out, want)
	}
	var r map[string]any
	out, err = tune(t, append(args, "--output", "json")...)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	for _, key := range []string{"best", "trials", "proof", "open"} {
		assert.Contains(t, r, key)
	}
	assert.Contains(t, r["best"], "settings")
	assert.Contains(t, r["best"], "cost")
	dir := t.TempDir()
	again, err := tune(t, append(args, "--output", "json", "--figures", dir)...)
	require.NoError(t, err)
	assert.Equal(t, out, again, "the same seed, the same trials")
	assert.FileExists(t, filepath.Join(dir, "optimize-front.svg"))
	for _, form := range []string{"markdown", "html"} {
		page, err := tune(t, append(args, "--output", form)...)
		require.NoError(t, err)
		assert.Contains(t, page, "Pareto front")
	}
}

func TestOptimizeForesees(t *testing.T) {
	args := []string{"optimize", searches + "sample.yaml", "--simulate", searches + "sample-space.yaml", "--dry-run"}
	out, err := tune(t, args...)
	require.NoError(t, err)
	assert.Contains(t, out, "first: filter=1 heap=128 pending=5 (start of the search)")
	assert.Contains(t, out, "at most 60 trials")
	var f optimize.Outlook
	out, err = tune(t, append(args, "--output", "json")...)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(out), &f))
	assert.Equal(t, 300, f.Configurations)
	assert.Greater(t, f.AboutTrials, 1)
	assert.InDelta(t, float64(f.AboutTrials)*360, f.AboutSeconds, 1e-9)
}

func TestOptimizeEndsWithACodeForEachOutcome(t *testing.T) {
	file, space := textOf(t, searches+"sample.yaml"), textOf(t, searches+"sample-space.yaml")
	r, err := found(t, strings.Replace(file, "trials: 60", "trials: 2", 1), space)
	assert.Equal(t, exitFailed, code(err))
	assert.False(t, r.Proven)
	assert.NotEmpty(t, r.Open)
	_, err = found(t, strings.Replace(file, "queries: 400", "queries: 40000", 1), space)
	assert.Equal(t, exitMissed, code(err))
	for want, args := range map[string][]string{
		"--simulate cannot be combined with --grid, --out or --time-limit": {searches + "sample.yaml", "--simulate", searches + "sample-space.yaml",
			"--grid"},
		`--time-limit "-1s": must not be negative`: {searches + "sample.yaml", "--time-limit", "-1s"},
		"unknown --output \"table\"": {searches + "sample.yaml", "--simulate", searches + "sample-space.yaml",
			"--output", "table"},
		"--dry-run needs --output text or json": {searches + "sample.yaml", "--simulate", searches + "sample-space.yaml",
			"--output", "html", "--dry-run"},
		"takes one argument": {},
	} {
		_, err := tune(t, append([]string{"optimize"}, args...)...)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, exitUsage, code(err), want)
	}
	_, err = tune(t, "optimize", yamlOf(t, "experimant: x\n"), "--simulate", searches+"sample-space.yaml")
	assert.ErrorContains(t, err, `it.yaml:1:1: unknown field "experimant"; did you mean "experiment"?`)
	assert.Equal(t, exitFailed, code(err))
	_, err = tune(t, "optimize", searches+"../test3-small.yaml")
	assert.ErrorContains(t, err, "test3-small.yaml:1:1: search: missing; tune optimize needs the settings to vary")
	assert.Equal(t, exitFailed, code(err))
	_, err = tune(t, "optimize", searches+"sample.yaml")
	assert.ErrorContains(t, err, "sample.yaml:1:1: launch: missing; without it, only tune optimize --simulate can use the file")
	assert.Equal(t, exitFailed, code(err))
}
