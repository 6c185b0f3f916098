package slicer

import (
	"maps"
	"math/bits"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// The format of a snapshot. docs/formats/checkpoint.md describes every version and what each one added. A reader
// accepts all versions from oldest to version, so that a new release can continue from the checkpoint of an old one.
const (
	magic   = "BMSLICER"
	version = 8
	oldest  = 1
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
	w := writer{Encoder: metric.NewEncoder(magic, version)}
	w.all(s, part{clockMs: s.clockMs, tickMs: s.tickMs, sweepMs: s.sweepMs, nextRef: s.nextRef, counts: s.counts,
		producers: s.producers, sources: s.sources, topologies: s.topologies, clocks: s.clocks,
		topologyStates: s.topologyStates})
	w.transfers(s)
	return w.Finish()
}

// part selects the state that a writer writes. Snapshot fills it with everything. SnapshotOf fills it with one topology
// and leaves out counts, clocks and other producers, since another collector has its own.
type part struct {
	clockMs, tickMs, sweepMs int64
	nextRef                  slice.Ref
	counts                   Counts
	producers                map[uint32]*producer
	sources                  []*source
	topologies               map[string][]*info
	clocks                   map[string]*slice.Clock
	topologyStates           map[string]*topologyState
	only                     string // the topology whose refused series are written; "" for all
}

// all writes the sections of a snapshot in the order in which reader.all reads them. A change of the order, or a new
// field, needs a new version.
func (w writer) all(s *Slicer, x part) {
	w.Int(x.clockMs)
	w.Int(x.tickMs)
	w.Int(x.sweepMs)
	w.Uint(uint64(x.nextRef))
	w.counts(&x.counts)
	w.producers(x.producers)
	w.Uint(uint64(len(x.sources)))
	for _, src := range x.sources {
		w.source(s, src)
	}
	w.topologies(x.topologies, x.sources)
	w.refused(s, x.only)
	w.clocks(x.clocks)
	w.intervals(x.topologyStates)
}

type writer struct{ *metric.Encoder }

func (w writer) counts(c *Counts) {
	w.Uint(c.InSlices)
	w.Uint(c.Late)
	w.Uint(c.Slices)
	w.Uint(c.Markers)
	w.Uint(uint64(len(c.Refused)))
	for _, reason := range slices.Sorted(maps.Keys(c.Refused)) {
		w.String(string(reason))
		w.Uint(c.Refused[reason])
	}
}

// producers writes the senders in the order of their ids.
func (w writer) producers(producers map[uint32]*producer) {
	w.Uint(uint64(len(producers)))
	for _, id := range slices.Sorted(maps.Keys(producers)) {
		p := producers[id]
		w.Uint(uint64(id))
		w.Bool(p.connected)
		w.Int(p.connectedMs)
		w.Int(p.sentMs)
		w.String(string(p.numbers.epoch[:]))
		w.Uint(p.numbers.before)
		w.Uint(p.numbers.newest)
		w.Bool(p.ended)
	}
}

// topologies writes the infos of topologies. The writer of an info is the index of its source, counted from 1. 0 means
// none.
func (w writer) topologies(topologies map[string][]*info, sources []*source) {
	w.Uint(uint64(len(topologies)))
	for _, name := range slices.Sorted(maps.Keys(topologies)) {
		w.String(name)
		w.Uint(uint64(len(topologies[name])))
		for _, in := range topologies[name] {
			w.info(in)
			w.Uint(uint64(slices.Index(sources, in.writer) + 1))
		}
	}
}

func (w writer) infos(infos []*info) {
	w.Uint(uint64(len(infos)))
	for _, in := range infos {
		w.info(in)
	}
}

func (w writer) info(in *info) {
	w.Series(in.series)
	w.Int(in.widthMs)
	w.Int(in.lastEnd)
	w.Bool(in.live)
	w.ref(in.hasRef, in.ref)
}

func (w writer) ref(has bool, ref slice.Ref) {
	w.Bool(has)
	w.Uint(uint64(ref))
}

// source writes a worker: its times, its producers, the starts of its process, its health, and the series states with
// their open samples. It leaves out everything that follows from the options, such as the rows of a slice.
func (w writer) source(s *Slicer, src *source) {
	w.Worker(src.worker)
	w.Int(src.eventMs)
	w.Int(src.heardMs)
	w.Int(src.takenMs)
	w.Int(src.again.fromMs)
	w.Int(src.again.toMs)
	w.Int(src.againMs)
	w.Uint(uint64(len(src.carriers)))
	for _, p := range src.carriers {
		w.Uint(uint64(p.id))
	}
	w.starts(&src.starts)
	w.infos(src.infos)
	w.infos(src.ended)
	w.health(&src.health)
	w.Uint(uint64(len(src.states)))
	for _, t := range src.states {
		w.seriesState(s, t)
	}
}

func (w writer) starts(x *starts) {
	w.Int(x.packMs)
	w.Int(x.intervalMs)
	w.Uint(uint64(len(x.known)))
	for _, known := range x.known {
		w.Int(known.ms)
		w.Int(known.seenMs)
		w.Int(known.lastMs)
		w.Int(known.clockMs)
	}
}

// seriesState writes the slots in their order, including the free ones. A restored series therefore has the same slot,
// and samples that were open keep their place.
func (w writer) seriesState(s *Slicer, t *seriesState) {
	w.Int(t.widthMs)
	w.Int(t.intervalMs)
	w.Int(t.packMs)
	w.Int(t.closedTo)
	w.Uint(uint64(len(t.inputs)))
	for _, in := range t.inputs {
		w.Bool(in != nil)
		if in != nil {
			w.input(in, s.attached(in))
		}
	}
	w.Uint(uint64(len(t.open)))
	for _, b := range t.open {
		w.bucket(t, b)
	}
}

// input writes a raw series. An input that is not attached is written too: its open samples still have to be folded,
// although its id no longer accepts any.
func (w writer) input(in *input, attached bool) {
	w.Uint(uint64(in.id))
	w.Bool(attached)
	w.Rule(in.rule)
	w.Int(in.sinceMs)
	w.Bool(in.out.owner == in)
	if in.out.owner == in {
		w.output(in.out)
	} else {
		w.Bool(in.out.counter.from == in)
	}
}

// output writes what an output needs for its next slice. The input that owns it writes it, so each output is written
// once.
func (w writer) output(o *output) {
	w.Bool(o.spread)
	w.ref(o.hasRef, o.ref)
	w.Int(o.lastEnd)
	w.Int(o.lastMs)
	w.Bool(o.live)
	w.Int(o.heardMs)
	w.Int(o.missed)
	w.Bool(o.counter.begun)
	w.Bool(o.counter.from == o.owner)
	w.Float(o.counter.total)
	w.Float(o.counter.offset)
	w.Float(o.counter.last)
	w.Int(o.counter.lastMs)
	w.Uint(uint64(len(o.counter.recent)))
	for _, r := range o.counter.recent {
		w.Int(r.timeMs)
		w.Float(r.value)
	}
	w.history(&o.counter.history)
	w.Float(o.restarts)
	w.Bool(o.distribution != nil)
	if d := o.distribution; d != nil {
		w.distribution(&d.base)
		w.distribution(&d.last)
		w.Int(d.lastMs)
		w.history(&d.history)
		if d.fell != nil {
			w.distribution(&d.low)
			w.Int(d.lowMs)
		}
	}
}

// made writes the position of a sample in the order in which samples were made. Without it, a restored slicer could
// mistake a fall for a restart.
func (w writer) made(m made) {
	w.Uint(m.order)
	w.Uint(uint64(m.producer))
}

func (w writer) history(h *history) {
	w.made(h.made)
	w.fallen(h.fell)
	w.fallen(h.past)
}

func (w writer) fallen(f *fallen) {
	w.Bool(f != nil)
	if f != nil {
		w.Float(f.value)
		w.Int(f.timeMs)
		w.Int(f.untilMs)
		w.made(f.made)
	}
}

func (w writer) distribution(d *distribution) {
	w.Int(int64(d.schema))
	w.Float(d.zeroThreshold)
	w.Uint(d.zeroCount)
	w.Uint(d.count)
	w.Float(d.sum)
	w.Uint(d.negatives)
	w.Uint(uint64(len(d.buckets)))
	for _, b := range d.buckets {
		w.Int(int64(b.index))
		w.Uint(b.count)
	}
}

// bucket writes an open slice: the grid, then the samples beside it, then the readings of distributions. Times are
// written as differences from the slice's end, so that they take few bytes.
func (w writer) bucket(t *seriesState, b *bucket) {
	w.Int(b.endMs)
	w.grid(t, b)
	w.Uint(uint64(len(b.samples)))
	for _, x := range b.samples {
		w.Uint(uint64(x.slot))
		w.Int(b.endMs - x.timeMs)
		w.Float(x.value)
		w.Uint(x.order)
		w.Uint(uint64(x.producer))
	}
	w.Uint(uint64(len(b.histograms)))
	for i := range b.histograms {
		x := &b.histograms[i]
		w.Uint(uint64(x.slot))
		w.Int(b.endMs - x.timeMs)
		w.Uint(x.order)
		w.Uint(uint64(x.producer))
		d := readDistribution(x)
		w.distribution(&d)
	}
}

// grid writes the samples on the grid, page by page. The slots, origins and values of each page are written separately.
// If all samples of a page have one origin, which is usual, it is written once.
func (w writer) grid(t *seriesState, b *bucket) {
	w.Uint(uint64(len(b.origins)))
	for _, o := range b.origins {
		w.Int(b.endMs - o.timeMs)
		w.Uint(o.order)
		w.Uint(uint64(o.producer))
	}
	pages := 0
	for i := range b.strips {
		if b.strips[i].taken != 0 {
			pages++
		}
	}
	w.Uint(uint64(pages))
	for i := range b.strips {
		p := &b.strips[i]
		if p.taken == 0 {
			continue
		}
		w.Uint(uint64(i / t.rows))
		w.Uint(uint64(i % t.rows))
		w.Uint(uint64(p.taken))
		by := b.originOf(p, uint32(bits.TrailingZeros32(p.taken)))
		sameOrigin := true
		for rest := p.taken; rest != 0; rest &= rest - 1 {
			sameOrigin = sameOrigin && b.originOf(p, uint32(bits.TrailingZeros32(rest))) == by
		}
		w.Bool(sameOrigin)
		if sameOrigin {
			w.Uint(uint64(by))
		}
		for rest := p.taken; rest != 0; rest &= rest - 1 {
			at := uint32(bits.TrailingZeros32(rest))
			if !sameOrigin {
				w.Uint(uint64(b.originOf(p, at)))
			}
			w.Float(p.values[at])
		}
	}
}

// refused writes the series whose samples are all refused, either all of them or those of one topology.
func (w writer) refused(s *Slicer, only string) {
	var all []*input
	s.inputs.prune(func(in *input) bool {
		if in.refused != "" && (only == "" || in.rule.Worker.Topology == only) {
			all = append(all, in)
		}
		return false
	})
	w.Uint(uint64(len(all)))
	for _, in := range all {
		w.Uint(uint64(in.id))
		w.Rule(in.rule)
		w.String(string(in.refused))
	}
}

// CheckVersion returns a disk.ErrNewer if a newer program wrote the snapshot. It needs only the beginning of a
// snapshot.
func CheckVersion(snapshot []byte) error { return metric.CheckVersion(snapshot, magic, version) }
