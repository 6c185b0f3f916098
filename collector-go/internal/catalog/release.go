package catalog

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"

// Some of Storm's names count since the last report until 2.2 (org.apache.storm.metric.api.CountMetric) and since the
// process started from 2.3, in one shape under one name: __skipped-max-spout-ms is such. A capture need not say its
// Storm's release, and a plugin says it beside its samples, so what a topology reports decides: until 2.2 all its
// executors report their queues, and what they count, as maps, and from 2.3 none does. A task reports all of these at
// once. So a topology is known before its second report; what its first report said is the same by either reading,
// since both count from 0.

// ofOldStorm reports whether a series is one that only a Storm until 2.2 sends.
func ofOldStorm(raw *metric.Raw) bool {
	rows := fromStorm.exact[raw.Name]
	return raw.Shape == metric.ShapeMap && len(rows) > 0 && rows[0].when == untilStorm22
}

// heardOld counts the awake series of a topology that state its Storm's release. The first makes the rules of others
// new.
func (s *State) heardOld(name string) {
	t := s.topology(name)
	if t.old++; t.old > 1 {
		return
	}
	for _, id := range t.series {
		if e := s.entries.get(id); e.is(releaseDecides) && e.outcome == Stored {
			s.announce(id, e)
		}
	}
}

// Rule is what a series would be sliced by, whatever its verdict; false where the id is not known.
func (s *State) Rule(id uint32) (metric.Rule, bool) {
	e := s.entries.get(id)
	if e == nil {
		return metric.Rule{}, false
	}
	return s.rule(id, e), true
}

// rule is what a series is sliced by, as far as is known of its topology.
func (s *State) rule(id uint32, e *entry) metric.Rule {
	rule := s.templates.of(e.raw).ruleFor(e.raw, s.labels(id, e))
	if e.is(releaseDecides) && s.topology(e.raw.Topology).old > 0 {
		rule.Temporality = metric.Delta
	}
	return rule
}
