package journal

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/instrument"
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
	make := instrument.New("bullet_metrics_journal_", nil)
	f := &figures{
		records: make.Counter("appended_records_total", "Records written and synced to disk."),
		written: make.Counter("appended_bytes_total", "Bytes written and synced to disk, including segment headers."),
		fsync: make.Histogram("fsync_duration_seconds", "Duration of one write and fsync of a group of records, in seconds.",
			true, prometheus.ExponentialBuckets(0.0001, 2, 16)),
		fsyncFailed:   make.Counter("failed_writes_total", "Failed writes and fsyncs. Each one closes the current segment."),
		queueBytes:    make.Gauge("queue_bytes", "Bytes that wait to be written to the journal."),
		queueLength:   make.Gauge("queue_length", "Records that wait to be written to the journal."),
		segments:      make.Gauge("segments", "Segments of the journal on disk."),
		bytes:         make.Gauge("bytes", "Size of all segments on disk, in bytes."),
		series:        make.Gauge("series", "Series in the journal's dictionary."),
		layouts:       make.Gauge("layouts", "Layouts in the journal's dictionary."),
		layoutColumns: make.Gauge("layout_columns", "Columns of all layouts in the journal's dictionary."),
		producers:     make.Gauge("producers", "Producers in the journal's dictionary."),
		forgotten: make.Counters("forgotten_total",
			"Definitions deleted because they were unused, by type: series, layout or producer.", "what"),
		unreadable: make.Counter("read_errors_total", "Reads of the journal that failed on the disk."),
		ringBytes: make.Gauge("ring_bytes",
			"Size of the newest entries that are kept in memory for readers without lag, in bytes."),
		epochs:   make.Gauge("epochs", "Starts of senders that are remembered to detect duplicate batches."),
		cutBytes: make.Counter("cut_bytes_total", "Bytes of damaged or incomplete records that were cut off the journal's end at a start."),
		damaged: make.Counter("damaged_records_total",
			"Damaged stretches that were skipped. A stretch counts each time it is read."),
		full: make.Counters("full_total",
			"Batches that the sender must repeat later, by reason: queue, share (of the topology in the queue), disk, write or epochs.", "reason"),
		failing: make.Gauge("failing", "1 while the journal cannot write to the disk, else 0."),
	}
	make.Register(registerer)
	return f
}
