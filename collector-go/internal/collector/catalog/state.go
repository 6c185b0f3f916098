// Package catalog maps what Storm, Bullet and our own plugin send to the metrics that users see. For each series it
// knows the canonical name, the labels, what the value counts from, and its unit.
//
// It owns two things. The first is the table of metrics (metrics.go) and of their sources (sources.go); a test
// generates proto/METRICS.md from it. The second is State. For each feed it decides which series is stored if several
// series report the same value.
//
// The catalog knows nothing about time, slices or stores. Its answers depend on names and on what senders state about
// their topologies, never on sample values or on the clock. Replaying the journal therefore gives the same answers.
//
// Read metrics.go and sources.go first. lookup.go matches a name against the table, template.go converts the row to a
// slicing rule, and duplicates.go resolves duplicates.
package catalog

import (
	"hash/maphash"
	"maps"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Outcome is what happens to the samples of a series.
type Outcome uint8

// The outcomes of a decision about a series.
const (
	Stored   Outcome = iota + 1 // sliced by its rule
	LeftOut                     // another series reports the same value
	Refused                     // its samples cannot be used
	Inactive                    // no sample since its topology was started again; JudgeSamples activates it
)

// Verdict is the catalog's decision about a series. It may change when another series appears or disappears.
type Verdict struct {
	Outcome Outcome
	Reason  string // one of the Reason constants for LeftOut and Refused, otherwise ""
	Unknown bool   // Stored under its own name, because the table does not have it
}

// Change is a new verdict that the feed must apply. The feed applies changes in the given order. Stored requires
// slicer.Define(ID, Rule), Inactive requires slicer.Detach(ID), and all others CountRetracted(ID, slicer.Retract(ID)).
//
// The order matters. A series is removed before another one replaces it, so that the slicer never has two series with
// the same name and labels.
type Change struct {
	ID      uint32
	Verdict Verdict
	Rule    metric.Rule // set if Stored
}

// Options limit a State.
type Options struct {
	// MaxSeries is the maximum number of series in a State. At the limit it first forgets inactive series, which have
	// had no sample since their topology was started again. If there are none, it refuses new series with
	// ReasonSeriesLimit.
	MaxSeries int
}

// DefaultOptions returns the options for the largest cluster that one collector is meant for, with several restarts of
// its topologies. A series takes about 60 bytes. Its name belongs to the caller of Define and is not copied.
func DefaultOptions() Options { return Options{MaxSeries: 2 << 20} }

// State is what one feed knows about its series, by the journal's ids. Each feed has its own State. Only the feed's
// goroutine uses it, so it has no lock.
//
// State is deterministic: the same sequence of calls gives the same verdicts. A feed relies on this when it restores a
// checkpoint and replays the journal after it. The methods that return changes share one buffer, so a result is valid
// only until the next call.
type State struct {
	limit      int
	entries    entries
	templates  templates
	made       made
	candidates idsByHash // by hash of the labels: series that may be duplicates
	seed       maphash.Seed
	stored     map[uint64]int // by claim: number of stored series that make others redundant
	yielding   idsByHash      // by claim: series that become redundant
	topologies map[string]*topology
	counts     Counts
	changes    []Change
	restated   map[string]bool // topologies whose NotStored may have changed
}

// made caches the labels that were computed last. Define computes them for the hash, and the rule of a new series needs
// them again at once.
type made struct {
	id     uint32
	raw    *metric.Raw
	labels labels.Labels
}

// topology is what is known about one topology, across the runs with its name.
type topology struct {
	starts []string // ids of its runs, the oldest first
	series []uint32
	known  known
	// storm are the releases for which the names of its series were read.
	storm  releases
	spread int // number of its own stored series whose names may be derived from others
}

// maxStarts is the number of ids that are remembered for one topology. A producer that repeats an old id must not look
// like a new start, because a new start deactivates all series.
const maxStarts = 64

// Counts are the catalog's part of the accounting: how many samples were not stored, by reason. Together with the
// slicer's counts, they account for every sample that arrived.
type Counts struct {
	LeftOut map[string]uint64
	Refused map[string]uint64
	// Unknown is the number of series that are stored under a name that the table does not have.
	Unknown int
}

// NewState returns the state of a feed before the first entry of the journal.
func NewState(o Options) *State {
	return &State{
		limit:      o.MaxSeries,
		entries:    newEntries(),
		templates:  newTemplates(),
		candidates: newIDsByHash(),
		seed:       maphash.MakeSeed(),
		stored:     make(map[uint64]int),
		restated:   make(map[string]bool),
		yielding:   newIDsByHash(),
		topologies: make(map[string]*topology),
		counts:     Counts{LeftOut: make(map[string]uint64), Refused: make(map[string]uint64)},
	}
}

// Define adds a series and returns the new verdicts: its own, and those on other series that change because of it.
// Defining an id again changes nothing.
//
// The State keeps raw, so the caller must not change it afterwards. The journal already holds the name, and a copy
// would take half of the memory of a series. The result is valid until the next call.
func (s *State) Define(id uint32, raw *metric.Raw) []Change {
	s.changes = s.changes[:0]
	if s.entries.get(id) != nil || !s.hasCapacity() {
		return nil
	}
	s.enter(id, raw)
	s.activate(id)
	return s.changes
}

// Describe applies the facts that a sender states about a run of a topology, and returns the new verdicts. Facts about
// an earlier run are ignored. The Storm release decides how names are read. If the facts are new, all series of the
// topology are therefore read again.
func (s *State) Describe(name, id string, facts Facts) []Change {
	s.changes = s.changes[:0]
	t := s.topology(name)
	if n := len(t.starts); n > 0 && id != "" && t.starts[n-1] != id {
		return nil
	}
	if t.known.tell(facts) {
		s.reread(t)
	}
	return s.changes
}

// TopologyStarted applies the id of a topology's run, as a producer reports it. A new id means that the topology was
// started again under the same name. Its workers may report other metrics at other intervals. All series of the
// topology therefore become inactive, and each is activated again by its first sample.
func (s *State) TopologyStarted(name, id string) []Change {
	s.changes = s.changes[:0]
	t := s.topology(name)
	if t.heard(id) {
		return nil
	}
	for _, series := range t.series {
		s.deactivate(series)
	}
	t.known = newKnown()
	s.reread(t)
	return s.changes
}

// JudgeSamples decides about samples of a series that the slicer does not have. It counts the samples unless the
// verdict is Stored. In that case there is at least one change: the caller applies the changes and adds the samples
// again. JudgeSamples activates an inactive series.
func (s *State) JudgeSamples(id uint32, samples int) (Verdict, []Change) {
	s.changes = s.changes[:0]
	e := s.entries.get(id)
	if e == nil {
		reason := ReasonUndefined
		if s.entries.known >= s.limit {
			reason = ReasonSeriesLimit
		}
		return s.count(Verdict{Outcome: Refused, Reason: reason}, samples), nil
	}
	if e.is(inactive) {
		s.activate(id)
	} else if e.outcome == Stored {
		s.announce(id, e)
	}
	return s.count(e.verdict(), samples), s.changes
}

// CountRetracted counts samples that were in open slices when their series was replaced by another one.
func (s *State) CountRetracted(id uint32, samples int) {
	if e := s.entries.get(id); e != nil {
		s.count(e.verdict(), samples)
	}
}

// Counts returns a copy of the counts. They survive a restart, because the snapshot contains them.
func (s *State) Counts() Counts {
	c := s.counts
	c.LeftOut, c.Refused = maps.Clone(c.LeftOut), maps.Clone(c.Refused)
	return c
}

// UnknownNames returns the names of a topology's stored series that are not in the table, as Storm reports them. The
// names are sorted.
func (s *State) UnknownNames(topology string) []string {
	names := make(map[string]bool)
	for _, e := range s.entries.all() {
		if e.is(unknown) && e.outcome == Stored && e.raw.Topology == topology {
			names[e.raw.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func (s *State) count(v Verdict, samples int) Verdict {
	switch {
	case samples == 0:
	case v.Outcome == LeftOut:
		s.counts.LeftOut[v.Reason] += uint64(samples)
	case v.Outcome == Refused:
		s.counts.Refused[v.Reason] += uint64(samples)
	}
	return v
}

// enter adds a series as inactive.
func (s *State) enter(id uint32, raw *metric.Raw) {
	e := s.entries.add(id, raw)
	t := s.topology(raw.Topology)
	t.series = append(t.series, id)
	s.file(id, e)
}

// file adds an inactive series to the indexes by which candidates are found, and copies the traits of its template.
// unfile is the inverse. Both must run with the same reading of the topology. Otherwise the indexes would keep stale
// ids.
func (s *State) file(id uint32, e *entry) {
	t := s.topology(e.raw.Topology)
	e.source = int8(min(t.known.source(e.raw), math.MaxInt8))
	of := s.template(e)
	e.outcome = Inactive
	e.set(inactive, true)
	e.set(yields, len(of.yields) > 0)
	e.set(makes, len(of.makes) > 0)
	e.set(unknown, of.unknown)
	e.set(exact, of.exact)
	e.set(spread, of.unknown && len(madeFrom(of.name())) > 0)
	e.hash = s.labels(id, e).Hash()
	s.candidates.add(e.hash, id)
	for i := range of.yields {
		s.yielding.add(s.claim(e.raw, &of.yields[i]), id)
	}
}

// unfile removes a series from the indexes to which file added it.
func (s *State) unfile(id uint32, e *entry) {
	of := s.template(e)
	s.candidates.remove(e.hash, id)
	for i := range of.yields {
		s.yielding.remove(s.claim(e.raw, &of.yields[i]), id)
	}
}

// template returns the template of a series, for the reading with which it was filed.
func (s *State) template(e *entry) *template {
	return s.templates.of(e.raw, reading{storm: s.topology(e.raw.Topology).storm,
		system: e.raw.Component == systemComponent, source: int(e.source)})
}

func (s *State) labels(id uint32, e *entry) labels.Labels {
	if s.made.raw != e.raw || s.made.id != id {
		s.made = made{id, e.raw, s.templates.labelsOf(s.template(e), e.raw)}
	}
	return s.made.labels
}

func (s *State) topology(name string) *topology {
	t := s.topologies[name]
	if t == nil {
		t = &topology{known: newKnown(), storm: anyRelease}
		s.topologies[name] = t
	}
	return t
}

// heard records an id and reports whether it is not a new start. The very first id is not a new start either, because
// no series existed before it.
func (t *topology) heard(id string) bool {
	for _, start := range t.starts {
		if start == id {
			return true
		}
	}
	t.starts = append(t.starts, id)
	if len(t.starts) > maxStarts {
		t.starts = t.starts[1:]
	}
	return len(t.starts) == 1
}

// hasCapacity reports whether one more series fits. At the limit it first forgets inactive ones.
func (s *State) hasCapacity() bool {
	if s.entries.known >= s.limit {
		s.forgetInactive()
	}
	return s.entries.known < s.limit
}

// forgetInactive drops every inactive series. It needs a pass over all entries and indexes. It therefore runs only at
// the limit, where it can free many series at once.
func (s *State) forgetInactive() {
	for id, e := range s.entries.all() {
		if e.is(inactive) {
			s.entries.remove(id)
		}
	}
	gone := func(id uint32) bool { return s.entries.get(id) == nil }
	for _, t := range s.topologies {
		t.series = slices.DeleteFunc(t.series, gone)
	}
	s.candidates.prune(gone)
	s.yielding.prune(gone)
}

// reread reads the names of a topology's series again after a fact about the topology became known. A fact can change
// many names at once. All series that get another name or other labels are therefore detached from the slicer before
// any series is stored. Otherwise two series could briefly have the same name.
func (s *State) reread(t *topology) {
	type before struct {
		of     *template
		was    Outcome
		active bool
	}
	all := make([]before, len(t.series))
	for i, id := range t.series {
		e := s.entries.get(id)
		all[i] = before{s.template(e), e.outcome, !e.is(inactive)}
		s.settle(e, Verdict{Outcome: Inactive})
		s.unfile(id, e)
	}
	s.refile(t)
	for i, id := range t.series {
		t.known.old = t.known.old || all[i].active && s.template(s.entries.get(id)).old
	}
	if t.known.releases() != t.storm {
		for _, id := range t.series {
			s.unfile(id, s.entries.get(id))
		}
		s.refile(t)
	}
	announced := len(s.changes)
	for i, id := range t.series {
		if all[i].active {
			s.setActive(id)
		}
	}
	s.changes = s.changes[:announced] // only the final verdicts are announced
	for i, id := range t.series {
		e := s.entries.get(id)
		switch {
		case all[i].was != Stored:
		case e.outcome != Stored:
			s.announce(id, e)
		case !slices.Equal(s.template(e).labels, all[i].of.labels):
			s.changes = append(s.changes, Change{ID: id, Verdict: Verdict{Outcome: Inactive}})
		}
	}
	for _, id := range t.series {
		if e := s.entries.get(id); e.outcome == Stored {
			s.announce(id, e)
		}
	}
}

// refile files all series of a topology again, with the reading that follows from what is known now.
func (s *State) refile(t *topology) {
	t.storm, s.made = t.known.releases(), made{}
	for _, id := range t.series {
		s.file(id, s.entries.get(id))
	}
}
