package ingest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// TestRates checks that a topology may send a minute of its rate at once, and then its rate. Other topologies are
// independent.
func TestRates(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	p := newRates(100)
	require.NoError(t, p.take("hostile", 6000, at))
	err := p.take("hostile", 1, at)
	require.EqualError(t, err, "topology hostile exceeds its limit of 100 samples per second")
	assert.Equal(t, 10*time.Millisecond, err.(*rateError).wait)
	require.NoError(t, p.take("good", 6000, at))

	at = at.Add(time.Second)
	require.NoError(t, p.take("hostile", 5000, at), "a batch that is larger than what is there is taken whole")
	err = p.take("hostile", 1, at)
	assert.Equal(t, longestRateWait, err.(*rateError).wait, "49 s are owed")
	require.Error(t, p.take("hostile", 1, at.Add(-time.Hour)), "a clock that goes back adds nothing")
	require.Error(t, p.take("hostile", 1, at.Add(49*time.Second-time.Hour)))
	p.giveBack("hostile", 5000)
	require.NoError(t, p.take("hostile", 1, at))
	require.NoError(t, newRates(0).take("anybody", 1<<40, at), "0 is no bound")
}

// TestRatesForgetsWhoIsSilent checks that changing names do not accumulate, and that no name gains by being forgotten.
func TestRatesForgetsWhoIsSilent(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	p := newRates(1)
	require.NoError(t, p.take("owes", 1000, at))
	for i := range 10 * mostBuckets {
		at = at.Add(time.Second)
		if i < 900 {
			require.Error(t, p.take("owes", 1, at))
		}
		require.NoError(t, p.take(fmt.Sprint(i), 1, at))
	}
	assert.LessOrEqual(t, len(p.buckets), mostBuckets)
}

// TestRatesHolds checks that no topology sends more than a burst, its rate and one batch, whatever the times of
// sending.
func TestRatesHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newRates(rapid.IntRange(1, 50).Draw(t, "rate"))
		at := time.Unix(1_800_000_000, 0)
		begun, taken, largest := at, 0, 0
		for _, n := range rapid.SliceOf(rapid.IntRange(1, 500)).Draw(t, "batches") {
			at = at.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			if p.take("t", n, at) == nil {
				taken, largest = taken+n, max(largest, n)
			}
			if most := p.most() + at.Sub(begun).Seconds()*p.perSecond + float64(largest); float64(taken) > most+1e-6 {
				t.Fatalf("%d samples were taken, at most %f are due", taken, most)
			}
		}
	})
}

// TestATopologyBeyondItsPaceWaits checks that a topology beyond its rate receives Full with a delay, within its stream.
// Nothing is lost, and another topology is not affected.
func TestATopologyBeyondItsPaceWaits(t *testing.T) {
	var ahead atomic.Int64 // how far the machine's clock is ahead
	begun := time.Now()
	c := start(t, func(o *Options) {
		o.MaxTopologySamplesPerSecond = 1
		o.Now = func() time.Time { return begun.Add(time.Duration(ahead.Load())) }
	})
	service := c.dial()
	hostile := opened(t, service)
	columns := samples(1, make([]float64, 60)...)
	hostile.batch(&pb.Batch{Sequence: 1, Series: []*pb.SeriesDefinition{series(1, "n")}, Samples: columns})
	hostile.acknowledged(1)
	hostile.batch(&pb.Batch{Sequence: 2, Samples: samples(1, 1)})
	hostile.batch(&pb.Batch{Sequence: 3, Samples: samples(1, 2), OldestHeldSequence: 2})
	full := hostile.receive().GetFull()
	require.Equal(t, uint64(2), full.GetSequence())
	require.Equal(t, uint32(1000), full.GetRetryAfterMs())

	stream, err := service.Export(t.Context())
	require.NoError(t, err)
	good := &client{t: t, stream: stream, epoch: []byte("0123456789abcdef")}
	good.send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "good", Host: "h"}}})
	require.NotNil(t, good.receive().GetOpened())
	good.batch(&pb.Batch{Sequence: 1, Series: []*pb.SeriesDefinition{series(1, "n")}, Samples: samples(1, 1, 2, 3)})
	require.Empty(t, good.acknowledged(1))
	ahead.Add(int64(time.Second))
	hostile.batch(&pb.Batch{Sequence: 2, Samples: samples(1, 1), OldestHeldSequence: 2})
	require.Empty(t, hostile.acknowledged(2))
	ahead.Add(int64(time.Second))
	hostile.batch(&pb.Batch{Sequence: 3, Samples: samples(1, 2), OldestHeldSequence: 3})
	require.Empty(t, hostile.acknowledged(3))
	totals := c.server.Totals()
	require.Equal(t, uint64(65), totals.Journaled)
	require.Zero(t, totals.Balance())
}
