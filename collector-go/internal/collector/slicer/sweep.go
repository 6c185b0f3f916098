package slicer

import (
	"maps"
	"math/bits"
	"slices"
)

// sweepEveryMs is how often the slicer drops state that ended long ago. A sweep visits every series, so it must not run
// with each tick.
const sweepEveryMs = 600_000

// sweep drops the state of series that ended KeepMs ago and of series that others replaced. It also drops workers and
// producers that have no series left. Without it, memory and snapshots would grow with every worker that ever ran.
//
// It runs by the slicer's clock, which comes from the journal. Therefore a replay drops the same state at the same
// entries. Series with open samples stay, except those of topologies that were taken to another collector.
func (s *Slicer) sweep() {
	s.sweepTransferred()
	awaited := s.awaited()
	for _, src := range s.sources {
		for _, t := range src.states {
			s.sweepState(t, awaited)
		}
		src.states = slices.DeleteFunc(src.states, func(t *seriesState) bool { return len(t.free) == len(t.inputs) })
	}
	s.sources = slices.DeleteFunc(s.sources, s.gone)
	// Series that were refused because of MaxSeries may be defined again, since there may be capacity now. The same
	// applies to series whose worker is no longer known.
	s.inputs.prune(func(in *input) bool {
		return in.refused == RefusedSeriesLimit || in.refused != "" && s.byWorker[in.rule.Worker] == nil
	})
	for _, name := range slices.Sorted(maps.Keys(s.topologies)) {
		if !slices.ContainsFunc(s.sources, func(src *source) bool { return src.worker.Topology == name }) {
			for _, in := range s.topologies[name] {
				s.retireOwn(&in.ownSeries)
			}
			s.describeTopology(name, nil)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.topologyStates)) {
		r := s.topologyStates[name]
		if r.open == 0 && !slices.ContainsFunc(s.sources, func(src *source) bool { return src.topology == r }) {
			delete(s.topologyStates, name)
		}
		s.sweepIntervals(r)
	}
	s.scratch.shrink()
	s.sweepClocks()
	for id, p := range s.producers {
		if !p.connected && s.clockMs-max(p.sentMs, p.connectedMs) > s.options.KeepMs && !s.carries(p) {
			delete(s.producers, id)
		}
	}
}

// sweepIntervals drops the intervals of metrics that no worker of a topology has any more.
func (s *Slicer) sweepIntervals(r *topologyState) {
	known := map[string]bool{}
	for _, src := range s.sources {
		if src.topology == r {
			for _, m := range src.health.metrics {
				known[m.name] = true
			}
		}
	}
	before := len(r.intervals)
	r.intervals = slices.DeleteFunc(r.intervals, func(i *interval) bool {
		if !known[i.metric] {
			s.retireOwn(&i.ownSeries)
		}
		return !known[i.metric]
	})
	if len(r.intervals) < before {
		r.dueMs = 0 // each turn depends on the index
	}
}

// awaited returns the outputs to which an input other than the owner will still write. That happens if a series was
// replaced while it had open samples. Such an output must stay until they are folded.
func (s *Slicer) awaited() map[*output]bool {
	all := make(map[*output]bool)
	for _, src := range s.sources {
		for _, t := range src.states {
			if !slices.ContainsFunc(t.inputs, func(in *input) bool { return in != nil && in.out.owner != in }) {
				continue
			}
			for slot := range t.usedSlots() {
				if in := t.inputs[slot]; in.out.owner != in {
					all[in.out] = true
				}
			}
		}
	}
	return all
}

// sweepState drops the series of a series state that have no open samples and have ended. A series that owns its output
// stays if the output is live, is awaited, or was written within KeepMs.
func (s *Slicer) sweepState(t *seriesState, awaited map[*output]bool) {
	used := t.usedSlots()
	for slot, in := range t.inputs {
		if in == nil || used[uint32(slot)] {
			continue
		}
		owns := in.out.owner == in
		if owns && (in.out.live || awaited[in.out] || s.timeOf(t.source.topology)-in.out.lastMs <= s.options.KeepMs) {
			continue
		}
		t.leave(in)
		if s.attached(in) {
			s.inputs.set(in.id, nil)
		}
		if owns {
			s.retire(in.out)
			delete(s.outputs, in.rule.Series.Labels)
		}
	}
}

// usedSlots returns the slots that have open samples.
func (t *seriesState) usedSlots() map[uint32]bool {
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

// gone reports whether a source has no series states and has been silent for KeepMs. In that case it forgets the
// source.
//
// A source without series states has been silent for so long that it writes no info any more.
func (s *Slicer) gone(src *source) bool {
	if len(src.states) > 0 || s.timeOf(src.topology)-src.heardMs <= s.options.KeepMs {
		return false
	}
	delete(s.byWorker, src.worker)
	s.retireSource(src)
	return true
}

// carries reports whether a producer is among the senders of some worker. Such a producer stays known, since ended and
// silentMs ask about it.
func (s *Slicer) carries(p *producer) bool {
	for _, r := range s.topologyStates {
		if r.sole == p {
			return true
		}
	}
	return slices.ContainsFunc(s.sources, func(src *source) bool { return slices.Contains(src.carriers, p) })
}
