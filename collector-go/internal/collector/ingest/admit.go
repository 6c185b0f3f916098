package ingest

import (
	"fmt"
	"math"
	"time"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// admission decides which samples of a batch are good. A bad sample is rejected and counted by its reason. The rest of
// the batch is kept, so that one broken metric does not cost a worker its others. Each sender has one admission, which
// reuses its memory.
type admission struct {
	generation generation
	batch      *journal.Batch // goes to the journal, which keeps it
	received   int            // samples in the batch, including histograms
	rejected   *tally         // nil if nothing is rejected
	allowed    timeRange
	blocks     []block.Block // the checked blocks as received
	ids        []uint32      // the stream's ids of the batch's histograms
}

// tally counts rejected samples by reason and keeps the first example of each. An example for every sample would let a
// sender fill memory and log.
type tally struct {
	samples [maxReason + 1]uint64
	example [maxReason + 1]string
}

const maxReason = int(pb.RejectionReason_REJECTION_REASON_BAD_HISTOGRAM)

// reject counts a sample. It returns where to store an example of the reason, or nil if there already is one. The
// caller formats the example only if it is needed, because formatting costs more than admitting a sample.
func (a *admission) reject(reason pb.RejectionReason) (example *string) {
	if a.rejected == nil {
		a.rejected = &tally{}
	}
	a.rejected.samples[reason]++
	if a.rejected.samples[reason] > 1 {
		return nil
	}
	return &a.rejected.example[reason]
}

// messages returns the tally as the sender receives it, in the order of the reasons. It is nil if nothing was rejected.
func (t *tally) messages(sequence uint64) []*pb.Rejection {
	if t == nil {
		return nil
	}
	var list []*pb.Rejection
	for reason, n := range t.samples {
		if n > 0 {
			list = append(list, &pb.Rejection{Sequence: sequence, Reason: pb.RejectionReason(reason), Samples: n,
				Example: t.example[reason]})
		}
	}
	return list
}

// checkBatch returns an error that names a violation of the protocol, which ends the stream. Such an error is a bug in
// the sender; bad samples are rejected instead (see admission).
func checkBatch(b *pb.Batch) error {
	columns := b.GetSamples()
	ids, times, values := len(columns.GetSeriesIds()), len(columns.GetTimeOffsetsMs()), len(columns.GetValues())
	switch {
	case len(b.GetEpoch()) != len(journal.Epoch{}):
		return fmt.Errorf("batch.epoch has %d bytes; it must have %d", len(b.GetEpoch()), len(journal.Epoch{}))
	case b.GetSequence() == 0 || b.GetSequence() > math.MaxInt64:
		return fmt.Errorf("batch.sequence is %d: sequences start at 1", b.GetSequence())
	case b.GetOldestHeldSequence() == 0 || b.GetOldestHeldSequence() > b.GetSequence():
		return fmt.Errorf("batch.oldest_held_sequence is %d; it must be from 1 to batch.sequence (%d)",
			b.GetOldestHeldSequence(), b.GetSequence())
	case ids != times || ids != values:
		return fmt.Errorf("batch.samples has %d series_ids, %d time_offsets_ms and %d values: columns must be of equal length",
			ids, times, values)
	}
	return nil
}

// check validates a batch against the protocol and adds its definitions to the table. The definitions count even if the
// batch is then refused, so the sender does not repeat them. An error ends the stream.
func (a *admission) check(b *pb.Batch, t *table) (err error) {
	if err := checkBatch(b); err != nil {
		return err
	}
	if err := t.add(b.GetSeries()); err != nil {
		return err
	}
	if err := t.addLayouts(b.GetLayouts()); err != nil {
		return err
	}
	a.blocks, err = t.checkBlocks(a.blocks[:0], b.GetBlocks())
	return err
}

// admit separates the samples of a checked batch into those for the journal and those that are rejected. It fails only
// with journal.ErrForgotten, if the journal has forgotten a series of a layout.
func (a *admission) admit(b *pb.Batch, t *table, allowed timeRange, now time.Time) error {
	a.restore()
	a.batch = newBatch(len(a.blocks))
	a.batch.Epoch, a.batch.Sequence = a.generation.epoch(journal.Epoch(b.GetEpoch())), b.GetSequence()
	a.batch.SentMs, a.batch.ReceivedMs, a.batch.Notes = b.GetSendTimeMs(), now.UnixMilli(), notesOf(b)
	a.received, a.rejected, a.allowed = len(b.GetSamples().GetValues())+len(b.GetHistograms()), nil, allowed
	t.retryLimited(now)
	a.admitColumns(b.GetSamples(), t)
	a.admitHistograms(b.GetHistograms(), t)
	return a.admitBlocks(b.GetBlocks(), a.blocks, t)
}

// samples returns the number of samples in a checked batch. The rate limit counts them before anything is admitted.
func (a *admission) samples(b *pb.Batch) int {
	n := len(b.GetSamples().GetValues()) + len(b.GetHistograms())
	for i := range a.blocks {
		n += a.blocks[i].Samples()
	}
	return n
}

// newBatch returns a batch with capacity for its blocks. A batch usually has one block, and then one allocation holds
// both.
func newBatch(blocks int) *journal.Batch {
	if blocks != 1 {
		return &journal.Batch{Blocks: make([]journal.Block, 0, blocks)}
	}
	with := &struct {
		journal.Batch
		block [1]journal.Block
	}{}
	with.Blocks = with.block[:0]
	return &with.Batch
}

// release drops the references to a batch, so that an idle stream keeps no message in memory.
func (a *admission) release() {
	clear(a.blocks)
	a.batch, a.rejected, a.ids = nil, nil, a.ids[:0]
}

// notesOf returns the parts of a batch other than samples, or nil if there are none. The journal stores them unchanged.
func notesOf(b *pb.Batch) *pb.Batch {
	if len(b.GetDrops())+len(b.GetGaps())+len(b.GetWorkers())+len(b.GetAnnotations()) == 0 && b.GetTopology() == nil &&
		b.GetClocks() == nil && !b.GetClosing() && b.GetFirstSendTimeMs() == 0 {
		return nil
	}
	return &pb.Batch{Drops: b.GetDrops(), Gaps: b.GetGaps(), Topology: b.GetTopology(), Workers: b.GetWorkers(),
		Annotations: b.GetAnnotations(), Clocks: b.GetClocks(), Closing: b.GetClosing(),
		FirstSendTimeMs: b.GetFirstSendTimeMs()}
}

// admitColumns admits samples in columns. If all of them are good, which is nearly always the case, the values are not
// copied.
func (a *admission) admitColumns(columns *pb.SampleColumns, t *table) {
	base, ids, offsets, values := columns.GetBaseTimeMs(), columns.GetSeriesIds(), columns.GetTimeOffsetsMs(),
		columns.GetValues()
	if len(ids) == 0 {
		return
	}
	out, allGood := a.batch, true
	out.IDs, out.TimesMs = make([]journal.SeriesID, 0, len(ids)), make([]int64, 0, len(ids))
	for i, value := range values {
		s, timeMs := t.slots.get(ids[i]), addSaturating(base, offsets[i])
		switch good := a.admitSample(ids[i], s, timeMs, value, t); {
		case good:
			out.IDs, out.TimesMs = append(out.IDs, s.id), append(out.TimesMs, timeMs)
			if !allGood {
				out.Values = append(out.Values, value)
			}
		case allGood:
			allGood = false
			out.Values = append(make([]float64, 0, len(values)), values[:i]...)
		}
	}
	if allGood {
		out.Values = values
	}
}

// admitSample checks one sample. The first condition covers nearly all samples.
func (a *admission) admitSample(id uint32, s slot, timeMs int64, value float64, t *table) bool {
	if s.kind() == number && timeMs <= a.allowed.newestMs && timeMs >= a.allowed.oldestMs && finite(value) {
		return true
	}
	switch {
	case !a.admitPlace(id, s, timeMs, t):
	case !finite(value):
		if example := a.reject(pb.RejectionReason_REJECTION_REASON_NOT_A_NUMBER); example != nil {
			*example = fmt.Sprintf("%.40q at %d ms is %v", t.name(s), timeMs, value)
		}
	default:
		if example := a.reject(pb.RejectionReason_REJECTION_REASON_BAD_HISTOGRAM); example != nil {
			*example = fmt.Sprintf("%.40q is a histogram series, but the sample is a number", t.name(s))
		}
	}
	return false
}

// admitPlace checks a sample's series and time, and counts a rejection. It formats an example only for the first sample
// that is rejected for a reason.
func (a *admission) admitPlace(id uint32, s slot, timeMs int64, t *table) bool {
	switch {
	case s.kind() != number && s.kind() != histogram:
		if example := a.reject(t.refusal(s)); example != nil {
			*example = t.refusalExample(id, s)
		}
	case timeMs > a.allowed.newestMs:
		if example := a.reject(pb.RejectionReason_REJECTION_REASON_FUTURE); example != nil {
			*example = fmt.Sprintf("%.40q at %d ms is %d ms after the latest accepted time", t.name(s), timeMs,
				timeMs-a.allowed.newestMs)
		}
	case timeMs < a.allowed.oldestMs:
		if example := a.reject(pb.RejectionReason_REJECTION_REASON_TOO_OLD); example != nil {
			*example = fmt.Sprintf("%.40q at %d ms is too old; the oldest accepted time is %d ms", t.name(s), timeMs,
				a.allowed.oldestMs)
		}
	default:
		return true
	}
	return false
}

// admitHistograms admits distributions. It replaces each id in place by the journal's, and remembers the stream's ids
// for restore.
func (a *admission) admitHistograms(histograms []*pb.HistogramSample, t *table) {
	for _, h := range histograms {
		id := h.GetSeriesId()
		s := t.slots.get(id)
		if !a.admitPlace(id, s, h.GetTimeMs(), t) {
			continue
		}
		if err := checkHistogram(h, s.kind() == histogram); err != nil {
			if example := a.reject(pb.RejectionReason_REJECTION_REASON_BAD_HISTOGRAM); example != nil {
				*example = fmt.Sprintf("%.40q: %v", t.name(s), err)
			}
			continue
		}
		h.SeriesId = uint32(s.id)
		a.ids = append(a.ids, id)
		a.batch.Histograms = append(a.batch.Histograms, h)
	}
}

// restore resets the ids of the admitted histograms to those of the stream, so that the same batch can be admitted
// again. Admission overwrites the ids in place to avoid a copy.
func (a *admission) restore() {
	for i, id := range a.ids {
		a.batch.Histograms[i].SeriesId = id
	}
	a.ids = a.ids[:0]
}

// addSaturating adds without overflow. A sender chooses both numbers, and a sum that overflowed could look like a valid
// time.
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

// timeRange is a range of accepted event times in ms since the Unix epoch, including both ends.
type timeRange struct{ oldestMs, newestMs int64 }

// clock decides which event times are credible. It uses two clocks: the system clock, and one that has advanced evenly
// since the start. It accepts what either of them allows, so that a step of the system clock does not reject good
// samples.
type clock struct {
	start  time.Time
	ahead  time.Duration
	maxAge time.Duration
}

// allowed returns the accepted range of event times at the time now. It covers the ranges of both clocks.
func (c *clock) allowed(now time.Time) timeRange {
	wall := now.UnixMilli()
	even := c.start.UnixMilli() + now.Sub(c.start).Milliseconds() // Sub follows the monotonic clock
	r := timeRange{newestMs: max(wall, even) + c.ahead.Milliseconds()}
	if c.maxAge > 0 { // otherwise everything since 1970
		r.oldestMs = max(0, min(wall, even)-c.maxAge.Milliseconds())
	}
	return r
}
