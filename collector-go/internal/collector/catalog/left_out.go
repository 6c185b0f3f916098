package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// NotStored is a metric of a topology's component that is not stored. The page that explains missing metrics lists
// them.
type NotStored struct {
	// Component is the component that sends the metric.
	Component string `json:"component"`
	// Metric is the source's name, followed by the path into a map. For a metric that is derived here from another one,
	// it is the derived name.
	Metric string `json:"metric"`
	Reason string `json:"reason"` // one of the Reason constants
	// Beside is the metric that is stored instead. It has the same name here, or reports the same value.
	Beside string `json:"beside"`
	// Lost reports that Beside is a different metric of the topology itself, so that the values are lost.
	Lost   bool `json:"lost"`
	Series int  `json:"series"` // number of its series
}

// MaxNotStored is the maximum number of names that are returned for one topology.
const MaxNotStored = 256

// NotStored returns the metrics of a topology that are not stored, those with lost values first. more is how many exist
// beyond MaxNotStored.
func (s *State) NotStored(topology string) (names []NotStored, more int) {
	t := s.topologies[topology]
	if t == nil {
		return nil, 0
	}
	counted := map[NotStored]int{}
	for _, id := range t.series {
		if e := s.entries.get(id); !e.is(inactive) {
			s.notStored(e, func(n NotStored) { counted[n]++ })
		}
	}
	for n, series := range counted {
		n.Series = series
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b NotStored) int {
		return cmp.Or(order(!a.Lost, !b.Lost), order(a.Reason != ReasonOwnName, b.Reason != ReasonOwnName),
			cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Beside, b.Beside))
	})
	if more = len(names) - MaxNotStored; more <= 0 {
		return names, 0
	}
	return names[:MaxNotStored], more
}

// notStored calls give for what is not stored of a series: the series itself, or what would be derived from it.
func (s *State) notStored(e *entry, give func(NotStored)) {
	n := NotStored{Component: e.raw.Component, Metric: sourceName(e.raw), Reason: reasons[e.reason]}
	switch {
	case e.outcome == Stored:
		s.madeNotStored(e, give)
		return
	case e.outcome != LeftOut && e.outcome != Refused:
		return
	}
	n.Lost = e.outcome == Refused || n.Reason == ReasonOwnName
	switch by := s.overruledBy(e); {
	case by != nil:
		n.Beside = by.to
	case n.Reason == ReasonOwnName:
		if taker := s.classicTaker(e); taker != nil {
			n.Beside = sourceName(taker.raw)
		}
	default:
		winner := s.storedLike(e)
		switch {
		case winner == nil:
			return
		case *winner.raw == *e.raw:
			return // one series with two ids, of which the journal has forgotten one
		}
		n.Beside = sourceName(winner.raw)
		if n.Beside == n.Metric {
			n.Beside += " at another interval"
		}
	}
	give(n)
}

// storedLike returns the stored series that has the same labels as another, or nil if there is none.
func (s *State) storedLike(e *entry) *entry {
	for _, id := range s.candidates.of(e.hash) {
		if other := s.entries.get(id); other.outcome == Stored && s.sameSeries(other, e) {
			return other
		}
	}
	return nil
}

// madeNotStored calls give for each name that is not derived from a stored series because it is taken.
func (s *State) madeNotStored(e *entry, give func(NotStored)) {
	if s.topology(e.raw.Topology).spread == 0 {
		return
	}
	rule := &s.template(e).rule
	pair := []*entry{s.taken(e, rule.MinName), s.taken(e, rule.MaxName)}
	for i, name := range []string{rule.MinName, rule.MaxName} {
		if taker := cmp.Or(pair[i], pair[1-i]); taker != nil {
			give(NotStored{Component: e.raw.Component, Metric: name, Reason: ReasonOwnName,
				Beside: sourceName(taker.raw)})
		}
	}
	if taker := s.taken(e, rule.NegativeName); taker != nil {
		give(NotStored{Component: e.raw.Component, Metric: rule.NegativeName, Reason: ReasonOwnName,
			Beside: sourceName(taker.raw)})
	}
}

// sourceName returns the name of a series as its source has it, with the path into a map.
func sourceName(raw *metric.Raw) string {
	if raw.Key == "" {
		return raw.Name
	}
	return raw.Name + " → " + strings.ReplaceAll(raw.Key, metric.KeySeparator, "/")
}

// NotStoredChanged returns the topologies whose NotStored may have changed since the last call.
func (s *State) NotStoredChanged() []string {
	changed := slices.Sorted(maps.Keys(s.restated))
	clear(s.restated)
	return changed
}
