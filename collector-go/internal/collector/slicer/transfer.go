package slicer

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// The state of a topology can move from one collector to another, together with its sender (docs/decisions/0018). Both
// collectors must make the same slices from the same batches. Therefore the clock of such a topology advances with its
// batches alone, by the time at which they were sent. The sender counts as connected while it is away.

// transfer is the part of a topology's state that concerns a move between collectors. A topology without an owner has
// the zero value, and follows the slicer's clock.
type transfer struct {
	owned   bool
	clockMs int64 // as Slicer.clockMs, by its sender's batches
	tickMs  int64 // when the newest was sent; 0 before the first
	leftMs  int64 // the slicer's clock at its newest batch
	quietMs int64 // clock offsets are unknown for periods that began before this, because their batches were sent again
}

// switchClocks exchanges the slicer's clock with the clock of a topology that moves. beginBatch and endBatch both call
// it, so the topology's clock is in force while its batch is added, and the slicer's clock is back afterwards.
func (s *Slicer) switchClocks(r *topologyState) {
	if r != nil {
		s.clockMs, r.transfer.clockMs = r.transfer.clockMs, s.clockMs
		s.tickMs, r.transfer.tickMs = r.transfer.tickMs, s.tickMs
	}
}

// timeOf returns the current time of a topology. It is the topology's own clock if it has an owner, and otherwise the
// slicer's clock. Times that were recorded for a topology may only be compared with this one.
func (s *Slicer) timeOf(r *topologyState) int64 {
	if r.transfer.owned {
		return r.transfer.clockMs
	}
	return s.clockMs
}

// Acquire makes a producer the owner of a topology's state: the topology can move with the producer from now on, and
// its clock no longer follows Tick. A topology has one owner; an earlier one loses it.
func (s *Slicer) Acquire(producer uint32, topology string) {
	p, r := s.producer(producer), s.topologyState(topology)
	for _, other := range s.producers {
		if other.topology == r { // while it was away, it counted as connected
			other.topology, other.connected = nil, false
		}
	}
	if !r.transfer.owned {
		r.transfer = transfer{owned: true, clockMs: s.clockMs, leftMs: s.clockMs}
	}
	p.connected, p.connectedMs, p.topology = true, r.transfer.clockMs, r
}

// Release ends the ownership of a producer that closed and takes the topology nowhere. Tick moves its clock again.
func (s *Slicer) Release(producer uint32) {
	p := s.producer(producer)
	if p.topology == nil {
		return
	}
	lagMs := s.clockMs - p.topology.transfer.clockMs
	p.sentMs, p.connectedMs = p.sentMs+lagMs, p.connectedMs+lagMs
	for _, src := range s.sources {
		if src.topology == p.topology {
			src.heardMs += lagMs
			src.takenMs += lagMs
		}
	}
	p.topology.transfer, p.topology = transfer{}, nil
}

// ReleaseOf releases a topology, whichever producer owns it. It does nothing if none does.
func (s *Slicer) ReleaseOf(topology string) {
	r := s.topologyStates[topology]
	if r == nil || !r.transfer.owned {
		return
	}
	for id, p := range s.producers {
		if p.topology == r {
			s.Release(id)
			return
		}
	}
}

// Owner returns the topology whose state a producer owns, or "" if it owns none.
func (s *Slicer) Owner(producer uint32) string {
	if p := s.producers[producer]; p != nil && p.topology != nil {
		return p.topology.name
	}
	return ""
}

// AdvanceTopology advances the clock of the topology that a producer owns, as Tick does for all others. sentMs is when
// the batch was first sent, in Unix milliseconds by the sender's clock, which may step in either direction.
//
// Both collectors see the same sending times, whereas their own clocks and the times of arrival differ. It does
// nothing for a producer that owns no topology.
func (s *Slicer) AdvanceTopology(producer uint32, sentMs int64) {
	r := s.producer(producer).topology
	if r == nil || sentMs <= 0 || sentMs/1000 == r.transfer.tickMs/1000 {
		return
	}
	r.transfer.leftMs = s.clockMs
	s.switchClocks(r)
	if s.tickMs != 0 {
		s.clockMs += min(max(sentMs-s.tickMs, 0), s.options.MaxTickStepMs)
	}
	s.tickMs = sentMs
	for _, src := range s.sources {
		if src.topology == r {
			s.advance(src)
		}
	}
	s.writeIntervals(r)
	s.switchClocks(r)
}

// SnapshotOf returns the state of one topology, for Import on another collector. Counts and clocks of hosts are left
// out, because the other collector has its own. Like Snapshot, it panics while closed slices wait.
func (s *Slicer) SnapshotOf(topology string) []byte {
	if s.closed.Len() > 0 {
		panic("slicer: SnapshotOf before the closed slices were reset")
	}
	r := s.topologyState(topology)
	clockMs, tickMs := s.timeOf(r), r.transfer.tickMs
	x := part{clockMs: &clockMs, tickMs: &tickMs, sweepMs: new(int64), nextRef: new(slice.Ref), counts: new(Counts),
		producers: map[uint32]*producer{}, topologies: map[string][]*info{},
		topologyStates: map[string]*topologyState{topology: r}, only: topology}
	for id, p := range s.producers {
		if p.topology == r {
			x.producers[id] = p
		}
	}
	for _, src := range s.sources {
		if src.topology == r {
			x.sources = append(x.sources, src)
		}
	}
	if r.infos != nil {
		x.topologies[topology] = r.infos
	}
	c := &coder{Coder: metric.Writing(magic, version), s: s}
	c.all(x)
	return c.Finish()
}

// Imported is the state of a topology that a sender brought from another collector.
type Imported struct {
	Topology string
	Snapshot []byte                 // by SnapshotOf
	Series   func(id uint32) uint32 // returns the id of a series here; 0 for one that is no longer defined
	Producer uint32                 // the producer that brought it, by its id here
	AtMs     int64                  // when it arrived, by the collector's clock
}

// Import replaces the state of a topology by a state from another collector. It returns how many samples of the new
// state are open, and how many of the old one were. The caller needs both, so that its accounting balances.
//
// The new state is read completely before the old one is dropped. After an error nothing has changed.
func (s *Slicer) Import(a Imported) (open, were int, err error) {
	from, err := restoreOf(a, s.options)
	if err != nil {
		return 0, 0, err
	}
	were = s.DropTopology(a.Topology)
	s.inputs.takeAll(&from.inputs)
	maps.Copy(s.outputs, from.outputs)
	maps.Copy(s.topologyStates, from.topologyStates)
	maps.Copy(s.topologies, from.topologies)
	maps.Copy(s.producers, from.producers)
	for _, src := range from.sources {
		s.sources = append(s.sources, src)
		s.byWorker[src.worker] = src
	}
	s.open += from.open
	s.pages += from.pages
	r, p := s.topologyState(a.Topology), s.producer(a.Producer)
	r.transfer = transfer{true, from.clockMs, from.tickMs, s.clockMs, a.AtMs}
	p.connected, p.topology = true, r
	return from.open, were, nil
}

// CheckImport reports why Import would refuse a state, without changing anything. Ingest calls it, through
// feed.Arriving, before the state enters the journal.
func CheckImport(a Imported, o Options) error {
	_, err := restoreOf(a, o)
	return err
}

// restoreOf reads the state of one topology into an empty slicer. The bytes come from a sender. A sender must not be
// able to change another topology, so it is an error if anything in them belongs to one.
func restoreOf(a Imported, o Options) (*Slicer, error) {
	s, err := New(o)
	if err != nil {
		return nil, err
	}
	read, err := metric.Reading(a.Snapshot, magic, version)
	if err != nil {
		return nil, fmt.Errorf("import a topology: %w", err)
	}
	c := &coder{Coder: read, s: s, here: &here{series: a.Series, producer: a.Producer}}
	s.topologyState(a.Topology) // even if it has no worker
	c.all(s.entire())
	c.Demand(s.only(a.Topology), "it names another topology")
	if err := c.Done(); err != nil {
		return nil, fmt.Errorf("import a topology: %w", err)
	}
	s.counts = Counts{Refused: map[Reason]uint64{}}
	s.realign()
	if s.closed.Len() > 0 || len(s.clocks) > 0 || len(s.producers) > 1 {
		return nil, errors.New("import a topology: it contains state of other topologies")
	}
	return s, nil
}

// only reports whether all state of a slicer belongs to one topology.
func (s *Slicer) only(topology string) bool {
	ours := func(series *metric.Series) bool { return series.Labels.Get("topology") == topology }
	for _, out := range s.outputs {
		if out.owner == nil || out.owner.rule.Worker.Topology != topology || !ours(&out.owner.rule.Series) {
			return false
		}
	}
	for _, src := range s.sources {
		if src.worker.Topology != topology {
			return false
		}
		for _, in := range slices.Concat(src.infos, src.ended) {
			if !ours(&in.series) {
				return false
			}
		}
		for _, t := range src.states {
			for _, in := range t.inputs {
				if in != nil && in.rule.Worker != src.worker {
					return false
				}
			}
		}
	}
	for name, infos := range s.topologies {
		if name != topology || slices.ContainsFunc(infos, func(in *info) bool { return !ours(&in.series) }) {
			return false
		}
	}
	return len(s.topologyStates) <= 1
}

// DropTopology forgets a topology and returns how many open samples are lost with it. Its layouts stay, because they
// are defined by the journal and not by the topology. Their columns count as undefined until the series are defined
// again.
func (s *Slicer) DropTopology(topology string) (open int) {
	r := s.topologyStates[topology]
	if r == nil {
		return 0
	}
	open = r.open
	for _, src := range s.sources {
		if src.topology != r {
			continue
		}
		for _, t := range src.states {
			for _, b := range t.open {
				s.discard(t, b)
			}
		}
		s.retireSource(src)
		delete(s.byWorker, src.worker)
	}
	s.sources = slices.DeleteFunc(s.sources, func(src *source) bool { return src.topology == r })
	s.open -= open
	s.inputs.prune(func(in *input) bool { return in.rule.Worker.Topology == topology })
	maps.DeleteFunc(s.outputs, func(_ labels.Labels, out *output) bool {
		gone := out.owner.rule.Worker.Topology == topology
		if gone {
			s.retire(out)
		}
		return gone
	})
	for _, in := range r.infos {
		s.retireOwn(&in.ownSeries)
	}
	s.describeTopology(topology, nil)
	for _, i := range r.intervals {
		s.retireOwn(&i.ownSeries)
	}
	for _, p := range s.producers {
		if p.topology == r {
			p.topology = nil
		}
	}
	delete(s.topologyStates, topology)
	return open
}

// sweepTransferred drops owned topologies that sent no batch for KeepMs: their senders have moved them to another
// collector.
func (s *Slicer) sweepTransferred() {
	for _, name := range slices.Sorted(maps.Keys(s.topologyStates)) {
		r := s.topologyStates[name]
		if r.transfer.owned && s.clockMs-r.transfer.leftMs > s.options.KeepMs {
			s.DropTopology(name)
		}
	}
}

// transfers codes the topologies that have an owner, and then the owner of each. The topologies come first, so that
// each owner can be checked against them.
func (c *coder) transfers() {
	s := c.s
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(s.topologyStates)),
		func(name string) bool { return !s.topologyStates[name].transfer.owned })
	for name := range metric.Elements(c.Coder, names) {
		c.String(&name)
		x := &s.topologyState(name).transfer
		x.owned = true
		c.Int(&x.clockMs, &x.tickMs, &x.leftMs, &x.quietMs)
	}
	by := slices.DeleteFunc(slices.Sorted(maps.Keys(s.producers)),
		func(id uint32) bool { return s.producers[id].topology == nil })
	for id := range metric.Elements(c.Coder, by) {
		name := s.Owner(id)
		c.Uint32(&id)
		c.String(&name)
		state := s.topologyStates[name]
		if !c.Demand(state != nil && state.transfer.owned, "a topology has no owner") {
			return
		}
		s.producer(id).topology = state
	}
}
