package httpapi

import (
	"unsafe"

	jsoniter "github.com/json-iterator/go"
	"github.com/modern-go/reflect2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/jsonutil"
)

// encoding writes answers byte for byte as Prometheus does (web/api/v1/json_codec.go). It uses the same encoder
// library and the same forms for PromQL's values.
var encoding = newEncoding()

func newEncoding() jsoniter.API {
	api := jsoniter.Config{EscapeHTML: true, SortMapKeys: true, ValidateJsonRawMessage: true}.Froze()
	api.RegisterExtension(jsoniter.EncoderExtension{
		reflect2.TypeOf(promql.Vector{}): encoder[promql.Vector](writeVector),
		reflect2.TypeOf(promql.Matrix{}): encoder[promql.Matrix](writeMatrix),
		reflect2.TypeOf(promql.Series{}): encoder[promql.Series](writeSeries),
		reflect2.TypeOf(promql.Sample{}): encoder[promql.Sample](writeSample),
		reflect2.TypeOf(labels.Labels{}): encoder[labels.Labels](writeLabels),
	})
	return api
}

// encoder makes a jsoniter.ValEncoder from a function. No value counts as empty, so that omitempty never drops one.
type encoder[T any] func(T, *jsoniter.Stream)

func (e encoder[T]) Encode(p unsafe.Pointer, s *jsoniter.Stream) { e(*(*T)(p), s) }
func (e encoder[T]) IsEmpty(unsafe.Pointer) bool                 { return false }

// writeArray writes a JSON array, [a,b,...].
func writeArray[T any](all []T, write func(T, *jsoniter.Stream), s *jsoniter.Stream) {
	s.WriteArrayStart()
	for i, one := range all {
		if i > 0 {
			s.WriteMore()
		}
		write(one, s)
	}
	s.WriteArrayEnd()
}

func writeVector(v promql.Vector, s *jsoniter.Stream) { writeArray(v, writeSample, s) }
func writeMatrix(m promql.Matrix, s *jsoniter.Stream) { writeArray(m, writeSeries, s) }

// writeSample writes {"metric":{...},"value":[time,"1.5"]}, or "histogram" instead of "value" for a native histogram.
func writeSample(p promql.Sample, s *jsoniter.Stream) {
	s.WriteObjectStart()
	s.WriteObjectField("metric")
	writeLabels(p.Metric, s)
	s.WriteMore()
	if p.H == nil {
		s.WriteObjectField("value")
		writeFloat(promql.FPoint{T: p.T, F: p.F}, s)
	} else {
		s.WriteObjectField("histogram")
		writeHistogram(promql.HPoint{T: p.T, H: p.H}, s)
	}
	s.WriteObjectEnd()
}

// writeSeries writes {"metric":{...},"values":[[time,"1.5"],...],"histograms":[[time,{...}],...]}. It omits an empty
// list.
func writeSeries(p promql.Series, s *jsoniter.Stream) {
	s.WriteObjectStart()
	s.WriteObjectField("metric")
	writeLabels(p.Metric, s)
	if len(p.Floats) > 0 {
		s.WriteMore()
		s.WriteObjectField("values")
		writeArray(p.Floats, writeFloat, s)
	}
	if len(p.Histograms) > 0 {
		s.WriteMore()
		s.WriteObjectField("histograms")
		writeArray(p.Histograms, writeHistogram, s)
	}
	s.WriteObjectEnd()
}

// writeFloat writes [time,"1.5"]. The time is a number of seconds; the value is a string, because JSON has no NaN.
func writeFloat(p promql.FPoint, s *jsoniter.Stream) {
	s.WriteArrayStart()
	jsonutil.MarshalTimestamp(p.T, s)
	s.WriteMore()
	jsonutil.MarshalFloat(p.F, s)
	s.WriteArrayEnd()
}

func writeHistogram(p promql.HPoint, s *jsoniter.Stream) {
	s.WriteArrayStart()
	jsonutil.MarshalTimestamp(p.T, s)
	s.WriteMore()
	jsonutil.MarshalHistogram(p.H, s)
	s.WriteArrayEnd()
}

// writeLabels writes labels as a JSON object. It iterates over the sorted labels instead of building a map, which
// would have to be sorted again.
func writeLabels(all labels.Labels, s *jsoniter.Stream) {
	s.WriteObjectStart()
	first := true
	all.Range(func(l labels.Label) {
		if !first {
			s.WriteMore()
		}
		first = false
		s.WriteString(l.Name)
		s.WriteRaw(":")
		s.WriteString(l.Value)
	})
	s.WriteObjectEnd()
}
