// Package annotations presents annotations as series. Any client of PromQL, such as Grafana, can therefore show
// experiment steps and changes on its time axis without a plugin.
//
// Nothing is stored. The series are computed for each query from the annotations of the registry and of other
// collectors, so that a changed annotation is correct at once. The package must not know where annotations come from:
// Source is the port. Start with Series.
package annotations

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// The two metrics. Their labels are topology, id, kind (the annotation's first tag, such as "step" or "config"),
// title, text and tags.
const (
	// Active is 1 during an annotation that has an end, and during a step that is still open.
	Active = "bullet_annotation_active"
	// Start is the time when an annotation began, in seconds since the Unix epoch. It has samples only for one step of
	// a range query, or for 10 s if that is longer. Use last_over_time(bullet_annotation_start_seconds[1d]) to get the
	// annotations of a day.
	Start = "bullet_annotation_start_seconds"
)

// maxAnnotations is how many annotations one query sees; the newest are used. maxTextBytes is the maximum length of a
// text in a label.
const (
	maxAnnotations = 1_000
	maxTextBytes   = 1 << 10
)

// Source provides annotations. federation.Reader implements it.
type Source interface {
	// Annotations returns the annotations that a filter selects, ordered by time. With an error, some may be missing.
	Annotations(context.Context, registry.Filter) ([]registry.Annotation, error)
}

// Series presents a source's annotations as series. It implements storage.Queryable, stores no data, and is safe for
// concurrent use.
type Series struct {
	source Source
	now    func() time.Time
}

// New returns the series of a source. The source is read at each query. A step without an end lasts until now.
func New(source Source, now func() time.Time) *Series { return &Series{source, now} }

// Querier returns a querier for [minMs, maxMs]. Times after now are excluded.
func (s *Series) Querier(minMs, maxMs int64) (storage.Querier, error) {
	return &querier{s, minMs, min(maxMs, s.now().UnixMilli())}, nil
}

type querier struct {
	of           *Series
	minMs, maxMs int64
}

// Select implements storage.Querier. It does not read the source if the matchers exclude both metrics.
func (q *querier) Select(ctx context.Context, _ bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	step := int64(0)
	if hints != nil {
		step = hints.Step
	}
	var all []query.Series
	var missing annotations.Annotations
	for _, name := range []string{Active, Start} {
		if !matches(labels.FromStrings(model.MetricNameLabel, name), matchers, model.MetricNameLabel) {
			continue
		}
		found, err := q.found(ctx, step, matchers)
		if err != nil {
			missing.Add(fmt.Errorf("%w: %w", annotations.PromQLWarning, err))
		}
		for _, a := range found {
			lset := labelsOf(name, a)
			if samples := q.samples(name, a, step); len(samples) > 0 && matches(lset, matchers, "") {
				all = append(all, query.Series{Metric: lset, Floats: samples})
			}
		}
	}
	return query.NewSet(all, missing)
}

// matches reports whether the labels satisfy the matchers. If only is not "", it checks only the matchers of that
// label.
func matches(lset labels.Labels, matchers []*labels.Matcher, only string) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
		return (only == "" || m.Name == only) && !m.Matches(lset.Get(m.Name))
	})
}

// found returns the annotations that a query with this step sees in the time range.
func (q *querier) found(ctx context.Context, step int64, matchers []*labels.Matcher) ([]registry.Annotation, error) {
	f := registry.Filter{FromMs: max(q.minMs, 0) - max(step, shortestMs), ToMs: q.maxMs, Open: true,
		Limit: maxAnnotations}
	for _, m := range matchers {
		if m.Name == "topology" && m.Type == labels.MatchEqual {
			f.Topology = m.Value
		}
	}
	return q.of.source.Annotations(ctx, f)
}

func labelsOf(name string, a registry.Annotation) labels.Labels {
	text := a.Text
	if len(text) > maxTextBytes {
		text = strings.ToValidUTF8(text[:maxTextBytes], "") + "..."
	}
	return labels.FromStrings(model.MetricNameLabel, name, "topology", a.Topology, "id", a.ID, "kind", a.Kind(), "title",
		a.Title, "text", text, "tags", strings.Join(a.Tags, ","))
}

// labelled returns the label sets of the matching series in the time range.
func (q *querier) labelled(ctx context.Context, matchers []*labels.Matcher) (all []labels.Labels) {
	found := q.Select(ctx, true, nil, matchers...)
	for found.Next() {
		all = append(all, found.At().Labels())
	}
	return all
}

// LabelValues implements storage.Querier.
func (q *querier) LabelValues(ctx context.Context, name string, _ *storage.LabelHints, matchers ...*labels.Matcher) (
	[]string, annotations.Annotations, error) {
	var values []string
	for _, lset := range q.labelled(ctx, matchers) {
		if v := lset.Get(name); v != "" {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return slices.Compact(values), nil, nil
}

// LabelNames implements storage.Querier.
func (q *querier) LabelNames(ctx context.Context, _ *storage.LabelHints, matchers ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	var names []string
	for _, lset := range q.labelled(ctx, matchers) {
		lset.Range(func(l labels.Label) { names = append(names, l.Name) })
	}
	slices.Sort(names)
	return slices.Compact(names), nil, nil
}

// Close implements storage.Querier; there is nothing to close.
func (q *querier) Close() error { return nil }

// shortestMs is the minimum duration of the series Start. apartMs is the interval between samples: PromQL uses a
// sample for five minutes, so that one per minute is enough for any step.
const (
	shortestMs = 10_000
	apartMs    = 60_000
)

// samples returns the samples of an annotation in the time range. The last one is a stale marker. Without it, PromQL
// would extend the series by five minutes. stepMs is the step of a range query, or 0 for an instant query.
func (q *querier) samples(name string, a registry.Annotation, stepMs int64) []query.Point {
	fromMs, toMs, v := a.TimeMs, a.EndMs, 1.0
	switch {
	case name == Start:
		toMs, v = a.TimeMs+max(stepMs, shortestMs), float64(a.TimeMs)/1000
	case a.Open():
		toMs = math.MaxInt64
	case a.EndMs == 0:
		return nil // without an end it has no duration
	}
	return between(fromMs, toMs, v, q.minMs, q.maxMs)
}

// between returns samples with the value v for [fromMs, toMs], limited to [minMs, maxMs].
func between(fromMs, toMs int64, v float64, minMs, maxMs int64) (all []query.Point) {
	first := fromMs
	if fromMs < minMs {
		// the times do not depend on the range, so that answers are reproducible
		first = fromMs + (minMs-fromMs+apartMs-1)/apartMs*apartMs
	}
	for ms := first; ms <= min(toMs, maxMs); ms += apartMs {
		all = append(all, query.Point{T: ms, F: v})
	}
	if toMs < maxMs && toMs+1 >= minMs {
		all = append(all, query.Point{T: toMs + 1, F: math.Float64frombits(value.StaleNaN)})
	}
	return all
}
