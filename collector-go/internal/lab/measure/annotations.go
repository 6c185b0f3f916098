package measure

import (
	"context"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// Annotated lists the annotations on a topology's time axis. A Slices that is one is asked; Collector is.
type Annotated interface {
	// AnnotationsWithin lists the annotations that touch [from, to], by time.
	AnnotationsWithin(ctx context.Context, topology string, from, to time.Time) ([]Annotation, error)
}

// AnnotationsWithin implements Annotated.
func (c *Collector) AnnotationsWithin(ctx context.Context, topology string, from, to time.Time) ([]Annotation, error) {
	return c.annotations(ctx, parameters("topology", topology, "start", from.UTC().Format(time.RFC3339Nano), "end",
		to.UTC().Format(time.RFC3339Nano)))
}

// gatherAnnotations keeps the collector's annotations with the run. A collector that cannot say leaves the run without
// them.
func gatherAnnotations(ctx context.Context, collector Slices, topology string, from, to time.Time,
	run *runstore.Figures) {
	asked, can := collector.(Annotated)
	if !can {
		return
	}
	// what Storm's id states is in whole seconds
	found, err := asked.AnnotationsWithin(ctx, topology, from.Truncate(time.Second), to)
	if err != nil {
		return
	}
	run.Annotations = []runstore.Annotation{}
	for _, m := range found {
		kept := runstore.Annotation{ID: m.ID, StartMs: m.Start.UnixMilli(), Title: m.Title, Text: m.Text,
			Tags: append([]string{}, m.Tags...), Origin: m.Origin}
		if !m.End.IsZero() {
			kept.EndMs = m.End.UnixMilli()
		}
		run.Annotations = append(run.Annotations, kept)
	}
}
