package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/histogram"
)

// stages are those of a sample's data path, in the order in which a sample passes them, with the collector's native
// histogram of each, and the unit of work that it counts and times.
var stages = []struct{ name, metric, of string }{
	{"accept", "bullet_metrics_ingest_accept_duration_seconds", "a batch, decoded and queued, without fsync"},
	{"journal", "bullet_metrics_journal_fsync_duration_seconds", "a write and fsync of what waits"},
	{"extract", "bullet_metrics_feed_extract_duration_seconds", "a batch, from the journal into slices"},
	{"write", "bullet_metrics_feed_write_duration_seconds", "slices that are handed to the store at once"},
}

// StageReading holds the stages' histograms at one moment. They count since the collector's start, so only the
// difference of two readings (Since) describes a measurement.
type StageReading map[string]*histogram.FloatHistogram

// ReadStages reads the stages of a collector; those that an older collector lacks are missing. It requests the
// protobuf format, because only that has native histograms.
func (v *Server) ReadStages(ctx context.Context) (StageReading, error) {
	format := expfmt.NewFormat(expfmt.TypeProtoDelim)
	body, err := v.get(ctx, "/metrics", string(format))
	if err != nil {
		return nil, err
	}
	reading := StageReading{}
	for decoder := expfmt.NewDecoder(bytes.NewReader(body), format); ; {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); errors.Is(err, io.EOF) {
			return reading, nil
		} else if err != nil {
			return nil, fmt.Errorf("read /metrics: %w", err)
		}
		for _, s := range stages {
			if s.metric == family.GetName() {
				reading.add(s.name, &family)
			}
		}
	}
}

// add adds the metric family of a stage. Histograms of stores on the network are left out.
func (r StageReading) add(stage string, family *dto.MetricFamily) {
	for _, m := range family.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "store" && l.GetValue() != "embedded" {
				return
			}
		}
		if h := m.GetHistogram(); len(h.GetPositiveSpan()) > 0 {
			r[stage] = native(h)
		}
	}
}

// native converts a histogram to Prometheus' form, with counts instead of differences between buckets.
func native(h *dto.Histogram) *histogram.FloatHistogram {
	out := histogram.Histogram{Schema: h.GetSchema(), Count: h.GetSampleCount(), Sum: h.GetSampleSum(),
		ZeroThreshold: h.GetZeroThreshold(), ZeroCount: h.GetZeroCount(), PositiveBuckets: h.GetPositiveDelta()}
	for _, s := range h.GetPositiveSpan() {
		out.PositiveSpans = append(out.PositiveSpans, histogram.Span{Offset: s.GetOffset(), Length: s.GetLength()})
	}
	return out.ToFloat(nil)
}

// Since returns quantiles of what was added after an earlier reading. A stage that the earlier reading lacks counts as
// a whole.
func (r StageReading) Since(before StageReading) (map[string]Stage, error) {
	out := map[string]Stage{}
	for name, h := range r {
		if earlier := before[name]; earlier != nil {
			less, _, _, err := h.Copy().Sub(earlier)
			if err != nil {
				return nil, fmt.Errorf("stage %s: %w", name, err)
			}
			h = less
		}
		out[name] = Stage{Count: uint64(h.Count),
			Quantiles: Quantiles{P50: quantileMs(h, 0.5), P99: quantileMs(h, 0.99), P999: quantileMs(h, 0.999)}}
	}
	return out, nil
}

// quantileMs returns a quantile of a histogram of seconds, in ms; 0 if it is empty. Within a bucket it interpolates
// exponentially, as the bounds of the buckets do.
func quantileMs(h *histogram.FloatHistogram, q float64) float64 {
	rank := q*h.Count - h.ZeroCount
	for buckets := h.PositiveBucketIterator(); buckets.Next(); {
		b := buckets.At()
		if b.Count >= rank && b.Count > 0 {
			return 1000 * b.Lower * math.Pow(b.Upper/b.Lower, max(rank, 0)/b.Count)
		}
		rank -= b.Count
	}
	return 0
}
