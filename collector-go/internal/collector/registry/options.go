package registry

import (
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/live"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
)

// Limits bound the size of the registry's state. At a limit, either the new item is rejected or an old one is deleted.
// Both are counted in bullet_metrics_registry_dropped_total.
type Limits struct {
	// Topologies limits the number of topology names. At the limit, the one that was heard longest ago is forgotten.
	// Connected topologies are forgotten last.
	Topologies int
	// Runs limits the number of runs that are kept for each topology, including the current one. Every submission is a
	// run.
	Runs int
	// These limits apply to each run.
	Components, Settings, Workers, Tasks, Producers int
	// TextBytes limits each name and value that a producer sends, in bytes.
	TextBytes int
	// Annotations limits the annotations of producers and clients, and, separately, those that the registry makes. At
	// the limit, the topology that has most loses its oldest.
	Annotations int
	// AnnotationBytes limits the total size of the annotations in bytes, separately for each of the two kinds.
	AnnotationBytes int
	// AnnotationAge is how long annotations are kept.
	AnnotationAge time.Duration
}

// Times are the durations by which the registry decides that something changed.
type Times struct {
	// Silence decides when a worker is gone. It was then not heard for Silence plus three of its reporting intervals,
	// and for at least three times Silence.
	Silence time.Duration
	// Startup is how long after the start of a run its new workers count as part of the submission.
	Startup time.Duration
	// Settle is how long, in addition to the workers' longest reporting interval, an assignment must not change before
	// its changes are reported as one.
	Settle time.Duration
	// LongestPlacementChange is the longest time for which changes of an assignment are collected into one annotation.
	LongestPlacementChange time.Duration
}

// Options configure a registry.
type Options struct {
	// Dir is the directory of the checkpoints.
	Dir string
	// FS is the file system for the checkpoints. If it is nil, the operating system's is used.
	FS disk.FS
	// CheckpointTicks is the number of journal ticks (seconds) between two checkpoints.
	CheckpointTicks int
	Limits          Limits
	Times           Times
	Registerer      prometheus.Registerer // may be nil
	Logger          *slog.Logger
	// Live also receives all entries; nil: none. It needs the same definitions as the registry, from the same entries.
	Live *live.Live
	// Now returns the current time. Annotate uses it for time stamps, and views use it to decide what is alive.
	Now func() time.Time
}

// DefaultOptions returns options for a collector that monitors a cluster of topologies.
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
			Silence: 30 * time.Second, // the lateness allowed to samples
			Startup: 3 * time.Minute,
			Settle:  20 * time.Second,
			// This suits a topology whose tasks report once a minute.
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
			return errors.New("registry: all limits must be positive")
		}
	}
	if o.Dir == "" || o.Logger == nil || o.Now == nil {
		return errors.New("registry: a directory, a logger and a clock are required")
	}
	return nil
}
