package canary

import (
	"context"
	"errors"
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

// outcomes are the ends that are counted, with their values of the label "outcome". Queries that the end of the canary
// cut off are not counted, because their outcome is unknown.
var outcomes = []struct {
	end   load.End
	label string
}{{load.Returned, "returned"}, {load.Failed, "failed"}, {load.TimedOut, "timed_out"}, {load.NotSubmitted, "missed"}}

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
	ends      map[load.End]float64
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
			ends: map[load.End]float64{},
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
	if !known || o.End == load.Unfinished || o.End == load.CutOff {
		return
	}
	record.ends[o.End]++
	if o.End != load.Failed {
		record.latencies.Observe(o.Latency().Seconds())
	}
	if value := o.Completeness(); !math.IsNaN(value) && len(record.ratios) < maxRatios {
		record.ratios = append(record.ratios, ratio{time.UnixMilli(o.FinishedMs), value})
	}
}

// Samples returns a reading: totals since the start, and the completeness of the answers since the last reading. Each
// outcome has a series from the first reading on, even at zero, because a rate needs a value before the first event.
func (r *Recorder) Samples(now time.Time) (samples []sender.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, class := range r.order {
		record := r.classes[class]
		samples = append(samples, sender.Sample{Series: r.series(latencyMetric, class, true), Time: now,
			Histogram: wire(record.latencies)})
		for _, outcome := range outcomes {
			series := r.series(outcomesMetric, class, false)
			series.Key[1] = outcome.label
			samples = append(samples, sender.Sample{Series: series, Time: now, Value: record.ends[outcome.end]})
		}
		for _, ratio := range record.ratios {
			series := sender.Series{Name: completenessMetric, Key: [2]string{string(class)}, Interval: r.every}
			samples = append(samples, sender.Sample{Series: series, Time: ratio.at, Value: ratio.value})
		}
		record.ratios = nil
	}
	return samples
}

// series returns one of the totals of a class. Its interval is that of the readings, so that the collector detects a
// missing sample.
func (r *Recorder) series(name string, class load.Class, histogram bool) sender.Series {
	return sender.Series{Name: name, Key: [2]string{string(class)}, Histogram: histogram, Cumulative: true,
		Interval: r.reading}
}

// wire converts a native histogram to the protocol. The client library stores differences between neighbouring
// buckets, and the protocol absolute counts.
func wire(h prometheus.Histogram) *pb.HistogramSample {
	var metric dto.Metric
	if err := h.Write(&metric); err != nil {
		panic(err) // our own histogram is always readable
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
	return to
}

// flushTimeout is how long the last samples may take to reach the collector.
const flushTimeout = 5 * time.Second

// Deliver runs a canary until ctx ends, prints its summaries to lines, and sends its samples to the collector at
// to.Address, if there is one. source is the address of the record source, or "".
func Deliver(ctx context.Context, o Options, target load.Submitter, source string, to sender.Options,
	lines *Lines) error {
	var records Records
	if source != "" {
		gateway := load.NewGateway(source, 1)
		defer gateway.Close()
		records = gateway
	}
	var samples Samples
	if to.Address != "" {
		delivery, err := sender.New(to)
		if err != nil {
			return err
		}
		samples, lines.Delivery = delivery, delivery
	}
	c, err := New(o, target, records, samples, lines.Print)
	if err != nil {
		return err
	}
	if lines.Delivery == nil {
		return errors.Join(c.Run(ctx), lines.Err)
	}
	delivery := lines.Delivery
	delivering, stop := context.WithCancel(context.Background())
	defer stop()
	var sending sync.WaitGroup
	var sendErr error
	sending.Go(func() { sendErr = delivery.Run(delivering) })
	runErr := c.Run(ctx)
	delivery.Close()
	flushing, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	flushErr := delivery.Flush(flushing)
	stop()
	sending.Wait()
	return errors.Join(runErr, sendErr, flushErr, lines.Err)
}
