package doctor

import (
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/plugin"
)

// Classes are those that the jar must have.
var Classes = []string{plugin.BulletClass, plugin.EarlyClass, plugin.StormClass, plugin.SamplerClass, plugin.HookClass}

// What is judged as too much or too little.
const (
	usualInterval = 60  // s, Storm's default
	stormRetains  = 100 // reports, Storm's default
	// slack is the time from a sample to its slice beside its interval: pack, slice, lateness and the way.
	slack = 90 * time.Second
)

func jar(f Facts) Finding {
	j := f.Jar
	switch {
	case j == nil:
		return unknown("not looked at: --jar names it")
	case j.Err != nil:
		return fail("cannot be read: "+j.Err.Error(), "name build/bullet-metrics-storm.jar; make build makes it")
	case len(j.Missing) > 0:
		return fail(fmt.Sprintf("%s has %d classes, but not %s", j.Path, j.Classes, strings.Join(j.Missing, ", ")),
			"take bullet-metrics-storm.jar as it was built; make build makes it")
	case len(j.Visible) > 0:
		return fail(fmt.Sprintf("%s shows the topology classes of %s", j.Path, strings.Join(j.Visible, ", ")),
			"take bullet-metrics-storm.jar, in which they are relocated, and not a jar with its dependencies")
	}
	return ok(fmt.Sprintf("%s has the plugin's %d classes among %d, and none of gRPC, Netty, protobuf or Guava to be seen",
		j.Path, len(Classes), j.Classes))
}

func registration(f Facts) Finding {
	if s := f.Settings; s != nil && s.Err != nil {
		return fail("the settings cannot be read: "+s.Err.Error(), "name the file that the topology is submitted with")
	}
	if f.Settings != nil {
		return written(f)
	}
	if t := f.topology(); t != nil {
		return ok("the topology reports, so its consumer is registered")
	}
	return unknown("not looked at: --bullet-conf names the settings, and the topology has not reported")
}

// written judges the registration in a file.
func written(f Facts) Finding {
	const enable, classes = plugin.Enable, plugin.Classes
	const snippet = "bullet-metrics storm snippet prints the lines"
	early, late := slices.Contains(texts(f.file(classes)), plugin.EarlyClass), slices.Contains(texts(f.file(classes)), plugin.BulletClass)
	storm, _, known := f.topology().storm()
	switch {
	case f.registered() != nil:
		return ok("topology.metrics.consumer.register names the plugin")
	case !early && !late:
		return fail(fmt.Sprintf("neither %s nor topology.metrics.consumer.register of %s names the plugin", classes, f.Settings.Path),
			"add "+plugin.BulletClass+" to "+classes+", or for Bullet up to 0.4.3 "+plugin.EarlyClass+"; "+snippet)
	case early && !late && known && storm >= 2:
		return fail(classes+" names "+plugin.EarlyClass+" alone, which is for Bullet up to 0.4.3 on Storm 1, and Storm is "+f.topology().Storm,
			"name "+plugin.BulletClass+" instead; "+snippet)
	case !truth(f.file(enable)):
		return fail(enable+" is not true: Bullet registers no consumer", "set "+enable+": true")
	case !truth(f.file(plugin.BuiltIn)):
		return fail("bullet.topology.metrics.built.in.enable is not true: Bullet's tasks report nothing of their own",
			"set bullet.topology.metrics.built.in.enable: true")
	case f.file(plugin.Custom+plugin.Register) != nil:
		return fail(plugin.Custom+plugin.Register+" takes the place of what register() sets",
			"take it out, or name the plugin there; "+snippet)
	}
	if early && !late {
		return ok(classes + " names the plugin's class for Bullet up to 0.4.3, whose register() tells Storm the rest")
	}
	return ok(classes + " names the plugin, whose register() tells Storm the rest")
}

func tick(f Facts) Finding {
	const name = plugin.V2Tick
	if major, minor, known := f.topology().storm(); known && (major < 2 || major == 2 && minor < 2) {
		return ok("Storm " + f.topology().Storm + " has none and needs none")
	}
	value, source := f.setting(name)
	switch {
	case value != nil && truth(value):
		return ok("true: " + source)
	case value != nil:
		return fail(fmt.Sprintf("%v: %s", value, source)+"; Storm 2.2 and later hand no V2 metric to a consumer", "set "+name+": true, or take the line out")
	case registration(f).Status == Fail:
		return unknown("not made, since registration failed")
	case f.registered() != nil:
		return fail(name+" is not set, and false in Storm's defaults", "set "+name+": true (needed from Storm 2.2 on)")
	case f.Settings != nil:
		return ok("register() sets it")
	case f.topology() != nil && len(f.topology().Settings) == 0:
		return unknown("no setting of the topology was told, as in a replay of a capture")
	case f.topology() != nil:
		return fail("the topology runs without "+name, "set "+name+": true (needed from Storm 2.2 on)")
	}
	return unknown("not looked at: neither settings nor a topology that reports")
}

func retain(f Facts) Finding {
	if major, minor, known := f.topology().storm(); known && major == 1 && minor == 0 {
		return ok("Storm " + f.topology().Storm + " hands reports over on the bolt's own thread and keeps none")
	}
	if registration(f).Status == Fail {
		return unknown("not made, since registration failed")
	}
	if entry := f.registered(); entry != nil {
		return retained(f, plugin.Retain, entry[plugin.Retain], stormRetains)
	}
	if value := f.file(plugin.Collector + plugin.Retain); value != nil {
		return retained(f, plugin.Collector+plugin.Retain, value, stormRetains)
	}
	if told, is := f.told(plugin.Retain); is {
		return retained(f, plugin.Collector+plugin.Retain, told, stormRetains)
	}
	if f.Settings == nil {
		return unknown("not told to the collector: --bullet-conf names the settings")
	}
	return retained(f, plugin.Collector+plugin.Retain, nil, plugin.LeastRetained)
}

// retained judges a limit, or the default where it is not set.
func retained(f Facts, name string, value any, byDefault int) Finding {
	limit := float64(byDefault)
	if value != nil {
		n, is := number(value)
		if !is {
			return fail(fmt.Sprintf("%s is %v", name, value), "write a whole number")
		}
		limit = n
	}
	least, of := float64(stormRetains+1), "of any topology"
	if t := f.topology(); t != nil {
		least, of = float64(plugin.ReportsAtATick*t.Executors), fmt.Sprintf("of %d executors", t.Executors)
	}
	if limit > 0 && limit < least {
		return fail(fmt.Sprintf("Storm keeps %g reports, and a tick %s can have %g: it drops the oldest uncounted", limit, of, least),
			fmt.Sprintf("set %s to %d", name, max(plugin.LeastRetained, plugin.TicksRetained*int(least))))
	}
	if f.topology() == nil {
		of = "of a topology whose size is not known"
	}
	return ok(fmt.Sprintf("Storm keeps %g reports, enough for a tick %s", limit, of))
}

func interval(f Facts) Finding {
	if major, minor, known := f.topology().storm(); known && (major < 2 || major == 2 && minor < 3) {
		return ok("Storm " + f.topology().Storm + " schedules intervals of any length once")
	}
	var found []string
	for _, name := range []string{plugin.Interval, plugin.V2Interval} {
		value, source := f.setting(name)
		if value == nil {
			continue
		}
		n, is := number(value)
		if !is {
			return fail(fmt.Sprintf("%v: %s", value, source), "write a number of seconds")
		}
		if n > plugin.MostIntervalSeconds {
			return fail(fmt.Sprintf("%g s: %s; from Storm 2.3 on what is above %d s is scheduled twice", n, source, plugin.MostIntervalSeconds),
				fmt.Sprintf("set it to 10, or to at most %d", plugin.MostIntervalSeconds))
		}
		found = append(found, fmt.Sprintf("%s %g s", name, n))
	}
	mapping, _ := f.file("bullet.topology.metrics.built.in.emit.interval.mapping").(map[string]any)
	for name, value := range mapping {
		if n, _ := number(value); n > plugin.MostIntervalSeconds {
			return fail(fmt.Sprintf("%g s for %s in Bullet's emit interval mapping; from Storm 2.3 on what is above %d s is scheduled twice", n, name,
				plugin.MostIntervalSeconds), fmt.Sprintf("set it to 10, or to at most %d", plugin.MostIntervalSeconds))
		}
	}
	switch {
	case len(found) > 0:
		return ok(strings.Join(found, ", "))
	case f.Settings != nil && f.Settings.Err == nil:
		return ok("none is set: 10 s by register(), 60 s by Storm")
	}
	return unknown("not looked at: neither settings nor a topology that reports")
}

func security(f Facts) Finding {
	if f.topology() != nil && f.Settings == nil {
		return ok("batches arrive, so plugin and collector agree")
	}
	if f.Settings == nil || f.Settings.Err != nil {
		return unknown("not looked at: no settings that can be read")
	}
	cert, key := f.plugin("tls.cert.file"), f.plugin("tls.key.file")
	on := truth(f.plugin("tls.enabled"))
	addresses := texts(f.plugin("address"))
	switch {
	case (cert == nil) != (key == nil):
		return fail("only one of tls.cert.file and tls.key.file is set", "set both for mutual TLS, or neither")
	case !on && (cert != nil || f.plugin("tls.ca.file") != nil):
		return fail("tls.*.file is set, and tls.enabled is not true: the samples go out in the clear", "set "+plugin.Collector+"tls.enabled: true")
	case on:
		return ok("the plugin speaks TLS")
	case f.topology() != nil:
		return ok("none, and batches arrive")
	}
	for _, address := range addresses {
		if !loopback(address) {
			return fail("no TLS, and "+address+" is another machine: the collector listens there only with TLS, or with --grpc-insecure",
				"set "+plugin.Collector+"tls.enabled: true and tls.ca.file (docs/security.md)")
		}
	}
	return ok("none, and the collector is on the workers' own machine")
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// noTopology says why the collector has nothing to tell of the topology.
func noTopology(f Facts) (Finding, bool) {
	c := f.Collector
	switch {
	case c == nil:
		return unknown("not looked at: --collector names a running one"), true
	case c.Err != nil:
		return fail("the collector cannot be asked: "+c.Err.Error(), "start bullet-metrics serve, or name the address of its http.listen"), true
	case c.Found == nil:
		known := "none has"
		if len(c.Known) > 0 {
			known = "those that have: " + strings.Join(c.Known, ", ")
		}
		return fail(fmt.Sprintf("topology %q has not reported to %s; %s", c.Topology, c.Address, known),
			"mend what failed above; else look for \"Bullet Metrics\" in Nimbus' and the workers' logs, and whether the workers reach the collector"), true
	}
	return Finding{}, false
}

func skew(f Facts) Finding {
	if why, none := noTopology(f); none {
		if why.Status == Fail {
			return unknown("not made: nothing has come from the topology (see first batch)")
		}
		return why
	}
	worst, at := Skew{}, ""
	for worker, s := range f.Collector.Skews {
		if at == "" || math.Abs(s.Sure) > math.Abs(worst.Sure) || math.Abs(s.Sure) == math.Abs(worst.Sure) && worker < at {
			worst, at = s, worker
		}
	}
	limit := catalog.CollectionSkewLimit.Seconds()
	switch {
	case at == "":
		return unknown("no slice of a worker has closed yet")
	case math.Abs(worst.Sure) > limit:
		return fail(fmt.Sprintf("the clock of %s is at least %.3f s %s the collector's", at, math.Abs(worst.Sure), map[bool]string{true: "ahead of", false: "behind"}[worst.Sure > 0]),
			fmt.Sprintf("keep the clocks together (NTP): latencies between hosts are wrong by as much; up to %g s are borne", limit))
	case math.IsInf(worst.Most, 1):
		return ok(fmt.Sprintf("no clock is off beyond doubt (%s: ahead by at least %.3f s; no sender is on its host, so that nothing bounds it from above)", at, worst.Least))
	}
	return ok(fmt.Sprintf("no clock is off beyond doubt (%s: ahead by %.3f to %.3f s)", at, worst.Least, worst.Most))
}

func firstBatch(f Facts) Finding {
	if why, none := noTopology(f); none {
		return why
	}
	t := f.Collector.Found
	if !t.Alive {
		return fail(fmt.Sprintf("the last batch came %s ago", round(f.Collector.Now.Sub(t.LastSeen))),
			"see whether the topology runs; if so, whether its workers reach the collector (their logs name it)")
	}
	says := fmt.Sprintf("%s reports, last %s ago", t.ID, round(f.Collector.Now.Sub(t.LastSeen)))
	if !t.Submitted.IsZero() {
		says += fmt.Sprintf("; its first batch came %s after its submission", round(t.FirstSeen.Sub(t.Submitted)))
	}
	return ok(says)
}

func seen(f Facts, kind Kind) Finding {
	if before := firstBatch(f); before.Status == Fail {
		return unknown("not made, since first batch failed")
	} else if before.Status == Unknown {
		return before
	}
	c := f.Collector
	sight, found := c.Seen[kind]
	if !found {
		return fail(fmt.Sprintf("no slice of it in the last %s", Lookback), notSeen(kind))
	}
	age := c.Now.Sub(sight.Newest)
	says := fmt.Sprintf("newest slice %s old, of %d of %d workers", round(age), sight.Workers, c.Found.Workers)
	if most := f.latest(); age > most {
		return fail(says+fmt.Sprintf("; it should be no older than %s", round(most)),
			"see bullet_metrics_producer_dropped_samples_total and bullet_metrics_feed_samples on /metrics; metric ticks queue behind data where a component is overloaded")
	}
	if kind != Latency && sight.Workers < c.Found.Workers {
		return fail(says, "see the log of the workers that are missing in /api/v1/topologies/"+c.Topology+"; a worker that has just started is a slice behind")
	}
	return ok(says)
}

// latest is how old the newest slice may be.
func (f Facts) latest() time.Duration {
	longest := float64(usualInterval)
	for i, name := range []string{plugin.Interval, plugin.V2Interval} {
		if value, _ := f.setting(name); value != nil {
			if n, is := number(value); is && (i == 0 || n > longest) {
				longest = n
			}
		}
	}
	return time.Duration(longest)*time.Second + slack
}

func notSeen(kind Kind) string {
	switch kind {
	case CPU:
		return "add the worker's sampler: " + plugin.Collector + "sampler.enabled must not be false; without Bullet, topology.worker.metrics names " + plugin.SamplerClass
	case Latency:
		return "see whether records flow: without records and acks no latency is reported; and whether bullet.topology.metrics.built.in.enable is true"
	}
	return "add the worker's sampler (topology.worker.metrics), and see v2 tick above"
}

func round(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
