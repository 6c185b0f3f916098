package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/campaign"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/experiment"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/spec"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// newManifest is what is known before anything runs.
func newManifest(id string, file *spec.File, now time.Time) rundir.Manifest {
	m := rundir.Manifest{ID: id, StartedMs: now.UnixMilli(), Command: commandLine(), ExperimentPath: file.Path(), Versions: rundir.Versions{BulletMetrics: version}}
	if absolute, err := filepath.Abs(file.Path()); err == nil {
		m.ExperimentPath = absolute
	}
	r := file.Records
	m.Records = rundir.Records{Fields: r.Fields, Strings: r.Strings, Longs: r.Longs, Maps: r.Maps, ListsOfMaps: r.ListsOfMaps, MeanRecordBytes: tuning.Figure(r.MeanSize),
		CompressionRatio: tuning.Unknown}
	if r.CompressionRatio > 0 {
		m.Records.CompressionRatio = tuning.Figure(r.CompressionRatio)
	}
	m.Machine.UsableCores = tuning.Unknown
	if machine, err := experiment.NewProc(); err == nil {
		m.Machine = machine.Describe()
	}
	return m
}

// describer adds to the manifest what the first topology tells of itself, once it is measured.
type describer struct {
	campaign.Launcher
	run       *rundir.Run
	writer    *rundir.Writer
	file      *spec.File
	facts     experiment.Facts
	name      string
	described bool
}

// Launch implements campaign.Launcher.
func (d *describer) Launch(ctx context.Context, t rundir.PlannedTrial, name string) (*campaign.Launched, error) {
	launched, err := d.Launcher.Launch(ctx, t, name)
	if err == nil {
		d.facts, d.name = launched.Ports.Facts, name
	}
	return launched, err
}

// End implements campaign.Launcher: before the topology ends, it is asked.
func (d *describer) End(ctx context.Context, logs string, broken bool) error {
	if !d.described && d.facts != nil && !broken {
		if t, err := d.facts.Topology(ctx, d.name); err == nil {
			t.Describe(&d.run.Manifest)
			d.described = d.writer.SaveManifest(d.run.Manifest) == nil
		}
	}
	return d.Launcher.End(ctx, logs, broken)
}
