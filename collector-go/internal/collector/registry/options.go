package registry

import (
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Limits bound what is kept. What goes beyond is turned away, or the oldest goes; either is counted.
type Limits struct {
	// Topologies by name; the one that was heard longest ago makes room, one that is connected last.
	Topologies int
	// Runs of a topology that are remembered, the running one included: every submission has an id of its own.
	Runs int
	// Of one run.
	Components, Settings, Workers, Tasks, Producers int
	// TextBytes bounds each name and value that a producer sent.
	TextBytes int
	// Annotations that somebody set, and as many that the registry made itself; the topology that has most makes room.
	Annotations int
	// AnnotationBytes bounds their texts together, each kind for itself.
	AnnotationBytes int
	// AnnotationAge is how long they are kept.
	AnnotationAge time.Duration
}

// Times decide what a change is.
type Times struct {
	// Silence of a worker beyond this and three of its reporting intervals means that it is gone.
	Silence time.Duration
	// Startup of a run: workers that join so early came with the submission.
	Startup time.Duration
	// Settle is how long an assignment must rest before its changes are reported as one; a worker's reporting interval
	// comes on top.
	Settle time.Duration
	// LongestPlacementChange bounds how long changes of an assignment are gathered.
	LongestPlacementChange time.Duration
}

// Options of a registry.
type Options struct {
	// Dir is where its checkpoints are.
	Dir string
	// FS is where they are kept; nil is the operating system's.
	FS disk.FS
	// CheckpointTicks is how many of the journal's ticks (seconds) lie between two checkpoints.
	CheckpointTicks int
	Limits          Limits
	Times           Times
	Registerer      prometheus.Registerer // may be nil
	Logger          *slog.Logger
	// Now is the clock by which Annotate stamps and readers see who is alive.
	Now func() time.Time
}

// DefaultOptions are those of a collector for a cluster of topologies.
func DefaultOptions(dir string) Options {
	return Options{
		Dir:             dir,
		CheckpointTicks: 300, // replaying five minutes takes a second or two
		Limits: Limits{
			Topologies: 256, Runs: 8,
			Components: 1_000, Settings: 1_000, Workers: 4_096, Tasks: 100_000, Producers: 1_024,
			TextBytes:   1_024,
			Annotations: 5_000, AnnotationBytes: 8 << 20, AnnotationAge: 90 * 24 * time.Hour,
		},
		Times: Times{
			Silence: 30 * time.Second, // what a sample may be late
			Startup: 3 * time.Minute,
			Settle:  20 * time.Second,
			// Of a topology whose tasks report once a minute.
			LongestPlacementChange: 5 * time.Minute,
		},
		Logger: slog.New(slog.DiscardHandler),
		Now:    time.Now,
	}
}

// Validate returns an error that names the invalid option.
func (o Options) Validate() error {
	l := o.Limits
	for _, bound := range []int{l.Topologies, l.Runs, l.Components, l.Settings, l.Workers, l.Tasks, l.Producers,
		l.TextBytes, l.Annotations, l.AnnotationBytes,
		int(l.AnnotationAge), o.CheckpointTicks} {
		if bound < 1 {
			return errors.New("registry: every limit must be positive")
		}
	}
	if o.Dir == "" || o.Logger == nil || o.Now == nil {
		return errors.New("registry: a directory, a logger and a clock are required")
	}
	return nil
}
