package catalog

import (
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Named is a series with its id.
type Named struct {
	ID  uint32
	Raw *metric.Raw
}

// SeriesOf returns a topology's series in ascending order of their ids.
func (s *State) SeriesOf(topology string) []Named {
	t := s.topologies[topology]
	if t == nil {
		return nil
	}
	all := make([]Named, 0, len(t.series))
	for _, id := range t.series {
		all = append(all, Named{id, s.entries.get(id).raw})
	}
	slices.SortFunc(all, func(a, b Named) int { return int(a.ID) - int(b.ID) })
	return all
}

// SnapshotOf returns the snapshot of one topology, without counts, for Import into another State. It is used to move a
// topology between feeds.
func (s *State) SnapshotOf(topology string) []byte {
	c := metric.Writing(magic, version)
	codeCounts(c, nil, nil)
	var names []string
	if s.topologies[topology] != nil {
		names = []string{topology}
	}
	s.codeTopologies(c, names)
	series := s.SeriesOf(topology)
	for i := range c.Each(len(series)) {
		writeEntry(c, series[i].ID, s.entries.get(series[i].ID))
	}
	return c.Finish()
}

// Names returns the series of a topology's snapshot, in the snapshot's order. The ids are those of the State that wrote
// it.
func Names(snapshot []byte) ([]Named, error) {
	s, err := Restore(snapshot, Options{MaxSeries: DefaultOptions().MaxSeries})
	if err != nil {
		return nil, err
	}
	var all []Named
	for id, known := range s.entries.all() {
		all = append(all, Named{id, known.raw})
	}
	return all, nil
}

// Import replaces the state of a topology by another State's SnapshotOf. The function here translates the other State's
// ids to those of this one. Series that this State knew and the snapshot does not contain keep their names. Import
// returns the changes that Resume would return for the topology.
//
// If a snapshot cannot be read, the topology is forgotten rather than imported partially.
func (s *State) Import(topology string, snapshot []byte, here func(id uint32) uint32) ([]Change, error) {
	c, err := metric.Reading(snapshot, magic, 1, version)
	if err != nil {
		return nil, fmt.Errorf("import a topology's names: %w", err)
	}
	before := s.SeriesOf(topology)
	s.DropTopology(topology)
	if err := s.read(c, here); err != nil {
		s.DropTopology(topology)
		return nil, fmt.Errorf("import a topology's names: %w", err)
	}
	for _, known := range before {
		if s.entries.get(known.ID) == nil {
			s.enter(known.ID, known.Raw)
		}
	}
	changes := slices.Clone(s.Resume())
	return slices.DeleteFunc(changes, func(c Change) bool { return s.entries.get(c.ID).raw.Topology != topology }), nil
}

// DropTopology forgets a topology. The slicer must forget it first, because the verdicts on its series are lost.
func (s *State) DropTopology(topology string) {
	if t := s.topologies[topology]; t != nil {
		t.starts = nil
		s.Forget(slices.Clone(t.series))
		delete(s.topologies, topology)
	}
	s.changes = nil
}
