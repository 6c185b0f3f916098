package httpapi

import (
	jsoniter "github.com/json-iterator/go"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/jsonutil"
	"github.com/prometheus/prometheus/util/stats"
)

// queryData is what a query evaluated to.
type queryData struct {
	value parser.Value
	stats stats.QueryStats // nil unless asked for
}

// writeData writes an answer's data. What PromQL evaluates to has a form of its own, since JSON's numbers know no NaN: values
// are text, and times are seconds with three decimals.
func writeData(stream *jsoniter.Stream, data any) {
	switch d := data.(type) {
	case queryData:
		writeQueryData(stream, d)
	case []labels.Labels:
		writeArray(stream, d, writeLabels)
	default:
		stream.WriteVal(d)
	}
}

func writeQueryData(stream *jsoniter.Stream, d queryData) {
	stream.WriteObjectStart()
	field(stream, "resultType", string(d.value.Type()), false)
	stream.WriteMore()
	stream.WriteObjectField("result")
	switch v := d.value.(type) {
	case promql.Vector:
		writeArray(stream, v, writeSample)
	case promql.Matrix:
		writeArray(stream, v, writeSeries)
	case promql.Scalar:
		writePoint(stream, v.T, func() { jsonutil.MarshalFloat(v.V, stream) })
	case promql.String:
		writePoint(stream, v.T, func() { stream.WriteString(v.V) })
	}
	if d.stats != nil {
		field(stream, "stats", d.stats.Builtin(), true)
	}
	stream.WriteObjectEnd()
}

func writeArray[T any](stream *jsoniter.Stream, items []T, one func(*jsoniter.Stream, T)) {
	stream.WriteArrayStart()
	for i, item := range items {
		if i > 0 {
			stream.WriteMore()
		}
		one(stream, item)
	}
	stream.WriteArrayEnd()
}

func writeLabels(stream *jsoniter.Stream, set labels.Labels) {
	stream.WriteObjectStart()
	first := true
	set.Range(func(l labels.Label) {
		if !first {
			stream.WriteMore()
		}
		first = false
		stream.WriteObjectField(l.Name)
		stream.WriteString(l.Value)
	})
	stream.WriteObjectEnd()
}

func writeSample(stream *jsoniter.Stream, s promql.Sample) {
	writeMetric(stream, s.Metric)
	stream.WriteMore()
	if s.H != nil {
		stream.WriteObjectField("histogram")
		writeHistogramPoint(stream, s.T, s.H)
	} else {
		stream.WriteObjectField("value")
		writeFloatPoint(stream, s.T, s.F)
	}
	stream.WriteObjectEnd()
}

func writeSeries(stream *jsoniter.Stream, s promql.Series) {
	writeMetric(stream, s.Metric)
	if len(s.Floats) > 0 {
		stream.WriteMore()
		stream.WriteObjectField("values")
		writeArray(stream, s.Floats, func(stream *jsoniter.Stream, p promql.FPoint) { writeFloatPoint(stream, p.T, p.F) })
	}
	if len(s.Histograms) > 0 {
		stream.WriteMore()
		stream.WriteObjectField("histograms")
		writeArray(stream, s.Histograms, func(stream *jsoniter.Stream, p promql.HPoint) { writeHistogramPoint(stream, p.T, p.H) })
	}
	stream.WriteObjectEnd()
}

// writeMetric opens an object with its labels.
func writeMetric(stream *jsoniter.Stream, set labels.Labels) {
	stream.WriteObjectStart()
	stream.WriteObjectField("metric")
	writeLabels(stream, set)
}

func writePoint(stream *jsoniter.Stream, ms int64, value func()) {
	stream.WriteArrayStart()
	jsonutil.MarshalTimestamp(ms, stream)
	stream.WriteMore()
	value()
	stream.WriteArrayEnd()
}

func writeFloatPoint(stream *jsoniter.Stream, ms int64, v float64) {
	writePoint(stream, ms, func() { jsonutil.MarshalFloat(v, stream) })
}

func writeHistogramPoint(stream *jsoniter.Stream, ms int64, h *histogram.FloatHistogram) {
	writePoint(stream, ms, func() { jsonutil.MarshalHistogram(h, stream) })
}
