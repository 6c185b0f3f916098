package ingest

import (
	"fmt"
	"math"
	"time"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
)

// admitted is what becomes of a batch at the door.
type admitted struct {
	batch    journal.Batch // what goes to the journal
	received int           // samples in the batch, histograms included
	rejected tally
}

// tally counts rejected samples by reason, with the first example of each.
type tally struct {
	samples [maxReason + 1]uint64
	example [maxReason + 1]string
}

const maxReason = int(pb.RejectionReason_REJECTION_REASON_BAD_HISTOGRAM)

func (t *tally) add(reason pb.RejectionReason, example func() string) {
	if t.samples[reason] == 0 {
		t.example[reason] = example()
	}
	t.samples[reason]++
}

// messages are the tally as the sender is told it.
func (t *tally) messages(sequence uint64) []*pb.Rejection {
	var list []*pb.Rejection
	for reason, n := range t.samples {
		if n > 0 {
			list = append(list, &pb.Rejection{Sequence: sequence, Reason: pb.RejectionReason(reason), Samples: n,
				Example: t.example[reason]})
		}
	}
	return list
}

// checkBatch says what in a batch breaks the protocol, which ends the stream.
func checkBatch(b *pb.Batch) error {
	columns := b.GetSamples()
	ids, times, values := len(columns.GetSeriesIds()), len(columns.GetTimeOffsetsMs()), len(columns.GetValues())
	switch {
	case len(b.GetEpoch()) != len(journal.Epoch{}):
		return fmt.Errorf("batch.epoch has %d bytes, must have %d", len(b.GetEpoch()), len(journal.Epoch{}))
	case b.GetSequence() == 0 || b.GetSequence() > math.MaxInt64:
		return fmt.Errorf("batch.sequence is %d: sequences start at 1 and rise by one", b.GetSequence())
	case b.GetOldestHeldSequence() == 0 || b.GetOldestHeldSequence() > b.GetSequence():
		return fmt.Errorf("batch.oldest_held_sequence is %d, must be from 1 to batch.sequence, %d",
			b.GetOldestHeldSequence(), b.GetSequence())
	case ids != times || ids != values:
		return fmt.Errorf("batch.samples has %d series_ids, %d time_offsets_ms and %d values: columns must be of equal length",
			ids, times, values)
	}
	return nil
}

// admit sorts a checked batch's samples into those that go to the journal and those that are rejected.
func admit(b *pb.Batch, t *table, allowed timeRange, now time.Time) *admitted {
	a := &admitted{batch: journal.Batch{Epoch: journal.Epoch(b.GetEpoch()), Sequence: b.GetSequence(), SentMs: b.GetSendTimeMs(),
		ReceivedMs: now.UnixMilli(), Notes: notesOf(b)}}
	a.received = len(b.GetSamples().GetValues()) + len(b.GetHistograms())
	a.admitColumns(b.GetSamples(), t, allowed)
	a.admitHistograms(b.GetHistograms(), t, allowed)
	return a
}

// notesOf is what a batch holds beside samples; nil where that is nothing.
func notesOf(b *pb.Batch) *pb.Batch {
	if len(b.GetDrops())+len(b.GetGaps())+len(b.GetWorkers())+len(b.GetAnnotations()) == 0 && b.GetTopology() == nil {
		return nil
	}
	return &pb.Batch{Drops: b.GetDrops(), Gaps: b.GetGaps(), Topology: b.GetTopology(), Workers: b.GetWorkers(),
		Annotations: b.GetAnnotations()}
}

func (a *admitted) admitColumns(columns *pb.SampleColumns, t *table, allowed timeRange) {
	n := len(columns.GetValues())
	out := &a.batch
	out.IDs, out.TimesMs, out.Values = make([]journal.SeriesID, 0, n), make([]int64, 0, n), make([]float64, 0, n)
	for i, value := range columns.GetValues() {
		series := t.lookUp(columns.SeriesIds[i])
		timeMs := addSaturating(columns.BaseTimeMs, columns.TimeOffsetsMs[i])
		if a.admitSample(series, timeMs, value, allowed) {
			out.IDs = append(out.IDs, series.id)
			out.TimesMs = append(out.TimesMs, timeMs)
			out.Values = append(out.Values, value)
		}
	}
}

func (a *admitted) admitSample(series known, timeMs int64, value float64, allowed timeRange) bool {
	if !a.admitPlace(series, timeMs, allowed) {
		return false
	}
	switch {
	case math.IsNaN(value) || math.IsInf(value, 0):
		a.rejected.add(pb.RejectionReason_REJECTION_REASON_NOT_A_NUMBER, func() string {
			return fmt.Sprintf("%.40q at %d ms is %v", series.name, timeMs, value)
		})
		return false
	case series.histogram:
		a.rejected.add(pb.RejectionReason_REJECTION_REASON_BAD_HISTOGRAM, func() string {
			return fmt.Sprintf("%.40q is a series of histograms and got a number", series.name)
		})
		return false
	}
	return true
}

// admitPlace looks at a sample's series and time.
func (a *admitted) admitPlace(series known, timeMs int64, allowed timeRange) bool {
	switch {
	case series.reason != pb.RejectionReason_REJECTION_REASON_UNSPECIFIED:
		a.rejected.add(series.reason, func() string { return series.example })
	case timeMs > allowed.newestMs:
		a.rejected.add(pb.RejectionReason_REJECTION_REASON_FUTURE, func() string {
			return fmt.Sprintf("%.40q at %d ms is %d ms ahead of what is taken", series.name, timeMs,
				timeMs-allowed.newestMs)
		})
	case timeMs < allowed.oldestMs:
		a.rejected.add(pb.RejectionReason_REJECTION_REASON_TOO_OLD, func() string {
			return fmt.Sprintf("%.40q at %d ms: the oldest that is taken is at %d ms", series.name, timeMs,
				allowed.oldestMs)
		})
	default:
		return true
	}
	return false
}

func (a *admitted) admitHistograms(histograms []*pb.HistogramSample, t *table, allowed timeRange) {
	for _, h := range histograms {
		series := t.lookUp(h.GetSeriesId())
		if !a.admitPlace(series, h.GetTimeMs(), allowed) {
			continue
		}
		if err := checkHistogram(h, series); err != nil {
			a.rejected.add(pb.RejectionReason_REJECTION_REASON_BAD_HISTOGRAM, func() string {
				return fmt.Sprintf("%.40q: %v", series.name, err)
			})
			continue
		}
		h.SeriesId = uint32(series.id)
		a.batch.Histograms = append(a.batch.Histograms, h)
	}
}

// addSaturating adds without wrapping round.
func addSaturating(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}
