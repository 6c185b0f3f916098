package catalog

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// Several series may have the same story: Storm's heap and the sampler's, one metric at two intervals, two names that
// become one. At any time one of those that are awake is stored. Which one depends on the names alone, not on the order
// in which they came.

// wake lets a series take part again.
func (s *State) wake(id uint32) {
	e := s.entries.get(id)
	e.set(asleep, false)
	if ofOldStorm(e.raw) {
		s.heardOld(e.raw.Topology)
	}
	if e.leftOut != 0 {
		s.judge(id, e, Verdict{Outcome: LeftOut, Reason: reasons[e.leftOut]})
		return
	}
	first := e.raw.Shape == metric.ShapeSampler && s.sampled[e.raw.Worker] == 0
	if e.raw.Shape == metric.ShapeSampler {
		s.sampled[e.raw.Worker]++
	}
	if first {
		for _, rival := range s.yielding[e.raw.Worker] {
			s.decide(s.entries.get(rival).hash)
		}
	}
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
	if ofOldStorm(e.raw) {
		s.topology(e.raw.Topology).old--
	}
	if e.raw.Shape == metric.ShapeSampler && e.leftOut == 0 {
		s.sampled[e.raw.Worker]--
	}
	was := e.outcome
	e.decide(Verdict{Outcome: Dormant})
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
		if s.overruled(other) {
			continue
		}
		if s.sameSeries(other.raw, e.raw) {
			return other
		}
	}
	return nil
}

func (s *State) sameSeries(a, b *metric.Raw) bool {
	return labels.Equal(s.templates.labelsOf(s.templates.of(a), a), s.templates.labelsOf(s.templates.of(b), b))
}

// verdict of a series, given the better one of the same labels, if any.
func (s *State) verdict(e *entry, rival *entry) Verdict {
	switch {
	case s.overruled(e):
		return Verdict{Outcome: LeftOut, Reason: ReasonSampler}
	case rival == nil:
		return Verdict{Outcome: Stored, Unknown: e.is(unknown)}
	case e.is(unknown) && (rival.raw.Name != e.raw.Name || rival.raw.Key != e.raw.Key):
		return Verdict{Outcome: Refused, Reason: ReasonCollision}
	}
	return Verdict{Outcome: LeftOut, Reason: ReasonRepeat}
}

// overruled states that the worker's sampler reports what this series does.
func (s *State) overruled(e *entry) bool {
	return e.is(yields) && s.sampled[e.raw.Worker] > 0
}

// compare puts the one to be stored first: the shorter interval, then the one that was named first.
func (s *State) compare(a, b uint32) int {
	first, second := s.entries.get(a), s.entries.get(b)
	if d := rank(first.raw.IntervalMs) - rank(second.raw.IntervalMs); d != 0 {
		return int(max(-1, min(1, d)))
	}
	if a < b {
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
	e.decide(v)
	if v.Outcome == Stored || was == Stored {
		s.announce(id, e)
	}
}

func (s *State) announce(id uint32, e *entry) {
	change := Change{ID: id, Verdict: e.verdict()}
	if e.outcome == Stored {
		change.Rule = s.rule(id, e)
	}
	s.changes = append(s.changes, change)
}
