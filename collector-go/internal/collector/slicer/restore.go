package slicer

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Restore returns a slicer with the state that Snapshot wrote. It reads all versions from oldest on. It fails if the
// bytes are damaged or contradict themselves, because a wrong state would silently produce wrong slices.
//
// The options may differ from those of the snapshot. The open samples of a series whose width changed move to slices of
// the new width. Closed slices do not change.
func Restore(data []byte, o Options) (*Slicer, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	d, v, err := metric.NewDecoder(data, magic, version)
	if err != nil {
		return nil, fmt.Errorf("restore the slicer: %w", err)
	}
	if v < oldest || v > version {
		return nil, fmt.Errorf("restore the slicer: its format is version %d, but this program supports %d to %d", v,
			oldest, version)
	}
	r := reader{Decoder: d, s: s, version: v}
	r.all()
	if v >= 7 {
		r.transfers()
	}
	if err := d.Done(); err != nil {
		return nil, fmt.Errorf("restore the slicer: %w", err)
	}
	s.realign()
	return s, nil
}

// reader reads a snapshot into a slicer. After the first error every read returns a zero value, so the code needs no
// check after each read. Count bounds each loop by the bytes that are left, so a damaged number cannot ask for much
// memory.
type reader struct {
	*metric.Decoder
	s       *Slicer
	version uint64
	here    *here // nil if the snapshot is this slicer's own
}

// here translates ids from another collector's snapshot. Each journal assigns ids of series and producers by itself, so
// an id of one collector means something else on another.
type here struct {
	series   func(id uint32) uint32 // returns 0 for a series that is no longer defined
	producer uint32                 // replaces all producers of the snapshot
}

// id reads the id of a series, translated if the snapshot is another collector's.
func (r *reader) id() uint32 {
	id := r.Uint32()
	if r.here == nil {
		return id
	}
	return r.here.series(id)
}

// by reads the id of a producer. In another collector's snapshot every producer becomes the one that brought it.
func (r *reader) by() uint32 {
	if id := r.Uint32(); r.here == nil {
		return id
	}
	return r.here.producer
}

// demand fails the reading if a condition does not hold, and reports whether reading may go on. what is the text of the
// error and names the contradiction.
func (r *reader) demand(holds bool, what string) bool {
	if !holds {
		r.Fail(errors.New(what))
	}
	return r.Err() == nil
}

// all reads the sections that writer.all wrote, in the same order. Sections that a version did not have yet are
// skipped.
func (r *reader) all() {
	s := r.s
	s.clockMs, s.tickMs, s.sweepMs = r.Int(), r.Int(), r.Int()
	s.nextRef = slice.Ref(r.Uint32())
	r.counts()
	r.producers()
	for range r.Count(1) {
		r.source()
	}
	r.topologies()
	for _, out := range s.outputs {
		if !r.demand(out.owner != nil, "a series has no owner") {
			return
		}
	}
	for range r.Count(1) {
		id, rule, reason := r.id(), r.Rule(), Reason(r.String())
		if !r.demand(reason != "" && (id != 0 || r.here == nil) && s.inputs.get(id) == nil, "a refused series is invalid") {
			return
		}
		in := newInput(id, rule)
		in.refused = reason
		s.link(in, s.source(rule.Worker))
		s.inputs.set(id, in)
	}
	if r.version >= 5 {
		r.clocks()
	}
	if r.version >= 6 {
		r.intervals()
	}
}

func (r *reader) counts() {
	c := &r.s.counts
	c.InSlices, c.Late, c.Slices, c.Markers = r.Uint(), r.Uint(), r.Uint(), r.Uint()
	for range r.Count(1) {
		reason := Reason(r.String())
		c.Refused[reason] = r.Uint()
	}
}

func (r *reader) producers() {
	for range r.Count(1) {
		p := r.s.producer(r.by())
		p.connected, p.connectedMs, p.sentMs = r.Bool(), r.Int(), r.Int()
		if r.version >= 8 {
			copy(p.numbers.epoch[:], r.String())
			p.numbers.before, p.numbers.newest, p.ended = r.Uint(), r.Uint(), r.Bool()
		}
	}
}

func (r *reader) topologies() {
	for range r.Count(1) {
		name := r.String()
		var infos []*info
		for range r.Count(1) {
			in, place := r.info(), r.Uint()
			if !r.demand(place <= uint64(len(r.s.sources)) && (place > 0 || !in.live), "an info has no writer") {
				return
			}
			if place > 0 {
				in.writer = r.s.sources[place-1]
			}
			infos = append(infos, in)
		}
		r.s.describeTopology(name, infos)
	}
}

func (r *reader) infos(writer *source) (infos []*info) {
	for range r.Count(1) {
		in := r.info()
		in.writer = writer
		infos = append(infos, in)
	}
	return infos
}

func (r *reader) info() *info {
	in := &info{series: r.Series(), widthMs: r.Int(), lastEnd: r.Int(), live: r.Bool()}
	in.hasRef, in.ref = r.ref()
	return in
}

// ref reads a ref and whether there is one. Refs of another collector are dropped: its store assigned other series to
// them. The series gets a new ref with its next slice.
func (r *reader) ref() (bool, slice.Ref) {
	has, ref := r.Bool(), slice.Ref(r.Uint32())
	if r.here != nil {
		return false, 0
	}
	return has, ref
}

// source reads a worker. Versions before 8 did not record when a sample was last accepted. The time at which the worker
// was last heard is used instead.
func (r *reader) source() {
	w := r.Worker()
	if !r.demand(r.s.byWorker[w] == nil, "a worker occurs twice") {
		return
	}
	src := r.s.source(w)
	src.eventMs, src.heardMs = r.Int(), r.Int()
	takenMs := src.heardMs
	if r.version >= 8 {
		takenMs, src.again, src.againMs = r.Int(), stretch{r.Int(), r.Int()}, r.Int()
	}
	for range r.Count(1) {
		if p := r.s.producer(r.by()); !slices.Contains(src.carriers, p) {
			src.carriers = append(src.carriers, p)
		}
	}
	src.starts.packMs = r.Int()
	if r.version >= 3 {
		src.starts.intervalMs = r.Int()
	}
	for range r.Count(1) {
		s := start{ms: r.Int(), seenMs: r.Int()}
		if s.lastMs = s.seenMs; r.version >= 8 {
			s.lastMs, s.clockMs = r.Int(), r.Int()
		}
		src.starts.known = append(src.starts.known, s)
	}
	r.demand(len(src.starts.known) <= maxStarts && len(src.carriers) <= maxCarriers,
		"a worker has too many starts or carriers")
	src.infos, src.ended = r.infos(src), r.infos(src)
	if r.version >= 2 {
		r.health(&src.health)
	}
	for range r.Count(1) {
		r.seriesState(src)
	}
	src.takenMs = takenMs
}

// seriesState reads the series of a worker that close together. The times are checked before newSeriesState divides by
// them to find the number of rows.
func (r *reader) seriesState(src *source) {
	t := &seriesState{source: src, widthMs: r.Int(), intervalMs: r.Int(), packMs: r.Int(), closedTo: r.Int()}
	if !r.demand(t.widthMs >= 1 && t.widthMs <= maxGridMs && t.intervalMs >= 1 && t.intervalMs <= t.widthMs &&
		t.packMs >= 0 && t.packMs <= maxWidthMs && t.closedTo >= 0 && t.closedTo <= 2*maxTimeMs,
		"a series state has invalid times") {
		return
	}
	closedTo := t.closedTo
	t = newSeriesState(src, t.widthMs, t.intervalMs, t.packMs)
	t.closedTo = closedTo
	src.states = append(src.states, t)
	for range r.Count(1) {
		if !r.Bool() {
			t.free = append(t.free, uint32(len(t.inputs)))
			t.inputs = append(t.inputs, nil)
			continue
		}
		in := r.input(t)
		if r.Err() != nil {
			return
		}
		t.inputs = append(t.inputs, in)
		t.seat(in)
	}
	t.growSlots()
	for range r.Count(1) {
		b := r.bucket(t)
		if r.Err() != nil {
			return
		}
		t.open = append(t.open, b)
		r.s.opened(t, b.samplesOpen())
	}
}

// maxGridMs is the widest possible slice: the interval of a day, rounded up to a multiple of nearly a day.
const maxGridMs = 2 * maxWidthMs

// input reads a raw series and links it to its output. Several inputs may share an output, but exactly one owns it. The
// state of the output follows only that input.
func (r *reader) input(t *seriesState) *input {
	id, attached := r.id(), r.Bool()
	in := newInput(id, r.Rule())
	in.state, in.slot = t, uint32(len(t.inputs))
	if r.version >= 2 {
		in.sinceMs = r.Int()
	}
	r.s.link(in, t.source)
	owns := r.Bool()
	if !r.demand(in.kind >= metric.KindGauge && in.kind <= metric.KindDistribution, "a series has an invalid kind") {
		return nil
	}
	r.demand(!attached || r.s.inputs.get(in.id) == nil && (in.id != 0 || r.here == nil), "an id occurs twice or has no owner")
	out := r.s.outputs[in.rule.Series.Labels]
	if out == nil {
		out = newOutput()
		r.s.outputs[in.rule.Series.Labels] = out
	}
	in.out = out
	out.users++
	if owns {
		r.demand(out.owner == nil, "a series has two owners")
		out.owner, out.widthMs = in, t.widthMs
		r.output(out)
	} else if r.version >= 5 && r.Bool() {
		out.counter.from = in
	}
	if attached && r.Err() == nil {
		r.s.inputs.set(in.id, in)
	}
	return in
}

// mostTotal is more than any counter reaches. Early releases did not refuse impossible values, and such a value could
// be added to a total. A total above this bound would not rise again by ones and tens, so it starts from 0.
const mostTotal = 1 << 56

// output reads what an output needs for its next slice. The owner of the output must be set before.
func (r *reader) output(o *output) {
	o.spread = r.Bool()
	o.hasRef, o.ref = r.ref()
	o.lastEnd, o.lastMs, o.live = r.Int(), r.Int(), r.Bool()
	if r.version >= 2 {
		o.heardMs, o.missed = r.Int(), r.Int()
	}
	o.counter.begun = r.Bool()
	if r.Bool() {
		o.counter.from = o.owner
	}
	o.counter.total, o.counter.offset, o.counter.last = r.Float(), r.Float(), r.Float()
	o.counter.lastMs = r.Int()
	if r.version >= 3 {
		for range r.Count(1) {
			o.counter.recent = append(o.counter.recent, counted{timeMs: r.Int(), value: r.Float()})
		}
		r.demand(len(o.counter.recent) <= maxRecent, "a counter has too many recent values")
	}
	if r.version < 5 && o.counter.total > mostTotal {
		o.counter = counterState{}
	}
	if r.version >= 8 {
		o.counter.history = r.history()
	}
	o.restarts = r.Float()
	if r.Bool() {
		d := &distributionState{base: r.distribution(), last: r.distribution(), lastMs: r.Int()}
		if r.version >= 8 {
			d.history = r.history()
		}
		if d.fell != nil {
			d.low, d.lowMs = r.distribution(), r.Int()
		}
		o.distribution = d
	}
}

// order reads the order of a sample. Before version 8 it was the sequence number of the batch.
func (r *reader) order() uint64 {
	if r.version < 8 {
		return r.Uint() << 1
	}
	return r.Uint()
}

func (r *reader) made() made { return made{r.Uint(), r.by()} }

func (r *reader) history() history { return history{r.made(), r.fallen(), r.fallen()} }

func (r *reader) fallen() *fallen {
	if !r.Bool() {
		return nil
	}
	return &fallen{value: r.Float(), timeMs: r.Int(), untilMs: r.Int(), made: r.made()}
}

func (r *reader) distribution() distribution {
	d := distribution{schema: int32(r.Int()), zeroThreshold: r.Float(), zeroCount: r.Uint(), count: r.Uint(),
		sum: r.Float(), negatives: r.Uint()}
	r.demand(d.schema >= minSchema && d.schema <= maxSchema, "a distribution has an invalid schema")
	previous := int64(-maxIndex - 1)
	for range r.Count(1) {
		index := r.Int()
		if !r.demand(index > previous && index <= maxIndex, "a distribution's buckets are out of order") {
			break
		}
		d.buckets = append(d.buckets, indexed{int32(index), r.Uint()})
		previous = index
	}
	return d
}

// maxSchema is the finest schema that Prometheus supports.
const maxSchema = 8

func (r *reader) bucket(t *seriesState) *bucket {
	b := &bucket{endMs: r.Int()}
	newest := t.closedTo
	if n := len(t.open); n > 0 {
		newest = t.open[n-1].endMs
	}
	r.demand(b.endMs > newest && b.endMs%t.widthMs == 0 && b.endMs <= 2*maxTimeMs, "an open slice has an invalid end")
	if r.version >= 4 && (r.Err() != nil || !r.grid(t, b)) {
		return nil
	}
	for range r.Count(1) {
		x := sample{slot: r.slot(t), timeMs: b.endMs - r.Int(), value: r.Float(), order: r.order(),
			producer: r.by()}
		t.newestMs = max(t.newestMs, x.timeMs)
		if !r.demand(t.endOf(x.timeMs) == b.endMs && x.timeMs > 0, "a sample is in the wrong slice") {
			return nil
		}
		if r.version >= 4 {
			b.samples = append(b.samples, x)
		} else {
			r.s.put(t, b, x)
		}
	}
	for range r.Count(1) {
		x := reading{slot: r.slot(t), timeMs: b.endMs - r.Int(), order: r.order(), producer: r.by()}
		t.newestMs = max(t.newestMs, x.timeMs)
		d := r.distribution()
		if !r.demand(t.endOf(x.timeMs) == b.endMs && x.timeMs > 0, "a reading is in the wrong slice") {
			return nil
		}
		x.histogram, x.negatives = d.histogram(), d.negatives
		b.histograms = append(b.histograms, x)
	}
	r.demand(b.samplesOpen() > 0, "an open slice is empty")
	return b
}

// grid reads the samples that lie on the grid.
func (r *reader) grid(t *seriesState, b *bucket) bool {
	for range r.Count(1) {
		o := origin{timeMs: b.endMs - r.Int(), order: r.order(), producer: r.by()}
		t.newestMs = max(t.newestMs, o.timeMs)
		if !r.demand(o.timeMs > 0 && t.holds(b, o.timeMs), "a sample is in the wrong slice") {
			return false
		}
		b.origins = append(b.origins, o)
	}
	for range r.Count(1) {
		column, row, taken, sameOrigin := r.Uint(), r.Uint(), r.Uint32(), r.Bool()
		if !r.demand(column < uint64(t.columns()) && row < uint64(t.rows) && taken != 0,
			"a page of an open slice has an invalid end") {
			return false
		}
		p := r.s.strip(t, b, int(column), int(row)) // nil if the options allow fewer pages than those of the snapshot
		if !r.demand(p == nil || p.taken == 0, "a page of an open slice occurs twice") {
			return false
		}
		var by uint32
		if sameOrigin {
			by = r.Uint32()
		}
		for rest := taken; rest != 0; rest &= rest - 1 {
			at := bits.TrailingZeros32(rest)
			if !sameOrigin {
				by = r.Uint32()
			}
			slot := int(column)*pageSlots + at
			if !r.demand(by > 0 && int(by) <= len(b.origins) && slot < len(t.inputs) && t.inputs[slot] != nil &&
				t.row(b.endMs, b.origins[max(by, 1)-1].timeMs) == int(row), "a sample has no series or no origin") {
				return false
			}
			if p == nil {
				o := &b.origins[by-1]
				b.samples = append(b.samples, sample{o.timeMs, r.Float(), o.order, uint32(slot), o.producer})
				continue
			}
			b.fill(p, uint32(at), by, r.Float())
			b.held++
		}
	}
	return r.Err() == nil
}

func (r *reader) slot(t *seriesState) uint32 {
	slot := r.Uint32()
	r.demand(int(slot) < len(t.inputs) && t.inputs[slot] != nil, "a sample has no series")
	return slot
}
