package catalog

import (
	"fmt"
	"maps"
	"slices"

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
	e := metric.NewEncoder(magic, version)
	writeCounts(e, s.counts.LeftOut)
	writeCounts(e, s.counts.Refused)
	names := slices.Sorted(maps.Keys(s.topologies))
	e.Uint(uint64(len(names)))
	for _, name := range names {
		writeStarts(e, name, s.topologies[name])
	}
	e.Uint(uint64(s.entries.known))
	for id, known := range s.entries.all() {
		writeEntry(e, id, known)
	}
	return e.Finish()
}

// writeStarts writes what is known about a topology across its runs. It writes only stated components. Guessed ones
// follow from the names of its series, which are activated one by one when the snapshot is read.
func writeStarts(e *metric.Encoder, name string, t *topology) {
	e.String(name)
	e.Uint(uint64(len(t.starts)))
	for _, id := range t.starts {
		e.String(id)
	}
	e.String(t.known.storm)
	e.Bool(t.known.old)
	e.Bool(t.known.listed)
	if t.known.listed {
		writeNames(e, t.known.spouts)
		writeNames(e, t.known.components)
	}
}

func writeNames(e *metric.Encoder, names map[string]bool) {
	e.Uint(uint64(len(names)))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		e.String(name)
	}
}

// writeEntry writes the name of a series and whether it is active. Everything else about it follows from these.
func writeEntry(e *metric.Encoder, id uint32, known *entry) {
	e.Uint(uint64(id))
	e.Bool(known.is(inactive))
	e.Raw(*known.raw)
}

func writeCounts(e *metric.Encoder, counts map[string]uint64) {
	e.Uint(uint64(len(counts)))
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		e.String(reason)
		e.Uint(counts[reason])
	}
}

// Restore reads a Snapshot. It decides again which series are stored, by this program's table. The error explains what
// is wrong with the snapshot. The feed then uses an older checkpoint, or reads the journal instead.
func Restore(data []byte, o Options) (*State, error) {
	d, v, err := metric.NewDecoder(data, magic, version)
	if err != nil {
		return nil, fmt.Errorf("restore the catalog: %w", err)
	}
	if v == 0 || v > version {
		return nil, fmt.Errorf("restore the catalog: its format is version %d, but this program supports 1 to %d", v, version)
	}
	s := NewState(o)
	s.read(d, v, func(id uint32) uint32 { return id })
	if err := d.Done(); err != nil {
		return nil, fmt.Errorf("restore the catalog: %w", err)
	}
	return s, nil
}

// read adds the series of a snapshot, each with the id that here returns for it.
func (s *State) read(d *metric.Decoder, v uint64, here func(id uint32) uint32) {
	readCounts(d, s.counts.LeftOut)
	readCounts(d, s.counts.Refused)
	for range d.Count(1) {
		t := s.topology(d.String())
		for range d.Count(1) {
			t.starts = append(t.starts, d.String())
		}
		if v > 1 {
			readKnown(d, &t.known)
		}
		t.storm = t.known.releases()
	}
	for range d.Count(1) {
		id, wasInactive, raw := here(d.Uint32()), d.Bool(), d.Raw()
		if d.Err() != nil {
			return
		}
		if s.entries.get(id) != nil {
			d.Fail(fmt.Errorf("series %d occurs twice", id))
			return
		}
		s.enter(id, &raw)
		if !wasInactive {
			s.activate(id)
		}
	}
	s.changes = nil
}

func readKnown(d *metric.Decoder, k *known) {
	k.storm, k.old, k.listed = d.String(), d.Bool(), d.Bool()
	if !k.listed {
		return
	}
	for _, names := range []map[string]bool{k.spouts, k.components} {
		for range d.Count(1) {
			names[d.String()] = true
		}
	}
}

func readCounts(d *metric.Decoder, counts map[string]uint64) {
	for range d.Count(1) {
		reason := d.String()
		counts[reason] = d.Uint()
	}
}

// Resume returns every verdict that is not Inactive, those that take a series away first. A feed applies them after it
// restored catalog and slicer. A program with a newer table than the one that wrote the checkpoint then uses its own
// table.
//
// A feed may ignore Stored for a series that the slicer does not have. Judge announces it again with the next sample of
// the series.
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
