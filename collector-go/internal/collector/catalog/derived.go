package catalog

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Some names are made here from others: the least and greatest sample of a gauge's slice, the negative observations
// of a distribution, and its buckets, count and sum in stores without native histograms. A topology's own metric may
// have such a name already. It is stored, and what would have been made under its name is left out.

// classicEnds are the ends of the names that stores without native histograms make of a distribution.
var classicEnds = []string{"_bucket", "_count", "_sum"}

// madeFrom are the names of metrics from which a name may have been made.
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
			from = append(from, cut+unit, cut) // the latter where its unit stands before _total
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

// announceMadeFrom decides again about what a series' name may have been made from.
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

// name is that of a template's series.
func (of *template) name() string {
	for i := range of.labels {
		if of.labels[i].name == model.MetricNameLabel {
			return of.labels[i].value
		}
	}
	return ""
}

// renamed are the labels of a series under another name.
func (s *State) renamed(raw *metric.Raw, of *template, name string) labels.Labels {
	return labels.NewBuilder(s.templates.labelsOf(of, raw)).Set(model.MetricNameLabel, name).Labels()
}

// taken is the topology's own metric that has a name which would be made from a series; nil where none has.
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

// giveWay takes out of a rule the names that metrics of the topology's own have. A gauge's least and greatest sample
// go together.
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

// classicTaken states that a metric of the topology's own has a name that a store without native histograms makes of
// a distribution that the table does not have.
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
