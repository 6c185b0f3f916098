package experiment

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Mark is an annotation on the topology's time axis. One of the same id is the same mark: what is set later is added to it.
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
	return Mark{ID: KilledTag, Topology: topology, Start: at, Title: "Killed by bullet-metrics: its trial is over", Tags: []string{KilledTag}}
}

// Marks takes a run's steps as annotations. Collector is one.
type Marks interface {
	SetMark(ctx context.Context, m Mark) error
}

// SetMark returns when the mark is on the collector's disk. It may be repeated.
func (c *Collector) SetMark(ctx context.Context, m Mark) error {
	body := map[string]any{"id": m.ID, "topology": m.Topology, "time": epochSeconds(m.Start), "title": m.Title, "text": m.Text, "tags": m.Tags}
	if !m.End.IsZero() {
		body["end_time"] = epochSeconds(m.End)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("mark %q: %w", m.Title, err)
	}
	return c.call(ctx, http.MethodPost, "/api/v1/annotations", encoded, nil)
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
	if err := c.call(ctx, http.MethodGet, "/api/v1/annotations?limit=1000000"+chosen, nil, &all); err != nil {
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

// call asks the collector and reads the data of its answer.
func (c *Collector) call(ctx context.Context, method, path string, body []byte, data any) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask the collector %s: %w", path, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	_, answer, err := c.client.Do(ctx, request)
	if err != nil {
		return fmt.Errorf("ask the collector %s: %w", path, err)
	}
	var envelope struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(answer, &envelope); err != nil {
		return fmt.Errorf("the collector's answer to %s: %w", path, err)
	}
	if envelope.Status != "success" {
		return fmt.Errorf("the collector refuses %s: %s", path, envelope.Error)
	}
	if data == nil {
		return nil
	}
	return json.Unmarshal(envelope.Data, data)
}

// markLimit is how long a mark is tried: a collector that was just started again may refuse a moment.
const markLimit = 30 * time.Second

// mark sets a mark beside the run, which never waits for it.
func (r *Runner) mark(ctx context.Context, m Mark) {
	if r.ports.Marks == nil {
		return
	}
	m.Topology = r.options.Topology
	r.marking.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, markLimit)
		defer cancel()
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for {
			err := r.ports.Marks.SetMark(ctx, m)
			if err == nil {
				return
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				r.ports.Progress.Say("no annotation for %q: %v", m.Title, err)
				return
			}
		}
	})
}
