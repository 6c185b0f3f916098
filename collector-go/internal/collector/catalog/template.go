package catalog

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// template is the result of a table lookup, without what differs between the workers and tasks of one topology. All
// series with the same name, key, shape, temporality and reading share one template. It is immutable.
type template struct {
	rule    metric.Rule // without worker, labels and intervals
	labels  []labelPart // sorted by name
	unknown bool        // not in the table: a user's own metric, or one of a future Storm
	exact   bool        // its name is that of the source, except for the prefix
	// yields are the metrics of which any one makes it redundant. makes are the metrics that it makes redundant. Both
	// take effect only while the other metric is stored.
	yields []yield
	makes  []yield
	old    bool // no Storm from 2.3 on reports it
}

// yield means that one series is left out while another is stored for the same task or worker. A template lists what
// its series yields to (yields) and what it makes others yield to (makes). State matches the two by a hash (claim).
type yield struct {
	to      string // name of the stored metric
	of      scope  // ofTask or ofWorker
	reason  string
	sampled bool // the worker's sampler reports it
}

// labelPart is a label of a template's series, with a fixed value or one that depends on the series.
type labelPart struct {
	name, value string
	of          part
}

// part is the source of a label's value.
type part uint8

const (
	ofTable part = iota // the same for all series
	ofItsTopology
	ofItsWorker
	ofItsHost
	ofItsComponent
	ofItsTask
)

// templateKey is everything that decides which template a series has. Two series that differ only in topology, worker,
// component or task have equal keys, unless their names are read differently.
type templateKey struct {
	name, key   string
	shape       metric.Shape
	temporality metric.Temporality
	how         reading
}

// templates caches the lookups. Thousands of workers report the same few hundred names, and matching patterns for each
// series would take most of the time when a feed starts.
type templates struct {
	known map[templateKey]*template

	// The newest worker as a label value, because the series of one worker are defined together.
	worker   metric.Worker
	workerAs string
	builder  labels.ScratchBuilder
}

// maxTemplates bounds the cache, because some names contain arbitrary text, such as the peers of connections. A full
// cache is cleared, and the lookups are repeated.
const maxTemplates = 8192

func newTemplates() templates {
	return templates{known: make(map[templateKey]*template), builder: labels.NewScratchBuilder(8)}
}

// of returns the template of a series. A template stays valid after the cache was cleared, because it is immutable.
func (t *templates) of(raw *metric.Raw, how reading) *template {
	key := templateKey{raw.Name, raw.Key, raw.Shape, raw.Temporality, how}
	if known := t.known[key]; known != nil {
		return known
	}
	if len(t.known) >= maxTemplates {
		clear(t.known)
	}
	made := look(raw, how)
	t.known[key] = made
	return made
}

// labelsOf returns the labels of a series. They are sorted, because the parts of a template are.
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

// ruleFor returns the rule of a template for one series with the given labels.
func (of *template) ruleFor(raw *metric.Raw, ls labels.Labels) metric.Rule {
	rule := of.rule
	rule.Worker, rule.Series.Labels, rule.IntervalMs, rule.PackSpanMs = raw.Worker, ls, raw.IntervalMs, raw.PackSpanMs
	return rule
}

// look returns the template of a name. Names that may be left out are tried first, because they can match the pattern
// of a row too.
func look(raw *metric.Raw, how reading) *template {
	from := fromStorm
	switch raw.Shape {
	case metric.ShapeSampler:
		from = fromSampler
	case metric.ShapeHistogram:
		from = fromHook
	default: // first what may be left out, since such a name can match a row's pattern too
		if yields := leftOut(raw, how); yields != nil {
			t := unknownTemplate(raw, how)
			t.yields = yields
			return t
		}
	}
	if r, said := from.find(raw, how); r != nil {
		return r.template(raw, said, how)
	}
	return unknownTemplate(raw, how)
}

// template applies a row to a series. It combines what the table contains, what the sender states, and the labels in
// the name.
func (r *row) template(raw *metric.Raw, said []label, how reading) *template {
	m := r.metric
	t := &template{labels: labelParts(m.name, m.scope, said), makes: r.makes(raw), old: r.when == untilStorm22}
	if r.when == unlessSampler {
		t.yields = []yield{{to: m.name, of: ofWorker, reason: ReasonSampler, sampled: true}}
	}
	t.rule = metric.Rule{
		Series:       metric.Series{Kind: m.kind},
		NegativeName: m.negative(),
		RestartsName: m.restarts(),
		Temporality:  temporality(r.temporality, raw.Temporality, m.kind, how.storm),
		PerUnit:      r.perUnit,
	}
	t.rule.MinName, t.rule.MaxName = m.spread()
	t.rule.Least, t.rule.Most = m.bounds()
	return t
}

// makes returns what a series of this row makes redundant while it is stored.
func (r *row) makes(raw *metric.Raw) (made []yield) {
	switch {
	case raw.Shape == metric.ShapeSampler:
		made = append(made, yield{to: r.metric.name, of: ofWorker, sampled: true})
	case raw.Shape == metric.ShapeNumber && r.metric.kind == metric.KindCounter:
		made = append(made, yield{to: raw.Name, of: ofTask})
	}
	for _, name := range []string{r.source.name, r.metric.name} {
		if redundantTo[name] {
			made = append(made, yield{to: name, of: ofTask}, yield{to: name, of: ofWorker})
		}
	}
	return made
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
		// a copy, because the series may be forgotten
		parts = append(parts, labelPart{name: l.name, value: strings.Clone(l.value)})
	}
	slices.SortStableFunc(parts, func(a, b labelPart) int { return strings.Compare(a.name, b.name) })
	return parts
}

// ownPrefix is added to a user's metric whose name here would be one of ours. Two different values are then never mixed
// under one name.
const ownPrefix = "own_"

// unknownTemplate returns a template for a name that the table does not have: a user's own metric, or one of a future
// Storm. Such a metric is stored rather than dropped, because dropped data cannot be recovered.
//
// It keeps its name, after the prefix storm_. Its path in a map becomes the label key. A name with letters that PromQL
// cannot read without quotes, such as Chinese ones, becomes the label name.
func unknownTemplate(raw *metric.Raw, how reading) *template {
	name, kept := sanitise(raw.Name)
	m := canonical{name: "storm_" + name, kind: unknownKind(raw), scope: ofTask}
	if m.kind == metric.KindCounter && !strings.HasSuffix(m.name, "_total") {
		m.name += "_total"
	}
	if byName[m.name] != nil {
		m.name = "storm_" + ownPrefix + strings.TrimPrefix(m.name, "storm_")
	}
	var said []label
	if raw.Key != "" {
		said = append(said, tidy("key", raw.Key))
	}
	if !kept {
		said = append(said, tidy("name", raw.Name))
	}
	r := row{source: &source{name: raw.Name, perUnit: one}, metric: &m}
	t := r.template(raw, said, how)
	t.unknown, t.exact, t.makes = true, m.name == "storm_"+raw.Name, nil
	if raw.Shape == metric.ShapeNumber && strings.HasSuffix(raw.Name, ".count") {
		t.makes = []yield{{to: raw.Name, of: ofTask}}
	}
	if m.kind == metric.KindGauge {
		t.rule.Least = -math.MaxFloat64
	}
	return t
}
