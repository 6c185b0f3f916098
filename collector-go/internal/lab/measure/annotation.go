package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Annotation is a note on the topology's time axis. One of the same id is the same annotation: what is set later is
// added to it.
type Annotation struct {
	ID          string
	Topology    string
	Start, End  time.Time // End is zero while it is open
	Title, Text string
	Tags        []string
	Origin      string // who made it, as the collector reports
}

// KilledTag is the tag by which a collector knows that a topology was killed on purpose (docs/annotations.md).
const KilledTag = "killed"

// Killed is the annotation of a topology that is killed at a time since its measurement is over.
func Killed(topology string, at time.Time) Annotation {
	return Annotation{ID: KilledTag, Topology: topology, Start: at,
		Title: "Killed by bullet-metrics: its trial is over",
		Tags:  []string{KilledTag}}
}

// Annotations takes a run's steps as annotations. Collector is one.
type Annotations interface {
	Annotate(ctx context.Context, m Annotation) error
}

// Annotate returns when the annotation is on the collector's disk. It may be repeated.
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

// AnnotationsTagged lists the annotations of a topology that have a tag, by time.
func (c *Collector) AnnotationsTagged(ctx context.Context, topology, tag string) ([]Annotation, error) {
	return c.annotations(ctx, parameters("topology", topology, "tag", tag))
}

// annotations lists those that further parameters choose.
func (c *Collector) annotations(ctx context.Context, chosen string) (found []Annotation, err error) {
	var all []struct {
		ID, Topology, Title, Text, Time, Origin string
		EndTime                                 string `json:"end_time"`
		Tags                                    []string
	}
	if err := c.client.Call(ctx, http.MethodGet, "/api/v1/annotations?limit=1000000"+chosen, nil, &all); err != nil {
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

// annotateWithin is how long an annotation is tried: a collector that was just started again may refuse a moment.
const annotateWithin = 30 * time.Second

// annotate sets an annotation beside the run, which never waits for it. It is tried until it succeeds or annotateWithin
// has passed; a failure is only reported. Close waits for those that are under way.
func (s *Session) annotate(ctx context.Context, m Annotation) {
	if s.ports.Annotations == nil {
		return
	}
	m.Topology = s.o.Topology
	s.marking.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, annotateWithin)
		defer cancel()
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for {
			err := s.ports.Annotations.Annotate(ctx, m)
			if err == nil {
				return
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				s.ports.Progress.Say("no annotation for %q: %v", m.Title, err)
				return
			}
		}
	})
}
