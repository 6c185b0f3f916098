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
	// that are 14 s old, every 10 s.
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
	for _, verb := range [][2]string{{" is ", " was "}, {" take ", " took "}, {" contain ", " contained "},
		{" spends ", " spent "}, {" does not read ", " did not read "}} {
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
		return cause(r.Since, "Submit it again if this was not intended", "%s was killed at %s (reported by %s)",
			name, minute(r.Since), r.By)
	case r.State == "stopped":
		return cause(r.Since,
			"Unless it was killed or rebalanced on purpose, look for it in the Storm UI, and read the supervisor's log",
			"Storm stopped the metrics consumer of %s at %s: the topology was killed or rebalanced, or the worker was stopped",
			name, minute(r.Since))
	case r.State == "silent":
		return cause(r.Since,
			"Check that its workers run (Storm UI, supervisors' logs), then run: bullet-metrics doctor --topology "+name,
			"%s has not reported since %s, and did not announce its end; %s", name, minute(r.Since), r.senders())
	case len(r.Lost) == 1:
		return cause(r.Lost[0].Heard, lostAdvice,
			"Worker %s is lost: its last report was at %s, and no other worker reports its tasks; %d of %d workers report",
			r.Lost[0].Worker, minute(r.Lost[0].Heard), r.Workers, r.Workers+1)
	case len(r.Lost) > 1:
		first := slices.MinFunc(r.Lost, func(a, b LostWorker) int { return a.Heard.Compare(b.Heard) })
		return cause(first.Heard, lostAdvice,
			"%d workers are lost: the last report of the first (%s) was at %s, and no other worker reports their tasks; %d of %d workers report",
			len(r.Lost), first.Worker, minute(first.Heard), r.Workers, r.Workers+len(r.Lost))
	}
	return nil
}

func (r *Run) senders() string {
	switch {
	case r.Connected > 0:
		return fmt.Sprintf("%d of %d metrics consumers are connected, but send nothing", r.Connected, r.Senders)
	case r.Senders == 1:
		return "its metrics consumer is not connected"
	}
	return fmt.Sprintf("none of its %d metrics consumers is connected", r.Senders)
}

// clockOff returns the cause of an alert about clocks.
func clockOff(a *Answer) *Cause {
	if a.Alert.Labels["cause"] == "set_back" {
		return &Cause{"workers", fmt.Sprintf(
			"A worker's clock in %s was set back; samples with times that it already reported are refused",
			a.Alert.Topology),
			"Configure the time service to slew the clock (chronyd, ntpd -x), and to step it only at boot", a.Alert.Began}
	}
	if a.run == nil || a.run.ClockAhead == 0 {
		return nil
	}
	direction := "ahead of"
	if a.run.ClockAhead < 0 {
		direction = "behind"
	}
	return &Cause{"workers", fmt.Sprintf("A worker's clock in %s is %s %s the collector's", a.Alert.Topology,
		span(a.run.ClockAhead.Abs()), direction),
		"Correct it with a time service (check with chronyc tracking). If all hosts are off by the same amount, the collector's clock is wrong",
		a.Alert.Began}
}
