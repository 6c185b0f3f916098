package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// settings checks the settings file: whether it can be read, whether it contains a misspelt name of our settings, and
// whether the plugin accepts the values. Neither Storm nor Bullet reports an unknown name. A misspelt setting
// therefore has no effect and causes no message.
func settings(f Facts) Finding {
	s := f.Settings
	switch {
	case s == nil:
		return notChecked("set --bullet-conf")
	case s.Err != nil && s.Line > 0:
		return fail(s.Err.Error(), fmt.Sprintf("correct line %d of %s", s.Line, s.Path))
	case s.Err != nil:
		return fail("cannot read the settings: "+s.Err.Error(), "set --bullet-conf to the file with which the topology is submitted")
	}
	var wrong []string
	var fixes []string
	for _, name := range f.settingNames() {
		if meant := misspelt(name); meant != "" {
			wrong, fixes = append(wrong, name), append(fixes, meant)
		}
	}
	if len(wrong) > 0 {
		return fail(fmt.Sprintf("unknown setting in %s: %s", s.Path, strings.Join(wrong, ", ")), "did you mean "+
			strings.Join(fixes, ", ")+"?")
	}
	if problems := f.pluginProblems(); len(problems) > 0 {
		return fail(fmt.Sprintf("invalid settings in %s: %s", s.Path, strings.Join(problems, "; ")),
			"correct them; bullet-metrics storm snippet prints the lines")
	}
	return ok(fmt.Sprintf("%s has %d settings, and the plugin's are valid", s.Path, len(s.Values)))
}

// settingNames returns the names in the file, and the unknown names in the argument of the plugin's own registration.
func (f Facts) settingNames() []string {
	_, unknown, _ := argument(f.registered()["argument"])
	for i, name := range unknown {
		unknown[i] = plugininfo.Collector + strings.TrimPrefix(name, plugininfo.Collector) // the plugin adds the prefix
	}
	return slices.Concat(slices.Sorted(maps.Keys(f.Settings.Values)), unknown)
}

// ourNames are the names of the settings that doctor checks, in Bullet's file and in that of a plain topology.
var ourNames = func() []string {
	all := []string{plugininfo.Enable, plugininfo.Classes, plugininfo.BuiltIn, plugininfo.BuiltInIntervals}
	for _, name := range plugininfo.CollectorSettings() {
		all = append(all, plugininfo.Collector+name)
	}
	for _, name := range []string{plugininfo.Register, plugininfo.Interval, plugininfo.V2Tick, plugininfo.V2Interval} {
		all = append(all, name, plugininfo.Custom+name)
	}
	return all
}()

// misspelt returns the correct form of a misspelt name, or "" if the name is correct or not one of ours. With the
// plugin's own prefix, every unknown name is wrong. Other names must be similar to one of ours, because most settings
// in the file belong to Bullet and Storm.
func misspelt(name string) string {
	if slices.Contains(ourNames, name) {
		return ""
	}
	if name+"." == plugininfo.Collector || name+"." == plugininfo.Custom {
		return name + ".NAME (write each setting on one line with its full name, not as nested YAML)"
	}
	if strings.HasPrefix(name, plugininfo.Collector) {
		return yamlfile.Nearest(name, ourNames...)
	}
	return yamlfile.Meant(name, ourNames...)
}

// files checks whether this machine can read the files that the settings name. Workers read them on their own
// machines, which this check cannot examine; the finding says so.
func files(f Facts) Finding {
	if !f.settingsRead() {
		return notChecked(readableSettings)
	}
	if len(f.Unreadable) > 0 {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(f.Unreadable)) {
			all = append(all, plugininfo.Collector+name+": "+f.Unreadable[name])
		}
		return fail(strings.Join(all, "; "), "install it on every host that runs workers, readable for their user")
	}
	return ok("the files in the settings can be read on this machine; every host with workers needs them too")
}

// registration checks whether the plugin is registered as a metrics consumer. If the settings are known, they decide.
// Otherwise a topology that reports must be registered.
func registration(f Facts) Finding {
	if s := f.Settings; s != nil && s.Err != nil {
		return unknown("skipped, because settings failed")
	}
	if f.Settings != nil {
		return written(f)
	}
	if t := f.topology(); t != nil {
		return ok("the topology reports, so the plugin is registered")
	}
	return notChecked(settingsOrTopology)
}

// written checks the registration in a settings file. Bullet up to 0.4.3 and later versions need different classes,
// and each silently ignores the class for the other. The version of Bullet is given by --bullet, or deduced from
// Storm's version and other facts.
func written(f Facts) Finding {
	const enable, classes = plugininfo.Enable, plugininfo.Classes
	const snippet = "bullet-metrics storm snippet prints the lines"
	early, late := slices.Contains(texts(f.file(classes)), plugininfo.EarlyClass),
		slices.Contains(texts(f.file(classes)), plugininfo.BulletClass)
	switch {
	case f.registered() != nil:
		return ok(plugininfo.Register + " contains the plugin")
	case !early && !late:
		return fail(fmt.Sprintf("neither %s nor %s contains the plugin, in %s", classes, plugininfo.Register, f.Settings.Path),
			"add "+plugininfo.BulletClass+" to "+classes+", or for Bullet up to 0.4.3 "+plugininfo.EarlyClass+"; "+snippet)
	case early && !late && f.lateBullet() != "":
		return fail(fmt.Sprintf("%s has only %s, which is for Bullet up to 0.4.3 on Storm 1, but %s", classes,
			plugininfo.EarlyClass, f.lateBullet()),
			"use "+plugininfo.BulletClass+" instead; "+snippet)
	case late && !early && f.earlyBullet():
		return fail(fmt.Sprintf("%s has only %s, which is for Bullet 0.5.0 and later, but this is Bullet %s", classes,
			plugininfo.BulletClass, f.Bullet),
			"use "+plugininfo.EarlyClass+" instead; "+snippet)
	case !truth(f.file(enable)):
		return fail(enable+" is not true, so Bullet registers no metrics consumer", "set "+enable+": true")
	case !truth(f.file(plugininfo.BuiltIn)):
		return fail(plugininfo.BuiltIn+" is not true, so Bullet reports none of its own metrics",
			"set "+plugininfo.BuiltIn+": true")
	case f.file(plugininfo.Custom+plugininfo.Register) != nil:
		return fail(plugininfo.Custom+plugininfo.Register+" replaces the registration that register() makes",
			"remove it, or add the plugin there; "+snippet)
	}
	if early && !late {
		return ok(classes + " has the plugin's class for Bullet up to 0.4.3; its register() configures Storm")
	}
	return ok(classes + " has the plugin's class; its register() configures Storm")
}

// lateBullet returns the evidence that Bullet is 0.5.0 or later, for which the plugin's class for early versions has
// no effect. It returns "" if there is no evidence.
func (f Facts) lateBullet() string {
	storm, known := f.topology().storm()
	switch {
	case f.Bullet != "" && !f.earlyBullet():
		return "this is Bullet " + f.Bullet
	case known && storm[0] >= 2:
		return "the topology runs on Storm " + f.topology().Storm
	case f.Bullet == "" && f.Cluster.runsWithoutUs():
		return "the topology runs without the plugin"
	case f.Bullet == "" && f.Collector != nil && f.Collector.Err == nil && f.Collector.Found == nil:
		return "the topology has not reported"
	}
	return ""
}

// earlyBullet reports whether Bullet is known to be 0.4.3 or earlier.
func (f Facts) earlyBullet() bool {
	var major, minor, patch int
	n, _ := fmt.Sscanf(f.Bullet, "%d.%d.%d", &major, &minor, &patch)
	return n >= 2 && major == 0 && (minor < 4 || minor == 4 && patch <= 3)
}
