package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/collection"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/diagnosis"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/httpapi"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// explain returns what changed before an alert, from what this collector knows.
func (col *collector) explain(s config.Slice) func(context.Context, diagnosis.Question) (*diagnosis.Answer, error) {
	ports := diagnosis.Ports{Figures: ranges{col.engine}, Active: col.activeAlerts, Annotations: col.annotationsOf,
		Limit: col.limitation(s.Width), Evidence: col.lastBad, Run: col.runOf}
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

// lastBad is when what is measured raised an alert last. Only of the rules that come with the program is it known what
// they go by.
func (col *collector) lastBad(ctx context.Context, a diagnosis.Alert, now time.Time) (last time.Time, known bool) {
	rules := alertrules.Alerts()
	i := slices.IndexFunc(rules, func(r alertrules.Alert) bool { return r.Name == a.Name && r.Beyond() != "" })
	if i < 0 {
		return last, false
	}
	// What raised it is older than the alert where rules were evaluated late: the collector was restarted meanwhile.
	for _, from := range []time.Time{a.Began.Add(-time.Minute), now.Add(-time.Hour), now.Add(-24 * time.Hour)} {
		if last, known = col.lastBeyond(ctx, rules[i].Beyond(), a, from, now); known {
			return last, true
		}
	}
	return last, false
}

// lastBeyond is the last time in [from, to] at which an expression had a value of what the alert is about.
func (col *collector) lastBeyond(ctx context.Context, expression string, a diagnosis.Alert, from, to time.Time) (
	last time.Time, known bool) {
	if earliest := to.Add(-24 * time.Hour); from.Before(earliest) {
		from = earliest
	}
	step := max(alertrules.Interval, (to.Sub(from) / 1000).Truncate(time.Second))
	lines, err := ranges{col.engine}.Range(ctx, expression, from, to, step)
	if err != nil {
		return last, false
	}
	for _, line := range lines {
		of := func(label string) bool { return line.Labels[label] == "" || line.Labels[label] == a.Labels[label] }
		if n := len(line.TimesMs); n > 0 && of("topology") && of("worker") && of("class") && of("cause") {
			if at := time.UnixMilli(line.TimesMs[n-1]); at.After(last) {
				last = at
			}
		}
	}
	return last, !last.IsZero()
}

// runOf is what the registry knows of a topology's newest run.
func (col *collector) runOf(ctx context.Context, topology string) *diagnosis.Run {
	known, found, _ := col.others.Topology(ctx, topology, "")
	if !found || known.Federated {
		return nil
	}
	at := func(text string) time.Time {
		t, _ := time.Parse(time.RFC3339, text) // zero for never
		return t
	}
	run := &diagnosis.Run{State: string(known.Condition.State), By: known.Condition.By,
		Since:   at(known.Condition.Since),
		Workers: len(known.Workers), Senders: len(known.Producers),
		ClockAhead: time.Duration(known.ClockAhead * float64(time.Second))}
	for _, lost := range known.Lost {
		run.Lost = append(run.Lost, diagnosis.LostWorker{Worker: lost.Worker, Heard: at(lost.LastSeen)})
	}
	for _, p := range known.Producers {
		if p.Connected {
			run.Connected++
		}
	}
	return run
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
		evidence, err := measure.GatherEvidence(ctx, stored{col.engine}, known,
			measure.TimeRange{From: from, To: to, Width: width, Workers: len(known.Workers)})
		if err != nil {
			return "", false, err
		}
		found := tuning.Limit(evidence)
		return found.Text, found.Known(), nil
	}
}

// topology is what the API answers of one, as experiments read it.
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

// stored asks the engine what experiments ask a collector over HTTP.
type stored struct{ engine *query.Engine }

// Slices implements experiment.Stored.
func (s stored) Slices(ctx context.Context, selector string, from, to time.Time) ([]measure.Series, error) {
	asked, err := s.engine.Instant(ctx, nil, fmt.Sprintf("%s[%dms]", selector, to.Sub(from).Milliseconds()), to)
	if err != nil {
		return nil, err
	}
	defer asked.Close()
	matrix, err := asked.Exec(ctx).Matrix()
	if err != nil {
		return nil, err
	}
	all := make([]measure.Series, 0, len(matrix))
	for _, series := range matrix {
		slices := runstore.Slices{}
		for _, p := range series.Floats {
			slices.TimesMs, slices.Values = append(slices.TimesMs, p.T), append(slices.Values, report.Figure(p.F))
		}
		all = append(all, measure.Series{Labels: series.Metric.Map(), Slices: slices})
	}
	return all, nil
}

// Collection implements experiment.Collections.
func (s stored) Collection(ctx context.Context, topology string, from, to time.Time) (*collection.Collection, error) {
	return collection.Read(ctx, httpapi.Instant(s.engine), topology, from, to)
}
