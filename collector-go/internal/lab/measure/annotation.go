package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Annotation is a note on the topology's time axis. The ID identifies it: a later annotation with the same id is added
// to the earlier one.
type Annotation struct {
	ID          string
	Topology    string
	Start, End  time.Time // End is zero while it is open
	Title, Text string
	Tags        []string
	Origin      string // who made it, as the collector reports
}

// KilledTag is the tag by which a collector recognises that a topology was killed on purpose (docs/annotations.md).
const KilledTag = "killed"

// Killed returns the annotation for a topology that is killed at the given time because its measurement is over.
func Killed(topology string, at time.Time) Annotation {
	return Annotation{ID: KilledTag, Topology: topology, Start: at,
		Title: "Killed by bullet-metrics at the end of its trial", Tags: []string{KilledTag}}
}

// Annotations stores a run's steps as annotations. Collector implements it.
type Annotations interface {
	Annotate(ctx context.Context, m Annotation) error
}

// Annotate stores an annotation and returns when it is on the collector's disk. The call may be repeated.
func (c *Collector) Annotate(ctx context.Context, m Annotation) error {
	body := map[string]any{"id": m.ID, "topology": m.Topology, "time": epochSeconds(m.Start), "title": m.Title,
		"text": m.Text, "tags": m.Tags}
	if !m.End.IsZero() {
		body["end_time"] = epochSeconds(m.End)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("annotation %q: %w", m.Title, err)
	}
	return c.client.Call(ctx, http.MethodPost, "/api/v1/annotations", encoded, nil)
}

func epochSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// AnnotationsTagged returns the annotations of a topology that have a tag, sorted by time.
func (c *Collector) AnnotationsTagged(ctx context.Context, topology, tag string) ([]Annotation, error) {
	return c.annotations(ctx, url.Values{"topology": {topology}, "tag": {tag}})
}

// annotations returns the annotations that match the given URL parameters.
func (c *Collector) annotations(ctx context.Context, chosen url.Values) (found []Annotation, err error) {
	var all []struct {
		ID, Topology, Title, Text, Time, Origin string
		EndTime                                 string `json:"end_time"`
		Tags                                    []string
	}
	if err := c.client.Call(ctx, http.MethodGet, "/api/v1/annotations?limit=1000000&"+chosen.Encode(), nil, &all); err != nil {
		return nil, err
	}
	for _, a := range all {
		m := Annotation{ID: a.ID, Topology: a.Topology, Title: a.Title, Text: a.Text, Tags: a.Tags, Origin: a.Origin}
		if m.Start, err = time.Parse(time.RFC3339Nano, a.Time); err == nil && a.EndTime != "" {
			m.End, err = time.Parse(time.RFC3339Nano, a.EndTime)
		}
		if err != nil {
			return nil, fmt.Errorf("annotation %q: %w", a.Title, err)
		}
		found = append(found, m)
	}
	return found, nil
}

// annotateWithin is how long Annotate is retried. A collector that has just been restarted may refuse requests for a
// moment.
const annotateWithin = 30 * time.Second

// annotate stores an annotation in the background, so that the run never waits for it. It retries until it succeeds or
// annotateWithin has passed; a failure is only reported. Close waits for the annotations that are still being stored.
func (s *Session) annotate(ctx context.Context, m Annotation) {
	if s.ports.Annotations == nil {
		return
	}
	m.Topology = s.o.Topology
	s.marking.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, annotateWithin)
		defer cancel()
		var err error
		if poll.Until(ctx, pollInterval, func() bool {
			err = s.ports.Annotations.Annotate(ctx, m)
			return err == nil
		}) != nil {
			s.ports.Progress.Say("annotation %q could not be stored: %v", m.Title, err)
		}
	})
}
