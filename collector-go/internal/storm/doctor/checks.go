package doctor

import (
	"fmt"
	"strconv"
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
	// What to do about checks that need the settings, or the settings or a running topology.
	readableSettings   = "set --bullet-conf to a file that can be read"
	settingsOrTopology = "set --bullet-conf, because the topology has not reported its settings"

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
		return notChecked("set --jar")
	case j.Err != nil:
		return fail("cannot read the jar: "+j.Err.Error(), "use build/bullet-metrics-storm.jar (made by make build) or the jar of a release")
	case len(j.Missing) > 0:
		return fail(fmt.Sprintf("%s has %d classes, but lacks %s", j.Path, j.Classes, strings.Join(j.Missing, ", ")),
			"use build/bullet-metrics-storm.jar (made by make build) or the jar of a release")
	case len(j.Visible) > 0:
		return fail(fmt.Sprintf("%s has unrelocated classes of %s, which can conflict with the topology's", j.Path,
			strings.Join(j.Visible, ", ")),
			"use bullet-metrics-storm.jar, in which its dependencies are relocated")
	}
	return ok(fmt.Sprintf("%s has all %d classes of the plugin (%d classes in total), and its dependencies are relocated",
		j.Path, len(Classes), j.Classes))
}

// tick checks whether Storm passes V2 metrics to a consumer. From Storm 2.2 on it does so only if a setting is true,
// and the default is false. Without it these metrics are missing, although the topology seems to report.
func tick(f Facts) Finding {
	const name = plugininfo.V2Tick
	if f.topology().stormBefore(2, 2) {
		return ok("not needed on Storm " + f.topology().Storm)
	}
	value, source := f.setting(name)
	switch {
	case value != nil && truth(value):
		return ok("true (" + source + ")")
	case value != nil:
		return fail(fmt.Sprintf("%v (%s): Storm 2.2 and later pass no V2 metrics to consumers", value, source),
			"set "+name+": true, or remove the line")
	case registration(f).Status == Fail:
		return unknown("skipped, because registration failed")
	case f.registered() != nil:
		return fail(name+" is not set, and Storm's default is false", "set "+name+": true (required by Storm 2.2 and later)")
	case f.settingsRead():
		return ok("register() sets it")
	case f.topology() != nil && len(f.topology().Settings) == 0:
		return unknown("the topology has reported no settings, as in a replayed capture")
	case f.topology() != nil:
		return fail("the topology runs without "+name, "set "+name+": true (required by Storm 2.2 and later)")
	}
	return notChecked(settingsOrTopology)
}

// retain checks how many reports Storm keeps for the consumer. Storm drops the oldest ones without counting them, so
// that a limit that is too small silently loses samples. The value is read from the plugin's own registration, from
// the file, or from the running topology.
func retain(f Facts) Finding {
	if f.topology().stormBefore(1, 1) {
		return ok("Storm " + f.topology().Storm + " has no such limit")
	}
	if registration(f).Status == Fail {
		return unknown("skipped, because registration failed")
	}
	name, value, byDefault := plugininfo.Collector+plugininfo.Retain, f.file(plugininfo.Collector+plugininfo.Retain),
		stormRetains
	reported, isReported := f.reported(plugininfo.Retain)
	switch entry := f.registered(); {
	case entry != nil:
		name, value = plugininfo.Retain, entry[plugininfo.Retain]
	case value != nil:
	case isReported:
		value = reported
	case !f.settingsRead():
		return notChecked(settingsOrTopology)
	default:
		byDefault = plugininfo.LeastRetained
	}
	return retained(f, name, value, byDefault)
}

// retained checks a limit, or byDefault if value is nil. The required minimum is the number of reports in one metric
// tick, which depends on the number of executors. If that is unknown, the limit must be above Storm's default.
func retained(f Facts, name string, value any, byDefault int) Finding {
	limit := float64(byDefault)
	if value != nil {
		n, is := number(value)
		if !is {
			return fail(fmt.Sprintf("%s is %v, which is not a number", name, value), "use an integer")
		}
		limit = n
	}
	least, size := float64(stormRetains+1), "an unknown number of"
	if t := f.topology(); t != nil {
		least, size = float64(plugininfo.ReportsPerTick*t.Executors), strconv.Itoa(t.Executors)
	}
	if limit > 0 && limit < least {
		return fail(fmt.Sprintf(
			"Storm keeps %g reports, but a metric tick of %s executors can have %g; Storm drops the oldest without counting them",
			limit, size, least),
			fmt.Sprintf("set %s to %d", name, max(plugininfo.LeastRetained, plugininfo.TicksRetained*int(least))))
	}
	return ok(fmt.Sprintf("Storm keeps %g reports, enough for a metric tick of %s executors", limit, size))
}

// interval checks the reporting intervals. From Storm 2.3 on, an interval above a limit is scheduled twice. Earlier
// releases accept any length.
func interval(f Facts) Finding {
	if f.topology().stormBefore(2, 3) {
		return ok("Storm " + f.topology().Storm + " supports intervals of any length")
	}
	tooLong := func(seconds float64, source string) Finding {
		return fail(fmt.Sprintf("%g s (%s): Storm 2.3 and later schedule intervals above %d s twice", seconds, source,
			plugininfo.MostIntervalSeconds), fmt.Sprintf("set it to 10, or to at most %d", plugininfo.MostIntervalSeconds))
	}
	var found []string
	for _, name := range []string{plugininfo.Interval, plugininfo.V2Interval} {
		value, source := f.setting(name)
		if value == nil {
			continue
		}
		n, is := number(value)
		if !is {
			return fail(fmt.Sprintf("%v (%s) is not a number", value, source), "use a number of seconds")
		}
		if n > plugininfo.MostIntervalSeconds {
			return tooLong(n, source)
		}
		found = append(found, fmt.Sprintf("%s %g s", name, n))
	}
	mapping, _ := f.file(plugininfo.BuiltInIntervals).(map[string]any)
	for name, value := range mapping {
		if n, _ := number(value); n > plugininfo.MostIntervalSeconds {
			return tooLong(n, plugininfo.BuiltInIntervals+" for "+name)
		}
	}
	switch {
	case len(found) > 0:
		return ok(strings.Join(found, ", "))
	case f.settingsRead():
		return ok("not set: register() sets 10 s; Storm's default is 60 s")
	}
	return notChecked(settingsOrTopology)
}
