package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// Series beyond what fits into memory are refused by name. What was accepted stays, and a journal that knows more
// series than a smaller memory takes still opens.
func TestSeriesBeyondTheMemoryAreRefused(t *testing.T) {
	const series = 12_000
	batch := func(epoch byte) *pb.Batch {
		b := gauges(series, 1, time.Now())
		b.Epoch, b.Sequence, b.OldestHeldSequence = slices.Repeat([]byte{epoch}, 16), 1, 1
		return b
	}
	c := settings(t.TempDir())
	require.Empty(t, c.FitMemory(96<<20, func(string) bool { return false }))
	most := c.Memory.Series
	require.Less(t, most, series)

	first := startCollector(t, c)
	send := func(topology string, epoch byte) (refused uint64) {
		for _, r := range first.sendOf(topology, batch(epoch)).GetRejections() {
			require.Equal(t, pb.RejectionReason_REJECTION_REASON_SERIES_LIMIT, r.GetReason())
			refused += r.GetSamples()
		}
		assert.Less(t, refused, uint64(series), "what fits is accepted")
		return refused
	}
	refused, another := send("t", 1), send("u", 3)
	assert.LessOrEqual(t, 2*series-refused-another, uint64(most), "of both topologies together")
	assert.Equal(t, float64(refused+another),
		first.figure("bullet_metrics_ingest_rejected_samples_total", `"series_limit"`))
	first.close()

	c.Memory.Series = 1000
	second := startCollector(t, c)
	again := second.send(batch(2)).GetRejections()
	require.Len(t, again, 1)
	assert.Equal(t, refused, again[0].GetSamples(), "known series are accepted still")
}
