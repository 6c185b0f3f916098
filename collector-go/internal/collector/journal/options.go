package journal

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Options are the journal's settings. Start from DefaultOptions. Sizes are in bytes.
type Options struct {
	// SegmentBytes is how much is written to a segment, in addition to its header, before the next one starts. It is at
	// most an eighth of MaxBytes, because space is freed by whole segments.
	SegmentBytes int64
	// MaxBytes bounds the segments on disk. Beyond it Append returns ErrFull until Release has freed space. Control
	// records are still accepted (about 3 MB a day), and a segment header may exceed the bound once.
	MaxBytes int64
	// QueueBytes bounds the records that wait in memory. Beyond it Append returns ErrFull.
	QueueBytes int64
	// MaxSeries bounds the dictionary of series over all topologies.
	MaxSeries int
	// MaxLayouts bounds the dictionary of layouts. MaxLayoutColumns bounds the series that they list, counted as often
	// as they are listed.
	MaxLayouts       int
	MaxLayoutColumns int
	// MaxProducers bounds the dictionary of producers.
	MaxProducers int
	// MaxEpochs bounds how many epochs of senders are remembered for deduplication.
	MaxEpochs int
	// RingBytes bounds the newest entries that are kept in memory until all readers have received them, for readers
	// that keep up. 0 keeps none.
	RingBytes int64
	// GatherInterval is the least time between two writes while little is queued. Senders of small messages then share
	// a write and an fsync, and each reader is signalled once. A write after a longer pause is not delayed. 0 delays
	// none.
	GatherInterval time.Duration
	// CalmInterval is the same while records are rare (8 ms apart or more on average), unless 31 are queued, or as many
	// as streams are open. 0 means GatherInterval.
	CalmInterval time.Duration
	// RetryInterval is how long to wait after a failed write before trying again. A refused sender waits as long
	// (FullError.RetryAfter). The journal also checks once per RetryInterval whether its file is still in the
	// directory.
	RetryInterval time.Duration
	// MakeRoomAfter is how long the disk must be short of space, without interruption, before NearlyFull requests
	// segments. Another program may fill the disk for a moment, and a deleted segment cannot be restored.
	MakeRoomAfter time.Duration
	// Now is the clock for MakeRoomAfter. nil means time.Now.
	Now func() time.Time
	// Stepped makes the journal start no goroutine. Only Commit writes what is queued and retries a failed disk. It is
	// for simulations, in which nothing may happen by itself.
	Stepped bool
	// FS is the file system of the segments; nil for the operating system's.
	FS disk.FS
	// Logger receives what an operator should know. nil discards it.
	Logger *slog.Logger
	// Registerer receives the journal's metrics. It may be nil.
	Registerer prometheus.Registerer
}

// Gather is a GatherInterval for a collector with senders on the network. It limits small messages to 200 fsyncs per
// second. A sender with 64 batches in flight still delivers 12,800 batches per second. It is not the default because it
// slows down a caller that waits for each of its batches.
const Gather = 5 * time.Millisecond

// Calm is a CalmInterval for the same collector. Workers that send every 10 s do not wait for the answer.
const Calm = 250 * time.Millisecond

// DefaultOptions returns the options of a collector for one large topology. Each limit protects memory or disk: a
// sender that exceeds one is refused with a reason and keeps its batch.
func DefaultOptions() Options {
	return Options{
		SegmentBytes:     64 << 20, // about ten million samples; a restart reads at most one segment
		MaxBytes:         8 << 30,  // a day of 15,000 samples per second
		QueueBytes:       32 << 20, // more than a second of writing to any disk
		MaxSeries:        500_000,  // four topologies of 1,162 executors; about 150 MB
		MaxLayoutColumns: 4 << 20,  // each series in a few layouts; 16 MB
		MaxLayouts:       65_536,   // a few for each worker of 10,000
		MaxProducers:     65_536,   // every place where a consumer task ran within a day
		MaxEpochs:        65_536,   // restarts of senders in 24 h
		// a second of two million samples: a reader that lags further reads the file
		RingBytes:     16 << 20,
		MakeRoomAfter: 5 * time.Minute, // senders keep batches for an hour
		RetryInterval: time.Second,     // a full disk is checked once a second
	}
}

const (
	leastSegmentBytes = 4 << 10
	maxSegmentBytes   = 1 << 31
)

// Validate returns an error that names the setting that is out of range.
func (o Options) Validate() error {
	for _, bound := range []struct {
		name       string
		value, min int64
	}{
		{"SegmentBytes", o.SegmentBytes, leastSegmentBytes},
		{"MaxBytes", o.MaxBytes, 8 << 10},
		{"QueueBytes", o.QueueBytes, 4 << 10},
		{"MaxSeries", int64(o.MaxSeries), 1},
		{"MaxLayouts", int64(o.MaxLayouts), 1},
		{"MaxLayoutColumns", int64(o.MaxLayoutColumns), 1},
		{"MaxProducers", int64(o.MaxProducers), 1},
		{"MaxEpochs", int64(o.MaxEpochs), 1},
		{"RingBytes", o.RingBytes, 0},
		{"GatherInterval", int64(o.GatherInterval), 0},
		{"MakeRoomAfter", int64(o.MakeRoomAfter), 0},
		{"RetryInterval", int64(o.RetryInterval), 1},
	} {
		if bound.value < bound.min {
			return fmt.Errorf("journal: %s is %d; it must be at least %d", bound.name, bound.value, bound.min)
		}
	}
	if o.SegmentBytes > maxSegmentBytes {
		return fmt.Errorf("journal: SegmentBytes is %d; it must be at most %d", o.SegmentBytes, int64(maxSegmentBytes))
	}
	return nil
}
