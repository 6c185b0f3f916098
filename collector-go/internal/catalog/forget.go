package catalog

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// Forget drops series of which no sample will come under their ids again, and returns the verdicts on others that
// follow: what a forgotten series overruled is stored from now on. The slicer is to be detached from the forgotten ones
// first. Ids that are not known do not matter. The result is valid until the next call.
func (s *State) Forget(ids []uint32) []Change {
	s.changes = s.changes[:0]
	var hashes []uint64 // of contests that are to be decided again
	topologies := map[string]bool{}
	for _, id := range ids {
		e := s.entries.get(id)
		if e == nil {
			continue
		}
		if !e.is(asleep) {
			hashes = append(hashes, s.leave(e)...)
		}
		if e.leftOut == 0 {
			s.contests.remove(e.hash, id)
		}
		if e.is(yields) {
			remove(s.yielding, e.raw.Worker, id)
		}
		if e.is(unknown) {
			s.counts.Unknown--
		}
		topologies[e.raw.Topology] = true
		s.entries.remove(id)
	}
	for name := range topologies {
		t := s.topology(name)
		t.series = slices.DeleteFunc(t.series, func(id uint32) bool { return s.entries.get(id) == nil })
		if len(t.series)+len(t.starts) == 0 {
			delete(s.topologies, name)
		}
	}
	slices.Sort(hashes)
	for _, hash := range slices.Compact(hashes) {
		s.decide(hash)
	}
	return s.changes
}

// leave takes a series that is awake out of what it takes part in, and returns the contests that this changes.
func (s *State) leave(e *entry) []uint64 {
	hashes := []uint64{e.hash}
	if ofOldStorm(e.raw) {
		s.topology(e.raw.Topology).old--
	}
	if e.raw.Shape == metric.ShapeSampler && e.leftOut == 0 {
		if s.sampled[e.raw.Worker]--; s.sampled[e.raw.Worker] == 0 {
			delete(s.sampled, e.raw.Worker)
			for _, rival := range s.yielding[e.raw.Worker] {
				if other := s.entries.get(rival); other != nil {
					hashes = append(hashes, other.hash)
				}
			}
		}
	}
	return hashes
}

// remove takes an id out of one of several lists.
func remove[K comparable](lists map[K][]uint32, key K, id uint32) {
	ids := lists[key]
	at := slices.Index(ids, id)
	if at < 0 {
		return
	}
	if ids = slices.Delete(ids, at, at+1); len(ids) == 0 {
		delete(lists, key)
	} else {
		lists[key] = ids
	}
}
