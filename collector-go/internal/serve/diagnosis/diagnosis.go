// Package diagnosis explains an alert. It finds what changed before the alert began: events (configuration changes,
// restarts, experiment steps), figures that moved to another level, and the resource that limited the topology. Each
// finding has its numbers and its time, so that a reader can check it.
//
// It must not know where figures and events come from; they arrive through ports. Start with Question; find.go finds
// the alert, cause.go names the most likely cause, and text.go writes the answer for a person.
package diagnosis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Question selects the alert to explain and the time range in which to look for changes.
type Question struct {
	Alert    string // its name
	Topology string // "" where only one topology has the alert
	// At is the moment before which changes are looked for; the zero time is when the alert began.
	At time.Time
	// Window is how long before At a change may lie; twice that before it is the time compared with. 15 min by default.
	Window time.Duration
	Now    time.Time
}

// DefaultWindow is how far back changes are looked for: slow enough a cause for most of what wakes people, and short
// enough that the day's own rise and fall is not taken for one.
const DefaultWindow = 15 * time.Minute

// Alert is the alert that is asked about.
type Alert struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	State  string            `json:"state"` // firing, pending, or ended
	Began  time.Time         `json:"began"`
	// Ended is when an alert that has ended fired last.
	Ended *time.Time `json:"ended,omitempty"`
	// Held is set where what is measured now does not raise the alert: it stands for what was measured last, at
	// LastBad.
	Held     bool       `json:"held,omitempty"`
	LastBad  *time.Time `json:"last_bad,omitempty"`
	Summary  string     `json:"summary,omitempty"`
	Runbook  string     `json:"runbook_url,omitempty"`
	Topology string     `json:"topology,omitempty"`
}

// Annotation is something that happened.
type Annotation struct {
	Time   time.Time `json:"time"`
	Before float64   `json:"seconds_before"` // the alert
	Title  string    `json:"title"`
	Text   string    `json:"text,omitempty"`
	Tags   []string  `json:"tags,omitempty"`
}

// Answer is what changed.
type Answer struct {
	Alert Alert `json:"alert"`
	// From, Since and At part the times: [From, Since) is what was normal, in [Since, At] changes are looked for.
	From        time.Time    `json:"from"`
	Since       time.Time    `json:"since"`
	At          time.Time    `json:"at"`
	Annotations []Annotation `json:"events"`
	Changes     []Change     `json:"changes"`
	// Cause is what most likely raised the alert, by what moved; nil where nothing does that explains it.
	Cause *Cause `json:"cause,omitempty"`
	// Limit is what the topology was limited by from its first change on, in a sentence; "" where nothing was found at
	// its limit.
	Limit string `json:"limit,omitempty"`
	// Missing are the figures without a sample in [From, At]: whether they moved is not known.
	Missing []string `json:"missing"`
	Notes   []string `json:"notes"`

	run *Run
}

// Line is a series over time: values at ascending times, ms since the Unix epoch. A time that is not there is a gap.
type Line struct {
	Labels  map[string]string
	TimesMs []int64
	Values  []float64
}

// Figures answers PromQL.
type Figures interface {
	Range(ctx context.Context, expression string, from, to time.Time, step time.Duration) ([]Line, error)
}

// Ports are what an answer is made from.
type Ports struct {
	Figures Figures
	// Active are the alerts that are pending or firing now.
	Active func() []Alert
	// Annotations are those of a topology that began or ended in [from, to].
	Annotations func(ctx context.Context, topology string, from, to time.Time) []Annotation
	// Evidence is when what is measured raised an alert last; false where that is not known. nil: nobody knows.
	Evidence func(ctx context.Context, alert Alert, now time.Time) (last time.Time, known bool)
	// Run is what is known of a topology's run; nil where nothing is.
	Run func(ctx context.Context, topology string) *Run
	// Limit judges what a topology was limited by, in a sentence; found is whether anything was at its limit. nil:
	// nobody judges it.
	Limit func(ctx context.Context, topology string, from, to time.Time) (text string, found bool, err error)
}

// UnknownAlertError states that no such alert is, or was within the last day.
type UnknownAlertError struct {
	Name, Topology string
	Known          []string // that are pending or firing
}

func (e *UnknownAlertError) Error() string {
	of := ""
	if e.Topology != "" {
		of = " of topology " + e.Topology
	}
	if len(e.Known) == 0 {
		return fmt.Sprintf("alert %s%s is not pending or firing, nor was it within the last day; no other is",
			e.Name, of)
	}
	return fmt.Sprintf("alert %s%s is not pending or firing, nor was it within the last day; those that are: %s",
		e.Name, of, strings.Join(e.Known, ", "))
}

// Explain answers q.
func Explain(ctx context.Context, p Ports, q Question) (*Answer, error) {
	if q.Window == 0 {
		q.Window = DefaultWindow
	}
	alert, err := find(ctx, p, q)
	if err != nil {
		return nil, err
	}
	a := &Answer{Alert: alert, At: q.At, Notes: []string{}}
	a.weigh(ctx, p, q.Now)
	if a.At.IsZero() {
		a.At = alert.Began
		// Rules that were evaluated late found an alert that is held from before: what ended its measuring counts too.
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

// leastJudged is how long a time a limiter is looked for in at least: two reports of what comes once a minute.
const leastJudged = 2 * time.Minute

// judge asks what limited the topology since it changed: over the time before that the mean would say that nothing did,
// beside a figure that moved.
func (a *Answer) judge(ctx context.Context, p Ports, now time.Time) {
	if p.Limit == nil || a.Alert.Topology == "" || a.Alert.ofCollection() {
		return
	}
	_, until := a.resolution(now)
	from := a.Since
	if a.Cause != nil {
		from = a.Cause.Since
	}
	if until.Sub(from) < leastJudged {
		from = until.Add(-leastJudged)
	}
	text, found, err := p.Limit(ctx, a.Alert.Topology, from, until)
	switch {
	case err != nil:
		a.Notes = append(a.Notes, "what limited the topology could not be judged: "+err.Error())
	case found:
		a.Limit = text
	case a.Cause == nil:
		a.Notes = append(a.Notes, text)
	}
}

func annotations(ctx context.Context, p Ports, topology string, since, at time.Time) []Annotation {
	all := []Annotation{}
	for _, e := range p.Annotations(ctx, topology, since, at) {
		e.Before = at.Sub(e.Time).Seconds()
		all = append(all, e)
	}
	// the last before the alert comes first
	slices.SortStableFunc(all, func(a, b Annotation) int { return b.Time.Compare(a.Time) })
	return all
}
