package influx

import (
	"math"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

func define(t *testing.T, p *Protocol, ref slice.Ref, kind metric.Kind, names ...string) string {
	t.Helper()
	return p.Define(slice.Definition{Ref: ref, Series: metric.Series{Labels: labels.FromStrings(names...), Kind: kind}})
}

func TestLines(t *testing.T) {
	p := &Protocol{}
	require.Empty(t, define(t, p, 0, metric.KindGauge, "__name__", "bullet_active_queries", "topology", "a b,c=d",
		"worker", "h:1"))
	require.Empty(t, define(t, p, 1, metric.KindDistribution, "__name__", "bullet_query_latency_seconds",
		"topology", "t"))
	c := &slice.Columns{
		Refs: []slice.Ref{0, 0, 0, 0}, EndsMs: []int64{10, 20, 30, 40},
		Values:        []float64{3, 1e-9, 1e21, math.Float64frombits(value.StaleNaN)},
		HistogramRefs: []slice.Ref{1, 1}, HistogramEndsMs: []int64{10, 20},
		Histograms: []*histogram.Histogram{{Schema: 1, Count: 3, Sum: 0.75,
			PositiveSpans: []histogram.Span{{Offset: -4, Length: 2}}, PositiveBuckets: []int64{1, 1}}, nil},
	}
	var points []forward.Point
	for i, ref := range c.Refs {
		points = append(points, forward.Point{Ref: ref, EndMs: c.EndsMs[i], Index: int32(i)})
	}
	for i, ref := range c.HistogramRefs {
		points = append(points, forward.Point{Ref: ref, EndMs: c.HistogramEndsMs[i], Index: int32(i), Histogram: true})
	}
	lines := strings.Split(string(p.Encode(nil, c, points)), "\n")
	assert.Equal(t, []string{
		`bullet_active_queries,topology=a\ b\,c\=d,worker=h:1 value=3 10`,
		`bullet_active_queries,topology=a\ b\,c\=d,worker=h:1 value=1e-09 20`,
		`bullet_active_queries,topology=a\ b\,c\=d,worker=h:1 value=1e+21 30`,
		`bullet_active_queries,topology=a\ b\,c\=d,worker=h:1 gap=true 40`,
		`bullet_query_latency_seconds_count,topology=t value=3 10`,
		`bullet_query_latency_seconds_sum,topology=t value=0.75 10`,
	}, lines[:6])
	text := strings.Join(lines, "\n")
	for _, bucket := range []string{
		`bullet_query_latency_seconds_bucket,topology=t,le=0.125 value=0 10`,
		`bullet_query_latency_seconds_bucket,topology=t,le=0.17677669529663687 value=0 10`,
		`bullet_query_latency_seconds_bucket,topology=t,le=0.25 value=1 10`,
		`bullet_query_latency_seconds_bucket,topology=t,le=0.35355339059327373 value=3 10`,
		`bullet_query_latency_seconds_bucket,topology=t,le=+Inf value=3 10`,
		`bullet_query_latency_seconds_bucket,topology=t,le=+Inf gap=true 20`,
	} {
		assert.Contains(t, text, bucket)
	}
	assert.Len(t, lines, 4+2*36+1)
}

// Text that would end a line or a tag early is refused and not sent.
func TestTextThatLineProtocolCannotCarryIsRefused(t *testing.T) {
	p := &Protocol{}
	for _, names := range [][]string{
		{"__name__", "m", "topology", "t\nstolen value=1"},
		{"__name__", "m", "topology", `ends in a backslash\`},
		{"__name__", "m", "topology", `a\ b`},
		{"__name__", "m", "topology", "tab\t"},
		{"__name__", "# m"},
		{"__name__", "m", "time", "1"},
	} {
		assert.Equal(t, forward.Invalid, define(t, p, 0, metric.KindGauge, names...), "%q", names)
	}
	assert.Empty(t, define(t, p, 0, metric.KindGauge, "__name__", "m", "topology", `C:\topologies "quoted" ü`))
}

func TestNumbersThatInfluxDBHasNotAreNamed(t *testing.T) {
	p := &Protocol{}
	require.Empty(t, define(t, p, 0, metric.KindGauge, "__name__", "m"))
	for v, want := range map[float64]string{1: "", math.Inf(1): NotFinite, math.Inf(-1): NotFinite,
		math.NaN(): NotFinite, math.Float64frombits(value.StaleNaN): ""} {
		c := &slice.Columns{Refs: []slice.Ref{0}, EndsMs: []int64{1}, Values: []float64{v}}
		assert.Equal(t, want, p.Holds(c, forward.Point{}), v)
	}
}

func TestWhatIsWrongWithTheSettingsIsSaid(t *testing.T) {
	at := forward.Receiver{URL: "http://localhost:8086"}
	for want, o := range map[string]Options{
		`url "": missing URL`:            {Bucket: "b"},
		"bucket is missing: set":         {Receiver: at},
		"bucket excludes database":       {Receiver: at, Bucket: "b", Database: "d"},
		"org requires bucket":            {Receiver: at, Database: "d", Org: "o"},
		"retention_policy requires data": {Receiver: at, Bucket: "b", RetentionPolicy: "r"},
	} {
		_, err := New(o)
		assert.ErrorContains(t, err, want)
	}
}
