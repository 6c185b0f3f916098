package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// startTime is how long workers may take from a submission to the first batch: Supervisors fetch the jar, and workers
// start.
const startTime = 2 * time.Minute

// runsWithoutUs reports that Nimbus has the topology, and that no consumer of the plugin is registered in it.
func (c *Cluster) runsWithoutUs() bool {
	return c != nil && c.Err == nil && c.ID != "" && !slices.ContainsFunc(c.Consumers, ours)
}

// ours reports whether a consumer is the plugin, by any of the classes that it may be registered under.
func ours(class string) bool {
	return class == plugininfo.StormClass || class == plugininfo.BulletClass || class == plugininfo.EarlyClass
}

// submitted judges how the topology runs, by Nimbus. What Bullet was set to do and could not, it logs at INFO where it
// is submitted, and goes on: such a topology runs well and reports nothing, and only its configuration in Nimbus shows
// why.
func submitted(f Facts) Finding {
	c := f.Cluster
	switch {
	case c == nil:
		return unknown("not looked at: --nimbus names its Thrift address")
	case c.Err != nil:
		return fail("Nimbus cannot be asked: "+c.Err.Error(),
			"name the address of nimbus.thrift.port, 6627 by default, without SASL")
	case c.ID == "":
		known := "none"
		if len(c.Known) > 0 {
			known = strings.Join(c.Known, ", ")
		}
		return fail(fmt.Sprintf("Nimbus at %s has no topology %q; it has %s", c.Address, c.Topology, known),
			"submit it, and look at what the submission prints")
	case c.runsWithoutUs():
		return fail(fmt.Sprintf("%s runs without the plugin: %s names %s", c.ID, plugininfo.Register, orNone(c.Consumers)),
			f.unregistered())
	}
	for _, text := range c.Errors {
		if strings.Contains(text, "io.github.bulletmetrics") {
			return fail(fmt.Sprintf("%s has reported: %.300s", c.ID, text), noClassFix)
		}
	}
	if c.Uptime > startTime && f.Collector != nil && f.Collector.Err == nil && f.Collector.Found == nil && way(f) {
		return fail(fmt.Sprintf("%s runs with the plugin registered since %s, the collector can be reached, and no worker has reported: as it is where the jar is on the submitter only",
			c.ID, round(c.Uptime)), noClassFix)
	}
	return ok(fmt.Sprintf("%s runs with the plugin registered, since %s", c.ID, round(c.Uptime)))
}

// way reports that nothing is known to be wrong between plugin and collector. Only then is silence a sign of a missing
// jar.
func way(f Facts) bool { return address(f).Status == OK && security(f).Status == OK }

const noClassFix = "put bullet-metrics-storm.jar into Storm's extlib on every Supervisor, not on the machine that submits alone, and submit again; a worker's log (--log) names what it misses"

// orNone lists names, or states that there is none.
func orNone(all []string) string {
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// unregistered is what to do about a topology that runs without the plugin: what registration advises, where that
// failed. Else the class was missing where it was submitted.
func (f Facts) unregistered() string {
	if r := registration(f); r.Status == Fail {
		return r.Fix + "; submit again"
	}
	return "put bullet-metrics-storm.jar into Storm's extlib on the machine that submits and on every Supervisor, and submit again: where the class is missing, Bullet says so in the submission's log and goes on"
}

// logs judges what the plugin logs. Of each kind of trouble the newest line counts, and only where nothing later states
// that it is over. Without a log, the collector may know of an outage that the plugin reported afterwards.
func logs(f Facts) Finding {
	if len(f.Logs) == 0 {
		if f.Collector != nil && f.Collector.Unreached != "" {
			return ok("the plugin reaches the collector, and reported what had kept it from it: " +
				f.Collector.Unreached)
		}
		return unknown("not looked at: --log names a worker's, or the submission's")
	}
	messages := 0
	var seen, fixes []string
	add := func(path, line, fix string) {
		seen = append(seen, fmt.Sprintf("%s: %s", path, line))
		if !slices.Contains(fixes, fix) {
			fixes = append(fixes, fix)
		}
	}
	for _, l := range f.Logs {
		if l.Err != nil {
			return fail("the log cannot be read: "+l.Err.Error(),
				"name a worker's log, logs/workers-artifacts/TOPOLOGY/PORT/worker.log in Storm's directory")
		}
		if l.NoClass != "" {
			add(l.Path, fmt.Sprintf("%.300s", l.NoClass), noClassFix)
		}
		for _, t := range l.Trouble {
			add(l.Path, t.what(), t.fix())
		}
		messages += l.Ours
	}
	switch {
	case len(seen) > 0:
		return fail(strings.Join(seen, "; "), strings.Join(fixes, "; "))
	case messages == 0:
		return unknown(fmt.Sprintf(
			"no line has %q: not the log of a worker that runs the metrics consumer, nor of a submission",
			strings.TrimSpace(plugininfo.LogMark)))
	}
	return ok(fmt.Sprintf("%d messages of the plugin, and none of trouble that lasts", messages))
}

// what is the line, and what it means where this release knows the message.
func (t Trouble) what() string {
	if t.Message == nil {
		return fmt.Sprintf("%.500s", t.Line)
	}
	return fmt.Sprintf("%.500s (%s)", t.Line, t.Message.Means)
}

// fix is what to do. A message of another release is not explained: the wrong advice would cost more than none.
func (t Trouble) fix() string {
	if t.Message == nil {
		return "this doctor does not know that message: take doctor and plugin of one release, and go by the line until then"
	}
	return t.Message.Advice(t.Line)
}
