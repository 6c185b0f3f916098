package catalog

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Forget drops series whose ids will receive no more samples. It returns the new verdicts on other series: a series
// that was left out because of a forgotten one is stored from now on. The slicer must have detached the forgotten
// series already. Unknown ids are ignored. The result is valid until the next call.
func (s *State) Forget(ids []uint32) []Change {
	s.changes = s.changes[:0]
	var hashes []uint64 // of candidates that must be decided again
	// The forgotten metrics of topologies themselves, whose names may be derived from others from now on. They are
	// copied, because the entries are gone when the names are announced.
	type own struct {
		raw *metric.Raw
		of  *template
	}
	var owns []own
	topologies := map[string]bool{}
	for _, id := range ids {
		e := s.entries.get(id)
		if e == nil {
			continue
		}
		if !e.is(inactive) {
			e.set(inactive, true)
			hashes = append(append(hashes, e.hash), s.settle(e, Verdict{Outcome: Inactive})...)
			if e.is(spread) {
				owns = append(owns, own{e.raw, s.template(e)})
			}
		}
		s.unfile(id, e)
		topologies[e.raw.Topology] = true
		s.entries.remove(id)
	}
	for name := range topologies {
		t := s.topology(name)
		t.series = slices.DeleteFunc(t.series, func(id uint32) bool { return s.entries.get(id) == nil })
	}
	slices.Sort(hashes)
	for _, hash := range slices.Compact(hashes) {
		s.decide(hash)
	}
	for _, o := range owns {
		s.announceMadeFrom(o.raw, o.of)
	}
	for name := range topologies {
		if t := s.topology(name); len(t.series)+len(t.starts) == 0 {
			delete(s.topologies, name)
		}
	}
	return s.changes
}
