package catalog

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Some names are derived from others: the least and the greatest sample of a gauge's slice, and the negative
// observations of a distribution. Stores without native histograms also derive buckets, count and sum of a
// distribution. A topology's own metric may already have such a name. It is stored, and the derived series of that name
// is left out.

// classicEnds are the endings of the names that stores without native histograms derive from a distribution.
var classicEnds = []string{"_bucket", "_count", "_sum"}

// madeFrom returns the names of metrics from which a name may have been derived.
func madeFrom(name string) (from []string) {
	stem, unit := name, ""
	for _, u := range units {
		if cut, found := strings.CutSuffix(name, "_"+u); found {
			stem, unit = cut, "_"+u
			break
		}
	}
	for _, end := range []string{"_min", "_max"} {
		if cut, found := strings.CutSuffix(stem, end); found {
			from = append(from, cut+unit, cut) // the latter if its unit comes before _total
		}
	}
	if cut, found := strings.CutSuffix(name, "_negative_total"); found {
		from = append(from, cut, cut+"_seconds")
	}
	for _, end := range classicEnds {
		if cut, found := strings.CutSuffix(name, end); found {
			from = append(from, cut)
		}
	}
	return from
}

// announceMadeFrom decides again about the series from which the name of a series may have been derived.
func (s *State) announceMadeFrom(raw *metric.Raw, of *template) {
	for _, name := range madeFrom(of.name()) {
		for _, id := range s.candidates.of(s.renamed(raw, of, name).Hash()) {
			other := s.entries.get(id)
			base := s.template(other)
			if other.is(inactive) || base.name() != name {
				continue
			}
			if base.rule.Series.Kind == metric.KindDistribution {
				s.decide(other.hash)
			}
			if other.outcome == Stored {
				s.announce(id, other)
			}
		}
	}
}

// name returns the metric name of a template's series.
func (of *template) name() string {
	for i := range of.labels {
		if of.labels[i].name == model.MetricNameLabel {
			return of.labels[i].value
		}
	}
	return ""
}

// renamed returns the labels of a series with another metric name.
func (s *State) renamed(raw *metric.Raw, of *template, name string) labels.Labels {
	return labels.NewBuilder(s.templates.labelsOf(of, raw)).Set(model.MetricNameLabel, name).Labels()
}

// taken returns the topology's own metric that has a name which would be derived from a series, or nil if there is
// none.
func (s *State) taken(e *entry, name string) *entry {
	if name == "" || s.topology(e.raw.Topology).spread == 0 {
		return nil
	}
	ls := s.renamed(e.raw, s.template(e), name)
	for _, id := range s.candidates.of(ls.Hash()) {
		if other := s.entries.get(id); other != e && other.is(spread) && other.outcome == Stored &&
			labels.Equal(s.templates.labelsOf(s.template(other), other.raw), ls) {
			return other
		}
	}
	return nil
}

// giveWay removes from a rule the derived names that the topology's own metrics have. A gauge's least and greatest
// sample are removed together.
func (s *State) giveWay(e *entry, rule *metric.Rule) {
	if s.topology(e.raw.Topology).spread == 0 {
		return
	}
	if s.taken(e, rule.MinName) != nil || s.taken(e, rule.MaxName) != nil {
		rule.MinName, rule.MaxName = "", ""
	}
	if s.taken(e, rule.NegativeName) != nil {
		rule.NegativeName = ""
	}
}

// classicTaken reports whether the topology's own metric has a name that a store without native histograms derives from
// this distribution. It applies only to distributions that are not in the table.
func (s *State) classicTaken(e *entry) bool {
	return e.is(unknown) && e.raw.Shape == metric.ShapeHistogram && s.classicTaker(e) != nil
}

// classicTaker returns the metric that has such a name, or nil if there is none.
func (s *State) classicTaker(e *entry) *entry {
	name := s.template(e).name()
	for _, end := range classicEnds {
		if other := s.taken(e, name+end); other != nil {
			return other
		}
	}
	return nil
}
