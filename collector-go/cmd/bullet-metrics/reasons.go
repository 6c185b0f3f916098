package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/diagnosis"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/experiment"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/httpapi"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// explain returns what changed before an alert, from what this collector knows.
func (col *collector) explain(s config.Slice) func(context.Context, diagnosis.Question) (*diagnosis.Answer, error) {
	ports := diagnosis.Ports{Figures: ranges{col.engine}, Active: col.activeAlerts, Annotations: col.annotationsOf,
		Limit: col.limitation(s.Width)}
	return func(ctx context.Context, q diagnosis.Question) (*diagnosis.Answer, error) {
		return diagnosis.Explain(ctx, ports, q)
	}
}

// ranges asks the engine.
type ranges struct{ engine *query.Engine }

func (r ranges) Range(ctx context.Context, expression string, from, to time.Time, step time.Duration) (
	[]diagnosis.Line, error) {
	asked, err := r.engine.Range(ctx, nil, expression, from, to, step)
	if err != nil {
		return nil, err
	}
	defer asked.Close()
	result := asked.Exec(ctx)
	matrix, err := result.Matrix()
	if err != nil {
		return nil, err
	}
	lines := make([]diagnosis.Line, 0, len(matrix))
	for _, series := range matrix {
		lines = append(lines, lineOf(series))
	}
	return lines, nil
}

// lineOf leaves histograms out: no figure is one.
func lineOf(series promql.Series) diagnosis.Line {
	line := diagnosis.Line{Labels: series.Metric.Map()}
	for _, p := range series.Floats {
		line.TimesMs, line.Values = append(line.TimesMs, p.T), append(line.Values, p.F)
	}
	return line
}

func (col *collector) activeAlerts() (all []diagnosis.Alert) {
	for _, rule := range col.rules.AlertingRules() {
		for _, a := range rule.ActiveAlerts() {
			all = append(all, diagnosis.Alert{
				Name: rule.Name(), Labels: a.Labels.Map(), State: a.State.String(), Began: a.ActiveAt,
				Summary: a.Annotations.Get("summary"),
				Runbook: a.Annotations.Get("runbook_url"), Topology: a.Labels.Get("topology"),
			})
		}
	}
	return all
}

func (col *collector) annotationsOf(ctx context.Context, topology string, from, to time.Time) (
	all []diagnosis.Annotation) {
	found, err := col.others.Annotations(ctx, registry.Filter{Topology: topology, FromMs: from.UnixMilli(),
		ToMs: to.UnixMilli()})
	if err != nil {
		col.logger.Warn("an explanation of an alert lacks other collectors' annotations", "error", err)
	}
	for _, a := range found {
		e := diagnosis.Annotation{Time: time.UnixMilli(a.TimeMs), Title: a.Title, Text: a.Text, Tags: a.Tags}
		if a.TimeMs < from.UnixMilli() {
			e.Time, e.Title = time.UnixMilli(a.EndMs), "end of "+a.Title
		}
		if !e.Time.Before(from) && !e.Time.After(to) {
			all = append(all, e)
		}
	}
	return all
}

// limitation judges what a topology was limited by as experiments do.
func (col *collector) limitation(width time.Duration) func(context.Context, string, time.Time, time.Time) (string,
	bool, error) {
	return func(ctx context.Context, topology string, from, to time.Time) (string, bool, error) {
		known, err := col.topology(topology)
		if err != nil {
			return "", false, err
		}
		evidence, err := experiment.GatherEvidence(ctx, stored{col.engine}, known,
			experiment.TimeRange{From: from, To: to, Width: width, Workers: len(known.Workers)})
		if err != nil {
			return "", false, err
		}
		found := tuning.Limit(evidence)
		return found.Text, found.Known(), nil
	}
}

// topology is what the API answers of one, as experiments read it.
func (col *collector) topology(name string) (t experiment.Topology, err error) {
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

// stored asks the engine what experiments ask a collector over HTTP.
type stored struct{ engine *query.Engine }

// Slices implements experiment.Stored.
func (s stored) Slices(ctx context.Context, selector string, from, to time.Time) ([]experiment.Series, error) {
	asked, err := s.engine.Instant(ctx, nil, fmt.Sprintf("%s[%dms]", selector, to.Sub(from).Milliseconds()), to)
	if err != nil {
		return nil, err
	}
	defer asked.Close()
	matrix, err := asked.Exec(ctx).Matrix()
	if err != nil {
		return nil, err
	}
	all := make([]experiment.Series, 0, len(matrix))
	for _, series := range matrix {
		slices := rundir.Slices{}
		for _, p := range series.Floats {
			slices.TimesMs, slices.Values = append(slices.TimesMs, p.T), append(slices.Values, report.Figure(p.F))
		}
		all = append(all, experiment.Series{Labels: series.Metric.Map(), Slices: slices})
	}
	return all, nil
}

// Collection implements experiment.Collections.
func (s stored) Collection(ctx context.Context, topology string, from, to time.Time) (*collection.Collection, error) {
	return collection.Read(ctx, httpapi.Instant(s.engine), topology, from, to)
}
