// Package catalog knows what every number that Storm, Bullet and our own sampler send is called here, what it counts
// from, and in which unit. It owns the table of canonical metrics (metrics.go, sources.go; proto/METRICS.md is made
// from them) and, for each feed, which of several series that have the same story is stored. It will never know a
// time, a slice or a store.
package catalog

import (
	"hash/maphash"
	"maps"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Outcome is what becomes of a series' samples.
type Outcome uint8

// The outcomes.
const (
	Stored  Outcome = iota + 1 // sliced by its rule
	LeftOut                    // another series has the same
	Refused                    // of no use
	Dormant                    // not heard since its topology was started again; Judge wakes it
)

// Verdict is the catalogue's answer about a series.
type Verdict struct {
	Outcome Outcome
	Reason  string // one of the Reason constants for LeftOut and Refused, else ""
	Unknown bool   // Stored under its own name, since the table has none for it
}

// Change is a verdict that is new. A feed applies changes in their order: Stored is slicer.Define(ID, Rule), Dormant
// is slicer.Detach(ID), and anything else is CountWithdrawn(ID, slicer.Withdraw(ID)).
type Change struct {
	ID      uint32
	Verdict Verdict
	Rule    metric.Rule // where Stored
}

// Options bound a State.
type Options struct {
	// MaxSeries is how many series it remembers. Past it, series that have slept since their topology was started
	// again are forgotten; where there is none, new series are refused.
	MaxSeries int
}

// DefaultOptions hold the series of the largest cluster that one collector is meant for, some generations over; a
// series takes about 60 bytes, less its name, which is the definer's.
func DefaultOptions() Options { return Options{MaxSeries: 2 << 20} }

// State is what one feed has learned of its series, by the journal's ids. It is for one goroutine.
type State struct {
	limit      int
	entries    entries
	templates  templates
	made       made
	contests   idsByHash // of the labels: series that may be one
	seed       maphash.Seed
	stored     map[uint64]int // how many stored series make others redundant, by claim
	yielding   idsByHash      // by claim: series that it makes redundant
	topologies map[string]*topology
	counts     Counts
	changes    []Change
	restated   map[string]bool // topologies whose NotStored may have changed
}

// made are the labels that were made last: a series that is new is stored at once.
type made struct {
	id     uint32
	raw    *metric.Raw
	labels labels.Labels
}

type topology struct {
	starts []string // ids heard, oldest first
	series []uint32
	known  known
	// storm are the releases by which its series' names are read.
	storm  releases
	spread int // stored series of its own whose names may be made from others
}

// maxStarts is how many ids of one topology are remembered, so that an old one said again is not taken for a new
// start.
const maxStarts = 64

// Counts are the catalogue's side of the books: samples by reason.
type Counts struct {
	LeftOut map[string]uint64
	Refused map[string]uint64
	// Unknown is how many series are stored under a name that the table does not have.
	Unknown int
}

// NewState returns the state before the journal's first entry.
func NewState(o Options) *State {
	return &State{
		limit:      o.MaxSeries,
		entries:    newEntries(),
		templates:  newTemplates(),
		contests:   newIDsByHash(),
		seed:       maphash.MakeSeed(),
		stored:     make(map[uint64]int),
		restated:   make(map[string]bool),
		yielding:   newIDsByHash(),
		topologies: make(map[string]*topology),
		counts:     Counts{LeftOut: make(map[string]uint64), Refused: make(map[string]uint64)},
	}
}

// Define takes the name of a series and returns the verdicts that are new: its own, and those that it overturns.
// Defining an id again with the same name changes nothing. The name is kept as it is, and must not change: the
// journal has it already, and a copy would be half of what a series takes here. The result is valid until the next
// call.
func (s *State) Define(id uint32, raw *metric.Raw) []Change {
	s.changes = s.changes[:0]
	if s.entries.get(id) != nil || !s.room() {
		return nil
	}
	s.enter(id, raw)
	s.wake(id)
	return s.changes
}

// Describe takes what a sender states of a topology, of the run of that id, and returns the verdicts that are new.
// What is said of an earlier run does not matter.
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

// TopologyStarted takes the id of a topology as a producer gives it. One that was not heard before is a new start
// under the same name: its workers may report other metrics at other intervals, so all its series sleep until they
// are heard again.
func (s *State) TopologyStarted(name, id string) []Change {
	s.changes = s.changes[:0]
	t := s.topology(name)
	if t.heard(id) {
		return nil
	}
	for _, series := range t.series {
		s.sleep(series)
	}
	t.known = newKnown()
	s.reread(t)
	return s.changes
}

// Judge states what becomes of a sample whose series the slicer does not hold, and counts it unless its series is
// Stored: then the changes, which are never empty, are to be applied and the sample is to be added again. A dormant
// series wakes.
func (s *State) Judge(id uint32) (Verdict, []Change) { return s.JudgeSamples(id, 1) }

// JudgeSamples is Judge for several samples of a series at once.
func (s *State) JudgeSamples(id uint32, samples int) (Verdict, []Change) {
	s.changes = s.changes[:0]
	e := s.entries.get(id)
	if e == nil {
		return s.count(Verdict{Outcome: Refused, Reason: s.reasonUnknown()}, samples), nil
	}
	if e.is(asleep) {
		s.wake(id)
	} else if e.outcome == Stored {
		s.announce(id, e)
	}
	return s.count(e.verdict(), samples), s.changes
}

// CountWithdrawn counts samples that were open when their series was overturned.
func (s *State) CountWithdrawn(id uint32, samples int) {
	if e := s.entries.get(id); e != nil {
		s.count(e.verdict(), samples)
	}
}

// Counts are the samples that Judge and CountWithdrawn counted, those before a restart included.
func (s *State) Counts() Counts {
	c := s.counts
	c.LeftOut, c.Refused = maps.Clone(c.LeftOut), maps.Clone(c.Refused)
	return c
}

// UnknownNames are the names, as Storm has them, of a topology's stored series that the table does not have, sorted.
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

func (s *State) reasonUnknown() string {
	if s.entries.known >= s.limit {
		return ReasonSeriesLimit
	}
	return ReasonUndefined
}

// enter adds a series, asleep.
func (s *State) enter(id uint32, raw *metric.Raw) {
	e := s.entries.add(id, raw)
	t := s.topology(raw.Topology)
	t.series = append(t.series, id)
	s.file(id, e)
}

// file puts a series, asleep, where its template says.
func (s *State) file(id uint32, e *entry) {
	t := s.topology(e.raw.Topology)
	e.source = int8(min(t.known.source(e.raw), math.MaxInt8))
	of := s.template(e)
	e.outcome = Dormant
	e.set(asleep, true)
	e.set(yields, len(of.yields) > 0)
	e.set(makes, len(of.makes) > 0)
	e.set(unknown, of.unknown)
	e.set(exact, of.exact)
	e.set(spread, of.unknown && len(madeFrom(of.name())) > 0)
	e.hash = s.labels(id, e).Hash()
	s.contests.add(e.hash, id)
	for i := range of.yields {
		s.yielding.add(s.claim(e.raw, &of.yields[i]), id)
	}
}

// unfile takes a series out of where file put it.
func (s *State) unfile(id uint32, e *entry) {
	of := s.template(e)
	s.contests.remove(e.hash, id)
	for i := range of.yields {
		s.yielding.remove(s.claim(e.raw, &of.yields[i]), id)
	}
}

// template is that of a series, as its name was read when it was filed.
func (s *State) template(e *entry) *template {
	return s.templates.of(e.raw, reading{storm: s.topology(e.raw.Topology).storm,
		system: e.raw.Component == systemComponent, source: int(e.source)})
}

// labels are those of a series.
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

// heard takes an id and reports whether it is nothing new. The first of all is nothing new either: nothing came
// before it.
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

// room makes sure that one more series may be remembered, by forgetting those that sleep.
func (s *State) room() bool {
	if s.entries.known >= s.limit {
		s.forgetSleepers()
	}
	return s.entries.known < s.limit
}

func (s *State) forgetSleepers() {
	for id, e := range s.entries.all() {
		if !e.is(asleep) {
			continue
		}
		s.entries.remove(id)
	}
	gone := func(id uint32) bool { return s.entries.get(id) == nil }
	for _, t := range s.topologies {
		t.series = slices.DeleteFunc(t.series, gone)
	}
	s.contests.prune(gone)
	s.yielding.prune(gone)
}

// reread reads the names of a topology's series again, since more is known of it than when they were filed. A series
// that gets another name or labels is taken from the slicer before any is given to it.
func (s *State) reread(t *topology) {
	type before struct {
		of    *template
		was   Outcome
		awake bool
	}
	all := make([]before, len(t.series))
	for i, id := range t.series {
		e := s.entries.get(id)
		all[i] = before{s.template(e), e.outcome, !e.is(asleep)}
		s.settle(e, Verdict{Outcome: Dormant})
		s.unfile(id, e)
	}
	s.refile(t)
	for i, id := range t.series {
		t.known.old = t.known.old || all[i].awake && s.template(s.entries.get(id)).old
	}
	if t.known.releases() != t.storm {
		for _, id := range t.series {
			s.unfile(id, s.entries.get(id))
		}
		s.refile(t)
	}
	mark := len(s.changes)
	for i, id := range t.series {
		if all[i].awake {
			s.rouse(id)
		}
	}
	s.changes = s.changes[:mark] // their end alone counts
	for i, id := range t.series {
		e := s.entries.get(id)
		switch {
		case all[i].was != Stored:
		case e.outcome != Stored:
			s.announce(id, e)
		case !slices.Equal(s.template(e).labels, all[i].of.labels):
			s.changes = append(s.changes, Change{ID: id, Verdict: Verdict{Outcome: Dormant}})
		}
	}
	for _, id := range t.series {
		if e := s.entries.get(id); e.outcome == Stored {
			s.announce(id, e)
		}
	}
}

// refile files all series of a topology by what is known of it now.
func (s *State) refile(t *topology) {
	t.storm, s.made = t.known.releases(), made{}
	for _, id := range t.series {
		s.file(id, s.entries.get(id))
	}
}
