package slicer

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// The format of a snapshot. docs/formats/checkpoint.md describes it. Restore also accepts the version that release
// 0.1.0 wrote, so that a new release can continue from its checkpoint. No release wrote the versions between.
const (
	magic   = "BMSLICER"
	version = 9
	oldest  = 3
)

// Snapshot returns the whole state as bytes, in the format of docs/formats/checkpoint.md. Equal states give equal
// bytes, because maps are written in the order of their keys. Tests rely on that to compare a restored slicer with the
// original.
//
// Call it between two batches, after the closed slices were handed on. Closed slices are no part of the snapshot, so
// a snapshot taken earlier would lose them. Snapshot panics in that case.
func (s *Slicer) Snapshot() []byte {
	if s.closed.Len() > 0 {
		panic("slicer: Snapshot before the closed slices were reset")
	}
	c := &coder{Coder: metric.Writing(magic, version), s: s}
	c.all(s.entire())
	c.transfers()
	return c.Finish()
}

// Restore returns a slicer with the state that Snapshot wrote, in this release or in 0.1.0. It fails if the bytes are
// damaged or contradict themselves, because a wrong state would silently produce wrong slices.
//
// The options may differ from those of the snapshot. The open samples of a series whose width changed move to slices of
// the new width. Closed slices do not change.
func Restore(data []byte, o Options) (*Slicer, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	read, err := metric.Reading(data, magic, oldest, version)
	if err != nil {
		return nil, fmt.Errorf("restore the slicer: %w", err)
	}
	c := &coder{Coder: read, s: s}
	c.all(s.entire())
	if c.Version > oldest {
		c.transfers()
	}
	if err := c.Done(); err != nil {
		return nil, fmt.Errorf("restore the slicer: %w", err)
	}
	s.realign()
	return s, nil
}

// CheckVersion returns a disk.ErrNewer if a newer program wrote the snapshot. It needs only the beginning of a
// snapshot.
func CheckVersion(snapshot []byte) error { return metric.CheckVersion(snapshot, magic, version) }

// part selects the state of a snapshot. SnapshotOf fills it with one topology and leaves out counts, clocks and other
// producers, since another collector has its own.
type part struct {
	clockMs, tickMs, sweepMs *int64
	nextRef                  *slice.Ref
	counts                   *Counts
	producers                map[uint32]*producer
	sources                  []*source
	topologies               map[string][]*info
	clocks                   map[string]*slice.Clock
	topologyStates           map[string]*topologyState
	only                     string // the topology whose refused series are written; "" for all
}

func (s *Slicer) entire() part {
	return part{clockMs: &s.clockMs, tickMs: &s.tickMs, sweepMs: &s.sweepMs, nextRef: &s.nextRef, counts: &s.counts,
		producers: s.producers, sources: s.sources, topologies: s.topologies, clocks: s.clocks,
		topologyStates: s.topologyStates}
}

// coder codes a snapshot of a slicer, in either direction. After the first error every read returns a zero value, so
// the code checks for errors only where a zero value would do harm. Each bounds a loop by the bytes that are left, so a
// damaged number cannot ask for much memory.
type coder struct {
	*metric.Coder
	s    *Slicer
	here *here // nil if the snapshot is this slicer's own
}

// here translates ids from another collector's snapshot. Each journal assigns ids of series and producers by itself, so
// an id of one collector means something else on another.
type here struct {
	series   func(id uint32) uint32 // returns 0 for a series that is no longer defined
	producer uint32                 // replaces all producers of the snapshot
}

// id codes the id of a series, translated if the snapshot is another collector's.
func (c *coder) id(id *uint32) {
	if c.Uint32(id); c.here != nil {
		*id = c.here.series(*id)
	}
}

// by codes the id of a producer. In another collector's snapshot every producer becomes the one that brought it.
func (c *coder) by(id *uint32) {
	if c.Uint32(id); c.here != nil {
		*id = c.here.producer
	}
}

// ref codes a ref and whether there is one. Refs of another collector are dropped: its store assigned other series to
// them. The series gets a new ref with its next slice.
func (c *coder) ref(has *bool, ref *slice.Ref) {
	c.Bool(has)
	if c.Uint32((*uint32)(ref)); c.here != nil {
		*has, *ref = false, 0
	}
}

// all codes the sections of a snapshot. A change of the order, or a new field, needs a new version. Sections that the
// oldest version did not have are skipped.
func (c *coder) all(x part) {
	c.Int(x.clockMs, x.tickMs, x.sweepMs)
	c.Uint32((*uint32)(x.nextRef))
	c.counts(x.counts)
	c.producers(x.producers)
	for src := range metric.Elements(c.Coder, x.sources) {
		c.source(src)
	}
	if c.Reads() {
		x.sources = c.s.sources
	}
	c.topologies(x.topologies, x.sources)
	for _, out := range c.s.outputs {
		if !c.Demand(out.owner != nil, "a series has no owner") {
			return
		}
	}
	c.refused(x.only)
	if c.Version > oldest {
		c.clocks(x.clocks)
		c.intervals(x.topologyStates)
	}
}

func (c *coder) counts(n *Counts) {
	c.Uint(&n.InSlices, &n.Late, &n.Slices, &n.Markers)
	metric.Map(c.Coder, n.Refused, cmp.Compare, func(reason *Reason) { c.String((*string)(reason)) },
		func(_ *Reason, n *uint64) { c.Uint(n) })
}

// producers codes the senders in the order of their ids.
func (c *coder) producers(all map[uint32]*producer) {
	ids := slices.Sorted(maps.Keys(all))
	for id := range metric.Elements(c.Coder, ids) {
		c.by(&id)
		p := c.s.producer(id)
		c.Bool(&p.connected)
		c.Int(&p.connectedMs, &p.sentMs)
		if c.Version > oldest {
			epoch := string(p.numbers.epoch[:])
			c.String(&epoch)
			copy(p.numbers.epoch[:], epoch)
			c.Uint(&p.numbers.before, &p.numbers.newest)
			c.Bool(&p.ended)
		}
	}
}

// topologies codes the infos of topologies. The writer of an info is the index of its source, counted from 1. 0 means
// none.
func (c *coder) topologies(all map[string][]*info, sources []*source) {
	names := slices.Sorted(maps.Keys(all))
	for name := range metric.Elements(c.Coder, names) {
		c.String(&name)
		infos := all[name]
		metric.List(c.Coder, &infos, func(in **info) {
			c.info(in)
			writer := uint64(slices.Index(sources, (*in).writer) + 1)
			c.Uint(&writer)
			if c.Demand(writer <= uint64(len(sources)) && (writer > 0 || !(*in).live), "an info has no writer") &&
				c.Reads() && writer > 0 {
				(*in).writer = sources[writer-1]
			}
		})
		if c.Reads() && c.Err() == nil {
			c.s.describeTopology(name, infos)
		}
	}
}

func (c *coder) infos(all *[]*info, writer *source) {
	metric.List(c.Coder, all, func(in **info) {
		if c.info(in); c.Reads() {
			(*in).writer = writer
		}
	})
}

func (c *coder) info(known **info) {
	in := metric.New(c.Coder, known)
	c.Series(&in.series)
	c.Int(&in.widthMs, &in.lastEnd)
	c.Bool(&in.live)
	c.ref(&in.hasRef, &in.ref)
}

// source codes a worker: its times, its producers, the starts of its process, its health, and the series states with
// their open samples. It leaves out everything that follows from the options, such as the rows of a slice.
//
// The oldest version did not record when a sample was last accepted. The time at which the worker was last heard is
// used instead.
func (c *coder) source(src *source) {
	var w metric.Worker
	if src != nil {
		w = src.worker
	}
	c.Worker(&w)
	if c.Reads() {
		if !c.Demand(c.s.byWorker[w] == nil, "a worker occurs twice") {
			return
		}
		src = c.s.source(w)
	}
	c.Int(&src.eventMs, &src.heardMs)
	takenMs := src.takenMs
	if c.Version > oldest {
		c.Int(&takenMs, &src.again.fromMs, &src.again.toMs, &src.againMs)
	} else {
		takenMs = src.heardMs
	}
	for carrier := range metric.Elements(c.Coder, src.carriers) {
		var id uint32
		if carrier != nil {
			id = carrier.id
		}
		c.by(&id)
		if p := c.s.producer(id); c.Reads() && !slices.Contains(src.carriers, p) {
			src.carriers = append(src.carriers, p)
		}
	}
	c.starts(&src.starts)
	c.Demand(len(src.starts.known) <= maxStarts && len(src.carriers) <= maxCarriers,
		"a worker has too many starts or carriers")
	c.infos(&src.infos, src)
	c.infos(&src.ended, src)
	c.health(&src.health)
	for i := range c.Each(len(src.states)) {
		if c.Reads() {
			c.readSeriesState(src)
		} else {
			c.seriesState(src.states[i])
		}
	}
	src.takenMs = takenMs // realigning samples of the oldest version changes it
}

func (c *coder) starts(x *starts) {
	c.Int(&x.packMs, &x.intervalMs)
	metric.List(c.Coder, &x.known, func(s *start) {
		c.Int(&s.ms, &s.seenMs)
		if c.Version == oldest {
			s.lastMs = s.seenMs
			return
		}
		c.Int(&s.lastMs, &s.clockMs)
	})
}

// readSeriesState reads the series of a worker that close together. The times are checked before newSeriesState divides
// by them to find the number of rows.
func (c *coder) readSeriesState(src *source) {
	var x seriesState
	c.Int(&x.widthMs, &x.intervalMs, &x.packMs, &x.closedTo)
	if !c.Demand(x.widthMs >= 1 && x.widthMs <= maxGridMs && x.intervalMs >= 1 && x.intervalMs <= x.widthMs &&
		x.packMs >= 0 && x.packMs <= maxWidthMs && x.closedTo >= 0 && x.closedTo <= 2*maxTimeMs,
		"a series state has invalid times") {
		return
	}
	t := newSeriesState(src, x.widthMs, x.intervalMs, x.packMs)
	t.closedTo = x.closedTo
	src.states = append(src.states, t)
	c.slots(t)
	t.growSlots()
	for range c.Each(0) {
		b := &bucket{}
		if c.bucket(t, b); c.Err() != nil {
			return
		}
		t.open = append(t.open, b)
		c.s.opened(t, b.samplesOpen())
	}
}

// maxGridMs is the widest possible slice: the interval of a day, rounded up to a multiple of nearly a day.
const maxGridMs = 2 * maxWidthMs

func (c *coder) seriesState(t *seriesState) {
	c.Int(&t.widthMs, &t.intervalMs, &t.packMs, &t.closedTo)
	c.slots(t)
	for i := range c.Each(len(t.open)) {
		c.bucket(t, t.open[i])
	}
}

// slots codes the slots in their order, including the free ones. A restored series therefore has the same slot, and
// samples that were open keep their place.
func (c *coder) slots(t *seriesState) {
	for in := range metric.Elements(c.Coder, t.inputs) {
		taken := in != nil
		switch c.Bool(&taken); {
		case taken:
			c.input(t, in)
		case c.Reads():
			t.free = append(t.free, uint32(len(t.inputs)))
			t.inputs = append(t.inputs, nil)
		}
	}
}

// input codes a raw series and links it to its output. Several inputs may share an output, but exactly one owns it. The
// state of the output follows only that input. An input that is not attached is written too: its open samples still
// have to be folded, although its id no longer accepts any.
func (c *coder) input(t *seriesState, in *input) {
	var id uint32
	var rule metric.Rule
	var attached, owns bool
	if !c.Reads() {
		id, rule, attached, owns = in.id, in.rule, c.s.attached(in), in.out.owner == in
	}
	c.id(&id)
	c.Bool(&attached)
	c.Rule(&rule)
	if c.Reads() {
		in = newInput(id, rule)
		in.state, in.slot = t, uint32(len(t.inputs))
	}
	c.Int(&in.sinceMs)
	if c.Reads() {
		c.s.link(in, t.source)
	}
	c.Bool(&owns)
	if c.Reads() && !c.join(in, owns, attached) {
		return
	}
	from := in.out.counter.from == in
	switch {
	case owns:
		c.output(in.out)
	case c.Version > oldest:
		if c.Bool(&from); from {
			in.out.counter.from = in
		}
	}
	if !c.Reads() || c.Err() != nil {
		return
	}
	if attached {
		c.s.inputs.set(in.id, in)
	}
	t.inputs = append(t.inputs, in)
	t.seat(in)
}

// join gives an input that was read its output.
func (c *coder) join(in *input, owns, attached bool) bool {
	if !c.Demand(in.kind >= metric.KindGauge && in.kind <= metric.KindDistribution, "a series has an invalid kind") ||
		!c.Demand(!attached || c.s.inputs.get(in.id) == nil && (in.id != 0 || c.here == nil),
			"an id occurs twice or has no owner") {
		return false
	}
	out := c.s.outputs[in.rule.Series.Labels]
	if out == nil {
		out = newOutput()
		c.s.outputs[in.rule.Series.Labels] = out
	}
	in.out = out
	if owns {
		c.Demand(out.owner == nil, "a series has two owners")
		out.owner, out.widthMs = in, in.state.widthMs
	}
	return true
}

// mostTotal is more than any counter reaches. Release 0.1.0 did not refuse impossible values, and such a value could
// be added to a total. A total above this bound would not rise again by ones and tens, so it starts from 0.
const mostTotal = 1 << 56

// output codes what an output needs for its next slice. The input that owns it codes it, so each output is written
// once. The owner must be set before.
func (c *coder) output(o *output) {
	c.Bool(&o.spread)
	c.ref(&o.hasRef, &o.ref)
	c.Int(&o.lastEnd, &o.lastMs)
	c.Bool(&o.live)
	c.Int(&o.heardMs, &o.missed)
	x, fromOwner := &o.counter, o.counter.from == o.owner
	c.Bool(&x.begun)
	if c.Bool(&fromOwner); fromOwner {
		x.from = o.owner
	}
	c.Float(&x.total, &x.offset, &x.last)
	c.Int(&x.lastMs)
	metric.List(c.Coder, &x.recent, func(r *counted) { c.Int(&r.timeMs); c.Float(&r.value) })
	c.Demand(len(x.recent) <= maxRecent, "a counter has too many recent values")
	if c.Version == oldest && x.total > mostTotal {
		*x = counterState{}
	}
	c.history(&x.history)
	c.Float(&o.restarts)
	metric.Optional(c.Coder, &o.distribution, func(d *distributionState) {
		c.distribution(&d.base)
		c.distribution(&d.last)
		c.Int(&d.lastMs)
		if c.history(&d.history); d.fell != nil {
			c.distribution(&d.low)
			c.Int(&d.lowMs)
		}
	})
}

// made codes the position of a sample in the order in which samples were made. Without it, a restored slicer could
// mistake a fall for a restart.
func (c *coder) made(m *made) {
	c.Uint(&m.order)
	c.by(&m.producer)
}

// order codes the order of a sample. In the oldest version it was the sequence number of the batch.
func (c *coder) order(order *uint64) {
	if c.Uint(order); c.Version == oldest {
		*order <<= 1
	}
}

// history is missing in the oldest version.
func (c *coder) history(h *history) {
	if c.Version == oldest {
		return
	}
	c.made(&h.made)
	for _, f := range []**fallen{&h.fell, &h.past} {
		metric.Optional(c.Coder, f, func(f *fallen) {
			c.Float(&f.value)
			c.Int(&f.timeMs, &f.untilMs)
			c.made(&f.made)
		})
	}
}

func (c *coder) distribution(d *distribution) {
	c.Int32(&d.schema)
	c.Float(&d.zeroThreshold)
	c.Uint(&d.zeroCount, &d.count)
	c.Float(&d.sum)
	c.Uint(&d.negatives)
	c.Demand(d.schema >= minSchema && d.schema <= maxSchema, "a distribution has an invalid schema")
	previous := int32(-maxIndex - 1)
	metric.List(c.Coder, &d.buckets, func(b *indexed) {
		c.Int32(&b.index)
		c.Uint(&b.count)
		c.Demand(b.index > previous && b.index <= maxIndex, "a distribution's buckets are out of order")
		previous = b.index
	})
}

// maxSchema is the finest schema that Prometheus supports.
const maxSchema = 8

// before codes an event time as its difference from the end of its slice, so that it takes few bytes.
func (c *coder) before(endMs int64, timeMs *int64) {
	difference := endMs - *timeMs
	c.Int(&difference)
	*timeMs = endMs - difference
}

// bucket codes an open slice: the grid, then the samples beside it, then the readings of distributions. The oldest
// version had no grid.
func (c *coder) bucket(t *seriesState, b *bucket) {
	c.Int(&b.endMs)
	newest := t.closedTo
	if n := len(t.open); n > 0 {
		newest = t.open[n-1].endMs
	}
	if !c.Demand(b.endMs > newest && b.endMs%t.widthMs == 0 && b.endMs <= 2*maxTimeMs, "an open slice has an invalid end") {
		return
	}
	if c.Version > oldest {
		c.grid(t, b)
	}
	for x := range metric.Elements(c.Coder, b.samples) {
		c.Uint32(&x.slot)
		c.before(b.endMs, &x.timeMs)
		c.Float(&x.value)
		c.order(&x.order)
		c.by(&x.producer)
		switch {
		case !c.Reads() || !c.open(t, b, x.slot, x.timeMs):
		case c.Version > oldest:
			b.samples = append(b.samples, x)
		default:
			c.s.put(t, b, x)
		}
	}
	metric.List(c.Coder, &b.histograms, func(x *reading) {
		var d distribution
		if !c.Reads() {
			d = readDistribution(x)
		}
		c.Uint32(&x.slot)
		c.before(b.endMs, &x.timeMs)
		c.order(&x.order)
		c.by(&x.producer)
		if c.distribution(&d); c.Reads() && c.open(t, b, x.slot, x.timeMs) {
			x.histogram, x.negatives = d.histogram(), d.negatives
		}
	})
	c.Demand(b.samplesOpen() > 0, "an open slice is empty")
}

// open checks a sample that was read from an open slice.
func (c *coder) open(t *seriesState, b *bucket, slot uint32, timeMs int64) bool {
	t.newestMs = max(t.newestMs, timeMs)
	return c.Demand(int(slot) < len(t.inputs) && t.inputs[slot] != nil, "a sample has no series") &&
		c.Demand(t.endOf(timeMs) == b.endMs && timeMs > 0, "a sample is in the wrong slice")
}

// grid codes the samples on the grid, page by page. The slots, origins and values of each page are written separately.
// If all samples of a page have one origin, which is usual, it is written once.
func (c *coder) grid(t *seriesState, b *bucket) {
	metric.List(c.Coder, &b.origins, func(o *origin) {
		c.before(b.endMs, &o.timeMs)
		c.order(&o.order)
		c.by(&o.producer)
		if c.Reads() { // a snapshot changes nothing
			t.newestMs = max(t.newestMs, o.timeMs)
		}
		c.Demand(o.timeMs > 0 && t.holds(b, o.timeMs), "a sample is in the wrong slice")
	})
	var pages []int
	for i := range b.strips {
		if b.strips[i].taken != 0 {
			pages = append(pages, i)
		}
	}
	for i := range c.Each(len(pages)) {
		if c.Reads() {
			c.readPage(t, b)
		} else {
			c.page(t, b, pages[i])
		}
	}
}

func (c *coder) page(t *seriesState, b *bucket, number int) {
	p := &b.strips[number]
	column, row := uint64(number/t.rows), uint64(number%t.rows)
	by := b.originOf(p, uint32(bits.TrailingZeros32(p.taken)))
	sameOrigin := true
	for rest := p.taken; rest != 0; rest &= rest - 1 {
		sameOrigin = sameOrigin && b.originOf(p, uint32(bits.TrailingZeros32(rest))) == by
	}
	c.Uint(&column, &row)
	c.Uint32(&p.taken)
	if c.Bool(&sameOrigin); sameOrigin {
		c.Uint32(&by)
	}
	for rest := p.taken; rest != 0; rest &= rest - 1 {
		at := uint32(bits.TrailingZeros32(rest))
		if !sameOrigin {
			by = b.originOf(p, at)
			c.Uint32(&by)
		}
		c.Float(&p.values[at])
	}
}

func (c *coder) readPage(t *seriesState, b *bucket) {
	var column, row uint64
	var taken, by uint32
	var sameOrigin bool
	c.Uint(&column, &row)
	c.Uint32(&taken)
	c.Bool(&sameOrigin)
	if !c.Demand(column < uint64(t.columns()) && row < uint64(t.rows) && taken != 0,
		"a page of an open slice has an invalid position") {
		return
	}
	p := c.s.strip(t, b, int(column), int(row)) // nil if the options allow fewer pages than those of the snapshot
	if !c.Demand(p == nil || p.taken == 0, "a page of an open slice occurs twice") {
		return
	}
	if sameOrigin {
		c.Uint32(&by)
	}
	for rest := taken; rest != 0; rest &= rest - 1 {
		at := bits.TrailingZeros32(rest)
		if !sameOrigin {
			c.Uint32(&by)
		}
		slot := int(column)*pageSlots + at
		if !c.Demand(by > 0 && int(by) <= len(b.origins) && slot < len(t.inputs) && t.inputs[slot] != nil &&
			t.row(b.endMs, b.origins[max(by, 1)-1].timeMs) == int(row), "a sample has no series or no origin") {
			return
		}
		var value float64
		if c.Float(&value); p == nil {
			o := &b.origins[by-1]
			b.samples = append(b.samples, sample{o.timeMs, value, o.order, uint32(slot), o.producer})
			continue
		}
		b.fill(p, uint32(at), by, value)
		b.held++
	}
}

// refused codes the series whose samples are all refused, either all of them or those of one topology.
func (c *coder) refused(only string) {
	var all []*input
	if !c.Reads() {
		c.s.inputs.prune(func(in *input) bool {
			if in.refused != "" && (only == "" || in.rule.Worker.Topology == only) {
				all = append(all, in)
			}
			return false
		})
	}
	for in := range metric.Elements(c.Coder, all) {
		var id uint32
		var rule metric.Rule
		var reason Reason
		if in != nil {
			id, rule, reason = in.id, in.rule, in.refused
		}
		c.id(&id)
		c.Rule(&rule)
		c.String((*string)(&reason))
		if c.Demand(reason != "" && (id != 0 || c.here == nil) && c.s.inputs.get(id) == nil,
			"a refused series is invalid") && c.Reads() {
			in := newInput(id, rule)
			in.refused = reason
			c.s.link(in, c.s.source(rule.Worker))
			c.s.inputs.set(id, in)
		}
	}
}
