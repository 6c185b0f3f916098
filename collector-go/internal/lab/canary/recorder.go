package canary

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

// Metrics of a canary, as named in the catalog.
const (
	latencyMetric      = "bullet_query_latency_seconds"
	completenessMetric = "bullet_query_result_completeness_ratio"
	outcomesMetric     = "bullet_query_outcomes"
)

// Values of the label "outcome".
const (
	outcomeReturned = "returned"
	outcomeFailed   = "failed"
	outcomeTimedOut = "timed_out"
	outcomeMissed   = "missed"
)

// bucketFactor selects native histogram schema 5, whose buckets are 2.2% wide; zeroThreshold is that of the whole
// project.
const (
	bucketFactor  = 1.0220
	zeroThreshold = 0.0005
)

// maxRatios bounds the completeness samples between two readings. Further ones are dropped.
const maxRatios = 1000

// Recorder turns outcomes of queries into samples for a collector. For each class it counts latencies and ends since
// its start, and it reports the completeness of each answer. It is safe for concurrent use.
type Recorder struct {
	reading, every time.Duration

	mu      sync.Mutex
	classes map[load.Class]*record
	order   []load.Class
}

// record is the state of one class. Latencies and ends are totals since the start, so that a lost reading loses no
// query. ratios are values of single queries since the last reading and not totals.
type record struct {
	latencies prometheus.Histogram
	ends      map[string]float64
	ratios    []ratio
}

type ratio struct {
	at    time.Time
	value float64
}

// NewRecorder returns a recorder of classes whose queries start at the interval every. It is read once per reading.
func NewRecorder(reading, every time.Duration, classes ...load.Class) *Recorder {
	r := &Recorder{reading: reading, every: every, classes: map[load.Class]*record{}, order: slices.Clone(classes)}
	for _, class := range classes {
		r.classes[class] = &record{
			latencies: prometheus.NewHistogram(prometheus.HistogramOpts{
				Name: latencyMetric, NativeHistogramBucketFactor: bucketFactor,
				NativeHistogramZeroThreshold: zeroThreshold,
			}),
			ends: map[string]float64{outcomeReturned: 0, outcomeFailed: 0, outcomeTimedOut: 0, outcomeMissed: 0},
		}
	}
	return r
}

// Add records an outcome. Queries that timed out or were missed count with a lower bound of their latency. Queries
// that the end of the program cut off do not count.
func (r *Recorder) Add(o load.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	record, known := r.classes[o.Class]
	end := outcomeOf(o.End)
	if !known || end == "" {
		return
	}
	record.ends[end]++
	if end != outcomeFailed {
		record.latencies.Observe(o.Latency().Seconds())
	}
	if value := o.Completeness(); !math.IsNaN(value) && len(record.ratios) < maxRatios {
		record.ratios = append(record.ratios, ratio{time.UnixMilli(o.FinishedMs), value})
	}
}

// outcomeOf returns the label of an end. It is "" for queries that the end of the canary cut off, because their
// outcome is unknown.
func outcomeOf(end load.End) string {
	switch end {
	case load.Returned:
		return outcomeReturned
	case load.Failed:
		return outcomeFailed
	case load.TimedOut:
		return outcomeTimedOut
	case load.NotSubmitted:
		return outcomeMissed
	case load.Unfinished, load.CutOff:
	}
	return ""
}

// Samples returns a reading: totals since the start, and the completeness of the answers since the last reading. Each
// outcome has a series from the first reading on, even at zero, because a rate needs a value before the first event.
func (r *Recorder) Samples(now time.Time) (samples []sender.Sample, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, class := range r.order {
		record := r.classes[class]
		histogram, err := wire(record.latencies)
		if err != nil {
			return nil, err
		}
		samples = append(samples, sender.Sample{Series: r.series(latencyMetric, class, true), Time: now,
			Histogram: histogram})
		for _, end := range []string{outcomeReturned, outcomeFailed, outcomeTimedOut, outcomeMissed} {
			series := r.series(outcomesMetric, class, false)
			series.Key[1] = end
			samples = append(samples, sender.Sample{Series: series, Time: now, Value: record.ends[end]})
		}
		for _, ratio := range record.ratios {
			series := sender.Series{Name: completenessMetric, Key: [2]string{string(class)}, Interval: r.every}
			samples = append(samples, sender.Sample{Series: series, Time: ratio.at, Value: ratio.value})
		}
		record.ratios = nil
	}
	return samples, nil
}

// series returns one of the totals of a class. Its interval is that of the readings, so that the collector detects a
// missing sample.
func (r *Recorder) series(name string, class load.Class, histogram bool) sender.Series {
	return sender.Series{Name: name, Key: [2]string{string(class)}, Histogram: histogram, Cumulative: true,
		Interval: r.reading}
}

// wire converts a native histogram to the protocol. The client library stores differences between neighbouring
// buckets, and the protocol absolute counts.
func wire(h prometheus.Histogram) (*pb.HistogramSample, error) {
	var metric dto.Metric
	if err := h.Write(&metric); err != nil {
		return nil, err
	}
	from := metric.GetHistogram()
	to := &pb.HistogramSample{
		Schema: from.GetSchema(), ZeroThreshold: from.GetZeroThreshold(), ZeroCount: from.GetZeroCount(),
		Count: from.GetSampleCount(), Sum: from.GetSampleSum(),
	}
	for _, span := range from.GetPositiveSpan() {
		if span.GetLength() > 0 {
			to.PositiveSpans = append(to.PositiveSpans,
				&pb.BucketSpan{Offset: span.GetOffset(), Length: span.GetLength()})
		}
	}
	count := int64(0)
	for _, delta := range from.GetPositiveDelta() {
		count += delta
		to.PositiveCounts = append(to.PositiveCounts, uint64(count))
	}
	return to, nil
}
