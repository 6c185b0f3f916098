package grid

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Options are the settings of a store. DefaultOptions suits a cluster of some thousand workers.
type Options struct {
	// Partition is the longest time range of a part, and thereby the unit in which retention deletes slices. The
	// default is 6 h.
	Partition time.Duration
	// FlushHandOvers is the number of hand-overs with slices after which everything in memory is written. A feed hands
	// over once a second. The default is 600, so a restart replays ten minutes of the journal.
	FlushHandOvers int
	// IdleHandOvers is the number of hand-overs without a slice after which everything is written and the durable
	// position moves on. Without it, a topology that stopped would keep the journal from deleting its records. The
	// default is 600.
	IdleHandOvers int
	// HeadBytes limits the memory for slices. At the limit, the store accepts nothing until some are written. At a
	// third of it, slices are written early. At an eighth, they are written early if there are at least 64 per series
	// on average, or if none arrived for five hand-overs. The default is 512 MiB; 40,000 series need about 20 MiB for
	// ten minutes.
	HeadBytes int
	// MaxSeries limits the series in memory, at about 0.5 KB each in addition to their slices. Slices of a further
	// series are rejected with RejectedSeries. The default is 1,000,000.
	MaxSeries int
	// RetentionTime is how long partitions are kept. It counts back from Now, or from the newest slice if that is
	// older. 0 keeps everything. The default is 15 days, as in Prometheus.
	RetentionTime time.Duration
	// RetentionBytes is the total size above which the oldest parts are deleted. 0 means no limit. The default is 8
	// GiB.
	RetentionBytes int64
	// MinFreeBytes is the free space below which nothing is written, so that the disk does not fill up in the middle of
	// a write. The default is 256 MiB. It never counts for more than a twentieth of the file system.
	MinFreeBytes uint64
	// ReclaimAfter is how long the disk must continuously have less than MinFreeBytes before the oldest parts are
	// deleted. The parts of the last two partitions are kept. If deleting the others would not free enough, none is
	// deleted. Until then senders wait, so another program that fills the disk briefly causes no loss. The default is 5
	// minutes; senders keep an hour of samples.
	ReclaimAfter time.Duration
	// Now is the collector's clock, from which RetentionTime counts back. If it is nil, time.Now is used.
	Now func() time.Time
	// FS is the file system of the store. If it is nil, the operating system's is used.
	FS disk.FS

	Logger     *slog.Logger          // nil logs nothing
	Registerer prometheus.Registerer // nil exports no metrics
}

// DefaultOptions returns the defaults that are described at Options.
func DefaultOptions() Options {
	return Options{
		Partition:      6 * time.Hour,
		FlushHandOvers: 600,
		IdleHandOvers:  600,
		HeadBytes:      512 << 20,
		MaxSeries:      1_000_000,
		RetentionTime:  15 * 24 * time.Hour,
		RetentionBytes: 8 << 30,
		MinFreeBytes:   256 << 20,
		ReclaimAfter:   5 * time.Minute,
	}
}

// Validate returns an error that names the invalid setting.
func (o Options) Validate() error {
	switch {
	case o.Partition < time.Minute:
		return fmt.Errorf("grid store: partition %s is below 1m", o.Partition)
	case o.FlushHandOvers < 1 || o.IdleHandOvers < 1:
		return errors.New("grid store: the number of hand-overs between two writes must be positive")
	case o.HeadBytes < 1<<20:
		return fmt.Errorf("grid store: %d bytes of memory for slices are below 1 MiB", o.HeadBytes)
	case o.MaxSeries < 1 || o.MaxSeries > 1<<30:
		return errors.New("grid store: series must be between 1 and 2^30")
	case o.RetentionTime < 0 || o.RetentionBytes < 0:
		return errors.New("grid store: retention cannot be negative; 0 means no limit")
	case o.ReclaimAfter < 0:
		return errors.New("grid store: the time until slices are deleted for lack of space cannot be negative")
	}
	return nil
}

// filled returns the options with defaults in place of nil.
func (o Options) filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.FS == nil {
		o.FS = disk.System{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
