package ingest

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// busyJournal refuses the first batches.
type busyJournal struct {
	*journal.Journal
	refusals int
}

func (j *busyJournal) Append(b *journal.Batch, done func(error)) (bool, error) {
	if j.refusals > 0 {
		j.refusals--
		return false, &journal.FullError{Reason: "queue", RetryAfter: 1}
	}
	return j.Journal.Append(b, done)
}

func localBatch(values ...float64) *pb.Batch {
	b := &pb.Batch{Series: []*pb.SeriesDefinition{{Id: 1, Host: "h", Component: "c", Name: "n"}},
		Samples: &pb.SampleColumns{Values: values}}
	for range values {
		b.Samples.SeriesIds = append(b.Samples.SeriesIds, 1)
		b.Samples.TimeOffsetsMs = append(b.Samples.TimeOffsetsMs, 0)
	}
	return b
}

// TestALocalSender checks that a local sender is subject to the same limits and counted in the same totals.
func TestALocalSender(t *testing.T) {
	j, err := journal.Open(t.TempDir(), journal.DefaultOptions())
	require.NoError(t, err)
	defer j.Close()
	busy := &busyJournal{Journal: j, refusals: 3}
	o := DefaultOptions()
	o.MaxAge = 0
	server, err := New(busy, o)
	require.NoError(t, err)
	sender, err := server.Local(&pb.Open{Topology: "t", Host: "h"}, journal.Epoch{1})
	require.NoError(t, err)

	rejected, err := sender.Send(t.Context(), localBatch(1, math.NaN(), 2))
	require.NoError(t, err, "it waits for the journal")
	require.Len(t, rejected, 1)
	assert.Equal(t, "not_a_number", ReasonName(rejected[0].GetReason()))
	assert.Equal(t, uint64(1), rejected[0].GetSamples())
	_, err = sender.Send(t.Context(), localBatch(3))
	require.NoError(t, err)
	totals := server.Totals()
	assert.Equal(t, uint64(4), totals.Received)
	assert.Equal(t, uint64(3), totals.Journaled)
	assert.Zero(t, totals.Balance())

	busy.refusals = math.MaxInt
	stopped, stop := context.WithCancel(t.Context())
	stop()
	_, err = sender.Send(stopped, localBatch(4))
	assert.ErrorIs(t, err, journal.ErrFull)
	_, err = sender.Send(t.Context(), &pb.Batch{Samples: &pb.SampleColumns{Values: []float64{1}}})
	assert.ErrorContains(t, err, "columns must be of equal length")

	sender.Close()
	_, err = server.Local(&pb.Open{Host: "h"}, journal.Epoch{2})
	assert.ErrorContains(t, err, "open.topology is empty")
}
