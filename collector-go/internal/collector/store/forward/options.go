package forward

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Options are the settings of a store on the network.
type Options struct {
	// Name is the store's name, which is the label "store" of its metrics.
	Name string
	// MaxSlices and MaxBytes (before compression) limit the size of a request. A slice that is larger than MaxBytes is
	// sent alone.
	MaxSlices int
	MaxBytes  int
	// Timeout limits one request, from connecting to the last byte of the answer.
	Timeout time.Duration
	// IdleHandOvers is the number of hand-overs without a slice after which the cursor is written.
	IdleHandOvers int
	// FS is the file system for the cursor. If it is nil, the operating system's is used.
	FS disk.FS

	Now        func() time.Time      // the clock; only the reason of a refused point depends on it
	Logger     *slog.Logger          // nil logs nothing
	Registerer prometheus.Registerer // nil exports no metrics
}

// DefaultOptions returns the options for a store with a name.
func DefaultOptions(name string) Options {
	return Options{
		Name:          name,
		MaxSlices:     2000,             // as many as Prometheus sends at once
		MaxBytes:      4 << 20,          // well below the limit of any receiver
		Timeout:       30 * time.Second, // as in Prometheus
		IdleHandOvers: 60,               // one minute
		Now:           time.Now,
	}
}

// Validate returns an error that names the invalid option.
func (o Options) Validate() error {
	switch {
	case o.Name == "":
		return errors.New("forward: a store needs a name")
	case o.MaxSlices < 1 || o.MaxBytes < 1:
		return fmt.Errorf("forward to %s: a request must hold at least one slice", o.Name)
	case o.Timeout <= 0:
		return fmt.Errorf("forward to %s: the timeout must be positive", o.Name)
	case o.IdleHandOvers < 1:
		return fmt.Errorf("forward to %s: the number of hand-overs between two writes of the cursor must be positive", o.Name)
	case o.Now == nil:
		return fmt.Errorf("forward to %s: a clock is required", o.Name)
	}
	return nil
}
