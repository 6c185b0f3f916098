package grid

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Options are the settings of a store. DefaultOptions suit a cluster of some thousand workers.
type Options struct {
	// Partition is how much time a part covers at most: what retention deletes at once. 6 h by default.
	Partition time.Duration
	// FlushHandOvers is the number of hand-overs with slices after which everything in memory is written. A feed hands
	// over once a second. The default is 600, so that a restart replays ten minutes of the journal.
	FlushHandOvers int
	// IdleHandOvers is the number of hand-overs without a slice after which everything is written and the durable
	// position moves on. Without it, a topology that stopped would keep the journal from deleting its records. The
	// default is 600.
	IdleHandOvers int
	// HeadBytes bounds what slices take of memory. From a third of it on they are written, whatever their age, and from
	// an eighth on where those that have some have 64 and more on average, or none has come for five hand-overs. At it
	// the store takes nothing until some are written. 512 MiB by default: 40,000 series need about 20 MiB for ten
	// minutes.
	HeadBytes int
	// MaxSeries bounds the series that slices come in for; at about 0.5 KB each beside their slices. One beyond it is
	// rejected by name. 1,000,000 by default.
	MaxSeries int
	// RetentionTime deletes partitions that lie this far behind Now, or behind the newest slice where that is older; 0
	// keeps all. 15 days by default, as Prometheus does.
	RetentionTime time.Duration
	// RetentionBytes deletes the oldest parts above this size; 0 sets no bound. 8 GiB by default.
	RetentionBytes int64
	// MinFreeBytes is the room on the disk below which nothing is written, so that a write never meets a full disk half
	// way through. 256 MiB by default, and never more than a twentieth of the file system.
	MinFreeBytes uint64
	// ReclaimAfter is how long the disk must have had less than MinFreeBytes, without a break, before the oldest parts
	// go, but not those of the last two partitions, and none where that would not make the room. Until then senders
	// wait: a disk that another program fills for a moment costs nothing that cannot be brought back. 5 minutes by
	// default: senders keep an hour.
	ReclaimAfter time.Duration
	// Now is the collector's clock, from which retention by time counts back; nil: time.Now.
	Now func() time.Time
	// FS is where the store lies; nil: the operating system's.
	FS disk.FS

	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // nil: no figures
}

// DefaultOptions returns the settings described at Options.
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

// Validate names the setting that cannot be.
func (o Options) Validate() error {
	switch {
	case o.Partition < time.Minute:
		return fmt.Errorf("grid store: partition %s is below 1m", o.Partition)
	case o.FlushHandOvers < 1 || o.IdleHandOvers < 1:
		return errors.New("grid store: hand-overs until slices are written must be positive")
	case o.HeadBytes < 1<<20:
		return fmt.Errorf("grid store: %d bytes of memory for slices are below 1 MiB", o.HeadBytes)
	case o.MaxSeries < 1 || o.MaxSeries > 1<<30:
		return errors.New("grid store: series must be between 1 and 2^30")
	case o.RetentionTime < 0 || o.RetentionBytes < 0:
		return errors.New("grid store: retention cannot be negative; 0 means no bound")
	case o.ReclaimAfter < 0:
		return errors.New("grid store: the time until slices go for room cannot be negative")
	}
	return nil
}

// filled is the options with what nil stands for.
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
