package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"google.golang.org/protobuf/proto"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// last is the newest slice of a series: either a number or a distribution.
type last struct {
	labels labels.Labels
	timeMs int64
	value  float64
	native *histogram.FloatHistogram // nil if the slice is a number
}

// federate answers /federate as Prometheus does. It returns the newest slice of each series that a match[] selects,
// unless the slice is older than the lookback. Series that ended with a gap marker are omitted. Distributions are sent
// only in the protobuf format, because the text format has no native histograms. With types=true, the answer has the
// types of the catalog's metrics, without which OTLP and Datadog would take counters for gauges.
func (a *api) federate(w http.ResponseWriter, r *http.Request) {
	if err := parseForm(r).formError; err != nil {
		http.Error(w, fmt.Sprintf("error parsing form values: %v", err), http.StatusBadRequest)
		return
	}
	selectors, err := a.options.Engine.Selectors(r.Context(), r.Form["match[]"])
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	found, err := a.newest(r, selectors)
	switch {
	case errors.Is(err, query.ErrNoStore), isTimeout(err):
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	case isTooLarge(err):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	format := expfmt.NegotiateAccept(r.Header, expfmt.NewFormat(expfmt.TypeProtoDelim),
		expfmt.NewFormat(expfmt.TypeProtoText),
		expfmt.NewFormat(expfmt.TypeProtoCompact), expfmt.NewFormat(expfmt.TypeTextPlain))
	w.Header().Set("Content-Type", string(format))
	encoder := expfmt.NewEncoder(w, format)
	isProtobuf := slices.Contains([]expfmt.FormatType{expfmt.TypeProtoDelim, expfmt.TypeProtoText,
		expfmt.TypeProtoCompact}, format.FormatType())
	var described map[string]Metadata
	if r.Form.Get("types") == "true" {
		described = a.known("")
	}
	for _, f := range families(found, described, isProtobuf) {
		if err := encoder.Encode(f); err != nil {
			a.options.Logger.Debug("federation ended early", "error", err) // the client went away
			return
		}
	}
}

// newest returns the newest slice of each selected series, sorted by metric name.
func (a *api) newest(r *http.Request, selectors [][]*labels.Matcher) ([]last, error) {
	now := a.now()
	minMs, maxMs := timestamp.FromTime(now.Add(-a.options.Engine.Lookback())), timestamp.FromTime(now)
	q, err := a.options.Engine.Querier(minMs, maxMs)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	ctx := a.options.Engine.Bounded(r.Context())
	var sets []storage.SeriesSet
	for _, matchers := range selectors {
		sets = append(sets, q.Select(ctx, true, &storage.SelectHints{Start: minMs, End: maxMs}, matchers...))
	}
	series := storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
	var found []last
	var samples chunkenc.Iterator
	for series.Next() {
		samples = series.At().Iterator(samples)
		l := last{labels: series.At().Labels()}
		for kind := samples.Next(); kind != chunkenc.ValNone; kind = samples.Next() {
			l.take(samples, kind)
		}
		if err := samples.Err(); err != nil {
			return nil, err
		}
		if l.timeMs != 0 && !l.isGap() {
			found = append(found, l)
		}
	}
	slices.SortStableFunc(found, func(x, y last) int { return cmp.Compare(x.name(), y.name()) })
	return found, series.Err()
}

func (l *last) take(samples chunkenc.Iterator, kind chunkenc.ValueType) {
	l.native = nil
	if kind == chunkenc.ValFloat {
		l.timeMs, l.value = samples.At()
		return
	}
	l.timeMs, l.native = samples.AtFloatHistogram(nil)
}

func (l *last) name() string { return l.labels.Get(model.MetricNameLabel) }

// isGap reports whether the newest slice is a gap marker, which means that the series has ended.
func (l *last) isGap() bool {
	return value.IsStaleNaN(l.value) && l.native == nil || l.native != nil && value.IsStaleNaN(l.native.Sum)
}

// families converts slices to the form that the encoders accept. found must be sorted by metric name. If native is
// false, distributions are omitted, because the format has no native histograms.
func families(found []last, described map[string]Metadata, native bool) (all []*dto.MetricFamily) {
	for i := range found {
		l := &found[i]
		if l.native != nil && !native {
			continue
		}
		kind := dto.MetricType_UNTYPED // as in Prometheus: the store does not know the metric's type
		switch {
		case l.native != nil:
			kind = dto.MetricType_HISTOGRAM
		case described[l.name()].Type == "counter":
			kind = dto.MetricType_COUNTER
		case described[l.name()].Type == "gauge":
			kind = dto.MetricType_GAUGE
		}
		if n := len(all); n == 0 || all[n-1].GetName() != l.name() || all[n-1].GetType() != kind {
			all = append(all, &dto.MetricFamily{Name: proto.String(l.name()), Type: kind.Enum()})
		}
		family := all[len(all)-1]
		family.Metric = append(family.Metric, l.metric(kind))
	}
	return all
}

func (l *last) metric(kind dto.MetricType) *dto.Metric {
	m := &dto.Metric{TimestampMs: proto.Int64(l.timeMs)}
	l.labels.Range(func(label labels.Label) {
		if label.Name != model.MetricNameLabel {
			m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(label.Name), Value: proto.String(label.Value)})
		}
	})
	if !l.labels.Has(model.InstanceLabel) {
		// With an empty instance label, a scraper does not replace it with the collector's own address.
		m.Label = append(m.Label, &dto.LabelPair{Name: proto.String(model.InstanceLabel), Value: proto.String("")})
	}
	switch kind {
	case dto.MetricType_HISTOGRAM:
		m.Histogram = nativeHistogram(l.native)
	case dto.MetricType_COUNTER:
		m.Counter = &dto.Counter{Value: proto.Float64(l.value)}
	case dto.MetricType_GAUGE:
		m.Gauge = &dto.Gauge{Value: proto.Float64(l.value)}
	default:
		m.Untyped = &dto.Untyped{Value: proto.Float64(l.value)}
	}
	return m
}

func nativeHistogram(h *histogram.FloatHistogram) *dto.Histogram {
	return &dto.Histogram{
		SampleCountFloat: proto.Float64(h.Count), SampleSum: proto.Float64(h.Sum), Schema: proto.Int32(h.Schema),
		ZeroThreshold: proto.Float64(h.ZeroThreshold), ZeroCountFloat: proto.Float64(h.ZeroCount),
		PositiveSpan: bucketSpans(h.PositiveSpans), PositiveCount: h.PositiveBuckets,
		NegativeSpan: bucketSpans(h.NegativeSpans), NegativeCount: h.NegativeBuckets,
	}
}

func bucketSpans(spans []histogram.Span) (all []*dto.BucketSpan) {
	for _, s := range spans {
		all = append(all, &dto.BucketSpan{Offset: proto.Int32(s.Offset), Length: proto.Uint32(s.Length)})
	}
	return all
}
