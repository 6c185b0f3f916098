package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// Classes are the classes that the plugin's jar must contain.
var Classes = []string{
	plugininfo.BulletClass, plugininfo.EarlyClass, plugininfo.StormClass, plugininfo.SamplerClass, plugininfo.HookClass,
}

// The limits and defaults that checks compare with.
const (
	usualInterval = 60  // in seconds, Storm's default
	stormRetains  = 100 // number of reports, Storm's default
	// slack is the time from a sample to its slice in addition to the reporting interval. It covers the plugin's pack,
	// the slice, the lateness and the transfer.
	slack = 90 * time.Second
)

// jar checks whether the plugin's jar contains all classes of the plugin. It also checks that libraries which a
// topology may have in another version are relocated. Otherwise they could conflict with those of the topology.
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

// tick checks whether Storm passes V2 metrics to a consumer. From Storm 2.2 on it does so only if a setting is true,
// and the default is false. Without it these metrics are missing, although the topology seems to report.
func tick(f Facts) Finding {
	const name = plugininfo.V2Tick
	if major, minor, known := f.topology().storm(); known && (major < 2 || major == 2 && minor < 2) {
		return ok("Storm " + f.topology().Storm + " has none and needs none")
	}
	value, source := f.setting(name)
	switch {
	case value != nil && truth(value):
		return ok("true: " + source)
	case value != nil:
		return fail(fmt.Sprintf("%v: %s", value, source)+"; Storm 2.2 and later hand no V2 metric to a consumer",
			"set "+name+": true, or take the line out")
	case registration(f).Status == Fail:
		return unknown("not made, since registration failed")
	case f.registered() != nil:
		return fail(name+" is not set, and false in Storm's defaults", "set "+name+": true (needed from Storm 2.2 on)")
	case f.Settings != nil && f.Settings.Err == nil:
		return ok("register() sets it")
	case f.topology() != nil && len(f.topology().Settings) == 0:
		return unknown("no setting of the topology was reported, as in a replay of a capture")
	case f.topology() != nil:
		return fail("the topology runs without "+name, "set "+name+": true (needed from Storm 2.2 on)")
	}
	return unknown("not looked at: neither settings nor a topology that reports")
}

// retain checks how many reports Storm keeps for the consumer. Storm drops the oldest ones without counting them, so
// that a limit that is too small silently loses samples. The value is read from the plugin's own registration, from
// the file, or from the running topology.
func retain(f Facts) Finding {
	if major, minor, known := f.topology().storm(); known && major == 1 && minor == 0 {
		return ok("Storm " + f.topology().Storm + " hands reports over on the bolt's own thread and keeps none")
	}
	if registration(f).Status == Fail {
		return unknown("not made, since registration failed")
	}
	if entry := f.registered(); entry != nil {
		return retained(f, plugininfo.Retain, entry[plugininfo.Retain], stormRetains)
	}
	if value := f.file(plugininfo.Collector + plugininfo.Retain); value != nil {
		return retained(f, plugininfo.Collector+plugininfo.Retain, value, stormRetains)
	}
	if value, is := f.reported(plugininfo.Retain); is {
		return retained(f, plugininfo.Collector+plugininfo.Retain, value, stormRetains)
	}
	if f.Settings == nil || f.Settings.Err != nil {
		return unknown("not reported to the collector: --bullet-conf names the settings")
	}
	return retained(f, plugininfo.Collector+plugininfo.Retain, nil, plugininfo.LeastRetained)
}

// retained checks a limit, or byDefault if value is nil. The required minimum is the number of reports in one metric
// tick, which depends on the number of executors. If that is unknown, the limit must be above Storm's default.
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
		least, of = float64(plugininfo.ReportsAtATick*t.Executors), fmt.Sprintf("of %d executors", t.Executors)
	}
	if limit > 0 && limit < least {
		return fail(fmt.Sprintf("Storm keeps %g reports, and a tick %s can have %g: it drops the oldest uncounted",
			limit, of, least),
			fmt.Sprintf("set %s to %d", name, max(plugininfo.LeastRetained, plugininfo.TicksRetained*int(least))))
	}
	if f.topology() == nil {
		of = "of a topology whose size is not known"
	}
	return ok(fmt.Sprintf("Storm keeps %g reports, enough for a tick %s", limit, of))
}

// interval checks the reporting intervals. From Storm 2.3 on, an interval above a limit is scheduled twice. Earlier
// releases accept any length.
func interval(f Facts) Finding {
	if major, minor, known := f.topology().storm(); known && (major < 2 || major == 2 && minor < 3) {
		return ok("Storm " + f.topology().Storm + " schedules intervals of any length once")
	}
	var found []string
	for _, name := range []string{plugininfo.Interval, plugininfo.V2Interval} {
		value, source := f.setting(name)
		if value == nil {
			continue
		}
		n, is := number(value)
		if !is {
			return fail(fmt.Sprintf("%v: %s", value, source), "write a number of seconds")
		}
		if n > plugininfo.MostIntervalSeconds {
			return fail(fmt.Sprintf("%g s: %s; from Storm 2.3 on what is above %d s is scheduled twice", n, source,
				plugininfo.MostIntervalSeconds),
				fmt.Sprintf("set it to 10, or to at most %d", plugininfo.MostIntervalSeconds))
		}
		found = append(found, fmt.Sprintf("%s %g s", name, n))
	}
	mapping, _ := f.file(plugininfo.BuiltInIntervals).(map[string]any)
	for name, value := range mapping {
		if n, _ := number(value); n > plugininfo.MostIntervalSeconds {
			return fail(fmt.Sprintf("%g s for %s in Bullet's emit interval mapping; from Storm 2.3 on what is above %d s is scheduled twice",
				n, name,
				plugininfo.MostIntervalSeconds), fmt.Sprintf("set it to 10, or to at most %d", plugininfo.MostIntervalSeconds))
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
