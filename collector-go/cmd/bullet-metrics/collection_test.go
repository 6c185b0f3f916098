package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
)

// collectionOf asks a collector on a directory that a capture was replayed into.
func collectionOf(t *testing.T, name, path string) (int, string, collection.Collection) {
	c := settings(t.TempDir())
	replayInto(t, c.DataDir, captureFile(name))
	r := startCollector(t, c)
	defer r.close()
	response, err := http.Get("http://" + r.col.httpListener.Addr().String() + "/api/v1/collection/" + path)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var answer struct {
		Data  collection.Collection
		Error string
	}
	require.NoError(t, json.Unmarshal(body, &answer), string(body))
	return response.StatusCode, answer.Error, answer.Data
}

func between(from, to string) string { return "?" + url.Values{"start": {from}, "end": {to}}.Encode() }

// The worker that was killed misses what its tasks did not report, and the other one nothing.
func TestTheCollectionOfAKilledWorker(t *testing.T) {
	code, _, c := collectionOf(t, "capture-killed-2.8.3", "bullet"+between("1795276150", "1795276300"))
	require.Equal(t, http.StatusOK, code)
	assert.False(t, c.Complete)
	require.Len(t, c.Workers, 2)
	victim, other := c.Workers[0], c.Workers[1]
	assert.Equal(t, "127.0.0.1:10068", victim.Worker)
	assert.Equal(t, uint64(1), victim.Restarts)
	assert.Zero(t, other.Restarts)
	assert.Positive(t, victim.Missing)
	assert.Zero(t, other.Missing)
	assert.Equal(t, c.Samples, victim.Samples+other.Samples)
	for _, w := range c.Workers {
		require.NotNil(t, w.SkewSeconds, w.Worker)
		assert.Zero(t, *w.SkewSeconds, "one clock, though event times are cut to seconds")
	}
	named := func(w collection.Worker, name string) (found collection.Metric) {
		for _, m := range w.Metrics {
			if m.Metric == name {
				found = m
			}
		}
		return found
	}
	const used = "bullet_worker_heap_used_bytes"
	assert.Equal(t, 10.0, c.IntervalSeconds[used])
	heap := named(victim, used)
	assert.Equal(t, 10.0, *heap.IntervalSeconds)
	assert.Equal(t, 10.0, *heap.SeenMedianSeconds)
	assert.Equal(t, 23.0, *heap.SeenMaxSeconds, "from 7 s before the kill to 16 s after it")
	assert.Equal(t, uint64(1), heap.Missing)
	assert.False(t, heap.Silent)
	assert.Greater(t, *victim.IntervalSeenRatio, 2.0)
	assert.Empty(t, named(other, used).Metric, "nothing was wrong with it")
	assert.Less(t, *other.IntervalSeenRatio, 1.5)
	assert.Empty(t, named(other, "storm_memory_limit_bytes").Metric, "that there is no limit is not refused")
	assert.Empty(t, c.Refused, "a CPU quota of -1 is none")
	assert.Len(t, c.Dropped, 6, "by every reason, from 0")

	// Only what rose in the time counts.
	_, _, later := collectionOf(t, "capture-killed-2.8.3", "bullet"+between("1795276262", "1795276300"))
	assert.True(t, later.Complete)
	assert.Less(t, later.Samples, c.Samples/2)
	assert.Positive(t, later.Samples)
}

func TestTheCollectionOfAWholeCapture(t *testing.T) {
	code, _, c := collectionOf(t, "capture-storm-2.2.0", "bullet"+between("1795199700", "1795200300"))
	require.Equal(t, http.StatusOK, code)
	assert.True(t, c.Complete)
	assert.Zero(t, c.Missing+c.Late)
	require.Len(t, c.Workers, 1)
	assert.Greater(t, len(c.IntervalSeconds), 50)
	assert.Equal(t, 60.0, c.IntervalSeconds["bullet_worker_heap_used_bytes"])
	for _, m := range c.Workers[0].Metrics {
		assert.Positive(t, m.Refused["nonsense"], m.Metric)
	}
}

func TestTheCollectionOfNothing(t *testing.T) {
	code, text, _ := collectionOf(t, "capture-storm-1.2.4", "bullet")
	assert.Equal(t, http.StatusNotFound, code)
	assert.Contains(t, text, "/api/v1/topologies lists")
	code, text, _ = collectionOf(t, "capture-storm-1.2.4", "word"+between("200", "100"))
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Contains(t, text, `invalid parameter "start": must be before end`)
}
