package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// magic and version are those of docs/formats/checkpoint.md. Version 1 does not contain the facts that a sender states.
const (
	magic   = "BMCATALG"
	version = 2
)

// Snapshot encodes the state (docs/formats/checkpoint.md). Equal states give equal bytes. Verdicts and rules are not
// included, because they follow from the names and the table. A newer program with a better table therefore corrects
// them.
func (s *State) Snapshot() []byte {
	c := metric.Writing(magic, version)
	codeCounts(c, s.counts.LeftOut, s.counts.Refused)
	s.codeTopologies(c, slices.Sorted(maps.Keys(s.topologies)))
	c.Count(s.entries.known)
	for id, known := range s.entries.all() {
		writeEntry(c, id, known)
	}
	return c.Finish()
}

// Restore reads a Snapshot. It decides again which series are stored, by this program's table. The error explains what
// is wrong with the snapshot. The feed then uses an older checkpoint, or reads the journal instead.
func Restore(data []byte, o Options) (*State, error) {
	c, err := metric.Reading(data, magic, 1, version)
	if err != nil {
		return nil, fmt.Errorf("restore the catalog: %w", err)
	}
	s := NewState(o)
	if err := s.read(c, func(id uint32) uint32 { return id }); err != nil {
		return nil, fmt.Errorf("restore the catalog: %w", err)
	}
	return s, nil
}

// read adds the series of a snapshot, each with the id that here returns for it.
func (s *State) read(c *metric.Coder, here func(id uint32) uint32) error {
	codeCounts(c, s.counts.LeftOut, s.counts.Refused)
	s.codeTopologies(c, nil)
	for range c.Each(0) {
		var id uint32
		var raw metric.Raw
		var wasInactive bool
		c.Uint32(&id)
		c.Bool(&wasInactive)
		c.Raw(&raw)
		if id = here(id); !c.Demand(s.entries.get(id) == nil, "a series appears twice") {
			break
		}
		s.enter(id, &raw)
		if !wasInactive {
			s.activate(id)
		}
	}
	s.changes = nil
	return c.Done()
}

// writeEntry writes the name of a series and whether it is active. Everything else about it follows from these.
func writeEntry(c *metric.Coder, id uint32, known *entry) {
	isInactive := known.is(inactive)
	c.Uint32(&id)
	c.Bool(&isInactive)
	c.Raw(known.raw)
}

// codeTopologies codes what is known about topologies across their runs. It writes only stated components. Guessed ones
// follow from the names of their series, which are activated one by one when the snapshot is read.
func (s *State) codeTopologies(c *metric.Coder, names []string) {
	for name := range metric.Elements(c, names) {
		c.String(&name)
		t := s.topology(name)
		if c.Strings(&t.starts); c.Version > 1 {
			codeKnown(c, &t.known)
		}
		if c.Reads() {
			t.storm = t.known.releases()
		}
	}
}

func codeKnown(c *metric.Coder, k *known) {
	c.String(&k.storm)
	c.Bool(&k.old)
	if c.Bool(&k.listed); !k.listed {
		return
	}
	for _, names := range []map[string]bool{k.spouts, k.components} {
		metric.Map(c, names, strings.Compare, func(name *string) { c.String(name) },
			func(_ *string, listed *bool) { *listed = true })
	}
}

func codeCounts(c *metric.Coder, all ...map[string]uint64) {
	for _, counts := range all {
		metric.Map(c, counts, strings.Compare, func(reason *string) { c.String(reason) },
			func(_ *string, n *uint64) { c.Uint(n) })
	}
}

// Resume returns every verdict that is not Inactive, those that take a series away first. A feed applies them after it
// restored catalog and slicer. A program with a newer table than the one that wrote the checkpoint then uses its own
// table.
//
// A feed may ignore Stored for a series that the slicer does not have. JudgeSamples announces it again with the next
// sample of the series.
func (s *State) Resume() []Change {
	s.changes = s.changes[:0]
	for id, e := range s.entries.all() {
		if !e.is(inactive) && e.outcome != Stored {
			s.announce(id, e)
		}
	}
	for id, e := range s.entries.all() {
		if e.outcome == Stored {
			s.announce(id, e)
		}
	}
	return s.changes
}

// CheckVersion returns a disk.ErrNewer if a newer program wrote the snapshot. The first bytes of the snapshot
// suffice.
func CheckVersion(snapshot []byte) error { return metric.CheckVersion(snapshot, magic, version) }
