package diagnosis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Run is what the registry knows about a topology's run.
type Run struct {
	// State is running, silent, stopped, killed or replaced. Since is when this state began, and By is who reported
	// it.
	State, By string
	Since     time.Time
	// Workers is the number of running workers. Lost are the workers that are silent although the topology reports.
	Workers int
	Lost    []LostWorker
	// Senders is the number of tasks of the metrics consumer. Connected is how many of them are connected.
	Senders, Connected int
	// ClockAhead is the largest clock error of a worker; it is negative if the clock is behind.
	ClockAhead time.Duration
}

// LostWorker is a worker that does not report, with the time of its last report.
type LostWorker struct {
	Worker string
	Heard  time.Time
}

const (
	ofClocks = "BulletClockSkew"
	// fresh is the maximum age of the evidence of an alert that is raised by current measurements. Rules read data
	// that are 41 s old, every 15 s.
	fresh = 2 * time.Minute
)

// ofCollection reports whether an alert is about the collection of metrics. The load of the topology never explains
// such an alert.
func (a Alert) ofCollection() bool { return strings.HasPrefix(a.Name, ofOurOwn) || a.Name == ofClocks }

// weigh sets whether the alert is held, and reads what the registry knows about the topology's run.
func (a *Answer) weigh(ctx context.Context, p Ports, now time.Time) {
	if p.Run != nil && a.Alert.Topology != "" {
		a.run = p.Run(ctx, a.Alert.Topology)
	}
	if p.Evidence == nil || a.Alert.State != "firing" {
		return
	}
	if last, known := p.Evidence(ctx, a.Alert, now); known && now.Sub(last) > fresh {
		a.Alert.Held, a.Alert.LastBad, a.Alert.Summary = true, &last, past(a.Alert.Summary)
	}
}

// past changes the summary of a built-in rule to the past tense, for an alert that is only held.
func past(summary string) string {
	for _, verb := range [][2]string{{" is ", " was "}, {" take ", " took "}, {" get ", " got "}, {" spends ", " spent "},
		{" does not come ", " did not come "}} {
		if before, after, found := strings.Cut(summary, verb[0]); found {
			return before + verb[1] + after
		}
	}
	return summary
}

// verb returns present if current measurements raise the alert, and otherwise past.
func (a *Answer) verb(present, past string) string {
	if a.Alert.Held || a.Alert.State == "ended" {
		return past
	}
	return present
}

// silence returns why a topology or one of its workers does not report, as far as the registry knows.
func silence(a *Answer) *Cause {
	r := a.run
	if r == nil {
		return nil
	}
	name := a.Alert.Topology
	cause := func(since time.Time, advice, format string, args ...any) *Cause {
		return &Cause{"workers", fmt.Sprintf(format, args...), advice, since}
	}
	switch {
	case r.State == "killed":
		return cause(r.Since, "Nothing where that was meant; else submit it again", "%s was killed at %s, by the word of %s",
			name, minute(r.Since), r.By)
	case r.State == "stopped":
		return cause(r.Since,
			"Nothing where somebody killed or rebalances it; else see Storm's UI whether it is still there, and Supervisor's log for why the worker was stopped",
			"Storm closed the metrics consumer of %s in order at %s: it was killed, is being rebalanced, or its worker was stopped",
			name, minute(r.Since))
	case r.State == "silent":
		return cause(r.Since,
			"See whether its workers run (Storm's UI, Supervisors' logs), and what the plugin says in their logs: bullet-metrics doctor --topology "+name,
			"Nothing is heard of %s since %s, and nobody said that it ends; %s", name, minute(r.Since), r.senders())
	case len(r.Lost) == 1:
		return cause(r.Lost[0].Heard, lostAdvice,
			"Worker %s is lost: it was heard last at %s, and its tasks are not reported from elsewhere; %d of %d workers report",
			r.Lost[0].Worker, minute(r.Lost[0].Heard), r.Workers, r.Workers+1)
	case len(r.Lost) > 1:
		first := slices.MinFunc(r.Lost, func(a, b LostWorker) int { return a.Heard.Compare(b.Heard) })
		return cause(first.Heard, lostAdvice,
			"%d workers are lost, the first (%s) was heard last at %s, and their tasks are not reported from elsewhere; %d of %d workers report",
			len(r.Lost), first.Worker, minute(first.Heard), r.Workers, r.Workers+len(r.Lost))
	}
	return nil
}

func (r *Run) senders() string {
	switch {
	case r.Connected > 0:
		return fmt.Sprintf("%d of its %d senders are connected and send nothing", r.Connected, r.Senders)
	case r.Senders == 1:
		return "its sender is not connected"
	}
	return fmt.Sprintf("none of its %d senders is connected", r.Senders)
}

// clockOff returns the cause of an alert about clocks.
func clockOff(a *Answer) *Cause {
	if a.Alert.Labels["cause"] == "set_back" {
		return &Cause{"workers", fmt.Sprintf(
			"A worker's clock in %s was set back while it ran; samples of a time that it had shown before are refused",
			a.Alert.Topology),
			"Let the time service slew the clock (chronyd, ntpd -x) and step it at boot only", a.Alert.Began}
	}
	if a.run == nil || a.run.ClockAhead == 0 {
		return nil
	}
	direction := "ahead of"
	if a.run.ClockAhead < 0 {
		direction = "behind"
	}
	return &Cause{"workers", fmt.Sprintf("A worker's clock in %s is %s %s the collector's", a.Alert.Topology,
		a.run.ClockAhead.Abs().Round(time.Millisecond), direction),
		"Set it by a time service (chronyc tracking shows how it is); where all hosts seem off alike, it is the collector's own",
		a.Alert.Began}
}
