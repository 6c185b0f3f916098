// Package remote speaks Prometheus remote write 1.0 (https://prometheus.io/docs/specs/prw/remote_write_spec/):
// protobuf, compressed with snappy, native histograms included. It owns the requests' form.
//
// It must not know what became of a slice before, nor when it is sent again: that is package forward's. Start with
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

// Options of a receiver.
type Options struct {
	forward.Receiver
	// Classic sends histograms as classic buckets, to a receiver that has no native ones.
	Classic bool
}

// Protocol implements forward.Protocol. It keeps one request and its columns for all calls, since one goroutine calls
// it. The samples of a series lie together in a request, in the order of time, whatever the order of the points.
type Protocol struct {
	options    Options
	client     *http.Client
	series     []series // by slice.Ref
	request    prompb.WriteRequest
	open       map[key]int // index in request.Timeseries
	compressed []byte
	counts     []float64
}

// series is what a slice's series is called on the wire.
type series struct {
	labels  []prompb.Label
	classic *classicSeries // of a distribution, where it is sent as classic buckets
}

// key identifies a series in a request: a classic histogram has several series, of which part is the number.
type key struct {
	ref  slice.Ref
	part int
}

// New makes the protocol for a receiver; it connects to nothing.
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
	l := d.Series.Labels.WithoutEmpty() // as the specification wants it
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

// Holds implements forward.Protocol: Prometheus holds every float.
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
		// cannot be: all is in memory
		panic(fmt.Sprintf("remote write: a request of %d bytes was encoded into %d: %v", size, n, err))
	}
	return to
}

// timeSeries is a series' place in the request.
func (p *Protocol) timeSeries(k key, l []prompb.Label) *prompb.TimeSeries {
	i, known := p.open[k]
	if !known {
		i = len(p.request.Timeseries)
		p.open[k] = i
		if i < cap(p.request.Timeseries) { // takes up the columns of an earlier request
			p.request.Timeseries = p.request.Timeseries[:i+1]
		} else {
			p.request.Timeseries = append(p.request.Timeseries, prompb.TimeSeries{})
		}
		t := &p.request.Timeseries[i]
		t.Labels, t.Samples, t.Histograms = l, t.Samples[:0], t.Histograms[:0]
	}
	return &p.request.Timeseries[i]
}

// number adds one sample to a series of the request.
func (p *Protocol) number(k key, l []prompb.Label, endMs int64, v float64) {
	t := p.timeSeries(k, l)
	t.Samples = append(t.Samples, prompb.Sample{Timestamp: endMs, Value: v})
}

// staleNaN is Prometheus' marker for the end of a series, by its bits.
var staleNaN = math.Float64frombits(value.StaleNaN)

// histogram writes a native histogram. A gap's marker is one whose sum is the stale NaN, as Prometheus' own remote
// write has it.
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

// named is l under another name.
func named(l labels.Labels, name string) *labels.Builder {
	return labels.NewBuilder(l).Set(model.MetricNameLabel, name)
}
