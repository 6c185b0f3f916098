package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Ground is where a scenario is played: the program under trial, a directory of its own, the seed.
type Ground struct {
	// Binary is build/bullet-metrics.
	Binary string
	// Version is the version that the program reports.
	Version string
	// Dir is the scenario's own; empty at its start.
	Dir string
	// Seed makes the tries: each draws from Random(try).
	Seed uint64
	// Scale shortens durations: see Duration.
	Scale float64
	// Repository is the root of the checkout, for scenarios that run a `go test` with other flags, or Java parts.
	Repository string
	// Log gets a line a try at debug, and progress at info.
	Log *slog.Logger
}

// Settings are a collector's command line.
type Settings struct {
	// DataDir is "" for one below the ground's.
	DataDir string
	// GRPC and HTTP are its addresses; "" for free ones on loopback.
	GRPC, HTTP string
	// Flags are added behind the ground's own, and so win over them.
	Flags []string
	// Environment is added to the process's own, each NAME=VALUE.
	Environment []string
	// Namespace is a network namespace to start it in; "" for none.
	Namespace string
}

// Random is what a try draws from.
func (g *Ground) Random(try int) *rand.Rand { return rand.New(rand.NewPCG(g.Seed, uint64(try))) }

// Duration is a length of time at the ground's scale, and least at least.
func (g *Ground) Duration(full, least time.Duration) time.Duration {
	return max(least, time.Duration(g.Scale*float64(full)))
}

// Directory makes an empty directory below the ground's.
func (g *Ground) Directory(name string) (string, error) {
	dir := filepath.Join(g.Dir, name)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o750)
}

// patience is for what happens soon on a machine that is not too busy.
const patience = time.Minute

// Ports are drawn from below the range from which the system takes those of outgoing connections: a collector that is
// killed finds its own free again.
const firstPort, ports = 18_000, 14_000

// freeAddress is one on loopback that nobody listens at.
func freeAddress() (string, error) {
	var err error
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(ports))
		var l net.Listener
		if l, err = net.Listen("tcp", address); err == nil {
			return address, l.Close()
		}
	}
	return "", fmt.Errorf("no free port on loopback: %w", err)
}

// Start starts a collector and waits until it is ready. Slices are one second wide, so that each sample that a Producer
// makes is one of its own.
func (g *Ground) Start(ctx context.Context, settings Settings) (*Collector, error) {
	var err error
	if settings.DataDir == "" {
		settings.DataDir = filepath.Join(g.Dir, "data")
	}
	if settings.GRPC == "" {
		if settings.GRPC, err = freeAddress(); err != nil {
			return nil, err
		}
	}
	if settings.HTTP == "" {
		if settings.HTTP, err = freeAddress(); err != nil {
			return nil, err
		}
	}
	c := &Collector{binary: g.Binary, settings: settings, log: filepath.Join(g.Dir, "collector.log")}
	return c, c.Again(ctx)
}
