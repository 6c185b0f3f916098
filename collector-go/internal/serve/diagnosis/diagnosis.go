// Package diagnosis explains an alert. It finds what changed before the alert began: events (configuration changes,
// restarts, experiment steps), metrics that moved to another level, and the resource that limited the topology. Each
// finding has its numbers and its time, so that a reader can check it.
//
// The package must not know where metrics and events come from; they arrive through ports. Start with Question.
// find.go finds the alert, cause.go determines the most likely cause, and text.go formats the answer for a person.
package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
)

// Question selects the alert to explain and the time range in which to look for changes.
type Question struct {
	Alert    string // the alert's name
	Topology string // may be "" if only one topology has the alert
	// At is the end of the time range in which changes are searched. The zero time means the beginning of the alert.
	At time.Time
	// Window is the length of the time range before At in which changes are searched. The two windows before it are
	// the reference. The default is 15 min.
	Window time.Duration
	Now    time.Time
}

// DefaultWindow is the default length of the time range in which changes are searched. It is long enough for most
// causes of urgent alerts. It is short enough not to mistake the daily rise and fall for a change.
const DefaultWindow = 15 * time.Minute

// Alert is the alert to explain.
type Alert struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	State  string            `json:"state"` // firing, pending, or ended
	Began  time.Time         `json:"began"`
	// Ended is when an alert that has ended fired for the last time.
	Ended *time.Time `json:"ended,omitempty"`
	// Held means that current measurements do not raise the alert. The alert is kept for the last measured value,
	// which was bad at LastBad.
	Held     bool       `json:"held,omitempty"`
	LastBad  *time.Time `json:"last_bad,omitempty"`
	Summary  string     `json:"summary,omitempty"`
	Runbook  string     `json:"runbook_url,omitempty"`
	Topology string     `json:"topology,omitempty"`
}

// Annotation is an event in the life of a topology.
type Annotation struct {
	Time   time.Time `json:"time"`
	Before float64   `json:"seconds_before"` // seconds before the alert
	Title  string    `json:"title"`
	Text   string    `json:"text,omitempty"`
	Tags   []string  `json:"tags,omitempty"`
}

// Answer is the explanation of an alert.
type Answer struct {
	Alert Alert `json:"alert"`
	// From, Since and At divide the time range. [From, Since) is the reference, and changes are searched in [Since,
	// At].
	From        time.Time    `json:"from"`
	Since       time.Time    `json:"since"`
	At          time.Time    `json:"at"`
	Annotations []Annotation `json:"events"`
	Changes     []Change     `json:"changes"`
	// Cause is the most likely cause of the alert, or nil if no change explains it.
	Cause *Cause `json:"cause,omitempty"`
	// Limit is a sentence about the resource that limited the topology since its first change, or "" if no resource
	// was at its limit.
	Limit string `json:"limit,omitempty"`
	// Missing lists the metrics without a sample in [From, At]. Whether they changed is unknown.
	Missing []string `json:"missing"`
	Notes   []string `json:"notes"`

	run *Run
}

// Line is a series over time.
type Line = query.Line

// Figures evaluates PromQL; query.Engine implements it.
type Figures interface {
	LinesBetween(ctx context.Context, expression string, from, to time.Time, step time.Duration) ([]Line, error)
}

// Ports provide the data for an answer.
type Ports struct {
	Figures Figures
	// Active returns the alerts that are pending or firing now.
	Active func() []Alert
	// Annotations returns the annotations of a topology that began or ended in [from, to].
	Annotations func(ctx context.Context, topology string, from, to time.Time) []Annotation
	// Evidence returns the last time at which a measurement raised the alert; known is false if that is unknown. nil:
	// always unknown.
	Evidence func(ctx context.Context, alert Alert, now time.Time) (last time.Time, known bool)
	// Run returns what the registry knows about a topology's run, or nil if it knows nothing.
	Run func(ctx context.Context, topology string) *Run
	// Limit returns a sentence about the resource that limited a topology. found is false if no resource was at its
	// limit. Workers that fell silent after heard are no limit. nil: limits are not checked.
	Limit func(ctx context.Context, topology string, from, to, heard time.Time) (text string, found bool, err error)
}

// UnknownAlertError reports that no such alert is active or was active within the last day.
type UnknownAlertError struct {
	Name, Topology string
	Known          []string // names of the alerts that are pending or firing
}

func (e *UnknownAlertError) Error() string {
	of := ""
	if e.Topology != "" {
		of = " of topology " + e.Topology
	}
	if len(e.Known) == 0 {
		return fmt.Sprintf("alert %s%s was not active within the last day; no alert is active now", e.Name, of)
	}
	return fmt.Sprintf("alert %s%s was not active within the last day; active now: %s", e.Name, of,
		strings.Join(e.Known, ", "))
}

// Explain answers a question. If the alert is unknown, the error is an *UnknownAlertError.
func Explain(ctx context.Context, p Ports, q Question) (*Answer, error) {
	q.Window = cmp.Or(q.Window, DefaultWindow)
	alert, err := find(ctx, p, q)
	if err != nil {
		return nil, err
	}
	a := &Answer{Alert: alert, At: q.At, Notes: []string{}}
	a.weigh(ctx, p, q.Now)
	if a.At.IsZero() {
		a.At = alert.Began
		// If rules were evaluated late, a held alert begins after the measurements ended. What ended the measurements
		// is then of interest too.
		if last := a.Alert.LastBad; last != nil && last.Add(q.Window/3).Before(a.At) {
			a.At = last.Add(q.Window / 3)
		}
	}
	a.Since, a.From = a.At.Add(-q.Window), a.At.Add(-3*q.Window)
	a.Annotations = annotations(ctx, p, alert.Topology, a.Since, a.At)
	if a.Changes, a.Missing, err = changes(ctx, p.Figures, alert.Topology, a, q.Now); err != nil {
		return nil, err
	}
	outage, err := collectorAway(ctx, p.Figures, a, q.Now)
	if err != nil {
		return nil, err
	}
	a.Cause = cause(a, outage)
	if outage != nil {
		a.Notes = append(a.Notes, outage.Text)
	}
	a.judge(ctx, p, q.Now)
	return a, nil
}

// leastRange is the shortest time range in which a limiting resource is searched. It holds two reports of a metric
// that comes once a minute.
const leastRange = 2 * time.Minute

// judge determines which resource limited the topology since the cause. A longer time range would include the time
// before the change, and the mean would then hide the limit.
func (a *Answer) judge(ctx context.Context, p Ports, now time.Time) {
	if p.Limit == nil || a.Alert.Topology == "" || a.Alert.ofCollection() {
		return
	}
	// Shares of time mean little while workers wait for CPU: everything takes longer, garbage collection too.
	if a.Cause != nil && a.Cause.Figure == "cpu" {
		return
	}
	_, until := a.resolution(now)
	from := a.Since
	if a.Cause != nil {
		from = a.Cause.Since
	}
	if until.Sub(from) < leastRange {
		from = until.Add(-leastRange)
	}
	text, found, err := p.Limit(ctx, a.Alert.Topology, from, until, a.lastCause())
	switch {
	case err != nil:
		a.Notes = append(a.Notes, "the limiting resource is unknown: "+err.Error())
	case found:
		a.Limit = text
	case a.Cause == nil && len(a.Missing) < len(figures): // without any data, the text only lists what is unknown
		a.Notes = append(a.Notes, text)
	}
}

// evidenceDelay is how long data may take until a rule reads it: 41 s if several senders share a worker's samples, and
// one evaluation.
const evidenceDelay = time.Minute

// lastCause returns the last time at which a worker's silence may have caused the alert: before the alert's last
// measurement, and before the topology's recorded end.
func (a *Answer) lastCause() time.Time {
	last := a.At
	if r := a.run; r != nil && (r.State == "killed" || r.State == "stopped") && r.Since.Before(last) {
		last = r.Since
	}
	return last.Add(-evidenceDelay)
}

func annotations(ctx context.Context, p Ports, topology string, since, at time.Time) []Annotation {
	all := []Annotation{}
	for _, e := range p.Annotations(ctx, topology, since, at) {
		e.Before = at.Sub(e.Time).Seconds()
		all = append(all, e)
	}
	// newest first
	slices.SortStableFunc(all, func(a, b Annotation) int { return b.Time.Compare(a.Time) })
	return all
}
