package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Mark is an annotation on the topology's time axis. One of the same id is the same mark: what is set later is added to
// it.
type Mark struct {
	ID          string
	Topology    string
	Start, End  time.Time // End is zero while it is open
	Title, Text string
	Tags        []string
	Origin      string // who made it, as the collector tells
}

// KilledTag is the tag by which a collector knows that a topology was killed on purpose (docs/topologies.md).
const KilledTag = "killed"

// Killed is the mark of a topology that is killed at a time since its measurement is over.
func Killed(topology string, at time.Time) Mark {
	return Mark{ID: KilledTag, Topology: topology, Start: at, Title: "Killed by bullet-metrics: its trial is over",
		Tags: []string{KilledTag}}
}

// Marks takes a run's steps as annotations. Collector is one.
type Marks interface {
	SetMark(ctx context.Context, m Mark) error
}

// SetMark returns when the mark is on the collector's disk. It may be repeated.
func (c *Collector) SetMark(ctx context.Context, m Mark) error {
	body := map[string]any{"id": m.ID, "topology": m.Topology, "time": epochSeconds(m.Start), "title": m.Title,
		"text": m.Text, "tags": m.Tags}
	if !m.End.IsZero() {
		body["end_time"] = epochSeconds(m.End)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("mark %q: %w", m.Title, err)
	}
	return c.client.Call(ctx, http.MethodPost, "/api/v1/annotations", encoded, nil)
}

func epochSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// Marked lists the marks of a topology that have a tag, by time.
func (c *Collector) Marked(ctx context.Context, topology, tag string) ([]Mark, error) {
	return c.marks(ctx, parameters("topology", topology, "tag", tag))
}

// marks lists those that further parameters choose.
func (c *Collector) marks(ctx context.Context, chosen string) (marks []Mark, err error) {
	var all []struct {
		ID, Topology, Title, Text, Time, Origin string
		EndTime                                 string `json:"end_time"`
		Tags                                    []string
	}
	if err := c.client.Call(ctx, http.MethodGet, "/api/v1/annotations?limit=1000000"+chosen, nil, &all); err != nil {
		return nil, err
	}
	for _, a := range all {
		m := Mark{ID: a.ID, Topology: a.Topology, Title: a.Title, Text: a.Text, Tags: a.Tags, Origin: a.Origin}
		if m.Start, err = time.Parse(time.RFC3339Nano, a.Time); err == nil && a.EndTime != "" {
			m.End, err = time.Parse(time.RFC3339Nano, a.EndTime)
		}
		if err != nil {
			return nil, fmt.Errorf("mark %q: %w", a.Title, err)
		}
		marks = append(marks, m)
	}
	return marks, nil
}

// markLimit is how long a mark is tried: a collector that was just started again may refuse a moment.
const markLimit = 30 * time.Second

// mark sets a mark beside the run, which never waits for it.
func (s *Session) annotate(ctx context.Context, m Mark) {
	if s.ports.Marks == nil {
		return
	}
	m.Topology = s.o.Topology
	s.marking.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, markLimit)
		defer cancel()
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for {
			err := s.ports.Marks.SetMark(ctx, m)
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
