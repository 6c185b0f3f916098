package ingest

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// Books are samples by what became of them since the start, histograms included. They balance at any time:
// Received = Journaled + Deduplicated + the sum of Rejected. What was answered with Full is not received.
type Books struct {
	Received     uint64
	Journaled    uint64
	Deduplicated uint64
	Rejected     map[pb.RejectionReason]uint64
}

// Balance is what is missing on the right side; anything but 0 is a bug.
func (b Books) Balance() int64 {
	sum := b.Journaled + b.Deduplicated
	for _, n := range b.Rejected {
		sum += n
	}
	return int64(b.Received) - int64(sum)
}

// ledger keeps the books and shows them.
type ledger struct {
	mu    sync.Mutex
	books Books

	received, journaled, deduplicated prometheus.Counter
	rejected                          *prometheus.CounterVec
	batches                           *prometheus.CounterVec
	latency                           prometheus.Histogram
	streams                           prometheus.Gauge
	streamEnds                        *prometheus.CounterVec
	connections                       prometheus.Gauge
	connectionsRefused                prometheus.Counter
	skew                              *prometheus.GaugeVec
}

func newLedger(registerer prometheus.Registerer) *ledger {
	const prefix = "bullet_metrics_ingest_"
	make := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return make.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return make.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, []string{label})
	}
	l := &ledger{
		books:        Books{Rejected: map[pb.RejectionReason]uint64{}},
		received:     counter("received_samples_total", "Samples received in batches that were not answered with Full."),
		journaled:    counter("journaled_samples_total", "Samples made durable."),
		deduplicated: counter("deduplicated_samples_total", "Samples of batches that had been taken before."),
		rejected:     counters("rejected_samples_total", "Samples refused for ever, by reason.", "reason"),
		batches:      counters("batches_total", "Batches by outcome: journaled, duplicate, full, or skipped after a full.", "outcome"),
		latency: make.NewHistogram(prometheus.HistogramOpts{Name: prefix + "acknowledge_duration_seconds",
			Help:    "Time from a batch's arrival to its durability, in seconds.",
			Buckets: prometheus.ExponentialBuckets(0.00025, 2, 16)}),
		streams: make.NewGauge(prometheus.GaugeOpts{Name: prefix + "streams", Help: "Open streams."}),
		streamEnds: counters("stream_ends_total", "Streams that ended, by gRPC status code.",
			"code"),
		connections:        make.NewGauge(prometheus.GaugeOpts{Name: prefix + "connections", Help: "Open connections."}),
		connectionsRefused: counter("refused_connections_total", "Connections closed at once for the limit."),
		skew: make.NewGaugeVec(prometheus.GaugeOpts{Name: "bullet_metrics_producer_skew_seconds",
			Help: "How far the collector's clock is ahead of a producer's worker, the least transit time of the last minutes included, in seconds.",
		}, []string{"topology", "worker"}),
	}
	for reason := 1; reason <= maxReason; reason++ {
		l.rejected.WithLabelValues(reasonLabel(pb.RejectionReason(reason)))
	}
	return l
}

// reasonLabel is a reason as the label has it, such as "not_a_number".
func reasonLabel(reason pb.RejectionReason) string {
	return strings.ToLower(strings.TrimPrefix(reason.String(), "REJECTION_REASON_"))
}

// enter books a batch that is durable.
func (l *ledger) enter(received int, rejected *tally, duplicate bool, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.latency.Observe(took.Seconds())
	l.books.Received += uint64(received)
	l.received.Add(float64(received))
	if duplicate {
		l.books.Deduplicated += uint64(received)
		l.deduplicated.Add(float64(received))
		l.batches.WithLabelValues("duplicate").Inc()
		return
	}
	l.batches.WithLabelValues("journaled").Inc()
	journaled := uint64(received)
	for reason, n := range rejected.samples {
		if n == 0 {
			continue
		}
		journaled -= n
		l.books.Rejected[pb.RejectionReason(reason)] += n
		l.rejected.WithLabelValues(reasonLabel(pb.RejectionReason(reason))).Add(float64(n))
	}
	l.books.Journaled += journaled
	l.journaled.Add(float64(journaled))
}

// snapshot is the books as they stand.
func (l *ledger) snapshot() Books {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.books
	b.Rejected = make(map[pb.RejectionReason]uint64, len(l.books.Rejected))
	for reason, n := range l.books.Rejected {
		b.Rejected[reason] = n
	}
	return b
}
