package ingest

import (
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/instrument"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// Totals are counts of samples by outcome since the start, including histograms. They balance at any time: Received =
// Journaled + Deduplicated + the sum of Rejected. A batch that was answered with Full is not counted, because the
// sender sends it again. A difference means that the collector lost or invented samples. Tests and simulations check
// it.
type Totals struct {
	Received     uint64
	Journaled    uint64
	Deduplicated uint64
	Rejected     map[pb.RejectionReason]uint64
}

// Balance returns Received minus all outcomes. Anything but 0 is a bug.
func (b Totals) Balance() int64 {
	sum := b.Journaled + b.Deduplicated
	for _, n := range b.Rejected {
		sum += n
	}
	return int64(b.Received) - int64(sum)
}

// stats keeps the statistics of ingest and exports them as metrics. A batch changes the totals in one step under mu, so
// that a snapshot always balances. Labels are bounded: topologies beyond maxNamedTopologies share one label.
type stats struct {
	mu     sync.Mutex
	totals Totals

	received, journaled, deduplicated prometheus.Counter
	rejected                          [maxReason + 1]prometheus.Counter
	topologyRejected                  *prometheus.CounterVec
	topologies                        map[string]bool // with labels of their own in the metrics
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

// newStats registers the metrics. All labels with a fixed set of values exist from the start with 0. A rate over them
// then has no gap at the first event.
func newStats(registerer prometheus.Registerer, connections *quota.Slots) *stats {
	make := instrument.New("bullet_metrics_", nil)
	s := &stats{
		totals: Totals{Rejected: map[pb.RejectionReason]uint64{}},
		received: make.Counter("ingest_received_samples_total",
			"Samples in all received batches, except batches that the sender must repeat later (answered with Full)."),
		journaled:    make.Counter("ingest_journaled_samples_total", "Samples written and synced to the journal."),
		deduplicated: make.Counter("ingest_deduplicated_samples_total", "Samples in duplicate batches. They are not stored again."),
		surplus: make.Counter("ingest_surplus_definitions_total",
			"Definitions of series above the limit of one stream. They are ignored."),
		topologyRejected: make.Counters("ingest_topology_rejected_samples_total",
			"Samples that were permanently rejected, by topology and reason. Topologies above a limit are counted as \"(other)\".",
			"topology", "reason"),
		topologies: map[string]bool{},
		rateLimited: make.Counters("ingest_topology_rate_limited_batches_total",
			"Batches that must wait at their sender because the topology exceeds limits.samples_per_second_per_topology, by topology.",
			"topology"),
		accept: make.Histogram("ingest_accept_duration_seconds",
			"Time to decode a batch, check it and queue it for the journal, in seconds. Write and fsync are not included.",
			true, prometheus.ExponentialBuckets(0.000001, 4, 10)),
		latency: make.Histogram("ingest_acknowledge_duration_seconds",
			"Time from the arrival of a batch until it is synced to disk, in seconds.", false,
			prometheus.ExponentialBuckets(0.00025, 2, 16)),
		streams:    make.Gauge("ingest_streams", "Open gRPC streams."),
		streamEnds: make.Counters("ingest_stream_ends_total", "Ended gRPC streams, by status code.", "code"),
		connectionsRefused: make.Counter("ingest_refused_connections_total",
			"Connections closed at once because of the limit in total or per address, and failed attempts to accept one."),
		connectionsSlow: make.Counter("ingest_slow_connections_total",
			"Connections closed because the rest of a message did not arrive in time."),
		skew: make.Gauges("producer_skew_seconds",
			"How far the collector's clock is ahead of the clock of a producer's worker, in seconds. It includes the shortest transit time of the last one to two minutes.",
			"topology", "worker"),
	}
	make.Func("ingest_connections", "Open connections to the gRPC port.",
		func() float64 { return float64(connections.Taken()) })
	rejected := make.Counters("ingest_rejected_samples_total", "Samples that were permanently rejected, by reason.", "reason")
	for reason := 1; reason <= maxReason; reason++ {
		s.rejected[reason] = rejected.WithLabelValues(ReasonName(pb.RejectionReason(reason)))
	}
	batches := make.Counters("ingest_batches_total", "Batches by outcome: journaled, duplicate, full (the sender must repeat it), or skipped (it followed a full one).",
		"outcome")
	s.taken, s.duplicates = batches.WithLabelValues("journaled"), batches.WithLabelValues("duplicate")
	s.full, s.skipped = batches.WithLabelValues("full"), batches.WithLabelValues("skipped")
	make.Register(registerer)
	return s
}

// ReasonName returns the label value of a reason for rejecting samples, such as "not_a_number".
func ReasonName(reason pb.RejectionReason) string {
	return strings.ToLower(strings.TrimPrefix(reason.String(), "REJECTION_REASON_"))
}

// maxNamedTopologies bounds the topologies that have labels of their own in metrics.
const (
	maxNamedTopologies = 256
	otherTopologies    = "(other)"
)

// enter counts a batch that is durable. took is the time from its arrival to its durability.
func (s *stats) enter(topology string, received int, rejected *tally, duplicate bool, took time.Duration) {
	s.latency.Observe(took.Seconds())
	s.received.Add(float64(received))
	if duplicate {
		s.deduplicated.Add(float64(received))
		s.duplicates.Inc()
		s.add(received, 0, received, nil)
		return
	}
	s.taken.Inc()
	journaled := received
	if rejected != nil {
		journaled -= s.refuse(topology, rejected)
	}
	s.journaled.Add(float64(journaled))
	s.add(received, journaled, 0, rejected)
}

// refuse exports the rejected samples as metrics, by reason and by topology, and returns their number.
func (s *stats) refuse(topology string, rejected *tally) (all int) {
	topology = s.named(topology)
	for reason, n := range rejected.samples {
		if n > 0 {
			all += int(n)
			s.rejected[reason].Add(float64(n))
			s.topologyRejected.WithLabelValues(topology, ReasonName(pb.RejectionReason(reason))).Add(float64(n))
		}
	}
	return all
}

// overRate counts a batch that has to wait because its topology exceeds its rate. Its samples are not counted as
// received.
func (s *stats) overRate(topology string) { s.rateLimited.WithLabelValues(s.named(topology)).Inc() }

// named returns a topology as a label value. Senders choose the names of topologies, so their number must be bounded.
func (s *stats) named(topology string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.topologies[topology] {
		if len(s.topologies) >= maxNamedTopologies {
			return otherTopologies
		}
		s.topologies[topology] = true
	}
	return topology
}

// add adds one batch to the totals, in one step.
func (s *stats) add(received, journaled, deduplicated int, rejected *tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.Received += uint64(received)
	s.totals.Journaled += uint64(journaled)
	s.totals.Deduplicated += uint64(deduplicated)
	if rejected == nil {
		return
	}
	for reason, n := range rejected.samples {
		if n > 0 {
			s.totals.Rejected[pb.RejectionReason(reason)] += n
		}
	}
}

// snapshot returns a copy of the totals.
func (s *stats) snapshot() Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.totals
	b.Rejected = maps.Clone(s.totals.Rejected)
	return b
}
