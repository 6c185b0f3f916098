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
		return notChecked("set --nimbus")
	case c.Err != nil:
		return fail("cannot query Nimbus: "+c.Err.Error(),
			"set --nimbus to the address of nimbus.thrift.port, 6627 by default; SASL is not supported")
	case c.ID == "":
		return fail(fmt.Sprintf("Nimbus at %s has no topology %q; its topologies: %s", c.Address, c.Topology, orNone(c.Known)),
			"submit the topology, and check the output of the submission")
	case c.runsWithoutUs():
		return fail(fmt.Sprintf("%s runs without the plugin; classes in %s: %s", c.ID, plugininfo.Register, orNone(c.Consumers)),
			f.unregistered())
	}
	for _, text := range c.Errors {
		if strings.Contains(text, "io.github.bulletmetrics") {
			return fail(fmt.Sprintf("%s reported an error: %.300s", c.ID, text), missingClassFix)
		}
	}
	if c.Uptime > startTime && f.Collector != nil && f.Collector.Err == nil && f.Collector.Found == nil && connects(f) {
		return fail(fmt.Sprintf(
			"%s has run with the plugin for %s and the collector is reachable, but no worker has reported; the jar may be missing on the Supervisors",
			c.ID, round(c.Uptime)), missingClassFix)
	}
	return ok(fmt.Sprintf("%s has run with the plugin for %s", c.ID, round(c.Uptime)))
}

// connects reports whether the connection between plugin and collector has no known problem. Only then does silence
// indicate a missing jar.
func connects(f Facts) bool {
	return addresses(f).Status == OK && security(f).Status == OK && permission(f).Status != Fail
}

const missingClassFix = "install bullet-metrics-storm.jar in Storm's extlib on every Supervisor, and submit again; a worker's log (--log) names the missing class"

// orNone joins names with commas. It returns "none" if the list is empty.
func orNone(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// unregistered returns the advice for a topology that runs without the plugin. If the registration check failed, it is
// the advice of that check. Otherwise the class was missing on the machine that submitted the topology.
func (f Facts) unregistered() string {
	if r := registration(f); r.Status == Fail {
		return r.Fix + "; submit again"
	}
	return "install bullet-metrics-storm.jar in Storm's extlib on the submitting host and on every Supervisor, and submit again; without the class, Bullet only logs a message at the submission"
}

// logs checks the plugin's log messages. For each kind of problem only the newest message counts, and only if no later
// message says that the problem is over. Without a log, the collector may know about an outage that the plugin
// reported afterwards.
func logs(f Facts) Finding {
	if len(f.Logs) == 0 {
		if f.Collector != nil && f.Collector.Unreached != "" {
			return ok("the plugin reaches the collector; it reported an earlier outage: " + f.Collector.Unreached)
		}
		return notChecked("set --log to the log of a worker or of the submission")
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
			return fail("cannot read the log: "+l.Err.Error(),
				"set --log to a worker's log: logs/workers-artifacts/TOPOLOGY/PORT/worker.log in Storm's directory")
		}
		if l.MissingClass != "" {
			add(l.Path, fmt.Sprintf("%.300s", l.MissingClass), missingClassFix)
		}
		for _, p := range l.Problems {
			add(l.Path, p.what(), p.fix())
		}
		messages += l.Messages
	}
	switch {
	case len(seen) > 0:
		return fail(strings.Join(seen, "; "), strings.Join(fixes, "; "))
	case messages == 0:
		return unknown(fmt.Sprintf(
			"no line has %q: use the log of the submission, or of a worker that runs the metrics consumer",
			strings.TrimSpace(plugininfo.LogMark)))
	}
	return ok(fmt.Sprintf("%d messages of the plugin, and no unresolved problem", messages))
}

// what returns the line, with an explanation if this release knows the message.
func (p Problem) what() string {
	if p.Message == nil {
		return fmt.Sprintf("%.500s", p.Line)
	}
	return fmt.Sprintf("%.500s (%s)", p.Line, p.Message.Means)
}

// fix returns the advice. A message of another release gets no specific advice, because wrong advice would be worse
// than none.
func (p Problem) fix() string {
	if p.Message == nil {
		return "this doctor does not know the message, so the plugin has another release; follow the message, or use a doctor of that release"
	}
	return p.Message.Advice(p.Line)
}
