package runner

import (
	"context"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Describer wraps a Launcher and saves the configuration that a topology reports about itself. It asks just before the
// topology ends, when its workers have had time to report. The answer is stored with the trial. The first answer also
// completes the manifest of the run, for example with the version of Storm.
type Describer struct {
	Launcher
	run    *runstore.Run
	writer *runstore.Writer

	trial    runstore.PlannedTrial
	launched *Launched // nil while nothing runs
	name     string
}

// NewDescriber returns a Describer that delegates to launcher.
func NewDescriber(launcher Launcher, run *runstore.Run, writer *runstore.Writer) *Describer {
	return &Describer{Launcher: launcher, run: run, writer: writer}
}

// Launch implements Launcher. Only a successful launch is asked for its configuration later.
func (d *Describer) Launch(ctx context.Context, t runstore.PlannedTrial, name string) (*Launched, error) {
	launched, err := d.Launcher.Launch(ctx, t, name)
	d.trial, d.name, d.launched = t, name, nil
	if err == nil {
		d.launched = launched
	}
	return launched, err
}

// describeLimit bounds the requests to a collector that may be gone.
const describeLimit = 10 * time.Second

// End implements Launcher. A topology that broke is asked too, because its settings may explain why.
func (d *Describer) End(ctx context.Context, logs string, broken bool) error {
	if d.launched != nil {
		asking, cancel := context.WithTimeout(ctx, describeLimit)
		d.describe(asking)
		cancel()
		d.launched = nil
	}
	return d.Launcher.End(ctx, logs, broken)
}

// describe saves what the topology reports. If the collector cannot answer, nothing is saved.
func (d *Describer) describe(ctx context.Context) {
	facts := d.launched.Ports.Facts
	if facts == nil {
		return
	}
	t, err := facts.Topology(ctx, d.name)
	if err != nil {
		return
	}
	limit := tuning.Unknown
	if calculator := d.launched.Ports.Calculator; calculator != nil {
		if known, err := measure.HeapLimit(ctx, calculator, d.name, time.Now()); err == nil {
			limit = known
		}
	}
	reported := t.ReportedConfig(limit)
	if d.writer.SaveReportedConfig(d.trial, reported) != nil {
		return // the trial was never begun
	}
	if m := &d.run.Manifest; m.Versions.Storm == "" {
		m.Add(reported)
		_ = d.writer.SaveManifest(*m) // a manifest without these facts is better than none
	}
}
