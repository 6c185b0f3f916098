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

// iterator walks through the slices of one series in the order of time. Runs that overlap, because of several sources
// or a changed interval, are merged while walking. Nearly always one run is alone at a time, and then a step is a
// single addition.
//
// It has three layers. start reads the runs and makes a cursor for each (all, by time). seek opens the cursors that the
// time has reached and stands at the first slice. Where the query looks at instants only, thin then moves on to the
// newest slice that the next instant sees.
//
// The engine's buffers are reused from series to series (reset), because a query may touch a hundred thousand of them.
// It is not safe for concurrent use.
type iterator struct {
	series *series
	skip   []bool // sources whose slices are not read, by their place in series.found; those behind the last are
	read   bool   // whether runs were read

	runs    []run.Run
	from    []origin // of each of runs
	decoded int      // places of runs
	all     []cursor // by time
	next    int      // of all, the first that was not reached yet
	open    []cursor // that stand at a slice which was not given yet, or at the present one
	at      cursor   // the present slice, a copy
	kind    chunkenc.ValueType
	// alone is up to which place the only open cursor can go without a look at others; -1 where there are several.
	alone int
	// instantMs is the instant at which the present slice is the newest, where the series is thinned; stride is how
	// many places on from it the newest slice of the next instant is, 0 where that has to be looked for; lastMs is the
	// last instant of which that holds.
	instantMs int64
	lastMs    int64
	stride    int
	err       error
}

// origin says where a run comes from, and which part of it is needed.
type origin struct {
	source       int
	minMs, maxMs int64
}

// reset makes the iterator one of another series, and keeps its buffers.
func (it *iterator) reset(s *series) {
	it.release()
	*it = iterator{series: s, skip: it.skip[:0], runs: it.runs[:0], from: it.from[:0], all: it.all[:0],
		open: it.open[:0], alone: -1, kind: chunkenc.ValNone}
}

// release returns decoded slices to the query's budget, and keeps those buffers that may be overwritten: those that
// Runs filled for us (run.Run.Given). Others belong to a source.
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
// moves. The runs are cut to the time that is wanted by bounds on places; nothing is copied.
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
		first, last := 0, r.Places()-1
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
	// The order in time is that of the runs, but for several sources or a changed interval.
	slices.SortFunc(it.all, byTime)
}

// readRuns reads the slices of a source that end within [minMs, maxMs]. Damage is noted in the plan, which makes it a
// warning of the query, and what could be read counts.
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

// forget takes back the runs from had on.
func (it *iterator) forget(had int) {
	clear(it.runs[had:])
	it.runs, it.from = it.runs[:had], it.from[:had]
}

// account counts the slices of the runs from had on as decoded.
func (it *iterator) account(had int) error {
	places := 0
	for i := range it.runs[had:] {
		places += it.runs[had+i].Places()
	}
	it.decoded += places
	return cmp.Or(it.series.plan.ReadSamples(places), it.series.plan.Hold(places))
}

// byTime orders cursors by their runs' beginnings, and of one time by precedence.
func byTime(a, b cursor) int {
	return cmp.Or(cmp.Compare(a.FirstMs, b.FirstMs), cmp.Compare(a.rank, b.rank))
}

// Next goes to the next slice.
func (it *iterator) Next() chunkenc.ValueType {
	if it.series.thinned {
		return it.nextThinned()
	}
	if it.alone >= 0 {
		c := &it.open[0]
		place := c.place + 1
		if c.Present != nil {
			place = c.presentFrom(place)
		}
		if place <= it.alone {
			c.place, c.atMs = place, c.FirstMs+int64(place)*c.StepMs
			it.at.place, it.at.atMs = c.place, c.atMs
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

// nextThinned goes to the newest slice of the next instant that has one of its own.
func (it *iterator) nextThinned() chunkenc.ValueType {
	if it.stride > 0 {
		c := &it.open[0]
		instantMs := it.instantMs + it.series.instants.StepMs
		if place := c.place + it.stride; place <= it.alone && instantMs <= it.lastMs {
			c.place, c.atMs = place, c.atMs+it.series.instants.StepMs
			it.at.place, it.at.atMs = c.place, c.atMs
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

// milliseconds keep vet from taking Seek for io.Seeker's, whose first parameter is an int64 too.
type milliseconds = int64

// Seek goes to the first slice that is not before ms; it stays where it is if that is so already.
func (it *iterator) Seek(ms milliseconds) chunkenc.ValueType {
	if it.read && (it.kind == chunkenc.ValNone || it.at.atMs >= ms) {
		return it.kind
	}
	return it.thin(it.seek(ms))
}

// seek goes to the first slice that is not before ms, whatever is thinned.
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

// stand makes the slice at ms the present one: the one of the lowest rank, of those that are open. Others at the same
// time are passed over when the iterator moves on. It also notes how far the iterator may go without a look at other
// runs.
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

// end gives everything back. The iterator stays at its end.
func (it *iterator) end() chunkenc.ValueType {
	it.kind, it.alone, it.stride = chunkenc.ValNone, -1, 0
	it.open, it.next, it.all = it.open[:0], 0, it.all[:0]
	it.release()
	return chunkenc.ValNone
}

// thin goes on from a slice to the newest one that is not after the first instant at which that slice can be seen. What
// lies between is newer at no instant, so that nobody who asks at instants alone sees it. If the slices lie at a
// distance that divides the instants' step, the following steps are strides of as many places.
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

// At is the present slice, a number.
func (it *iterator) At() (int64, float64) { return it.at.atMs, it.at.Values[it.at.place] }

// staleHistogram is the sum that marks a distribution as a gap's marker, as Prometheus has it.
var staleHistogram = math.Float64frombits(value.StaleNaN)

// AtHistogram is the present slice, a distribution; the caller may change it.
func (it *iterator) AtHistogram(to *histogram.Histogram) (int64, *histogram.Histogram) {
	h := it.at.Histograms[it.at.place]
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

// AtFloatHistogram is the present slice, a distribution; the caller may change it.
func (it *iterator) AtFloatHistogram(to *histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	h := it.at.Histograms[it.at.place]
	if h == nil {
		return it.at.atMs, &histogram.FloatHistogram{Sum: staleHistogram}
	}
	to = h.ToFloat(to)
	to.CounterResetHint = hint(h)
	return it.at.atMs, to
}

// hint has the engine look for resets itself. A store of Prometheus' knows some from where its chunks begin; the engine
// finds the same.
func hint(h *histogram.Histogram) histogram.CounterResetHint {
	if h.CounterResetHint == histogram.GaugeType {
		return histogram.GaugeType
	}
	return histogram.UnknownCounterReset
}

// AtT is the end of the present slice.
func (it *iterator) AtT() int64 { return it.at.atMs }

// AtST is unknown.
func (it *iterator) AtST() int64 { return 0 }

// Err is why the iterator ended early, if it did.
func (it *iterator) Err() error { return it.err }
