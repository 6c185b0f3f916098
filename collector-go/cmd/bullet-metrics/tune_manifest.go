package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
)

// manifest is what is known before anything runs.
func (e *engine) manifest(ctx context.Context, file *experimentfile.File, now time.Time) runstore.Manifest {
	m := file.Manifest()
	m.ID, m.StartedMs, m.Command, m.ExperimentPath, m.Versions.BulletMetrics = runID(file, now), now.UnixMilli(),
		strings.Join(os.Args, " "), file.Path(), version
	if absolute, err := filepath.Abs(file.Path()); err == nil {
		m.ExperimentPath = absolute
	}
	launched := stack.DefaultOptions("", e.build)
	if java, err := launched.JavaVersion(ctx); err == nil {
		m.Versions.Java = java
	}
	if machine, err := measure.NewProc(); err == nil {
		m.Machine = machine.Describe()
	}
	m.Machine.Role = runstore.LoadHost
	local := file.Launch.Local
	if local == nil {
		return m
	}
	m.Machine.Role = runstore.OnlyMachine
	m.Machine.Network = "all over loopback; " + m.Machine.Network
	if launched.Kafka = kafkaOf(local); launched.KafkaVersion() != "" {
		m.Versions.Kafka = launched.KafkaVersion()
		if !m.Records.CompressionRatio.Known() {
			m.Records.CompressionRatio, m.Records.Note = 1, "not compressed by the producer and broker of the run"
		}
	}
	return m
}

// kafkaOf is the broker of a local launch; nil for none.
func kafkaOf(local *experimentfile.Local) *stack.Kafka {
	if local.Kafka == nil {
		return nil
	}
	return &stack.Kafka{Bootstrap: local.Kafka.Bootstrap, Partitions: local.Kafka.Partitions}
}
