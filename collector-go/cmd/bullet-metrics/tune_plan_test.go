package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

const smallest = "../../../topology/experiments/test7-small.yaml"

func TestPlanNeedsNothingButItsFile(t *testing.T) {
	files, err := filepath.Glob("../../../topology/experiments/test*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		out, err := tune(t, "plan", file, "--runs", filepath.Join(t.TempDir(), "none"))
		require.NoError(t, err)
		assert.Contains(t, out, "This is the first run of")
	}
}

// A bound that is measured twice is no further step: both sides count alike.
func TestPlanCountsStepsOnce(t *testing.T) {
	count := regexp.MustCompile(`(\d+) of (\d+) steps`)
	files, err := filepath.Glob("../../../topology/experiments/test*.yaml")
	require.NoError(t, err)
	twice := 0
	for _, file := range files {
		out, err := tune(t, "plan", file, "--runs", filepath.Join(t.TempDir(), "none"))
		require.NoError(t, err)
		for _, found := range count.FindAllStringSubmatch(out, -1) {
			needed, _ := strconv.Atoi(found[1])
			of, _ := strconv.Atoi(found[2])
			assert.LessOrEqual(t, needed, of, "%s: %s", file, found[0])
		}
		twice += strings.Count(out, "1 of them twice")
	}
	assert.Positive(t, twice, "of experiments that confirm their bounds")
}

func TestPlanShowsWhatDiffersFromTheLastRun(t *testing.T) {
	runs := t.TempDir()
	p, err := runner.NewPreview(smallest, runs)
	require.NoError(t, err)
	earlier := p.Plan
	earlier.Load.RecordsPerSecond, earlier.SustainMs = 300, 20_000
	w, err := runstore.Create(filepath.Join(runs, "then"), []byte("experiment: test7-small\n"), earlier,
		runstore.Manifest{StartedMs: 1,
			BulletSettings: []runstore.Entry{{Key: "bullet.topology.name", Value: "other"}}})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, os.Mkdir(filepath.Join(runs, "no run"), 0o755))

	out, err := tune(t, "plan", smallest, "--runs", runs)
	require.NoError(t, err)
	for _, line := range []string{"Differences from the last run, " + filepath.Join(runs, "then"),
		"  - data.records_per_second: 300", "  + data.records_per_second: 7000",
		"  - steps.sustain: 20s", "  + steps.sustain: 15s",
		"  data volume: 7,000 records/s, 12.3 MiB/s (1,843 bytes a record)", "  - bullet.topology.name: other",
		"amount of data"} {
		assert.Contains(t, out, line)
	}
	out, err = tune(t, "plan", smallest, "--runs", runs, "--output", "json")
	require.NoError(t, err)
	var decoded runner.Preview
	require.NoError(t, json.Unmarshal([]byte(out), &decoded))
	assert.NotEmpty(t, decoded.Differences)
	assert.Equal(t, p.Plan.Trials, decoded.Plan.Trials)
}

// The machines that a file describes are compared before anything runs.
func TestPlanShowsThatTheClusterIsAnother(t *testing.T) {
	const onACluster = "../../../topology/experiments/test7.yaml"
	runs := t.TempDir()
	p, err := runner.NewPreview(onACluster, runs)
	require.NoError(t, err)
	file, _, err := experimentfile.Read(onACluster)
	require.NoError(t, err)
	then := file.Manifest()
	then.BulletSettings, err = measure.Settings(file.Conf(), nil)
	require.NoError(t, err)
	then.StartedMs, then.Cluster.Cores, then.Records.Maps = 1, 64, 20
	w, err := runstore.Create(filepath.Join(runs, "then"), []byte("experiment: test7\n"), p.Plan, then)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	out, err := tune(t, "plan", onACluster, "--runs", runs)
	require.NoError(t, err)
	for _, line := range []string{"  - machine.cores: 64\n  + machine.cores: 48\n",
		"  - records.schema: 92 fields (62 strings, 4 longs, 20 maps", "variables: hardware, source of the data"} {
		assert.Contains(t, out, line)
	}
}

func TestPlanRefusesWhatItCannotRead(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("experiment: x\nsteps:\n  valeus: [1]\n"), 0o644))
	_, err := tune(t, "plan", bad)
	assert.Equal(t, exitFailed, code(err))
	assert.ErrorContains(t, err, bad+":3:3: unknown field \"steps.valeus\"; did you mean \"steps.values\"?")
	_, err = tune(t, "plan")
	assert.Equal(t, exitUsage, code(err))
	assert.ErrorContains(t, err, "takes one argument (experiment's file)")
	_, err = tune(t, "plan", smallest, "--output", "xml")
	assert.Equal(t, exitUsage, code(err))
}

// Where the queries are asked from is in the plan, and what a mistake in it is, with its place.
func TestPlanShowsTheLoadHosts(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "hosts.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "conf.yaml"), []byte("a: 1\n"), 0o644))
	require.NoError(t, os.WriteFile(file, []byte(hostsExperiment), 0o644))
	out, err := tune(t, "plan", file, "--runs", dir)
	require.NoError(t, err)
	assert.Contains(t, out, "\n  load clients on 3 hosts share the queries: load1, load2, load3\n")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(hostsExperiment, "hosts: [", "host: [", 1)), 0o644))
	_, err = tune(t, "plan", file, "--runs", dir)
	require.ErrorContains(t, err,
		file+`:14:5: unknown field "launch.load.host"; did you mean "launch.load.hosts"?`)
}
