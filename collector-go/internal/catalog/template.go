package catalog

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// template is what the table alone says of all series of one name, key, shape and temporality, whatever worker and task
// they are of.
type template struct {
	rule    metric.Rule // less worker, labels and intervals
	labels  []labelPart // by their names
	leftOut string      // why it is never stored; "" where it may be
	yields  bool        // left out where the worker's sampler reports
	unknown bool
	// byRelease states that it counts from the last report where the topology's Storm is of 2.2 or before; the rule is
	// for a later one.
	byRelease bool
}

// labelPart is a label of a template's series.
type labelPart struct {
	name, value string
	of          part
}

// part is where a label's value comes from.
type part uint8

const (
	ofTable part = iota // it is the same for all
	ofItsTopology
	ofItsWorker
	ofItsHost
	ofItsComponent
	ofItsTask
)

// templateKey is what a template depends on.
type templateKey struct {
	name, key   string
	shape       metric.Shape
	temporality metric.Temporality
}

// templates are those that were used. Thousands of workers report under the same few hundred names: the table is asked
// once for each.
type templates struct {
	known map[templateKey]*template

	// The newest worker as a label's value: series of one worker are defined together.
	worker   metric.Worker
	workerAs string
	builder  labels.ScratchBuilder
}

// maxTemplates bounds what is remembered where keys are of many kinds, such as the peers of connections.
const maxTemplates = 8192

func newTemplates() templates {
	return templates{known: make(map[templateKey]*template), builder: labels.NewScratchBuilder(8)}
}

// of is the template of a series.
func (t *templates) of(raw *metric.Raw) *template {
	key := templateKey{raw.Name, raw.Key, raw.Shape, raw.Temporality}
	if known := t.known[key]; known != nil {
		return known
	}
	if len(t.known) >= maxTemplates {
		clear(t.known)
	}
	made := look(raw)
	t.known[key] = made
	return made
}

// labelsOf are the labels of a template's series.
func (t *templates) labelsOf(of *template, raw *metric.Raw) labels.Labels {
	t.builder.Reset()
	for i := range of.labels {
		l := &of.labels[i]
		value := l.value
		switch l.of {
		case ofItsTopology:
			value = raw.Topology
		case ofItsWorker:
			value = t.workerOf(raw)
		case ofItsHost:
			value = raw.Worker.Host
		case ofItsComponent:
			value = raw.Component
		case ofItsTask:
			value = strconv.Itoa(int(raw.Task))
		}
		t.builder.Add(l.name, value)
	}
	return t.builder.Labels()
}

func (t *templates) workerOf(raw *metric.Raw) string {
	if raw.Worker != t.worker || t.workerAs == "" {
		t.worker, t.workerAs = raw.Worker, raw.Worker.String()
	}
	return t.workerAs
}

// rule is a template's for one series, of which the labels are given.
func (of *template) ruleFor(raw *metric.Raw, ls labels.Labels) metric.Rule {
	rule := of.rule
	rule.Worker, rule.Series.Labels, rule.IntervalMs, rule.PackSpanMs = raw.Worker, ls, raw.IntervalMs, raw.PackSpanMs
	return rule
}

// look reads the table.
func look(raw *metric.Raw) *template {
	from := fromStorm
	switch raw.Shape {
	case metric.ShapeSampler:
		from = fromSampler
	case metric.ShapeHistogram:
		from = fromHook
	default: // first what is left out: a twin's name goes by its sibling's pattern too
		if reason := leftOut(raw.Name, raw.Key); reason != "" {
			return &template{leftOut: reason}
		}
	}
	if r, said := from.find(raw.Name, raw.Key); r != nil {
		return r.template(raw.Temporality, said)
	}
	return unknownTemplate(raw)
}

// template is the row applied to a temporality as the sender says it, and to the labels that a name says.
func (r *row) template(saidTemporality metric.Temporality, said []label) *template {
	m := r.metric
	t := &template{labels: labelParts(m.name, m.scope, said), yields: r.when == unlessSampler,
		byRelease: r.temporality == byRelease}
	t.rule = metric.Rule{
		Series:       metric.Series{Kind: m.kind},
		NegativeName: m.negative(),
		RestartsName: m.restarts(),
		Temporality:  temporality(r.temporality, saidTemporality, m.kind),
		PerUnit:      r.perUnit,
	}
	t.rule.MinName, t.rule.MaxName = m.spread()
	t.rule.Least, t.rule.Most = m.bounds()
	return t
}

func labelParts(name string, of scope, said []label) []labelPart {
	parts := []labelPart{{name: model.MetricNameLabel, value: name}, {name: "topology", of: ofItsTopology}}
	if of >= ofWorker {
		parts = append(parts, labelPart{name: "worker", of: ofItsWorker})
	}
	if of == ofHost {
		parts = append(parts, labelPart{name: "host", of: ofItsHost})
	}
	if of == ofTask {
		parts = append(parts, labelPart{name: "component", of: ofItsComponent}, labelPart{name: "task", of: ofItsTask})
	}
	for _, l := range said {
		// of a series that may be forgotten
		parts = append(parts, labelPart{name: l.name, value: strings.Clone(l.value)})
	}
	slices.SortStableFunc(parts, func(a, b labelPart) int { return strings.Compare(a.name, b.name) })
	return parts
}

// unknownTemplate lets a number pass that the table does not have: a user's own metric, or one of a Storm to come. It
// keeps its name under storm_; its path in a map becomes the label key.
func unknownTemplate(raw *metric.Raw) *template {
	m := canonical{name: "storm_" + sanitise(raw.Name), kind: unknownKind(raw), scope: ofTask}
	if m.kind == metric.KindCounter && !strings.HasSuffix(m.name, "_total") {
		m.name += "_total"
	}
	var said []label
	if raw.Key != "" {
		said = append(said, tidy("key", raw.Key))
	}
	r := row{source: &source{perUnit: one}, metric: &m}
	t := r.template(raw.Temporality, said)
	t.unknown = true
	if m.kind == metric.KindGauge {
		t.rule.Least = -math.MaxFloat64
	}
	return t
}
