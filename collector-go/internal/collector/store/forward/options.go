package forward

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Options of a store on the network.
type Options struct {
	// Name of the store, the label "store" of its figures.
	Name string
	// MaxSlices and MaxBytes (before compression) bound a request. One slice that is larger than MaxBytes goes alone.
	MaxSlices int
	MaxBytes  int
	// Timeout of one request, from connecting to the last byte of the answer.
	Timeout time.Duration
	// IdleHandOvers is after how many hand-overs without a slice the cursor is written.
	IdleHandOvers int
	// FS is where the cursor is kept; nil is the operating system's.
	FS disk.FS

	Now        func() time.Time      // the clock; only a refused point's reason depends on it
	Logger     *slog.Logger          // nil: silent
	Registerer prometheus.Registerer // nil: no figures
}

// DefaultOptions for a store of that name.
func DefaultOptions(name string) Options {
	return Options{
		Name:          name,
		MaxSlices:     2000,             // what Prometheus sends at once
		MaxBytes:      4 << 20,          // well below what any receiver takes
		Timeout:       30 * time.Second, // Prometheus' own
		IdleHandOvers: 60,               // a minute
		Now:           time.Now,
	}
}

// Validate returns an error that names the invalid option.
func (o Options) Validate() error {
	switch {
	case o.Name == "":
		return errors.New("forward: a store needs a name")
	case o.MaxSlices < 1 || o.MaxBytes < 1:
		return fmt.Errorf("forward to %s: a request must have room for a slice", o.Name)
	case o.Timeout <= 0:
		return fmt.Errorf("forward to %s: the timeout must be positive", o.Name)
	case o.IdleHandOvers < 1:
		return fmt.Errorf("forward to %s: hand-overs until the cursor is written must be positive", o.Name)
	case o.Now == nil:
		return fmt.Errorf("forward to %s: a clock is required", o.Name)
	}
	return nil
}
