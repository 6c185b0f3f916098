package experiment

import (
	"context"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
)

// Annotated lists what is marked on a topology's time axis. A Slices that is one is asked; Collector is.
type Annotated interface {
	// MarkedWithin lists the marks that touch [from, to], by time.
	MarkedWithin(ctx context.Context, topology string, from, to time.Time) ([]Mark, error)
}

// MarkedWithin implements Annotated.
func (c *Collector) MarkedWithin(ctx context.Context, topology string, from, to time.Time) ([]Mark, error) {
	return c.marks(ctx, parameters("topology", topology, "start", from.UTC().Format(time.RFC3339Nano), "end",
		to.UTC().Format(time.RFC3339Nano)))
}

// gatherMarks keeps the collector's annotations with the run. A collector that cannot tell leaves the run without them.
func gatherMarks(ctx context.Context, collector Slices, topology string, from, to time.Time, run *rundir.Figures) {
	asked, can := collector.(Annotated)
	if !can {
		return
	}
	// what Storm's id tells is in whole seconds
	marks, err := asked.MarkedWithin(ctx, topology, from.Truncate(time.Second), to)
	if err != nil {
		return
	}
	run.Marks = []rundir.Annotation{}
	for _, m := range marks {
		kept := rundir.Annotation{ID: m.ID, StartMs: m.Start.UnixMilli(), Title: m.Title, Text: m.Text,
			Tags: append([]string{}, m.Tags...), Origin: m.Origin}
		if !m.End.IsZero() {
			kept.EndMs = m.End.UnixMilli()
		}
		run.Marks = append(run.Marks, kept)
	}
}
