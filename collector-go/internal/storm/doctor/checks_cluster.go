package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// startTime is how long it may take from a submission to the first batch. Supervisors first download the jar, and then
// the workers start.
const startTime = 2 * time.Minute

// runsWithoutUs reports whether Nimbus has the topology and no consumer of the plugin is registered in it.
func (c *Cluster) runsWithoutUs() bool {
	return c != nil && c.Err == nil && c.ID != "" && !slices.ContainsFunc(c.Consumers, ours)
}

// ours reports whether a consumer class is one of the plugin's.
func ours(class string) bool {
	return class == plugininfo.StormClass || class == plugininfo.BulletClass || class == plugininfo.EarlyClass
}

// submitted checks how the topology runs according to Nimbus. If Bullet cannot register the plugin, it only logs this
// at INFO during the submission and continues. Such a topology runs well but reports nothing, and only its
// configuration in Nimbus shows why.
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

// way reports whether the connection between plugin and collector has no known problem. Only then does silence
// indicate a missing jar.
func way(f Facts) bool { return address(f).Status == OK && security(f).Status == OK }

const noClassFix = "put bullet-metrics-storm.jar into Storm's extlib on every Supervisor, not on the machine that submits alone, and submit again; a worker's log (--log) names what it misses"

// orNone joins names with commas. It returns "nothing" if the list is empty.
func orNone(all []string) string {
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

// unregistered returns the advice for a topology that runs without the plugin. If the registration check failed, it is
// the advice of that check. Otherwise the class was missing on the machine that submitted the topology.
func (f Facts) unregistered() string {
	if r := registration(f); r.Status == Fail {
		return r.Fix + "; submit again"
	}
	return "put bullet-metrics-storm.jar into Storm's extlib on the machine that submits and on every Supervisor, and submit again: where the class is missing, Bullet says so in the submission's log and goes on"
}

// logs checks the plugin's log messages. For each kind of problem only the newest message counts, and only if no later
// message says that the problem is over. Without a log, the collector may know about an outage that the plugin
// reported afterwards.
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

// what returns the line, with an explanation if this release knows the message.
func (t Trouble) what() string {
	if t.Message == nil {
		return fmt.Sprintf("%.500s", t.Line)
	}
	return fmt.Sprintf("%.500s (%s)", t.Line, t.Message.Means)
}

// fix returns the advice. A message of another release gets no specific advice, because wrong advice would be worse
// than none.
func (t Trouble) fix() string {
	if t.Message == nil {
		return "this doctor does not know that message: take doctor and plugin of one release, and go by the line until then"
	}
	return t.Message.Advice(t.Line)
}
