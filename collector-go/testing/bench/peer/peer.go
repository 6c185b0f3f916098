// Package peer is the servers that a collector is measured beside: how each is started, sent rows and asked how many it
// has. It owns their wire formats; it will never know what a figure is judged by.
package peer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// Peer is a server that takes rows. Start is called first, and again after its process has ended, over the same
// directory. All but Sender are for one goroutine.
type Peer interface {
	// Start starts the server over a directory, and returns once it takes rows.
	Start(ctx context.Context, dir string) (*bench.Process, error)
	// Sender is a connection to the server that was started, for one goroutine.
	Sender() (Sender, error)
	// Count is how many values of a metric the server answers, and their sum.
	Count(ctx context.Context, metric int, of Span) (values, sum float64, err error)
}

// Sender sends rows, and returns once the server has answered that it has them.
type Sender interface {
	Send(ctx context.Context, rows Rows) error
	Close()
}

// Rows are of some hosts at one time.
type Rows struct {
	// First is the number of the first host, Values are host by host.
	First   int
	Metrics int
	Values  []float64
	TimeMs  int64
}

// Span is the time that rows are of, both ends with it.
type Span struct{ FirstMs, LastMs int64 }

// Kind is what is known of a peer before it is started.
type Kind struct {
	// Name is how results name it, Durability what its defaults promise of a row that it has answered.
	Name, Title, Durability string
	// Open gives one that runs from the tools' directory; an error states what is missing.
	Open func(tools string) (Peer, error)
}

// Kinds are all peers.
var Kinds = []Kind{
	{"victoria", "VictoriaMetrics", "answers before a row is on disk; written within 5 s, synced in the background",
		newVictoria},
	{"questdb", "QuestDB", "answers once its log is written, which is not synced (cairo.commit.mode=nosync)",
		newQuestDB},
	{"influxdb", "InfluxDB 1", "answers once its log is synced", newInfluxDB},
}

// Named is the kind of a name.
func Named(name string) (Kind, bool) {
	for _, k := range Kinds {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// program is one of the tools, where it was built.
func program(tools, name string) (string, error) {
	path := filepath.Join(tools, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s was not built: make bench-peers says why", name)
	}
	return filepath.Abs(path)
}

// Check compares what a peer answers with what was sent.
func Check(ctx context.Context, p Peer, of Span, hosts, steps int, sums []float64, inexact bool) error {
	for metric, want := range sums {
		values, sum, err := p.Count(ctx, metric, of)
		switch {
		case err != nil:
			return err
		case values != float64(hosts*steps):
			return fmt.Errorf("%.0f values of %s answer, and %d were sent", values, bench.Field(metric), hosts*steps)
		case !bench.Same(sum, want, inexact):
			return fmt.Errorf("the values of %s add up to %.15g, and %.15g was sent", bench.Field(metric), sum, want)
		}
	}
	return nil
}

// Settling: a server is quiet once it has used less than quietCores for quietFor, and is no longer waited for after
// settleMost.
const (
	quietFor   = 3 * time.Second
	quietCores = 0.1
	settleMost = 2 * time.Minute
)

// Settle waits until a server no longer works on what it was sent. It returns false where it still did after two
// minutes.
func Settle(ctx context.Context, p *bench.Process) (quiet bool, err error) {
	looking := time.NewTicker(quietFor)
	defer looking.Stop()
	before := time.Duration(math.MaxInt64)
	for deadline := time.Now().Add(settleMost); time.Now().Before(deadline); {
		now, err := p.CPU(ctx)
		if err != nil {
			return false, err
		}
		if before != math.MaxInt64 && (now-before).Seconds() < quietCores*quietFor.Seconds() {
			return true, nil
		}
		before = now
		select {
		case <-looking.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	return false, nil
}

// errEnded is of a peer that is used before it was started.
var errEnded = errors.New("the server has not been started")
