package traffic

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each copy sends every recorded value once, under a topology and hosts of its own.
func TestEveryValueIsSentAsALine(t *testing.T) {
	r, err := Read("../../../cmd/bullet-metrics/tour/incident.rec", 2*time.Minute)
	require.NoError(t, err)
	assert.Equal(t, 2, r.Workers)
	assert.Greater(t, r.Series, 500)
	assert.Greater(t, r.Values, r.Samples, "of a distribution, the count and the sum are sent")
	assert.InDelta(t, 2*time.Minute, r.Length, float64(10*time.Second))

	const copies = 3
	var mu sync.Mutex
	seen, values, topologies := map[string]int{}, map[string]bool{}, map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for lines := bufio.NewScanner(request.Body); lines.Scan(); {
			parts := strings.Split(strings.ReplaceAll(lines.Text(), `\ `, "_"), " ")
			if !assert.Len(t, parts, 3, lines.Text()) {
				return
			}
			topologies[strings.Split(parts[0], ",")[1]] = true
			for _, field := range strings.Split(strings.ReplaceAll(parts[1], `\,`, "_"), ",") {
				name, value, _ := strings.Cut(field, "=")
				values[value] = true
				seen[parts[0]+" "+name+" "+parts[2]]++
			}
		}
	}))
	defer server.Close()
	load := Load{Copies: copies, Begin: time.Now().Add(-time.Hour)}
	require.NoError(t, r.Play(t.Context(), load, ToLines(server.URL)))
	assert.Len(t, seen, copies*r.Values)
	assert.Len(t, topologies, copies)
	assert.Greater(t, len(values), r.Values/10, "the recorded values differ")
}

// A run goes on after the end of its recording, with the same series. Another submission has other ids and ports.
func TestARunRepeatsTheRecording(t *testing.T) {
	r, err := Read("../../../cmd/bullet-metrics/tour/incident.rec", time.Hour)
	require.NoError(t, err)
	begin := time.UnixMilli(1_900_000_000_000)
	run, defined, last := r.Run("t", 2, begin), map[uint32]bool{}, begin
	assert.Equal(t, "t-2-1900000000", run.Opened().GetTopologyId())
	for run.Due().Before(begin.Add(time.Hour)) {
		due := run.Due()
		require.False(t, due.Before(last))
		require.Less(t, due.Sub(last), 10*time.Second)
		last = due
		b := run.Next()
		require.False(t, b.GetClosing())
		require.InDelta(t, due.UnixMilli(), b.GetSendTimeMs(), 5000)
		for _, s := range b.GetSeries() {
			require.False(t, defined[s.GetId()], "a series is defined once")
			defined[s.GetId()] = true
		}
		for _, id := range b.GetSamples().GetSeriesIds() {
			require.True(t, defined[id])
		}
	}
	assert.Equal(t, r.Series, len(defined))
	assert.Equal(t, r.Run("t", 1, begin).Opened().GetPort()+1, run.Opened().GetPort())
}
