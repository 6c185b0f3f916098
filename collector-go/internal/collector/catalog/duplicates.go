package catalog

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Several series may report the same value: Storm's heap and the sampler's, one metric at two intervals, or two names
// that map to the same one. Only one of the active series is stored. Which one depends on their names alone, not on the
// order in which they arrived.

// activate marks a series as active and decides about its duplicates. If the series reveals something new about its
// topology, all names of the topology are read again first.
func (s *State) activate(id uint32) {
	e := s.entries.get(id)
	t := s.topology(e.raw.Topology)
	again := t.known.guess(e.raw)
	if s.template(e).old && !t.known.old {
		t.known.old = true
		again = again || t.known.releases() != t.storm
	}
	if again {
		s.reread(t)
	}
	s.setActive(id)
}

// setActive does what activate does, for a series that reveals nothing new about its topology.
func (s *State) setActive(id uint32) {
	e := s.entries.get(id)
	e.set(inactive, false)
	s.decide(e.hash)
}

// deactivate excludes a series from the candidates until a sample of it arrives. It does not decide about the
// duplicates again, because it is called only for all series of a topology together.
func (s *State) deactivate(id uint32) {
	e := s.entries.get(id)
	if e.is(inactive) {
		return
	}
	e.set(inactive, true)
	was := e.outcome
	s.settle(e, Verdict{Outcome: Inactive})
	if was == Stored {
		s.announce(id, e)
	}
}

// decide resolves the duplicates among the active series of one hash. It judges the losers first, so that the slicer
// never has two series with one name. Most hashes belong to a single series, which the first branch handles without
// allocating.
func (s *State) decide(hash uint64) {
	if id, alone := s.candidates.alone[hash]; alone {
		if e := s.entries.get(id); !e.is(inactive) {
			s.judge(id, e, s.verdict(e, nil))
		}
		return
	}
	active := make([]uint32, 0, 4)
	for _, id := range s.candidates.of(hash) {
		if !s.entries.get(id).is(inactive) {
			active = append(active, id)
		}
	}
	active = s.newest(active)
	slices.SortFunc(active, func(a, b uint32) int { return s.compare(a, b) })
	for i := len(active) - 1; i >= 0; i-- {
		e := s.entries.get(active[i])
		s.judge(active[i], e, s.verdict(e, s.winner(active[:i], e)))
	}
}

// newest drops ids for which a later id names exactly the same series. The journal has forgotten those ids, and the
// samples of the series arrive under the later one.
func (s *State) newest(ids []uint32) []uint32 {
	if len(ids) == 1 {
		return ids
	}
	kept := make([]uint32, 0, len(ids))
	for _, id := range ids {
		e := s.entries.get(id)
		if !slices.ContainsFunc(ids,
			func(other uint32) bool { return other > id && *s.entries.get(other).raw == *e.raw }) {
			kept = append(kept, id)
			continue
		}
		s.judge(id, e, Verdict{Outcome: LeftOut, Reason: ReasonRepeat})
	}
	return kept
}

// winner returns the best candidate that is preferred to a series and has the same labels. It compares the labels,
// because equal hashes can be a coincidence.
func (s *State) winner(better []uint32, e *entry) *entry {
	for _, id := range better {
		other := s.entries.get(id)
		if s.overruledBy(other) == nil && s.sameSeries(other, e) {
			return other
		}
	}
	return nil
}

func (s *State) sameSeries(a, b *entry) bool {
	return labels.Equal(s.templates.labelsOf(s.template(a), a.raw), s.templates.labelsOf(s.template(b), b.raw))
}

// verdict decides about a series, given the preferred candidate of the same labels, if there is one.
//
// A duplicate from the table is left out, because the winner reports the same value. A user's metric that collides with
// a different metric is refused instead, because its values are lost and somebody has to rename it.
func (s *State) verdict(e *entry, winner *entry) Verdict {
	if by := s.overruledBy(e); by != nil {
		return Verdict{Outcome: LeftOut, Reason: by.reason}
	}
	switch {
	case winner == nil && s.classicTaken(e):
		return Verdict{Outcome: LeftOut, Reason: ReasonOwnName}
	case winner == nil:
		return Verdict{Outcome: Stored, Unknown: e.is(unknown)}
	case winner.raw.Shape == metric.ShapeSampler && e.is(yields):
		return Verdict{Outcome: LeftOut, Reason: ReasonSampler}
	case e.is(unknown) && (winner.raw.Name != e.raw.Name || winner.raw.Key != e.raw.Key):
		return Verdict{Outcome: Refused, Reason: ReasonCollision}
	}
	return Verdict{Outcome: LeftOut, Reason: ReasonRepeat}
}

// overruledBy returns the stored metric that makes a series redundant, or nil if there is none.
func (s *State) overruledBy(e *entry) *yield {
	if !e.is(yields) {
		return nil
	}
	of := s.template(e)
	for i := range of.yields {
		if s.stored[s.claim(e.raw, &of.yields[i])] > 0 {
			return &of.yields[i]
		}
	}
	return nil
}

// claim returns the key by which series that yield find the series that make them redundant. It is a hash, because
// there are as many keys as series. The seed is random, so a claim must never be written to disk.
func (s *State) claim(raw *metric.Raw, y *yield) uint64 {
	of := claim{worker: raw.Worker, name: y.to, sampled: y.sampled}
	if y.of == ofTask {
		of.component, of.task, of.ofTask = raw.Component, raw.Task, true
	}
	return maphash.Comparable(s.seed, of)
}

type claim struct {
	worker          metric.Worker
	component, name string
	task            int32
	ofTask, sampled bool
}

// compare orders candidates; the first one is stored. It prefers the worker's own sampler, then a metric of the table.
// Among a user's metrics it prefers the one whose name is unchanged here, then the first by name. It then prefers the
// shorter interval, and finally the id that was defined first.
//
// The order depends on names, intervals and ids alone, so every collector with the same journal stores the same series.
func (s *State) compare(a, b uint32) int {
	first, second := s.entries.get(a), s.entries.get(b)
	return cmp.Or(
		order(first.raw.Shape != metric.ShapeSampler, second.raw.Shape != metric.ShapeSampler),
		order(first.is(unknown), second.is(unknown)),
		s.compareNames(first, second),
		cmp.Compare(rank(first.raw.IntervalMs), rank(second.raw.IntervalMs)),
		cmp.Compare(a, b))
}

func (s *State) compareNames(first, second *entry) int {
	if !first.is(unknown) || !second.is(unknown) {
		return 0
	}
	return cmp.Or(
		order(!first.is(exact), !second.is(exact)),
		cmp.Compare(first.raw.Name, second.raw.Name),
		cmp.Compare(first.raw.Key, second.raw.Key))
}

// order compares two booleans for a sort: false comes first.
func order(first, second bool) int {
	switch {
	case first == second:
		return 0
	case second:
		return -1
	}
	return 1
}

// rank returns a sort key for an interval. An unknown interval comes after all others.
func rank(intervalMs int64) int64 {
	if intervalMs <= 0 {
		return 1 << 62
	}
	return intervalMs
}

// judge sets the verdict of a series, announces the change, and decides again about the series that depend on it.
func (s *State) judge(id uint32, e *entry, v Verdict) {
	if e.verdict() == v {
		return
	}
	was := e.outcome
	hashes := s.settle(e, v)
	if v.Outcome == Stored || was == Stored {
		s.announce(id, e)
		if e.is(spread) {
			s.announceMadeFrom(e.raw, s.template(e))
		}
	}
	for _, hash := range hashes {
		s.decide(hash)
	}
}

// settle records the verdict of a series and updates the counts that depend on it. It returns the hashes whose
// candidates must be judged again, because this series started or stopped making them redundant. It does not judge them
// itself, so that callers can change many series before they decide.
func (s *State) settle(e *entry, v Verdict) (hashes []uint64) {
	was := e.outcome
	e.decide(v)
	notStored := func(o Outcome) bool { return o == LeftOut || o == Refused }
	if notStored(was) || notStored(e.outcome) || e.is(spread) {
		s.restated[e.raw.Topology] = true
	}
	if (e.outcome == Stored) == (was == Stored) {
		return nil
	}
	by := -1
	if e.outcome == Stored {
		by = 1
	}
	if e.is(unknown) {
		s.counts.Unknown += by
	}
	if e.is(spread) {
		s.topology(e.raw.Topology).spread += by
	}
	if !e.is(makes) {
		return nil
	}
	of := s.template(e)
	for i := range of.makes {
		claim := s.claim(e.raw, &of.makes[i])
		before := s.stored[claim]
		if s.stored[claim] += by; s.stored[claim] == 0 {
			delete(s.stored, claim)
		}
		if before != 0 && s.stored[claim] != 0 {
			continue
		}
		for _, id := range s.yielding.of(claim) {
			if other := s.entries.get(id); other != e && !other.is(inactive) {
				hashes = append(hashes, other.hash)
			}
		}
	}
	return hashes
}

func (s *State) announce(id uint32, e *entry) {
	change := Change{ID: id, Verdict: e.verdict()}
	if e.outcome == Stored {
		change.Rule = s.rule(id, e)
	}
	s.changes = append(s.changes, change)
}
