package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Options are a store's settings. DefaultOptions gives each a value that fits a topology of some hundred workers.
type Options struct {
	// BlockDuration is the shortest block: about 1.5 of these are in memory and are replayed after a crash. 10 min by default,
	// so that a replay takes seconds.
	BlockDuration time.Duration
	// MaxBlockDuration bounds what merging makes of blocks; ranges grow threefold from BlockDuration. 5 h by default.
	MaxBlockDuration time.Duration
	// OutOfOrderWindow is how far behind the newest slice end another may be. 75 min by default: 1 h that a sender may hold a
	// batch back, 10 min that another source's clock may be ahead, and lateness with a pack's span.
	OutOfOrderWindow time.Duration
	// RetentionTime deletes blocks that lie this far behind the newest; 0 keeps all. 15 days by default, as Prometheus does.
	RetentionTime time.Duration
	// RetentionBytes deletes the oldest blocks above this size; 0 sets no bound. 8 GiB by default.
	RetentionBytes int64
	// MinFreeBytes is the room on the disk below which the store takes nothing (ErrNoSpace), so that it never meets a full disk
	// half way through a write. 256 MiB by default, and never more than a twentieth of the file system.
	MinFreeBytes uint64
	// MaxHeadSamples bounds what is in memory: above it everything is written into blocks, whatever its age. 20 million by
	// default (some 100 MB).
	MaxHeadSamples int
	// IdleHandOvers is after how many hand-overs without a slice everything is written into blocks and the cursor moves on: a
	// topology that stopped does not hold the journal. A feed hands over once a second; 600 by default.
	IdleHandOvers int

	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // nil: no figures
}

// DefaultOptions returns the settings described at Options.
func DefaultOptions() Options {
	return Options{
		BlockDuration:    10 * time.Minute,
		MaxBlockDuration: 5 * time.Hour,
		OutOfOrderWindow: 75 * time.Minute,
		RetentionTime:    15 * 24 * time.Hour,
		RetentionBytes:   8 << 30,
		MinFreeBytes:     256 << 20,
		MaxHeadSamples:   20_000_000,
		IdleHandOvers:    600,
	}
}

// Validate says which setting cannot be.
func (o Options) Validate() error {
	switch {
	case o.BlockDuration < time.Second:
		return fmt.Errorf("embedded store: block duration %s is below 1s", o.BlockDuration)
	case o.MaxBlockDuration < o.BlockDuration:
		return fmt.Errorf("embedded store: longest block %s is shorter than the shortest, %s", o.MaxBlockDuration, o.BlockDuration)
	case o.OutOfOrderWindow < time.Second:
		return fmt.Errorf("embedded store: out-of-order window %s is below 1s", o.OutOfOrderWindow)
	case o.RetentionTime < 0 || o.RetentionBytes < 0:
		return errors.New("embedded store: retention cannot be negative; 0 means no bound")
	case o.MaxHeadSamples < 1:
		return errors.New("embedded store: the head must hold at least one sample")
	case o.IdleHandOvers < 1:
		return errors.New("embedded store: hand-overs until idle must be positive")
	}
	return nil
}
