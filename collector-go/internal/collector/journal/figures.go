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
		records: counter("appended_records_total", "Records written and synced to disk."),
		written: counter("appended_bytes_total", "Bytes written and synced to disk, including segment headers."),
		fsync: make.NewHistogram(prometheus.HistogramOpts{
			Name:    "bullet_metrics_journal_fsync_duration_seconds",
			Help:    "Duration of one write and fsync of a group of records, in seconds.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16), NativeHistogramBucketFactor: 1.1,
			NativeHistogramMaxBucketNumber: 160,
		}),
		fsyncFailed:   counter("failed_writes_total", "Failed writes and fsyncs. Each one closes the current segment."),
		queueBytes:    gauge("queue_bytes", "Bytes that wait to be written to the journal."),
		queueLength:   gauge("queue_length", "Records that wait to be written to the journal."),
		segments:      gauge("segments", "Segments of the journal on disk."),
		bytes:         gauge("bytes", "Size of all segments on disk, in bytes."),
		series:        gauge("series", "Series in the journal's dictionary."),
		layouts:       gauge("layouts", "Layouts in the journal's dictionary."),
		layoutColumns: gauge("layout_columns", "Columns of all layouts in the journal's dictionary."),
		producers:     gauge("producers", "Producers in the journal's dictionary."),
		forgotten: make.NewCounterVec(prometheus.CounterOpts{
			Name: "bullet_metrics_journal_forgotten_total",
			Help: "Definitions deleted because they were unused, by type: series, layout or producer.",
		}, []string{"what"}),
		unreadable: counter("read_errors_total", "Reads of the journal that failed on the disk."),
		ringBytes: gauge("ring_bytes",
			"Size of the newest entries that are kept in memory for readers without lag, in bytes."),
		epochs:   gauge("epochs", "Starts of senders that are remembered to detect duplicate batches."),
		cutBytes: counter("cut_bytes_total", "Bytes of damaged or incomplete records that were cut off the journal's end at a start."),
		damaged: counter("damaged_records_total",
			"Damaged stretches that were skipped. A stretch counts each time it is read."),
		full: make.NewCounterVec(prometheus.CounterOpts{
			Name: "bullet_metrics_journal_full_total",
			Help: "Batches that the sender must repeat later, by reason: queue, share (of the topology in the queue), disk, write or epochs.",
		}, []string{"reason"}),
		failing: gauge("failing", "1 while the journal cannot write to the disk, else 0."),
	}
}
