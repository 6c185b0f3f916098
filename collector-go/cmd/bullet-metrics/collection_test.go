package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collection"
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
	heap := func(w collection.Worker) collection.Metric {
		return w.Metrics[slices.IndexFunc(w.Metrics, func(m collection.Metric) bool {
			return m.Metric == "bullet_worker_heap_used_bytes"
		})]
	}
	assert.Equal(t, 10.0, *heap(victim).IntervalSeconds)
	assert.Equal(t, 10.0, *heap(victim).SeenMedianSeconds)
	assert.Equal(t, 23.0, *heap(victim).SeenMaxSeconds, "from 7 s before the kill to 16 s after it")
	assert.Equal(t, uint64(1), heap(victim).Missing)
	assert.Equal(t, 10.0, *heap(other).SeenMaxSeconds)
	limit := slices.IndexFunc(other.Metrics, func(m collection.Metric) bool {
		return m.Metric == "storm_memory_limit_bytes"
	})
	assert.Negative(t, limit, "that there is no limit is not refused")
	assert.Equal(t, []string{"nonsense"}, slices.Collect(maps.Keys(c.Refused)))
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
	assert.Greater(t, len(c.Workers[0].Metrics), 50)
}

func TestTheCollectionOfNothing(t *testing.T) {
	code, text, _ := collectionOf(t, "capture-storm-1.2.4", "bullet")
	assert.Equal(t, http.StatusNotFound, code)
	assert.Contains(t, text, "/api/v1/topologies lists")
	code, text, _ = collectionOf(t, "capture-storm-1.2.4", "word"+between("200", "100"))
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Contains(t, text, `invalid parameter "start": it must be before end`)
}
