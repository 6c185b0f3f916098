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

// stageMetrics are the stages of a sample's way, and the native histograms that a collector has of them.
var stageMetrics = []struct{ stage, metric string }{
	{"accept", "bullet_metrics_ingest_accept_duration_seconds"},
	{"journal", "bullet_metrics_journal_fsync_duration_seconds"},
	{"extract", "bullet_metrics_feed_extract_duration_seconds"},
	{"write", "bullet_metrics_feed_write_duration_seconds"},
}

// StageNames are the stages in the order in which a sample passes them, which is the order of the report.
func StageNames() (all []string) {
	for _, s := range stageMetrics {
		all = append(all, s.stage)
	}
	return all
}

// Stage is how long one stage took, ms, and how often it was passed: by a batch, by a group of them (journal), or by
// what was handed to the store at once (write). The counts of different stages are therefore not comparable.
type Stage struct {
	Count uint64 `json:"count"`
	Quantiles
}

// StageReading is the stages' histograms at one moment. They count since the collector's start, so that only the
// difference of two readings is about a measurement (Since).
type StageReading map[string]*histogram.FloatHistogram

// ReadStages reads the stages of a collector; those that an older one does not have are missing. The protobuf format is
// asked for, because only it has native histograms.
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
		for _, s := range stageMetrics {
			if s.metric == family.GetName() {
				reading.add(s.stage, &family)
			}
		}
	}
}

// add takes a metric family of a stage. Stores on the network have feeds of their own, which are left out.
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

// native is a histogram as Prometheus computes with it: counts in place of differences between buckets.
func native(h *dto.Histogram) *histogram.FloatHistogram {
	out := histogram.Histogram{Schema: h.GetSchema(), Count: h.GetSampleCount(), Sum: h.GetSampleSum(),
		ZeroThreshold: h.GetZeroThreshold(), ZeroCount: h.GetZeroCount(),
		PositiveBuckets: h.GetPositiveDelta()}
	for _, s := range h.GetPositiveSpan() {
		out.PositiveSpans = append(out.PositiveSpans, histogram.Span{Offset: s.GetOffset(), Length: s.GetLength()})
	}
	return out.ToFloat(nil)
}

// Since is what was added after another reading, as quantiles. A stage that the earlier reading does not have counts as
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
		out[name] = Stage{uint64(h.Count), Quantiles{P50: quantileMs(h, 0.5), P99: quantileMs(h, 0.99),
			P999: quantileMs(h, 0.999)}}
	}
	return out, nil
}

// quantileMs is a quantile of a histogram of seconds, in ms; 0 where it is empty. Within a bucket it interpolates
// exponentially, as the bucket's bounds grow.
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
