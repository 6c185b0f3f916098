package ingest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

func rawOf(topology string, task int) metric.Raw {
	return metric.Raw{Worker: metric.Worker{Topology: topology, Host: "h"}, Component: "c", Name: "n",
		Task: int32(task)}
}

// takeAll defines series of a topology until one is refused, and returns how many were accepted.
func takeAll(t *testing.T, s *Server, topology string) (n int) {
	for ; ; n++ {
		if _, err := s.define(nil, []metric.Raw{rawOf(topology, n)}); err != nil {
			return n
		}
		require.Less(t, n, 100_000)
	}
}

func openJournal(t *testing.T, series int) *journal.Journal {
	o := journal.DefaultOptions()
	o.MaxSeries = series
	j, err := journal.Open(t.TempDir(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	return j
}

// TestTopologiesShareTheCapacity checks that a new topology finds capacity, however much the first ones use.
func TestTopologiesShareTheCapacity(t *testing.T) {
	s, err := New(openJournal(t, 9000), DefaultOptions())
	require.NoError(t, err)
	require.Equal(t, 6000, takeAll(t, s, "first"))
	require.Equal(t, 2000, takeAll(t, s, "second"))
	before := 1000
	for n := range 4 {
		taken := takeAll(t, s, fmt.Sprint("later ", n))
		require.Greater(t, taken, before/2)
		before -= taken
	}
}

// TestIdleSeriesFreeCapacity checks that a topology at its limit gets capacity when its idle series are forgotten.
// Other topologies keep theirs.
func TestIdleSeriesFreeCapacity(t *testing.T) {
	j := openJournal(t, 9000)
	o := DefaultOptions()
	o.MaxTopologySeries = 100
	now := time.Now()
	o.Now = func() time.Time { return now }
	s, err := New(j, o)
	require.NoError(t, err)
	tick := func() { require.NoError(t, j.AppendControl(&journal.Tick{TimeMs: now.UnixMilli()})) }
	tick()
	require.Equal(t, 100, takeAll(t, s, "full"))
	require.Equal(t, 100, takeAll(t, s, "other"))
	for hours := range 5 {
		now = now.Add(time.Hour)
		tick()
		_, err := s.define(nil, []metric.Raw{rawOf("full", 1000)})
		if hours < 2 {
			require.ErrorContains(t, err, "the topology has reached its limit of 100 series")
		}
	}
	require.Equal(t, 1, j.SeriesOf("full"))
	require.Equal(t, 100, j.SeriesOf("other"))
}
