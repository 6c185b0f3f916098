package httpapi

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/registry"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/alertrules"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/diagnosis"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/federation"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// Explainer explains alerts from the data of this collector. Its Explain is an Options.Diagnose.
type Explainer struct {
	Engine *query.Engine
	Rules  Rules
	Known  *federation.Reader
	// Limit is that of diagnosis.Ports.
	Limit  func(ctx context.Context, topology string, from, to, heard time.Time) (text string, found bool, err error)
	Logger *slog.Logger
}

// Explain returns what changed before an alert.
func (e *Explainer) Explain(ctx context.Context, q diagnosis.Question) (*diagnosis.Answer, error) {
	return diagnosis.Explain(ctx, diagnosis.Ports{Figures: e.Engine, Active: e.active, Annotations: e.annotations,
		Limit: e.Limit, Evidence: e.lastBad, Run: e.run}, q)
}

func (e *Explainer) active() (all []diagnosis.Alert) {
	for _, rule := range e.Rules.AlertingRules() {
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

// lastBad returns the last time at which a measurement raised the alert. It is known for the built-in rules only.
func (e *Explainer) lastBad(ctx context.Context, a diagnosis.Alert, now time.Time) (last time.Time, known bool) {
	rules := alertrules.Alerts()
	i := slices.IndexFunc(rules, func(r alertrules.Alert) bool { return r.Name == a.Name && r.Beyond() != "" })
	if i < 0 {
		return last, false
	}
	// After a restart the measurement may be much older than the alert, because rules were evaluated late.
	for _, from := range []time.Time{a.Began.Add(-time.Minute), now.Add(-time.Hour), now.Add(-24 * time.Hour)} {
		if last, known = e.lastBeyond(ctx, rules[i].Beyond(), a, from, now); known {
			return last, true
		}
	}
	return last, false
}

// lastBeyond returns the last time in [from, to] at which an expression had a value for the subject of the alert.
func (e *Explainer) lastBeyond(ctx context.Context, expression string, a diagnosis.Alert, from, to time.Time) (
	last time.Time, known bool) {
	if earliest := to.Add(-24 * time.Hour); from.Before(earliest) {
		from = earliest
	}
	step := max(alertrules.Interval, (to.Sub(from) / 1000).Truncate(time.Second))
	lines, err := e.Engine.LinesBetween(ctx, expression, from, to, step)
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

// run returns what the registry knows about a topology's newest run.
func (e *Explainer) run(ctx context.Context, topology string) *diagnosis.Run {
	known, found, _ := e.Known.Topology(ctx, topology, "")
	if !found || known.Federated {
		return nil
	}
	at := func(text string) time.Time {
		t, _ := time.Parse(time.RFC3339, text) // zero for never
		return t
	}
	run := &diagnosis.Run{State: string(known.Condition.State), By: known.Condition.By,
		Since: at(known.Condition.Since), Workers: len(known.Workers), Senders: len(known.Producers),
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

func (e *Explainer) annotations(ctx context.Context, topology string, from, to time.Time) (
	all []diagnosis.Annotation) {
	found, err := e.Known.Annotations(ctx, registry.Filter{Topology: topology, FromMs: from.UnixMilli(),
		ToMs: to.UnixMilli()})
	if err != nil {
		e.Logger.Warn("explaining an alert without the annotations of other collectors", "error", err)
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
