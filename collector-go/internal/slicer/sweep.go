package slicer

import (
	"maps"
	"math/bits"
	"slices"
)

// sweepEveryMs is how often what has ended long ago is dropped.
const sweepEveryMs = 600_000

// sweep drops the state of series that ended KeepMs ago, of those that others succeeded, and of workers and producers that
// have none left.
func (s *Slicer) sweep() {
	s.dissolveAll()
	for _, src := range s.sources {
		for _, t := range src.tracks {
			s.sweepTrack(t)
		}
		src.tracks = slices.DeleteFunc(src.tracks, func(t *track) bool { return len(t.free) == len(t.inputs) })
	}
	// What was refused for want of room may be defined again, now that there may be some.
	s.inputs.prune(func(in *input) bool { return in.refused == RefusedSeriesLimit })
	s.sources = slices.DeleteFunc(s.sources, s.gone)
	for _, name := range slices.Sorted(maps.Keys(s.topologies)) {
		if !slices.ContainsFunc(s.sources, func(src *source) bool { return src.worker.Topology == name }) {
			for _, in := range s.topologies[name] {
				s.retireInfo(in)
			}
			s.describeTopology(name, nil)
		}
	}
	for name, r := range s.rooms {
		if r.open == 0 && !slices.ContainsFunc(s.sources, func(src *source) bool { return src.room == r }) {
			delete(s.rooms, name)
		}
	}
	s.scratch.shrink()
	for id, p := range s.producers {
		if !p.connected && s.clockMs-max(p.sentMs, p.connectedMs) > s.options.KeepMs && !s.carries(p) {
			delete(s.producers, id)
		}
	}
}

func (s *Slicer) sweepTrack(t *track) {
	used := t.usedSlots()
	for slot, in := range t.inputs {
		if in == nil || used[uint32(slot)] {
			continue
		}
		owns := in.out.owner == in
		if owns && (in.out.live || s.clockMs-in.out.lastMs <= s.options.KeepMs) {
			continue
		}
		t.leave(in)
		if s.attached(in) {
			s.inputs.set(in.id, nil)
		}
		if owns {
			s.retire(in.out)
			delete(s.outputs, in.out.key)
		}
	}
}

// usedSlots are those of which there are open samples.
func (t *track) usedSlots() map[uint32]bool {
	used := make(map[uint32]bool)
	for _, b := range t.open {
		for i := range b.strips {
			first := uint32(i / t.rows * pageSlots)
			for rest := b.strips[i].taken; rest != 0; rest &= rest - 1 {
				used[first+uint32(bits.TrailingZeros32(rest))] = true
			}
		}
		for i := range b.samples {
			used[b.samples[i].slot] = true
		}
		for i := range b.histograms {
			used[b.histograms[i].slot] = true
		}
	}
	return used
}

// gone says that nothing is known of a source but its name, and forgets it.
//
// A source without tracks has been silent for so long that it writes no info any more.
func (s *Slicer) gone(src *source) bool {
	if len(src.tracks) > 0 || s.clockMs-src.heardMs <= s.options.KeepMs {
		return false
	}
	delete(s.byWorker, src.worker)
	s.retireSource(src)
	return true
}

func (s *Slicer) carries(p *producer) bool {
	return slices.ContainsFunc(s.sources, func(src *source) bool { return slices.Contains(src.carriers, p) })
}
