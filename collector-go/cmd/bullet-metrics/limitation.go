package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/httpapi"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// limitation finds what limited a topology, as experiments do, from the collector's own slices.
func (col *collector) limitation(width time.Duration) func(context.Context, string, time.Time, time.Time) (string,
	bool, error) {
	return func(ctx context.Context, name string, from, to time.Time) (string, bool, error) {
		topology, err := col.topology(name)
		if err != nil {
			return "", false, err
		}
		return measure.Limitation(ctx, stored{col.engine}, topology,
			measure.TimeRange{From: from, To: to, Width: width})
	}
}

// topology returns what the API answers about a topology, in the form that experiments read.
func (col *collector) topology(name string) (t measure.Topology, err error) {
	known, found := col.known.Topology(name, "")
	if !found {
		return t, fmt.Errorf("topology %s has not reported", name)
	}
	text, err := json.Marshal(known)
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(text, &t)
}

// stored lets experiments' code read the engine in place of a collector over HTTP. It implements measure.Stored.
type stored struct{ engine *query.Engine }

// Slices implements measure.Stored.
func (s stored) Slices(ctx context.Context, selector string, from, to time.Time) (all []measure.Series, err error) {
	lines, err := s.engine.LinesAt(ctx, fmt.Sprintf("%s[%dms]", selector, to.Sub(from).Milliseconds()), to)
	for _, line := range lines {
		series := measure.Series{Labels: line.Labels}
		series.Slices.TimesMs = line.TimesMs
		for _, v := range line.Values {
			series.Slices.Values = append(series.Slices.Values, report.Figure(v))
		}
		all = append(all, series)
	}
	return all, err
}

// Collection implements measure.Collections.
func (s stored) Collection(ctx context.Context, topology string, from, to time.Time) (*collection.Collection, error) {
	return collection.Read(ctx, httpapi.Instant(s.engine), topology, from, to)
}
