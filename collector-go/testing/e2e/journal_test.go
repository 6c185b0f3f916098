//go:build e2e

package e2e

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// sampled is a sample of a worker's sampler. Those of one pack have its number: a pack is one value on its way through
// Storm and the plugin, and one block from there, so that nothing is lost out of its middle.
type sampled struct {
	timeMs int64
	value  float64
	pack   int
}

// epoch is what a sender sent between its start and its end.
type epoch struct {
	producer journal.ProducerID
	id       journal.Epoch
}

// kept is what a journal holds.
type kept struct {
	samples   map[metric.Raw][]sampled // of samplers, in the order in which they came
	sequences map[epoch][]uint64       // of batches, in the order in which they came
	drops     map[epoch]map[pb.DropReason]uint64
}

// readJournal reads all of it, after the collector has ended.
func readJournal(t *testing.T, dir string) kept {
	t.Helper()
	log, err := journal.Open(filepath.Join(dir, "journal"), journal.DefaultOptions())
	require.NoError(t, err)
	reader, err := log.Reader(0)
	require.NoError(t, err)
	require.NoError(t, log.Close()) // so that the reader finds an end
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	k := kept{map[metric.Raw][]sampled{}, map[epoch][]uint64{}, map[epoch]map[pb.DropReason]uint64{}}
	names, layouts, pack := map[journal.SeriesID]metric.Raw{}, map[journal.LayoutID][]journal.SeriesID{}, 0
	came := func(id journal.SeriesID, timeMs int64, value float64) {
		if series := names[id]; series.Shape == metric.ShapeSampler {
			k.samples[series] = append(k.samples[series], sampled{timeMs, value, pack})
		}
	}
	for {
		_, entry, err := reader.Next(ctx)
		if errors.Is(err, journal.ErrClosed) {
			return k
		}
		require.NoError(t, err)
		switch e := entry.(type) {
		case *journal.SeriesDefined:
			names[e.ID] = e.Series
		case *journal.LayoutDefined:
			layouts[e.ID] = e.Series
		case *journal.Batch:
			k.note(e)
			for i, id := range e.IDs {
				pack++
				came(id, e.TimesMs[i], e.Values[i])
			}
			for i := range e.Blocks {
				pack++
				b, at := &e.Blocks[i], 0
				values := b.Floats(nil)
				for column, id := range layouts[b.Layout] {
					for row := range b.Rows {
						if b.Present(column*b.Rows + row) {
							came(id, b.TimeMs(row), values[at])
							at++
						}
					}
				}
			}
		}
	}
}

// note keeps a batch's number, and what its sender has dropped so far.
func (k kept) note(b *journal.Batch) {
	of := epoch{b.Producer, b.Epoch}
	k.sequences[of] = append(k.sequences[of], b.Sequence)
	for _, d := range b.Notes.GetDrops() {
		if k.drops[of] == nil {
			k.drops[of] = map[pb.DropReason]uint64{}
		}
		k.drops[of][d.GetReason()] = d.GetTotalSamples()
	}
}

// unsentPack is how old a sample may be that its worker still holds: the sampler's interval, and the sender's.
const unsentPack = 15 * time.Second

// leastOfASeries is of how many samples a series must be to say something: of some packs.
const leastOfASeries = 30

// What a sender drops for these reasons is a sample that nobody has; values that no sample can be of, and what comes
// when a topology is ended, are none.
var losses = []pb.DropReason{pb.DropReason_DROP_REASON_QUEUE_FULL, pb.DropReason_DROP_REASON_EXPIRED,
	pb.DropReason_DROP_REASON_SERIES_LIMIT, pb.DropReason_DROP_REASON_INTERNAL}

// The journal is read alone, after the collector has ended: every sample that the workers' samplers took is there,
// once, also around the collector's kill. No clock is needed for that: a batch has a number in its sender's epoch, what
// a sender dropped is counted, and samples leave their worker in packs. A sampler that a busy machine wakes late takes
// fewer samples, and loses none. A worker that was killed lost the pack that it had not handed over, and those that
// others sent to it: what is younger is left out, and workers of which little is left.
func journalHasEverySample(t *testing.T, b *bench) {
	k := readJournal(t, b.options.DataDir)
	lost := 0
	for of, numbers := range k.sequences {
		for i, number := range numbers {
			if !assert.EqualValues(t, i+1, number, "the batch at place %d of epoch %x of producer %d", i, of.id,
				of.producer) {
				lost++
				break
			}
		}
		for _, reason := range losses {
			assert.Zero(t, k.drops[of][reason], "%s of epoch %x", reason, of.id)
			lost += int(k.drops[of][reason])
		}
	}
	until := time.Now()
	if !b.workerKilledAt.IsZero() {
		until = b.workerKilledAt.Add(-unsentPack)
	}
	require.NotEmpty(t, k.samples)
	acknowledged, read, doubled, late := 0, 0, 0, time.Duration(0)
	for series, all := range k.samples {
		if all = before(all, until); len(all) < leastOfASeries {
			t.Logf("left out %v, which has %d samples by then", series, len(all))
			continue
		}
		read++
		acknowledged += len(all)
		// Storm asks for a pack no sooner than its interval after the one before. A missing pack therefore widens the
		// distance of two samples by that interval, less what a busy machine was late for the pack before.
		packIsMissing := time.Duration(series.IntervalMs+series.PackSpanMs/2) * time.Millisecond
		for i := 1; i < len(all); i++ {
			gap := time.Duration(all[i].timeMs-all[i-1].timeMs) * time.Millisecond
			if !assert.Positive(t, gap, "%v has a sample twice, or out of its order, at %d", series, all[i].timeMs) {
				doubled++
			}
			if all[i].pack != all[i-1].pack && !assert.Less(t, gap, packIsMissing, "%v misses a pack before %d", series,
				all[i].timeMs) {
				lost += int(gap/time.Second) - 1
			}
			late = max(late, gap-time.Duration(series.IntervalMs)*time.Millisecond)
		}
	}
	assert.GreaterOrEqual(t, read, workers, "series of %d samples and more by %s", leastOfASeries, until)
	t.Logf("%d epochs; samplers were up to %s late", len(k.sequences), late)
	t.Logf("tally: acknowledged=%d lost=%d doubled=%d", acknowledged, lost, doubled) // of make chaos
}

// before are the samples before a time.
func before(all []sampled, until time.Time) (some []sampled) {
	for _, s := range all {
		if s.timeMs < until.UnixMilli() {
			some = append(some, s)
		}
	}
	return some
}
