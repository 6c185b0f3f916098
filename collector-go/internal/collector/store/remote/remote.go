// Package remote writes Prometheus remote write 1.0 (https://prometheus.io/docs/specs/prw/remote_write_spec/): protobuf
// that is compressed with snappy, with native histograms. It owns the form of the requests.
//
// It must not know what happened to a slice before, nor when it is sent again; package forward knows that. Start with
// Protocol.Encode. classic.go is for receivers without native histograms.
package remote

import (
	"context"
	"fmt"
	"math"
	"net/http"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// Options describe a receiver.
type Options struct {
	forward.Receiver
	// Classic sends histograms as classic buckets, for a receiver without native histograms.
	Classic bool
}

// Protocol implements forward.Protocol. It reuses one request and its buffers for all calls, because only one goroutine
// calls it. Within a request, the samples of a series are together and in order of time, whatever the order of the
// points.
type Protocol struct {
	options    Options
	client     *http.Client
	series     []series // indexed by slice.Ref
	request    prompb.WriteRequest
	open       map[key]int // index in request.Timeseries
	compressed []byte
	counts     []float64
}

// series holds the labels of a slice's series in the form that requests need.
type series struct {
	labels  []prompb.Label
	classic *classicSeries // of a distribution, if it is sent as classic buckets
}

// key identifies a series in a request. A classic histogram has several series, which part numbers.
type key struct {
	ref  slice.Ref
	part int
}

// New returns the protocol for a receiver. It does not connect.
func New(o Options) (*Protocol, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	client, err := o.Client()
	if err != nil {
		return nil, err
	}
	return &Protocol{options: o, client: client, open: map[key]int{}}, nil
}

// Define implements forward.Protocol.
func (p *Protocol) Define(d slice.Definition) (reason string) {
	for int(d.Ref) >= len(p.series) {
		p.series = append(p.series, series{})
	}
	l := d.Series.Labels.WithoutEmpty() // required by the specification
	if !l.IsValid(model.UTF8Validation) {
		return forward.Invalid
	}
	s := series{labels: prompb.FromLabels(l, nil)}
	if p.options.Classic && d.Series.Kind == metric.KindDistribution {
		s.classic = newClassicSeries(l)
	}
	p.series[d.Ref] = s
	return ""
}

// Forget implements forward.Protocol.
func (p *Protocol) Forget(ref slice.Ref) {
	if int(ref) < len(p.series) { // a series that the receiver does not take may be beyond the last one
		p.series[ref] = series{}
	}
}

// Holds implements forward.Protocol. Prometheus can store every float.
func (p *Protocol) Holds(*slice.Columns, forward.Point) string { return "" }

// Encode implements forward.Protocol.
func (p *Protocol) Encode(to []byte, c *slice.Columns, points []forward.Point) []byte {
	p.request.Timeseries = p.request.Timeseries[:0]
	clear(p.open)
	for _, point := range points {
		s := &p.series[point.Ref]
		switch {
		case !point.Histogram:
			p.number(key{point.Ref, 0}, s.labels, point.EndMs, c.Values[point.Index])
		case s.classic != nil:
			p.classic(point.Ref, s.classic, point.EndMs, c.Histograms[point.Index])
		default:
			p.histogram(s, point, c)
		}
	}
	start, size := len(to), p.request.Size()
	to = append(to, make([]byte, size)...)
	n, err := p.request.MarshalToSizedBuffer(to[start:])
	if err != nil || n != size {
		// This cannot happen, because all of it is in memory.
		panic(fmt.Sprintf("remote write: a request of %d bytes was encoded into %d: %v", size, n, err))
	}
	return to
}

// timeSeries returns the series of the request with a key, and adds it if it is new.
func (p *Protocol) timeSeries(k key, l []prompb.Label) *prompb.TimeSeries {
	i, known := p.open[k]
	if !known {
		i = len(p.request.Timeseries)
		p.open[k] = i
		if i < cap(p.request.Timeseries) { // reuses the slices of an earlier request
			p.request.Timeseries = p.request.Timeseries[:i+1]
		} else {
			p.request.Timeseries = append(p.request.Timeseries, prompb.TimeSeries{})
		}
		t := &p.request.Timeseries[i]
		t.Labels, t.Samples, t.Histograms = l, t.Samples[:0], t.Histograms[:0]
	}
	return &p.request.Timeseries[i]
}

// number adds a sample to a series of the request.
func (p *Protocol) number(k key, l []prompb.Label, endMs int64, v float64) {
	t := p.timeSeries(k, l)
	t.Samples = append(t.Samples, prompb.Sample{Timestamp: endMs, Value: v})
}

// staleNaN marks the end of a series in Prometheus. It is distinguished from other NaNs by its bits.
var staleNaN = math.Float64frombits(value.StaleNaN)

// histogram adds a native histogram. As in Prometheus' own remote write, a gap is a histogram whose sum is the stale
// NaN.
func (p *Protocol) histogram(s *series, point forward.Point, c *slice.Columns) {
	t := p.timeSeries(key{point.Ref, 0}, s.labels)
	h := c.Histograms[point.Index]
	if h == nil {
		t.Histograms = append(t.Histograms, prompb.Histogram{Timestamp: point.EndMs, Sum: staleNaN,
			Count: &prompb.Histogram_CountInt{}, ZeroCount: &prompb.Histogram_ZeroCountInt{}})
		return
	}
	t.Histograms = append(t.Histograms, prompb.FromIntHistogram(point.EndMs, h))
}

// Post implements forward.Protocol.
func (p *Protocol) Post(ctx context.Context, body []byte) error {
	p.compressed = snappy.Encode(p.compressed[:cap(p.compressed)], body)
	return forward.Post(ctx, p.client, p.options.URL, p.compressed, map[string]string{
		"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy",
		"X-Prometheus-Remote-Write-Version": "0.1.0"})
}

// Close implements forward.Protocol.
func (p *Protocol) Close() { p.client.CloseIdleConnections() }

var _ forward.Protocol = (*Protocol)(nil)

// named returns a builder with l's labels and another metric name.
func named(l labels.Labels, name string) *labels.Builder {
	return labels.NewBuilder(l).Set(model.MetricNameLabel, name)
}

// The kind's name is part of the settings' keys, store.remote_write.NAME.url, so it must never change.
func init() {
	forward.Register(forward.Kind{
		Name:     "remote_write",
		Address:  "a receiver of Prometheus remote write, such as http://localhost:9090/api/v1/write",
		Receiver: "the receiver",
		Settings: []forward.Setting{
			{Name: "histograms",
				Usage:   "format of histograms: native, or classic for receivers without native histograms; native if not set",
				Choices: []string{"native", "classic"}},
		},
		Build: func(at forward.Receiver, own map[string]string) forward.Builder {
			return Options{Receiver: at, Classic: own["histograms"] == "classic"}
		},
	})
}

// Protocol implements forward.Builder.
func (o Options) Protocol() (forward.Protocol, error) { return New(o) }
