package read

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// iterator returns the slices of one series in order of time. It merges runs that overlap, because of several sources
// or a changed interval. Nearly always there is only one run at a time, and then a step is a single addition.
//
// It has three layers. start reads the runs and makes a cursor for each (all, sorted by time). seek opens the cursors
// that the time has reached, and moves to the first slice. If the query only needs instants, thin then moves on to the
// newest slice that the next instant sees.
//
// The engine reuses iterators and their buffers for the next series (reset), because a query may read a hundred
// thousand series. An iterator is not safe for concurrent use.
type iterator struct {
	series *series
	skip   []bool // by index in series.found: sources whose slices are not read; it may be shorter
	read   bool   // the runs were read

	runs    []run.Run
	from    []origin // the origin of each of runs
	decoded int      // number of slots in runs
	all     []cursor // sorted by time
	next    int      // index in all of the first cursor that was not reached yet
	open    []cursor // cursors at the current slice or at one that was not returned yet
	at      cursor   // a copy of the cursor at the current slice
	kind    chunkenc.ValueType
	// alone is the slot up to which the only open cursor can move without a comparison with others. It is -1 if
	// several are open.
	alone int
	// These fields are used if the series is thinned. instantMs is the instant at which the current slice is the
	// newest. stride is the number of slots from there to the newest slice of the next instant, or 0 if that has to be
	// searched for. lastMs is the last instant for which stride is valid.
	instantMs int64
	lastMs    int64
	stride    int
	err       error
}

// origin says which source a run comes from, and which range of it is needed.
type origin struct {
	source       int
	minMs, maxMs int64
}

// reset prepares the iterator for another series, and keeps its buffers.
func (it *iterator) reset(s *series) {
	it.release()
	*it = iterator{series: s, skip: it.skip[:0], runs: it.runs[:0], from: it.from[:0], all: it.all[:0],
		open: it.open[:0], alone: -1, kind: chunkenc.ValNone}
}

// release returns decoded slices to the query's budget. It keeps the buffers that Runs filled for this iterator
// (run.Run.Given), which may be overwritten. Others belong to a source.
func (it *iterator) release() {
	if it.decoded > 0 {
		it.series.plan.Release(it.decoded)
		it.decoded = 0
	}
	for i := range it.runs {
		r := &it.runs[i]
		if *r = (run.Run{Values: r.Values, Given: r.Given}); !r.Given {
			r.Values = nil
		}
	}
	it.runs = it.runs[:0]
	it.at.Run = nil
}

// start reads the runs. It is called when the iterator first moves, since the engine makes iterators that it never
// moves. Bounds on slots limit the runs to the wanted range, and nothing is copied.
func (it *iterator) start() {
	it.read = true
	w := it.series.wanted
	if w.noSlices {
		return
	}
	if it.err = w.ctx.Err(); it.err != nil {
		return
	}
	if w.levels != nil {
		it.err = it.readLevelled()
	} else {
		for i := range it.series.found {
			if i < len(it.skip) && it.skip[i] {
				continue
			}
			if it.err = it.readRuns(i, w.minMs, w.maxMs); it.err != nil {
				break
			}
		}
	}
	if it.err != nil {
		return
	}
	for i := range it.runs {
		r, from := &it.runs[i], &it.from[i]
		first, last := 0, r.Slots()-1
		if last < 0 || r.LastMs() < from.minMs || r.FirstMs > from.maxMs {
			continue
		}
		if r.FirstMs < from.minMs {
			first = int((from.minMs - r.FirstMs + r.StepMs - 1) / r.StepMs)
		}
		if r.LastMs() > from.maxMs {
			last = int((from.maxMs - r.FirstMs) / r.StepMs)
		}
		if first > last {
			continue
		}
		it.all = append(it.all, cursor{Run: r, first: first, last: last, rank: from.source<<32 | i})
	}
	// The runs are in order of time already, unless there are several sources or the interval changed.
	slices.SortFunc(it.all, byTime)
}

// readRuns reads the slices of a source that end within [minMs, maxMs]. Damage is recorded in the plan, which turns it
// into a warning of the query. The readable data is still used.
func (it *iterator) readRuns(source int, minMs, maxMs int64) error {
	had := len(it.runs)
	found := it.series.found[source]
	var err error
	it.runs, err = found.Reader.Runs(found.Ref, minMs, maxMs, it.runs)
	if _, damaged := errors.AsType[*run.DamageError](err); damaged {
		it.series.plan.Damaged(err)
	} else if err != nil {
		return err
	}
	for range it.runs[had:] {
		it.from = append(it.from, origin{source, minMs, maxMs})
	}
	return it.account(had)
}

// keep adds a run.
func (it *iterator) keep(source int, r run.Run, minMs, maxMs int64) {
	it.runs, it.from = append(it.runs, r), append(it.from, origin{source, minMs, maxMs})
}

// forget drops the runs from index had on.
func (it *iterator) forget(had int) {
	clear(it.runs[had:])
	it.runs, it.from = it.runs[:had], it.from[:had]
}

// account charges the slices of the runs from index had on to the query's budget.
func (it *iterator) account(had int) error {
	slots := 0
	for i := range it.runs[had:] {
		slots += it.runs[had+i].Slots()
	}
	it.decoded += slots
	return cmp.Or(it.series.plan.ReadSamples(slots), it.series.plan.Hold(slots))
}

// byTime sorts cursors by the beginnings of their runs, and equal ones by precedence.
func byTime(a, b cursor) int {
	return cmp.Or(cmp.Compare(a.FirstMs, b.FirstMs), cmp.Compare(a.rank, b.rank))
}

// Next moves to the next slice.
func (it *iterator) Next() chunkenc.ValueType {
	if it.series.thinned {
		return it.nextThinned()
	}
	if it.alone >= 0 {
		c := &it.open[0]
		slot := c.slot + 1
		if c.Present != nil {
			slot = c.presentFrom(slot)
		}
		if slot <= it.alone {
			c.slot, c.atMs = slot, c.FirstMs+int64(slot)*c.StepMs
			it.at.slot, it.at.atMs = c.slot, c.atMs
			return it.kind
		}
	}
	if !it.read {
		return it.seek(math.MinInt64)
	}
	if it.kind == chunkenc.ValNone {
		return chunkenc.ValNone
	}
	return it.seek(it.at.atMs + 1)
}

// nextThinned moves to the newest slice of the next instant for which a new slice exists.
func (it *iterator) nextThinned() chunkenc.ValueType {
	if it.stride > 0 {
		c := &it.open[0]
		instantMs := it.instantMs + it.series.instants.StepMs
		if slot := c.slot + it.stride; slot <= it.alone && instantMs <= it.lastMs {
			c.slot, c.atMs = slot, c.atMs+it.series.instants.StepMs
			it.at.slot, it.at.atMs = c.slot, c.atMs
			it.instantMs = instantMs
			return it.kind
		}
	}
	if !it.read {
		return it.thin(it.seek(math.MinInt64))
	}
	if it.kind == chunkenc.ValNone {
		return chunkenc.ValNone
	}
	return it.thin(it.seek(it.at.atMs + 1))
}

// milliseconds prevents that vet compares Seek with that of io.Seeker, whose first parameter is an int64 too.
type milliseconds = int64

// Seek moves to the first slice that is not before ms. If the series is thinned, it moves on to the newest slice that
// the next instant sees. It does not move if the current slice is not before ms.
func (it *iterator) Seek(ms milliseconds) chunkenc.ValueType {
	if it.read && (it.kind == chunkenc.ValNone || it.at.atMs >= ms) {
		return it.kind
	}
	return it.thin(it.seek(ms))
}

// seek moves to the first slice that is not before ms, even if the series is thinned.
func (it *iterator) seek(ms int64) chunkenc.ValueType {
	if !it.read {
		it.start()
	}
	if it.err != nil {
		return it.end()
	}
	ms = max(ms, it.series.minMs)
	kept := it.open[:0]
	for _, c := range it.open {
		if c.atMs >= ms || c.seek(ms) {
			kept = append(kept, c)
		}
	}
	it.open = kept
	firstMs := int64(math.MaxInt64)
	for _, c := range it.open {
		firstMs = min(firstMs, c.atMs)
	}
	for ; it.next < len(it.all) && it.all[it.next].FirstMs <= firstMs; it.next++ {
		c := it.all[it.next]
		if c.seek(ms) {
			it.open = append(it.open, c)
			firstMs = min(firstMs, c.atMs)
		}
	}
	return it.stand(firstMs)
}

// stand makes the slice at ms the current one. If several open cursors have one, the one with the lowest rank counts,
// and the others are skipped when the iterator moves on. It also determines how far the iterator may move without a
// comparison with other runs.
func (it *iterator) stand(ms int64) chunkenc.ValueType {
	if len(it.open) == 0 {
		return it.end()
	}
	best := -1
	for i := range it.open {
		if c := &it.open[i]; c.atMs == ms && (best < 0 || c.rank < it.open[best].rank) {
			best = i
		}
	}
	it.at = it.open[best]
	it.kind = chunkenc.ValFloat
	if it.at.Histograms != nil {
		it.kind = chunkenc.ValHistogram
	}
	it.alone = -1
	if len(it.open) == 1 {
		it.alone = it.at.last
		if it.next < len(it.all) {
			it.alone = min(it.alone, int((it.all[it.next].FirstMs-1-it.at.FirstMs)/it.at.StepMs))
		}
	}
	return it.kind
}

// end releases all slices. The iterator stays at its end.
func (it *iterator) end() chunkenc.ValueType {
	it.kind, it.alone, it.stride = chunkenc.ValNone, -1, 0
	it.open, it.next, it.all = it.open[:0], 0, it.all[:0]
	it.release()
	return chunkenc.ValNone
}

// thin moves from a slice to the newest one at or before the first instant that sees the slice. The slices between them
// are not the newest at any instant, so the query does not need them. If the distance of the slices divides the step of
// the instants, stride is set, and the following steps skip a fixed number of slots.
func (it *iterator) thin(kind chunkenc.ValueType) chunkenc.ValueType {
	if kind == chunkenc.ValNone || !it.series.thinned {
		return kind
	}
	instantMs, some := it.series.instants.AtOrAfter(it.at.atMs)
	if !some {
		return it.end()
	}
	newestMs := int64(math.MinInt64)
	for i := range it.open {
		if c := &it.open[i]; c.atMs <= instantMs {
			c.newest(instantMs)
			newestMs = max(newestMs, c.atMs)
		}
	}
	for ; it.next < len(it.all) && it.all[it.next].FirstMs <= instantMs; it.next++ {
		c := it.all[it.next]
		if !c.seek(max(it.at.atMs, it.series.minMs)) {
			continue
		}
		if c.atMs <= instantMs {
			c.newest(instantMs)
			newestMs = max(newestMs, c.atMs)
		}
		it.open = append(it.open, c)
	}
	kind = it.stand(newestMs)
	it.instantMs, it.stride = instantMs, 0
	if stepMs := it.series.instants.StepMs; it.alone >= 0 && it.at.Present == nil && stepMs%it.at.StepMs == 0 {
		it.stride, it.lastMs = int(stepMs/it.at.StepMs), it.series.instants.LastMs
		if it.next < len(it.all) {
			it.lastMs = min(it.lastMs, it.all[it.next].FirstMs-1)
		}
	}
	return kind
}

// At returns the current slice, which must be a number.
func (it *iterator) At() (int64, float64) { return it.at.atMs, it.at.Values[it.at.slot] }

// staleHistogram is the sum that marks a distribution as a gap marker, as in Prometheus.
var staleHistogram = math.Float64frombits(value.StaleNaN)

// AtHistogram returns the current slice, which must be a distribution. The caller may change it.
func (it *iterator) AtHistogram(to *histogram.Histogram) (int64, *histogram.Histogram) {
	h := it.at.Histograms[it.at.slot]
	switch {
	case h == nil:
		return it.at.atMs, &histogram.Histogram{Sum: staleHistogram}
	case to == nil:
		to = h.Copy()
	default:
		h.CopyTo(to)
	}
	to.CounterResetHint = hint(h)
	return it.at.atMs, to
}

// AtFloatHistogram returns the current slice, which must be a distribution. The caller may change it.
func (it *iterator) AtFloatHistogram(to *histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	h := it.at.Histograms[it.at.slot]
	if h == nil {
		return it.at.atMs, &histogram.FloatHistogram{Sum: staleHistogram}
	}
	to = h.ToFloat(to)
	to.CounterResetHint = hint(h)
	return it.at.atMs, to
}

// hint makes the engine look for counter resets itself, except in gauge histograms. Prometheus' own storage knows some
// resets from the beginnings of its chunks, and the engine finds the same.
func hint(h *histogram.Histogram) histogram.CounterResetHint {
	if h.CounterResetHint == histogram.GaugeType {
		return histogram.GaugeType
	}
	return histogram.UnknownCounterReset
}

// AtT returns the end of the current slice.
func (it *iterator) AtT() int64 { return it.at.atMs }

// AtST returns 0, because slices have no start timestamp.
func (it *iterator) AtST() int64 { return 0 }

// Err returns the error that ended the iterator early, if there is one.
func (it *iterator) Err() error { return it.err }
