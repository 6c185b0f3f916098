package journal

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// figures are the journal's own metrics. The gauges are set when the state changes (showSizes and showDictionary), so
// that a scrape does not lock the journal. Their names and labels are an interface to users: docs/metrics.md lists
// them, and alert rules use them.
type figures struct {
	records       prometheus.Counter
	written       prometheus.Counter
	fsync         prometheus.Histogram
	fsyncFailed   prometheus.Counter
	queueBytes    prometheus.Gauge
	queueLength   prometheus.Gauge
	segments      prometheus.Gauge
	bytes         prometheus.Gauge
	series        prometheus.Gauge
	layouts       prometheus.Gauge
	layoutColumns prometheus.Gauge
	producers     prometheus.Gauge
	forgotten     *prometheus.CounterVec
	unreadable    prometheus.Counter
	ringBytes     prometheus.Gauge
	epochs        prometheus.Gauge
	cutBytes      prometheus.Counter
	damaged       prometheus.Counter
	full          *prometheus.CounterVec
	failing       prometheus.Gauge
}

// newFigures registers the metrics. Without a registerer they are not exported, as in tests and in bullet-metrics fsck.
func newFigures(registerer prometheus.Registerer) *figures {
	make := promauto.With(registerer)
	counter := func(name, help string) prometheus.Counter {
		return make.NewCounter(prometheus.CounterOpts{Name: "bullet_metrics_journal_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return make.NewGauge(prometheus.GaugeOpts{Name: "bullet_metrics_journal_" + name, Help: help})
	}
	return &figures{
		records: counter("appended_records_total", "Records made durable."),
		written: counter("appended_bytes_total", "Bytes made durable, segment heads included."),
		fsync: make.NewHistogram(prometheus.HistogramOpts{
			Name:    "bullet_metrics_journal_fsync_duration_seconds",
			Help:    "Time that one write and fsync of a group of records took, in seconds.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16),

			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160,
		}),
		fsyncFailed:   counter("failed_writes_total", "Writes or fsyncs that failed; each seals a segment."),
		queueBytes:    gauge("queue_bytes", "Bytes that wait to be written."),
		queueLength:   gauge("queue_length", "Records that wait to be written."),
		segments:      gauge("segments", "Segments on disk."),
		bytes:         gauge("bytes", "Bytes of the segments on disk."),
		series:        gauge("series", "Series in the dictionary."),
		layouts:       gauge("layouts", "Layouts in the dictionary."),
		layoutColumns: gauge("layout_columns", "Columns of all layouts in the dictionary."),
		producers:     gauge("producers", "Producers in the dictionary."),
		forgotten: make.NewCounterVec(prometheus.CounterOpts{
			Name: "bullet_metrics_journal_forgotten_total",
			Help: "Definitions forgotten since they were idle, by what they define: series, layout or producer.",
		}, []string{"what"}),
		unreadable: counter("read_errors_total", "Reads that the disk failed."),
		ringBytes: gauge("ring_bytes",
			"Bytes of the newest entries that are kept in memory for readers that keep up."),
		epochs:   gauge("epochs", "Senders' starts that are remembered for deduplication."),
		cutBytes: counter("cut_bytes_total", "Bytes of a damaged or half-written tail cut at the start."),
		damaged: counter("damaged_records_total",
			"Stretches of damage stepped over, once for each time that they are read."),
		full: make.NewCounterVec(prometheus.CounterOpts{
			Name: "bullet_metrics_journal_full_total",
			Help: "Batches that were not taken for now, by reason: queue, share (the topology has its share of the queue), disk, write or epochs.",
		}, []string{"reason"}),
		failing: gauge("failing", "1 while the disk accepts no writes."),
	}
}
