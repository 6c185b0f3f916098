package diagnosis

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Cause is the most likely cause of an alert.
type Cause struct {
	// Figure is the key of the page's figure that shows it.
	Figure string `json:"figure"`
	// Text is a sentence with the measured numbers. Advice says what to do. Times in both are RFC 3339.
	Text   string    `json:"text"`
	Advice string    `json:"advice"`
	Since  time.Time `json:"since"`
}

func (c *Cause) sentence() string {
	if c == nil {
		return ""
	}
	return c.Text + ". " + c.Advice
}

const (
	muchGC = 0.1 // share of time from which garbage collection explains a latency
	// mostGCStarved is the share from which garbage collection explains that workers use less CPU. Below it, pauses may
	// only be longer because the workers lack CPU.
	mostGCStarved = 0.4
	muchBusy      = 0.8 // share of time from which a task is too busy to keep up
	starvedTo     = 0.8 // workers got less CPU if their CPU time falls below this share of the CPU time before
	slowedTo      = 0.8 // a source is slow if the record rate falls below this share of the rate before
	ofOurOwn      = "BulletMetrics"

	nameRestarts  = "worker restarts"
	nameReporting = "reporting workers"
	nameArriving  = "records read"
	nameLag       = "source lag"
	nameWait      = "wait in the receive queue"
	nameCPU       = "CPU of all workers"
)

// cause returns the most likely cause, or nil. The order of the candidates matters, because one problem causes the
// next. A lost worker makes other workers busy. Workers that get less CPU spend more time in garbage collection.
// Garbage collection makes a task look busy. A busy task makes records wait at the source.
//
// For an alert about the collection itself, an outage of the collector is checked first and silence second; load never
// causes it. An alert that only holds an old value is most likely caused by silence, so that this is checked first.
func cause(a *Answer, outage *Cause) *Cause {
	if outage != nil && strings.HasPrefix(a.Alert.Name, ofOurOwn) {
		return outage
	}
	candidates := []func(*Answer) *Cause{lostWorker, lessCPU, collections, busyTask, slowSource, moreLoad}
	switch {
	case a.Alert.Name == ofClocks:
		candidates = []func(*Answer) *Cause{clockOff}
	case a.Alert.ofCollection():
		candidates = []func(*Answer) *Cause{silence, lostWorker}
	case a.Alert.Held:
		// Silence that began after the alert only explains why the alert is held.
		if s := silence(a); s != nil && s.Since.After(a.Alert.Began) {
			candidates = append(candidates, silence)
		} else {
			candidates = append([]func(*Answer) *Cause{silence}, candidates...)
		}
	}
	for _, explains := range candidates {
		if c := explains(a); c != nil {
			return c
		}
	}
	return outage
}

// moved returns a change that is accepted by is and whose value rose or fell as requested. Of several, it returns the
// one with the largest value after the change. It returns nil if there is none.
func (a *Answer) moved(rose bool, is func(Change) bool) *Change {
	var found *Change
	for i, c := range a.Changes {
		if is(c) && (c.After > c.Before) == rose && (found == nil || c.After > found.After) {
			found = &a.Changes[i]
		}
	}
	return found
}

func named(name string) func(Change) bool { return func(c Change) bool { return c.Name == name } }

func shown(figure string) func(Change) bool { return func(c Change) bool { return c.Figure == figure } }

const lostAdvice = "Read the worker's log: the most frequent reason is lack of memory. Its queries are lost unless Bullet replays them"

func lostWorker(a *Answer) *Cause {
	// the restarts that the registry recorded, newest first
	known := slices.DeleteFunc(slices.Clone(a.Annotations), func(e Annotation) bool {
		return !slices.Contains(e.Tags, "restart")
	})
	if n := len(known); n > 1 {
		first := known[n-1].Time
		return &Cause{"workers", fmt.Sprintf("Workers restarted %d times, first at %s (%s)", n, minute(first),
			known[n-1].Title), "Unless the topology was restarted or rebalanced on purpose, read the supervisors' logs and the ends of the workers' logs",
			first}
	}
	c := a.moved(true, named(nameRestarts))
	text := ""
	switch fewer := a.moved(false, named(nameReporting)); {
	case c != nil:
		text = fmt.Sprintf("A worker was lost and restarted at %s", minute(c.Since))
	case fewer != nil:
		c, text = fewer, fmt.Sprintf("A worker is lost: %s workers report since %s (%s before)", number(fewer.After),
			minute(fewer.Since), number(fewer.Before))
	case len(known) == 1:
		return &Cause{"workers", fmt.Sprintf("A worker restarted at %s (%s)", minute(known[0].Time),
			known[0].Title), lostAdvice, known[0].Time}
	default:
		return nil
	}
	if len(known) == 1 {
		text += " (" + known[0].Title + ")"
	}
	return &Cause{"workers", text, lostAdvice, c.Since}
}

// lessCPU detects workers that got less CPU. They used less of it, although records and queries fell less, and tuples
// waited. Queries may fall a little because slow workers answer fewer. A task that is busy all the time, or much
// garbage collection, may explain this as well; then the cause is not a lack of CPU.
func lessCPU(a *Answer) *Cause {
	cpu, wait := a.moved(false, named(nameCPU)), a.moved(true, named(nameWait))
	if cpu == nil || cpu.After >= starvedTo*cpu.Before || wait == nil {
		return nil
	}
	for _, load := range []*Change{a.moved(false, named(nameArriving)), a.moved(false, shown("queries"))} {
		if load == nil {
			continue
		}
		least := cpu.fall() / 2
		if load.Since.After(cpu.Since) { // a smaller fall that came later is a consequence
			least = cpu.fall()
		}
		if load.fall() > least {
			return nil // there was less to do
		}
	}
	if busy := a.moved(true, shown("busy")); busy != nil && busy.After >= muchBusy {
		return nil
	}
	if gc := a.moved(true, shown("gc")); gc != nil && gc.After >= mostGCStarved {
		return nil
	}
	since := cpu.Since
	if wait.Since.Before(since) { // the rate of CPU time follows a change with a delay
		since = wait.Since
	}
	return &Cause{"cpu", fmt.Sprintf(
		"The workers %s less CPU since %s: %s cores (%s before), although the load did not fall as much; tuples %s %s for %s (%s before)",
		a.verb("have got", "got"), minute(since), number(cpu.After), number(cpu.Before), a.verb("wait", "waited"),
		value(wait.After, "s"), wait.Labels["component"], value(wait.Before, "s")),
		"Check the CPU limits of the workers' containers, and which other processes use the CPU of their hosts", since}
}

// fall returns by which share of the value before the value fell.
func (c *Change) fall() float64 { return 1 - c.After/c.Before }

func collections(a *Answer) *Cause {
	c := a.moved(true, shown("gc"))
	if c == nil || c.After < muchGC {
		return nil
	}
	return &Cause{"gc", fmt.Sprintf("Garbage collection pauses %s %s of the worst worker's time since %s (%s before)",
		a.verb("have taken", "took"), percent(c.After), minute(c.Since), percent(c.Before)),
		"Give the workers a larger heap (topology.worker.childopts -Xmx), or run fewer queries with windows", c.Since}
}

func busyTask(a *Answer) *Cause {
	c := a.moved(true, shown("busy"))
	if c == nil || c.After < muchBusy {
		return nil
	}
	component := c.Labels["component"]
	return &Cause{"busy", fmt.Sprintf("%s %s busy %s of the time since %s (%s before)", component,
		a.verb("has been", "was"), percent(c.After), minute(c.Since), percent(c.Before)), adviceFor(component), c.Since}
}

func adviceFor(component string) string {
	if component == "FilterBolt" {
		return "Raise bullet.topology.filter.bolt.parallelism, or reduce the number of queries or records"
	}
	return "Raise the parallelism of " + component
}

// slowSource detects a source that delivers fewer records, or delivers them late, while the tasks are not busy.
func slowSource(a *Answer) *Cause {
	fewer, lag := a.moved(false, named(nameArriving)), a.moved(true, named(nameLag))
	switch {
	case fewer != nil && fewer.After < slowedTo*fewer.Before:
		text := fmt.Sprintf("The source %s slow since %s: %s records/s (%s before), and no component %s busy",
			a.verb("has been", "was"), minute(fewer.Since), number(fewer.After), number(fewer.Before), a.verb("is", "was"))
		if lag != nil {
			text += fmt.Sprintf("; %s records %s to be read", number(lag.After), a.verb("wait", "waited"))
		}
		return &Cause{"records", text,
			"Check the source and the connection to it (Kafka brokers, network); the topology itself has spare capacity",
			fewer.Since}
	case lag != nil:
		return &Cause{"lag", fmt.Sprintf("The source lag %s %s records since %s (%s before)",
			a.verb("has been", "was"), number(lag.After), minute(lag.Since), number(lag.Before)),
			"Run more spout tasks, up to the number of partitions, or raise topology.max.spout.pending", lag.Since}
	}
	return nil
}

func moreLoad(a *Answer) *Cause {
	if c := a.moved(true, named(nameArriving)); c != nil {
		return &Cause{"records", fmt.Sprintf("More records %s since %s: %s per second (%s before)",
			a.verb("have arrived", "arrived"), minute(c.Since), number(c.After), number(c.Before)), adviceFor("FilterBolt"), c.Since}
	}
	if c := a.moved(true, shown("queries")); c != nil {
		return &Cause{"queries", fmt.Sprintf("More queries %s since %s: %s (%s before)",
			a.verb("have run", "ran"), minute(c.Since), number(c.After), number(c.Before)),
			"Raise bullet.topology.filter.bolt.parallelism, or limit the queries (bullet.query.max.concurrency)",
			c.Since}
	}
	return nil
}

// outageWindow is four times the interval at which the collector stores its own metrics.
const outageWindow = time.Minute

// collectorAway returns the last time within [Since, At] at which the collector did not run, according to its own
// metrics. It returns nil if the collector was always running.
func collectorAway(ctx context.Context, ask Figures, a *Answer, now time.Time) (*Cause, error) {
	step, until := a.resolution(now)
	lines, err := ask.LinesBetween(ctx, fmt.Sprintf("max(present_over_time(bullet_metrics_build_info[%ds]))",
		int(outageWindow.Seconds())), a.From, until, step)
	if err != nil {
		return nil, fmt.Errorf("find the times at which the collector ran: %w", err)
	}
	if len(lines) == 0 {
		return nil, nil
	}
	times := lines[0].TimesMs
	for i := len(times) - 1; i > 0; i-- {
		back := time.UnixMilli(times[i])
		if back.Before(a.Since) {
			return nil, nil
		}
		// present_over_time still finds a sample one window later, so that the collector stopped one window before.
		if gone := time.UnixMilli(times[i-1]); back.Sub(gone) > step+step/2 {
			return &Cause{"workers",
				fmt.Sprintf("The collector did not run from %s to %s; for this time, only samples that the plugin buffered are known",
					minute(gone.Add(-outageWindow)), minute(back)),
				"Find out why the collector was down (its log, its host), then check the charts since its return. The topology itself may be healthy",
				back}, nil
		}
	}
	return nil, nil
}

// minute formats a time for a sentence as RFC 3339, rounded down to the minute. The page and the command line find it
// by this form and convert it to the zone of the reader.
func minute(t time.Time) string { return t.UTC().Truncate(time.Minute).Format(time.RFC3339) }

func percent(share float64) string { return fmt.Sprintf("%.0f%%", math.Round(100*share)) }
