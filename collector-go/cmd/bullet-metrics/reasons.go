package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/experiment"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/why"
)

// explain tells what changed before an alert, from what this collector knows.
func (col *collector) explain(s config.Slice) func(context.Context, why.Question) (*why.Answer, error) {
	ports := why.Ports{Figures: ranges{col.engine}, Active: col.activeAlerts, Events: col.eventsOf, Limit: limitation(col.httpListener.Addr(), s.Width)}
	return func(ctx context.Context, q why.Question) (*why.Answer, error) { return why.Explain(ctx, ports, q) }
}

// ranges asks the engine.
type ranges struct{ engine *query.Engine }

func (r ranges) Range(ctx context.Context, expression string, from, to time.Time, step time.Duration) ([]why.Line, error) {
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
	lines := make([]why.Line, 0, len(matrix))
	for _, series := range matrix {
		lines = append(lines, lineOf(series))
	}
	return lines, nil
}

// lineOf leaves histograms out: no figure is one.
func lineOf(series promql.Series) why.Line {
	line := why.Line{Labels: series.Metric.Map()}
	for _, p := range series.Floats {
		line.TimesMs, line.Values = append(line.TimesMs, p.T), append(line.Values, p.F)
	}
	return line
}

func (col *collector) activeAlerts() (all []why.Alert) {
	for _, rule := range col.rules.AlertingRules() {
		for _, a := range rule.ActiveAlerts() {
			all = append(all, why.Alert{
				Name: rule.Name(), Labels: a.Labels.Map(), State: a.State.String(), Began: a.ActiveAt, Summary: a.Annotations.Get("summary"),
				Runbook: a.Annotations.Get("runbook_url"), Topology: a.Labels.Get("topology"),
			})
		}
	}
	return all
}

func (col *collector) eventsOf(topology string, from, to time.Time) (all []why.Event) {
	for _, a := range col.known.Annotations(registry.Filter{Topology: topology, FromMs: from.UnixMilli(), ToMs: to.UnixMilli()}) {
		e := why.Event{Time: time.UnixMilli(a.TimeMs), Title: a.Title, Text: a.Text, Tags: a.Tags}
		if a.TimeMs < from.UnixMilli() {
			e.Time, e.Title = time.UnixMilli(a.EndMs), "end of "+a.Title
		}
		if !e.Time.Before(from) && !e.Time.After(to) {
			all = append(all, e)
		}
	}
	return all
}

// limitation judges what a topology was limited by as experiments do: over the collector's own API.
func limitation(listens net.Addr, width time.Duration) func(context.Context, string, time.Time, time.Time) (string, error) {
	return func(ctx context.Context, topology string, from, to time.Time) (string, error) {
		ourselves, err := experiment.NewCollector(callable(listens))
		if err != nil {
			return "", err
		}
		known, err := ourselves.Topology(ctx, topology)
		if err != nil {
			return "", fmt.Errorf("topology %s: %w", topology, err)
		}
		evidence, err := experiment.GatherEvidence(ctx, ourselves, known, experiment.Stretch{From: from, To: to, Width: width, Workers: len(known.Workers)})
		if err != nil {
			return "", err
		}
		return tuning.Limit(evidence).Text, nil
	}
}

// callable is where a listener answers us: on the loopback where it listens on all addresses.
func callable(listens net.Addr) string {
	if tcp, ok := listens.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", fmt.Sprint(tcp.Port))
	}
	return listens.String()
}
