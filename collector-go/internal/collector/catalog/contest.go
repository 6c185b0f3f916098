package catalog

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Several series may have the same story: Storm's heap and the sampler's, one metric at two intervals, two names that
// become one. At any time one of those that are awake is stored. Which one depends on the names alone, not on the
// order in which they came.

// wake lets a series take part again.
func (s *State) wake(id uint32) {
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
	s.rouse(id)
}

// rouse is wake for a series that says nothing new of its topology.
func (s *State) rouse(id uint32) {
	e := s.entries.get(id)
	e.set(asleep, false)
	s.decide(e.hash)
}

// sleep takes a series out until it is heard again. Its topology's other series sleep with it, so nothing is decided
// again.
func (s *State) sleep(id uint32) {
	e := s.entries.get(id)
	if e.is(asleep) {
		return
	}
	e.set(asleep, true)
	was := e.outcome
	s.settle(e, Verdict{Outcome: Dormant})
	if was == Stored {
		s.announce(id, e)
	}
}

// decide judges the awake series of one hash: the losers first, so that a slicer never has two of one name.
func (s *State) decide(hash uint64) {
	if id, alone := s.contests.alone[hash]; alone {
		if e := s.entries.get(id); !e.is(asleep) {
			s.judge(id, e, s.verdict(e, nil))
		}
		return
	}
	awake := make([]uint32, 0, 4)
	for _, id := range s.contests.of(hash) {
		if !s.entries.get(id).is(asleep) {
			awake = append(awake, id)
		}
	}
	awake = s.newest(awake)
	slices.SortFunc(awake, func(a, b uint32) int { return s.compare(a, b) })
	for i := len(awake) - 1; i >= 0; i-- {
		e := s.entries.get(awake[i])
		s.judge(awake[i], e, s.verdict(e, s.rival(awake[:i], e)))
	}
}

// newest leaves out the ids of which a later one names the very same series: the journal has forgotten them, and what
// comes of the series comes under the later one.
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

// rival is the best of the better ones that has the same labels; equal hashes alone are an accident.
func (s *State) rival(better []uint32, e *entry) *entry {
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

// verdict of a series, given the better one of the same labels, if any.
func (s *State) verdict(e *entry, rival *entry) Verdict {
	if by := s.overruledBy(e); by != nil {
		return Verdict{Outcome: LeftOut, Reason: by.reason}
	}
	switch {
	case rival == nil && s.classicTaken(e):
		return Verdict{Outcome: LeftOut, Reason: ReasonOwnName}
	case rival == nil:
		return Verdict{Outcome: Stored, Unknown: e.is(unknown)}
	case rival.raw.Shape == metric.ShapeSampler && e.is(yields):
		return Verdict{Outcome: LeftOut, Reason: ReasonSampler}
	case e.is(unknown) && (rival.raw.Name != e.raw.Name || rival.raw.Key != e.raw.Key):
		return Verdict{Outcome: Refused, Reason: ReasonCollision}
	}
	return Verdict{Outcome: LeftOut, Reason: ReasonRepeat}
}

// overruledBy is what is stored and makes a series redundant; nil where nothing does.
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

// claim is what a series yields to, or what others yield to of a series: by a hash, since there are as many as
// series.
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

// compare puts the one to be stored first: the worker's sampler's, and what the table has. Of a topology's own
// metrics whose names become one, that is the one whose name is the same here, and then the first by name; of one
// metric, the one of the shorter interval, and then the one that was named first.
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

// order puts what is not before what is.
func order(first, second bool) int {
	switch {
	case first == second:
		return 0
	case second:
		return -1
	}
	return 1
}

// rank puts an interval that is not said behind all others.
func rank(intervalMs int64) int64 {
	if intervalMs <= 0 {
		return 1 << 62
	}
	return intervalMs
}

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

// settle gives a series its verdict, and returns the contests that this changes.
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
			if other := s.entries.get(id); other != e && !other.is(asleep) {
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
