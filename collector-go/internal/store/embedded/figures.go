package embedded

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// figures are the store's own metrics.
type figures struct {
	registerer prometheus.Registerer
	all        []prometheus.Collector

	stored, repeated    prometheus.Counter
	rejected            *prometheus.CounterVec
	expiredBlocks       *prometheus.CounterVec
	compactions         prometheus.Histogram
	compactionsFailures prometheus.Counter
}

func newFigures(r prometheus.Registerer, s *Store) *figures {
	f := &figures{
		registerer: r,
		stored: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "bullet_metrics_embedded_slices_stored_total",
			Help: "Slices taken into the embedded store's head, again after a replay.",
		}),
		repeated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "bullet_metrics_embedded_slices_repeated_total",
			Help: "Slices that came again from the journal and were in a block already.",
		}),
		rejected: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bullet_metrics_embedded_slices_rejected_total",
			Help: "Slices that the embedded store rejected, by reason.",
		}, []string{"reason"}),
		expiredBlocks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bullet_metrics_embedded_blocks_expired_total",
			Help: "Blocks deleted by retention, by which bound: time or bytes.",
		}, []string{"bound"}),
		compactions: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "bullet_metrics_embedded_compaction_seconds",
			Help: "How long it took to write and merge blocks, in seconds.", Buckets: prometheus.ExponentialBuckets(0.01, 4, 8),
		}),
		compactionsFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "bullet_metrics_embedded_compaction_failures_total",
			Help: "Compactions that failed; what they would have written stays in memory and in the journal.",
		}),
	}
	f.all = append(f.gauges(s), f.stored, f.repeated, f.rejected, f.expiredBlocks, f.compactions, f.compactionsFailures)
	if r != nil {
		r.MustRegister(f.all...)
	}
	return f
}

func (f *figures) gauges(s *Store) []prometheus.Collector {
	gauge := func(name, help string, read func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "bullet_metrics_embedded_" + name, Help: help}, read)
	}
	return []prometheus.Collector{
		gauge("head_series", "Series that the embedded store holds in memory.", func() float64 { return float64(s.db.Head().NumSeries()) }),
		gauge("head_slices", "Slices that the embedded store holds in memory and not in a block.", func() float64 {
			s.state.Lock()
			defer s.state.Unlock()
			return float64(s.held.total)
		}),
		gauge("blocks", "Blocks on disk.", func() float64 { return float64(len(s.db.Blocks())) }),
		gauge("blocks_bytes", "Size of all blocks on disk, in bytes.", func() float64 {
			var size int64
			for _, b := range s.db.Blocks() {
				size += b.Size()
			}
			return float64(size)
		}),
		gauge("durable_position", "Journal position before the oldest slice that is not yet in a block.", func() float64 {
			return float64(s.Durable())
		}),
	}
}

func (f *figures) count(h *handing) {
	f.stored.Add(float64(len(h.taken)))
	f.repeated.Add(float64(h.repeated))
	for reason, n := range h.rejected {
		f.rejected.WithLabelValues(reason).Add(float64(n))
	}
}

func (f *figures) compacted(took time.Duration, err error) {
	f.compactions.Observe(took.Seconds())
	if err != nil {
		f.compactionsFailures.Inc()
	}
}

func (f *figures) expired(bound string, blocks int) {
	f.expiredBlocks.WithLabelValues(bound).Add(float64(blocks))
}

// unregister lets a store be opened again on the same registerer.
func (f *figures) unregister() {
	if f.registerer == nil {
		return
	}
	for _, c := range f.all {
		f.registerer.Unregister(c)
	}
}
