package slicer

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// clockReading is what one batch reports about clocks, in ms. The clock is ahead by ahead, and each direction takes
// way. since is how long before the batch the named answer arrived; -1 for none.
type clockReading struct{ ahead, way, since int64 }

// playClock sends batches 10 s apart, and returns the bounds of the sender's clock at the end. Its samples are older
// than their batches by age.
func playClock(t *testing.T, age int64, readings []clockReading) slice.ClockBounds {
	o := DefaultOptions()
	o.Health = testHealth(30_000)
	s, err := New(o)
	require.NoError(t, err)
	w := metric.Worker{Topology: "t", Host: "h", Port: 6700}
	src := s.source(w)
	for n, r := range readings {
		at := int64(1_800_000_000_000) + int64(n)*10_000 // sending time by the collector's clock
		s.beginBatch(1, uint64(n+1))
		s.received(at + r.way)
		s.sent(w, at+r.ahead)
		if r.since >= 0 {
			s.answered(w, at-r.since+r.ahead, at-r.since-r.way)
		}
		if n%3 == 0 {
			src.health.aheadMs = never // a period was written
		}
		s.touch(src, at+r.ahead-age)
	}
	return s.clockOf(src)
}

// TestClocksAreBoundedFromBothSides checks that the bounds contain the real clock offset, whatever the transit times
// and however old the samples. The certain offset never exceeds the real one.
func TestClocksAreBoundedFromBothSides(t *testing.T) {
	same := func(n int, r clockReading) (all []clockReading) {
		for range n {
			all = append(all, r)
		}
		return all
	}
	for name, c := range map[string]struct {
		age         int64
		readings    []clockReading
		least, most int64
		sure        int64
	}{
		"one host, samples of Storm's tick cut to seconds": {740, same(5, clockReading{0, 1, 5_000}), -1, 1, 0},
		"a slow way":                       {740, same(5, clockReading{0, 700, 0}), -700, 700, 0},
		"ahead by less than the way":       {10, same(5, clockReading{600, 700, 0}), -100, 1300, 0},
		"ahead":                            {10, same(5, clockReading{600, 2, 0}), 598, 602, 598},
		"behind":                           {10, same(5, clockReading{-600, 2, 0}), -602, -598, -598},
		"behind, and nothing was answered": {10, same(5, clockReading{-600, 2, -1}), -602, slice.Forever, 0},
		"the freshest of both ways counts": {10, []clockReading{{0, 900, 0}, {0, 3, 0}, {0, 500, 0}}, -3, 3, 0},
		"a clock that was just set": {10, append(same(6, clockReading{5_000, 2, 0}), clockReading{0, 2, 0}),
			-2, 2, 0},
		"a clock that was set: the newer time": {10,
			append(same(6, clockReading{5_000, 2, 0}), same(7, clockReading{0, 2, 0})...), -2, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := playClock(t, c.age, c.readings)
			assert.Equal(t, slice.ClockBounds{LeastMs: c.least, MostMs: c.most}, got)
			assert.Equal(t, c.sure, got.SureMs())
		})
	}
}

// TestAHostHasOneClock checks that the workers of a host share one clock. The clock of a host without a sender is
// bounded on one side, by what its workers hand over.
func TestAHostHasOneClock(t *testing.T) {
	o := DefaultOptions()
	o.Health = testHealth(30_000)
	s, err := New(o)
	require.NoError(t, err)
	sender := metric.Worker{Topology: "t", Host: "h", Port: 6700}
	neighbour, other := metric.Worker{Topology: "t", Host: "h", Port: 6701},
		metric.Worker{Topology: "t", Host: "g", Port: 6700}
	const at = int64(1_800_000_000_000)
	s.beginBatch(1, 1)
	s.received(at)
	s.sent(sender, at+1_000-3)
	s.answered(sender, at+1_000-500, at-502)
	s.touch(s.source(neighbour), at+1_000-900)
	s.handedOver(other, sender, at+4_000-600, at+1_000-590) // 10 ms of transit in Storm, 590 ms in the sender's queue
	s.touch(s.source(other), at+4_000-1_500)
	assert.Equal(t, slice.ClockBounds{LeastMs: 997, MostMs: 1_002}, s.clockOf(s.source(neighbour)))
	assert.Equal(t, slice.ClockBounds{LeastMs: 3_000 - 10 + 997, MostMs: slice.Forever},
		s.clockOf(s.source(other)),
		"the sender's own clock is taken into account")

	// Containers may share a name but no clock: then only a worker's own samples count.
	s.touch(s.source(neighbour), at+9_000)
	assert.Equal(t, slice.ClockBounds{LeastMs: 9_000, MostMs: slice.Forever}, s.clockOf(s.source(neighbour)))
	s.sweepClocks()
	assert.Len(t, s.clocks, 2)
	s.sources = nil
	s.sweepClocks()
	assert.Empty(t, s.clocks)
}

// An owner that is away counts as connected. Once another sender owns the topology, it no longer does.
func TestAnEarlierOwnerIsNotConnected(t *testing.T) {
	s, err := New(DefaultOptions())
	require.NoError(t, err)
	s.Acquire(1, "t")
	s.Disconnect(1)
	require.True(t, s.producer(1).connected)
	s.Acquire(2, "t")
	require.False(t, s.producer(1).connected)
	require.True(t, s.producer(2).connected)
}
