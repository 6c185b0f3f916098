package grid

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/instrument"
)

// figures are the store's own metrics. Metrics that the previous store, Prometheus' tsdb, had as well keep their names
// ("compaction", "blocks").
type figures struct {
	*instrument.Set

	stored, repeated prometheus.Counter
	rejected         *prometheus.CounterVec
	expiredParts     *prometheus.CounterVec
	expiredSlices    *prometheus.CounterVec
	writes           prometheus.Histogram
	writesFailed     prometheus.Counter
	mergesFailed     prometheus.Counter
	merged           prometheus.Counter
	damaged          *prometheus.CounterVec
	asidesExpired    *prometheus.CounterVec
	asideBytes       prometheus.Gauge
	flushedSlices    prometheus.Counter
	flushedBytes     prometheus.Counter
}

// prefix begins the name of each of the store's metrics.
func newFigures(s *Store) *figures {
	make := instrument.New("bullet_metrics_embedded_", nil)
	f := &figures{Set: make,
		stored: make.Counter("slices_stored_total",
			"Slices added to the memory of the embedded store. Slices that a restart replays from the journal count again."),
		repeated: make.Counter("slices_repeated_total",
			"Duplicate slices: the journal was read again, and the store had them already."),
		rejected: make.Counters("slices_rejected_total", "Slices that the embedded store rejected, by reason.", "reason"),
		expiredParts: make.Counters("blocks_expired_total",
			"Parts deleted by retention since the store was created, by limit: time, bytes or free (space on the disk).", "bound"),
		expiredSlices: make.Counters("slices_expired_total",
			"Slices deleted by retention since the store was created, by limit: time, bytes or free (space on the disk).", "bound"),
		writes: make.Histogram("compaction_seconds", "Time to write the slices in memory into parts, in seconds.", false,
			prometheus.ExponentialBuckets(0.01, 4, 8)),
		writesFailed: make.Counter("compaction_failures_total",
			"Failed writes of slices into parts. The slices stay in memory and in the journal."),
		mergesFailed: make.Counter("merge_failures_total", "Failed merges of parts. The parts stay unchanged."),
		merged:       make.Counter("merges_total", "Merges of several parts into one."),
		damaged: make.Counters("damaged_total",
			"Damage found on disk, by type: manifest, part (it was set aside), missing (a part) or page.", "what"),
		asidesExpired: make.Counters("damaged_expired_total",
			"Damaged files that were set aside and then deleted by retention, by limit: time, bytes or free (space on the disk).", "bound"),
		asideBytes:    make.Gauge("damaged_bytes", "Size of all damaged files that are set aside, in bytes."),
		flushedSlices: make.Counter("flushed_slices_total", "Slices written from memory into parts."),
		flushedBytes:  make.Counter("flushed_bytes_total", "Size of the parts written from memory, in bytes."),
	}
	f.gauges(s)
	return f
}

// gauges returns metrics that are read from the store at each scrape, under its lock.
func (f *figures) gauges(s *Store) {
	gauge := func(name, help string, read func() int) {
		f.Func(name, help, func() float64 {
			s.lock.RLock()
			defer s.lock.RUnlock()
			return float64(read())
		})
	}
	gauge("head_series", "Series in the memory of the embedded store.", func() int { return s.live.table.live() })
	gauge("series_limit", "Series limit of the embedded store's memory.",
		func() int { return s.options.MaxSeries })
	gauge("head_slices", "Slices in the memory of the embedded store that are not in a part yet.", func() int {
		n := s.live.slices()
		if s.frozen != nil {
			n += s.frozen.slices()
		}
		return n
	})
	gauge("head_bytes", "Memory used by slices, in bytes.", s.sliceBytes)
	gauge("head_limit_bytes", "Memory limit for slices, in bytes.", func() int { return s.options.HeadBytes })
	gauge("series_bytes", "Memory used by the labels and the index of all series, in bytes.",
		func() int { return s.live.table.memory() })
	gauge("blocks", "Parts on disk.", func() int { return len(s.pieces) })
	gauge("blocks_bytes", "Size of all parts on disk, in bytes.", func() int { return int(s.manifest.bytes()) })
	gauge("durable_position", "Journal position up to which all slices are in parts.",
		func() int { return int(s.manifest.position) })
	gauge("queries", "Queries that are reading the embedded store.", func() int { return s.readers })
}

// count adds the counts of one hand-over.
func (f *figures) count(h *handing) {
	f.stored.Add(float64(h.taken))
	f.repeated.Add(float64(h.repeated))
	for reason, n := range h.rejected {
		f.rejected.WithLabelValues(reason).Add(float64(n))
	}
}

// wrote records the duration of one write of the head, and whether it failed.
func (f *figures) wrote(took time.Duration, err error) {
	f.writes.Observe(took.Seconds())
	if err != nil {
		f.writesFailed.Inc()
	}
}

// flushed counts parts that were written from memory, once the manifest lists them.
func (f *figures) flushed(parts []*piece) {
	for _, p := range parts {
		f.flushedSlices.Add(float64(p.slices))
		f.flushedBytes.Add(float64(p.bytes))
	}
}

// expired adds what retention deleted. At a start the totals of the manifest are added too. The counters therefore
// cover the life of the store and not of the process.
func (f *figures) expired(bound string, t tally) {
	f.expiredParts.WithLabelValues(bound).Add(float64(t.parts))
	f.expiredSlices.WithLabelValues(bound).Add(float64(t.slices))
}
