package ingest

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// Books are counts of samples by outcome since the start, histograms included. They balance at any time: Received =
// Journaled + Deduplicated + the sum of Rejected. A batch that was answered with Full is not counted, because the
// sender sends it again. A difference means that the collector lost or invented samples, so tests and simulations check
// it.
type Books struct {
	Received     uint64
	Journaled    uint64
	Deduplicated uint64
	Rejected     map[pb.RejectionReason]uint64
}

// Balance returns Received less all outcomes. Anything but 0 is a bug.
func (b Books) Balance() int64 {
	sum := b.Journaled + b.Deduplicated
	for _, n := range b.Rejected {
		sum += n
	}
	return int64(b.Received) - int64(sum)
}

// ledger keeps the statistics of ingest and exports them as metrics. One batch changes books as one step under mu, so
// that a snapshot always balances. Labels are bounded: topologies beyond maxNamedTopologies share one label.
type ledger struct {
	mu    sync.Mutex
	books Books

	received, journaled, deduplicated prometheus.Counter
	rejected                          [maxReason + 1]prometheus.Counter
	topologyRejected                  *prometheus.CounterVec
	topologies                        map[string]bool // that topologyRejected and rateLimited name
	rateLimited                       *prometheus.CounterVec
	surplus                           prometheus.Counter

	taken, duplicates, full, skipped prometheus.Counter // batches by outcome

	accept             prometheus.Histogram
	latency            prometheus.Histogram
	streams            prometheus.Gauge
	streamEnds         *prometheus.CounterVec
	connectionsRefused prometheus.Counter
	connectionsSlow    prometheus.Counter
	skew               *prometheus.GaugeVec
}

func newLedger(registerer prometheus.Registerer, connections *quota.Slots) *ledger {
	const prefix = "bullet_metrics_ingest_"
	make := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return make.NewCounter(prometheus.CounterOpts{Name: prefix + name, Help: help})
	}
	counters := func(name, help, label string) *prometheus.CounterVec {
		return make.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, []string{label})
	}
	l := &ledger{
		books: Books{Rejected: map[pb.RejectionReason]uint64{}},
		received: counter("received_samples_total",
			"Samples received in batches that were not answered with Full."),
		journaled:    counter("journaled_samples_total", "Samples made durable."),
		deduplicated: counter("deduplicated_samples_total", "Samples of batches that had been taken before."),
		surplus: counter("surplus_definitions_total",
			"Definitions of series beyond what one stream may have; they are not kept."),
		topologyRejected: make.NewCounterVec(prometheus.CounterOpts{Name: prefix + "topology_rejected_samples_total",
			Help: "Samples refused for ever, by topology and reason; topologies beyond a bound share the name \"(other)\"."},
			[]string{"topology", "reason"}),
		topologies: map[string]bool{},
		rateLimited: make.NewCounterVec(prometheus.CounterOpts{Name: prefix + "topology_rate_limited_batches_total",
			Help: "Batches that wait at their sender since their topology sends more samples a second than limits.samples_per_second_per_topology, by topology."},
			[]string{"topology"}),
		accept: make.NewHistogram(prometheus.HistogramOpts{Name: prefix + "accept_duration_seconds",
			Help:                        "Time that decoding a batch, checking it and queueing it for the journal took, its write and fsync apart, in seconds.",
			Buckets:                     prometheus.ExponentialBuckets(0.000001, 4, 10),
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160}),
		latency: make.NewHistogram(prometheus.HistogramOpts{Name: prefix + "acknowledge_duration_seconds",
			Help:    "Time from a batch's arrival to its durability, in seconds.",
			Buckets: prometheus.ExponentialBuckets(0.00025, 2, 16)}),
		streams: make.NewGauge(prometheus.GaugeOpts{Name: prefix + "streams", Help: "Open streams."}),
		streamEnds: counters("stream_ends_total", "Streams that ended, by gRPC status code.",
			"code"),
		connectionsRefused: counter("refused_connections_total",
			"Connections closed at once since there were enough or their address had its share, and attempts to "+
				"accept one that failed."),
		connectionsSlow: counter("slow_connections_total",
			"Connections cut in the middle of a message, since the rest of it did not come."),
		skew: make.NewGaugeVec(prometheus.GaugeOpts{Name: "bullet_metrics_producer_skew_seconds",
			Help: "How far the collector's clock is ahead of a producer's worker, the least transit time of the last minutes included, in seconds.",
		}, []string{"topology", "worker"}),
	}
	make.NewGaugeFunc(prometheus.GaugeOpts{Name: prefix + "connections", Help: "Open connections."},
		func() float64 { return float64(connections.Taken()) })
	rejected := counters("rejected_samples_total", "Samples refused for ever, by reason.", "reason")
	for reason := 1; reason <= maxReason; reason++ {
		l.rejected[reason] = rejected.WithLabelValues(reasonLabel(pb.RejectionReason(reason)))
	}
	batches := counters("batches_total", "Batches by outcome: journaled, duplicate, full, or skipped after a full.",
		"outcome")
	l.taken, l.duplicates = batches.WithLabelValues("journaled"), batches.WithLabelValues("duplicate")
	l.full, l.skipped = batches.WithLabelValues("full"), batches.WithLabelValues("skipped")
	return l
}

// reasonLabel is a reason as the label has it, such as "not_a_number".
func reasonLabel(reason pb.RejectionReason) string {
	return strings.ToLower(strings.TrimPrefix(reason.String(), "REJECTION_REASON_"))
}

// maxNamedTopologies bounds the topologies that are named in the figures.
const (
	maxNamedTopologies = 256
	otherTopologies    = "(other)"
)

// enter counts a batch that is durable. took is the time from its arrival to its durability.
func (l *ledger) enter(topology string, received int, rejected *tally, duplicate bool, took time.Duration) {
	l.latency.Observe(took.Seconds())
	l.received.Add(float64(received))
	if duplicate {
		l.deduplicated.Add(float64(received))
		l.duplicates.Inc()
		l.add(received, 0, received, nil)
		return
	}
	l.taken.Inc()
	journaled := received
	if rejected != nil {
		journaled -= l.refuse(topology, rejected)
	}
	l.journaled.Add(float64(journaled))
	l.add(received, journaled, 0, rejected)
}

// refuse exports the rejected samples as metrics, by reason and by topology, and returns how many there are.
func (l *ledger) refuse(topology string, rejected *tally) (all int) {
	topology = l.named(topology)
	for reason, n := range rejected.samples {
		if n > 0 {
			all += int(n)
			l.rejected[reason].Add(float64(n))
			l.topologyRejected.WithLabelValues(topology, reasonLabel(pb.RejectionReason(reason))).Add(float64(n))
		}
	}
	return all
}

// overRate counts a batch that has to wait because its topology exceeds its rate. Its samples are not counted as
// received.
func (l *ledger) overRate(topology string) { l.rateLimited.WithLabelValues(l.named(topology)).Inc() }

// named returns a topology as a label value. Senders choose the names of topologies, so their number must be bounded.
func (l *ledger) named(topology string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.topologies[topology] {
		if len(l.topologies) >= maxNamedTopologies {
			return otherTopologies
		}
		l.topologies[topology] = true
	}
	return topology
}

// add changes the books by one batch, all of them at once.
func (l *ledger) add(received, journaled, deduplicated int, rejected *tally) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.books.Received += uint64(received)
	l.books.Journaled += uint64(journaled)
	l.books.Deduplicated += uint64(deduplicated)
	if rejected == nil {
		return
	}
	for reason, n := range rejected.samples {
		if n > 0 {
			l.books.Rejected[pb.RejectionReason(reason)] += n
		}
	}
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
