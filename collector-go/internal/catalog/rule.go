package catalog

import (
	"math"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// Reasons for which samples are left out (another series tells the same) or refused (they are of no use).
const (
	ReasonSampler     = "sampler"      // left out: the worker's own sampler reports it
	ReasonRepeat      = "repeat"       // left out: it comes at a shorter interval, or by a better name
	ReasonDerived     = "derived"      // left out: it follows from what is stored
	ReasonCollision   = "collision"    // refused: another series has the same name and labels
	ReasonSeriesLimit = "series_limit" // refused: more series than the catalogue may hold
	ReasonUndefined   = "undefined"    // refused: its series was never defined
)

// meaning is what the table alone says of a raw series.
type meaning struct {
	rule    metric.Rule
	leftOut string // why it is never stored; "" where it may be
	yields  bool   // left out where the worker's sampler reports
	unknown bool
	// byRelease says that it counts from the last report where the topology's Storm is of 2.2 or before; the rule is for a later one.
	byRelease bool
}

// look reads the table.
func look(raw *metric.Raw) meaning {
	from := fromStorm
	switch raw.Shape {
	case metric.ShapeSampler:
		from = fromSampler
	case metric.ShapeHistogram:
		from = fromHook
	default: // first what is left out: a twin's name goes by its sibling's pattern too
		if reason := leftOut(raw.Name, raw.Key); reason != "" {
			return meaning{leftOut: reason}
		}
	}
	if r, said := from.find(raw.Name, raw.Key); r != nil {
		return meaning{rule: r.rule(raw, said), yields: r.yields, byRelease: r.temporality == byRelease}
	}
	return meaning{rule: unknownRule(raw), unknown: true}
}

// rule is the row applied to one raw series.
func (r *row) rule(raw *metric.Raw, said []label) metric.Rule {
	m := r.metric
	rule := metric.Rule{
		Worker:       raw.Worker,
		Series:       metric.Series{Labels: seriesLabels(m.name, m.scope, raw, said), Kind: m.kind},
		NegativeName: m.negative(),
		RestartsName: m.restarts(),
		Temporality:  temporality(r.temporality, raw.Temporality, m.kind),
		PerUnit:      r.perUnit,
		IntervalMs:   raw.IntervalMs,
		PackSpanMs:   raw.PackSpanMs,
	}
	rule.MinName, rule.MaxName = m.spread()
	rule.Least, rule.Most = m.bounds()
	return rule
}

// temporality is the table's, or else what the sender says, or else what suits the kind.
func temporality(known, said metric.Temporality, kind metric.Kind) metric.Temporality {
	switch {
	case known == byRelease:
		return metric.Cumulative
	case known != metric.TemporalityUnknown:
		return known
	case kind == metric.KindGauge:
		return metric.Gauge
	case said == metric.Cumulative:
		return metric.Cumulative
	}
	return metric.Delta
}

func seriesLabels(name string, of scope, raw *metric.Raw, said []label) labels.Labels {
	builder := labels.NewScratchBuilder(5 + len(said))
	builder.Add(model.MetricNameLabel, name)
	builder.Add("topology", raw.Topology)
	if of >= ofWorker {
		builder.Add("worker", raw.Worker.String())
	}
	if of == ofTask {
		builder.Add("component", raw.Component)
		builder.Add("task", strconv.Itoa(int(raw.Task)))
	}
	for _, l := range said {
		builder.Add(l.name, l.value)
	}
	builder.Sort()
	return builder.Labels()
}

// unknownRule lets a number pass that the table does not have: a user's own metric, or one of a Storm to come. It keeps its
// name under storm_; its path in a map becomes the label key.
func unknownRule(raw *metric.Raw) metric.Rule {
	m := canonical{name: "storm_" + sanitise(raw.Name), kind: unknownKind(raw), scope: ofTask}
	if m.kind == metric.KindCounter && !strings.HasSuffix(m.name, "_total") {
		m.name += "_total"
	}
	var said []label
	if raw.Key != "" {
		said = append(said, tidy("key", raw.Key))
	}
	r := row{source: &source{perUnit: one}, metric: &m}
	rule := r.rule(raw, said)
	if m.kind == metric.KindGauge {
		rule.Least = -math.MaxFloat64
	}
	return rule
}

// unknownKind is a gauge unless the sender says that it counts.
func unknownKind(raw *metric.Raw) metric.Kind {
	switch {
	case raw.Shape == metric.ShapeHistogram:
		return metric.KindDistribution
	case raw.Temporality == metric.Delta, raw.Temporality == metric.Cumulative:
		return metric.KindCounter
	}
	return metric.KindGauge
}

// sanitise turns a name into what PromQL reads without quotes.
func sanitise(name string) string {
	name = strings.TrimLeft(name, "_")
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, name)
}
