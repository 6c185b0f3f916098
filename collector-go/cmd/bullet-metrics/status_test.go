package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/status"
)

// The status of a running collector, and the error if it cannot be reached.
func TestStatusOfACollector(t *testing.T) {
	r := startCollector(t, settings(t.TempDir()))
	r.send(minute(1, time.Now()))
	address := r.col.httpListener.Addr().String()
	var found status.Status
	require.Eventually(t, func() bool {
		out, err := program("status", "--collector", address, "-o", "json")
		return err == nil && json.Unmarshal([]byte(out), &found) == nil && len(found.Topologies) == 1
	}, 30*time.Second, 50*time.Millisecond)
	assert.True(t, found.Ready)
	assert.Equal(t, version, found.Version)
	assert.Equal(t, "http://"+address, found.Collector)
	assert.Equal(t, "t", found.Topologies[0].Name)
	assert.Empty(t, found.Missing)
	text, err := program("status", "--collector", address)
	require.NoError(t, err)
	assert.Contains(t, text, ", ready\n")

	r.close()
	_, err = program("status", "--collector", address)
	assert.Equal(t, exitFailed, exitCode(err))
	assert.ErrorContains(t, err, "connection refused")
	assert.ErrorContains(t, err, "check that a collector runs at the address of --collector")
}

// A collector that runs answers query as its directory would, and the command line takes precedence over variables.
func TestQueryOfACollector(t *testing.T) {
	dir := t.TempDir()
	replayInto(t, dir, captureFile("capture-storm-1.2.4"))
	c := settings(dir)
	c.Embedded.RetentionTime = 0
	r := startCollector(t, c)
	address := r.col.httpListener.Addr().String()
	const expression = "scalar(vector(7))"
	out, err := program("query", "--collector", address, expression)
	require.NoError(t, err)
	assert.Equal(t, "7\n", out)
	count, err := program("query", "--collector", address, "count(last_over_time(storm_acked_total[3650d]))", "--time", "2026-11-22T00:00:00Z",
		"-o", "json")
	require.NoError(t, err)
	assert.Contains(t, count, `"status":"success"`)

	var hints bytes.Buffer
	root := newRootCommand()
	root.SetOut(io.Discard)
	root.SetErr(&hints)
	root.SetArgs([]string{"query", "--collector", address, "no_such_metric"})
	require.NoError(t, root.Execute())
	assert.Contains(t, hints.String(), "no series has a value at this time")

	_, err = program("query", "--collector", address, "sum(")
	assert.Equal(t, exitUsage, exitCode(err))
	_, err = program("query", "--collector", address, "--data-dir", dir, expression)
	assert.ErrorContains(t, err, "either --collector or a data directory")
	_, err = program("query", "--collector", "127.0.0.1:1", expression)
	assert.ErrorContains(t, err, "check that a collector runs at the address of --collector, or set --data-dir")
	assert.Equal(t, usualCollector, newQueryCommand().Flag("collector").DefValue)
	_, err = program("query", dir, "--data-dir", dir, expression)
	assert.ErrorContains(t, err, "two data directories")

	t.Setenv("BULLET_METRICS_COLLECTOR", address)
	_, err = program("query", filepath.Join(dir, "none"), expression)
	assert.ErrorContains(t, err, "not a data directory")
	t.Setenv("BULLET_METRICS_COLLECTOR", address)
	out, err = program("query", expression)
	require.NoError(t, err)
	assert.Equal(t, "7\n", out)
	r.close()
	out, err = program("query", "--data-dir", dir, expression)
	require.NoError(t, err)
	assert.Equal(t, "7\n", out)
}
