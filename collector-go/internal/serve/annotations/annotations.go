// Package annotations presents annotations as series, so that any client of PromQL, Grafana above all, can show
// experiment steps and changes on its time axis without a plugin.
//
// Nothing is stored. The series are computed for each query from the annotations of the registry and of other
// collectors, so a changed annotation is correct at once. The package must not know where annotations come from: Source
// is the port. Start with Series.
package annotations

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// The two metrics. Their labels are topology, id, kind (the annotation's first tag, such as "step" or "config"), title,
// text and tags.
const (
	// Active is 1 while an annotation that has an end, or a step that is still open, lasts.
	Active = "bullet_annotation_active"
	// Start is when an annotation began, in seconds since the Unix epoch. It is there for a moment: one step of a range
	// query, at least 10 s. last_over_time(bullet_annotation_start_seconds[1d]) has those of a day.
	Start = "bullet_annotation_start_seconds"
)

// Bounds: how many annotations one query sees, the newest, and how much of a text a label holds.
const (
	maxAnnotations = 1_000
	maxTextBytes   = 1 << 10
)

// Source provides annotations. federation.Reader implements it.
type Source interface {
	// Annotations returns the annotations that a filter selects, ordered by time. With an error, some may be missing.
	Annotations(context.Context, registry.Filter) ([]registry.Annotation, error)
}

// Series presents a source's annotations as series, as a storage.Queryable. It keeps no data, and is safe for
// concurrent use.
type Series struct {
	source Source
	now    func() time.Time
}

// New returns the series of a source. The source is read at each query; a step that has no end yet lasts until now.
func New(source Source, now func() time.Time) *Series { return &Series{source, now} }

// Querier returns a querier for [minMs, maxMs], which ends now at the latest.
func (s *Series) Querier(minMs, maxMs int64) (storage.Querier, error) {
	return &querier{s, minMs, min(maxMs, s.now().UnixMilli())}, nil
}

type querier struct {
	of           *Series
	minMs, maxMs int64
}

// Select implements storage.Querier. What asks for no metric of ours costs nothing.
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

// matches reports whether labels meet the matchers, of one label alone where only is not "".
func matches(lset labels.Labels, matchers []*labels.Matcher, only string) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
		return (only == "" || m.Name == only) && !m.Matches(lset.Get(m.Name))
	})
}

// found are the annotations that a query of a step sees in the range.
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

// labelled are the label sets of what is in the range and matches.
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

// Close implements storage.Querier; nothing is held.
func (q *querier) Close() error { return nil }
