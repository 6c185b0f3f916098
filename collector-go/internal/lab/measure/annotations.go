package measure

import (
	"context"
	"net/url"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// Annotated lists the annotations on a topology's time axis. It is an optional extension of Slices, which Collector
// implements.
type Annotated interface {
	// AnnotationsWithin returns the annotations that overlap [from, to], sorted by time.
	AnnotationsWithin(ctx context.Context, topology string, from, to time.Time) ([]Annotation, error)
}

// AnnotationsWithin implements Annotated.
func (c *Collector) AnnotationsWithin(ctx context.Context, topology string, from, to time.Time) ([]Annotation, error) {
	return c.annotations(ctx, url.Values{"topology": {topology}, "start": {from.UTC().Format(time.RFC3339Nano)},
		"end": {to.UTC().Format(time.RFC3339Nano)}})
}

// gatherAnnotations copies the collector's annotations into the run. If the collector cannot list them, the run has
// none.
func gatherAnnotations(ctx context.Context, collector Slices, topology string, from, to time.Time,
	run *runstore.Figures) {
	asked, can := collector.(Annotated)
	if !can {
		return
	}
	// the start time in Storm's topology id has whole seconds
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
