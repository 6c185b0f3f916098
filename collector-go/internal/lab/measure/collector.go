package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/common/model"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// Series is one stored series. Its slices are sorted by their ends; gaps are left out.
type Series struct {
	Labels map[string]string
	Slices runstore.Slices
}

// Newest is the end of a series' newest slice, in ms since the Unix epoch.
type Newest struct {
	Labels map[string]string
	EndMs  int64
}

// Collector is the client of a collector's public HTTP API. It uses no private access to the collector, so a run can
// use a collector on another machine. It is safe for concurrent use.
type Collector struct{ client *client.Client }

// NewCollector returns a client of the collector that serves HTTP at address, "host:port" or a URL, with the
// credentials and TLS settings of access.
func NewCollector(address string, access CollectorAccess) (*Collector, error) {
	asked, err := client.New(address, access)
	return &Collector{asked}, err
}

// Slices returns the stored slices of the series that match a selector, with ends in (from, to]. A selector without
// matches yields no series and no error.
func (c *Collector) Slices(ctx context.Context, selector string, from, to time.Time) ([]Series, error) {
	matrix, err := c.client.Slices(ctx, selector, from, to)
	if err != nil {
		return nil, err
	}
	return tuning.Each(matrix, func(stream *model.SampleStream) Series {
		return Series{labelsOf(stream.Metric), slicesOf(stream.Values)}
	}), nil
}

// Calculate implements Calculator.
func (c *Collector) Calculate(ctx context.Context, expression string, at time.Time) (tuning.Figure, error) {
	value, err := c.client.Query(ctx, expression, at)
	if err != nil {
		return tuning.Unknown, err
	}
	switch v := value.(type) {
	case *model.Scalar:
		return tuning.Figure(v.Value), nil
	case model.Vector:
		if len(v) == 1 {
			return tuning.Figure(v[0].Value), nil
		}
	}
	return tuning.Unknown, nil
}

// Newest returns, for each series that matches a selector, the end of its newest slice as of the given time.
func (c *Collector) Newest(ctx context.Context, selector string, at time.Time) ([]Newest, error) {
	vector, err := c.client.Vector(ctx, "timestamp("+selector+")", at)
	if err != nil {
		return nil, err
	}
	return tuning.Each(vector, func(sample *model.Sample) Newest {
		return Newest{labelsOf(sample.Metric), int64(math.Round(float64(sample.Value) * 1000))}
	}), nil
}

// labelsOf copies a series' labels, including the metric's name.
func labelsOf(metric model.Metric) map[string]string {
	labels := make(map[string]string, len(metric))
	for name, value := range metric {
		labels[string(name)] = string(value)
	}
	return labels
}

// slicesOf converts stored samples into slices. A sample's timestamp is the end of its slice.
func slicesOf(pairs []model.SamplePair) (s runstore.Slices) {
	for _, pair := range pairs {
		s.TimesMs = append(s.TimesMs, int64(pair.Timestamp))
		s.Values = append(s.Values, tuning.Figure(pair.Value))
	}
	return s
}

// Collection returns how completely the topology's samples arrived between two times.
func (c *Collector) Collection(ctx context.Context, topology string, from, to time.Time) (
	*collection.Collection, error) {
	health := new(collection.Collection)
	path := "/api/v1/collection/" + url.PathEscape(topology) + "?" +
		url.Values{"start": {from.UTC().Format(time.RFC3339Nano)}, "end": {to.UTC().Format(time.RFC3339Nano)}}.Encode()
	return health, c.client.Call(ctx, http.MethodGet, path, nil, health)
}

// CollectorAccess holds the credentials and TLS settings with which a client connects to a collector.
type CollectorAccess = client.Access

// Annotation is a note on a topology's time axis. The ID identifies it: a later annotation with the same id is added
// to the earlier one.
type Annotation struct {
	runstore.Annotation
	Topology string
}

// KilledTag is the tag by which a collector recognises that a topology was killed on purpose (docs/annotations.md).
const KilledTag = "killed"

// Killed returns the annotation for a topology that is killed at the given time because its measurement is over.
func Killed(topology string, at time.Time) Annotation {
	return Annotation{Topology: topology, Annotation: runstore.Annotation{ID: KilledTag, StartMs: at.UnixMilli(),
		Title: "Killed by bullet-metrics at the end of its trial", Tags: []string{KilledTag}}}
}

// Annotations stores a run's steps as annotations. Collector implements it.
type Annotations interface {
	Annotate(ctx context.Context, m Annotation) error
}

// Annotate stores an annotation and returns when it is on the collector's disk. The call may be repeated.
func (c *Collector) Annotate(ctx context.Context, m Annotation) error {
	body := map[string]any{"id": m.ID, "topology": m.Topology, "time": epochSeconds(m.StartMs), "title": m.Title,
		"text": m.Text, "tags": m.Tags}
	if m.EndMs != 0 {
		body["end_time"] = epochSeconds(m.EndMs)
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("annotation %q: %w", m.Title, err)
	}
	return c.client.Call(ctx, http.MethodPost, "/api/v1/annotations", encoded, nil)
}

func epochSeconds(ms int64) float64 { return float64(ms) / 1000 }

// AnnotationsTagged returns the annotations of a topology that have a tag, sorted by time.
func (c *Collector) AnnotationsTagged(ctx context.Context, topology, tag string) ([]Annotation, error) {
	return c.annotations(ctx, url.Values{"topology": {topology}, "tag": {tag}})
}

// annotations returns the annotations that match the given URL parameters.
func (c *Collector) annotations(ctx context.Context, chosen url.Values) (found []Annotation, err error) {
	var all []struct {
		Annotation
		Time    string
		EndTime string `json:"end_time"`
	}
	if err := c.client.Call(ctx, http.MethodGet, "/api/v1/annotations?limit=1000000&"+chosen.Encode(), nil, &all); err != nil {
		return nil, err
	}
	for _, a := range all {
		a.StartMs, err = milliseconds(a.Time)
		if err == nil && a.EndTime != "" {
			a.EndMs, err = milliseconds(a.EndTime)
		}
		if err != nil {
			return nil, fmt.Errorf("annotation %q: %w", a.Title, err)
		}
		a.Tags = append([]string{}, a.Tags...) // a list, also if the collector sends null
		found = append(found, a.Annotation)
	}
	return found, nil
}

// milliseconds parses a time of the collector's answer.
func milliseconds(text string) (int64, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	return t.UnixMilli(), err
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

// AnnotationsWithin implements Slices.
func (c *Collector) AnnotationsWithin(ctx context.Context, topology string, from, to time.Time) ([]Annotation, error) {
	return c.annotations(ctx, url.Values{"topology": {topology}, "start": {from.UTC().Format(time.RFC3339Nano)},
		"end": {to.UTC().Format(time.RFC3339Nano)}})
}

// gatherAnnotations copies the collector's annotations into the run. If the collector cannot list them, the run has
// none.
func gatherAnnotations(ctx context.Context, collector Slices, topology string, from, to time.Time,
	run *runstore.Figures) {
	// the start time in Storm's topology id has whole seconds
	if found, err := collector.AnnotationsWithin(ctx, topology, from.Truncate(time.Second), to); err == nil {
		run.Annotations = tuning.Each(found, func(m Annotation) runstore.Annotation { return m.Annotation })
	}
}
