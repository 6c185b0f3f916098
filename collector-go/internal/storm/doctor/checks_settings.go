package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

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
		return unknown("not looked at: --bullet-conf names them")
	case s.Err != nil && s.Line > 0:
		return fail(s.Err.Error(), fmt.Sprintf("repair line %d of %s: it is no YAML as it stands", s.Line, s.Path))
	case s.Err != nil:
		return fail("the settings cannot be read: "+s.Err.Error(), "name the file that the topology is submitted with")
	}
	var wrong []string
	var fixes []string
	for _, name := range f.settingNames() {
		if meant := misspelt(name); meant != "" {
			wrong, fixes = append(wrong, name), append(fixes, meant)
		}
	}
	if len(wrong) > 0 {
		return fail(fmt.Sprintf("nobody reads %s, in %s", strings.Join(wrong, ", "), s.Path), "did you mean "+
			strings.Join(fixes, ", ")+"?")
	}
	if problems := f.pluginProblems(); len(problems) > 0 {
		return fail(fmt.Sprintf("the plugin cannot use what %s says: %s", s.Path, strings.Join(problems, "; ")),
			"correct it; bullet-metrics storm snippet prints the lines")
	}
	return ok(fmt.Sprintf("%s has %d settings, none of them one of the plugin's misspelt", s.Path, len(s.Values)))
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

// mostEdits is the maximum edit distance between a misspelt name and the meant one.
const mostEdits = 2

// misspelt returns the correct form of a misspelt name, or "" if the name is correct or not one of ours. With the
// plugin's own prefix, every unknown name is wrong. Other names must be similar to one of ours, because most settings
// in the file belong to Bullet and Storm.
func misspelt(name string) string {
	if slices.Contains(ourNames, name) {
		return ""
	}
	if name+"." == plugininfo.Collector || name+"." == plugininfo.Custom {
		return name + ".NAME, each on a line of its own: dots in names are no levels"
	}
	nearest := yamlfile.Nearest(name, ourNames...)
	if strings.HasPrefix(name, plugininfo.Collector) || levenshtein.ComputeDistance(name, nearest) <= mostEdits {
		return nearest
	}
	return ""
}

// files checks whether this machine can read the files that the settings name. Workers read them on their own
// machines, which this check cannot examine; the finding says so.
func files(f Facts) Finding {
	if f.Settings == nil || f.Settings.Err != nil {
		return unknown("not looked at: no settings that can be read")
	}
	if len(f.Unreadable) > 0 {
		var all []string
		for _, name := range slices.Sorted(maps.Keys(f.Unreadable)) {
			all = append(all, plugininfo.Collector+name+": "+f.Unreadable[name])
		}
		return fail(strings.Join(all, "; "),
			"put it there, on every machine that runs workers, for the user that runs them to read")
	}
	return ok("what the settings name can be read on this machine; workers need it on theirs")
}

// registration checks whether the plugin is registered as a metrics consumer. If the settings are known, they decide.
// Otherwise a topology that reports must be registered.
func registration(f Facts) Finding {
	if s := f.Settings; s != nil && s.Err != nil {
		return unknown("not made, since settings failed")
	}
	if f.Settings != nil {
		return written(f)
	}
	if t := f.topology(); t != nil {
		return ok("the topology reports, so its consumer is registered")
	}
	return unknown("not looked at: --bullet-conf names the settings, and the topology has not reported")
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
		return ok("topology.metrics.consumer.register names the plugin")
	case !early && !late:
		return fail(fmt.Sprintf("neither %s nor topology.metrics.consumer.register of %s names the plugin", classes,
			f.Settings.Path),
			"add "+plugininfo.BulletClass+" to "+classes+", or for Bullet up to 0.4.3 "+plugininfo.EarlyClass+"; "+snippet)
	case early && !late && f.lateBullet() != "":
		return fail(fmt.Sprintf("%s names %s alone, which is for Bullet up to 0.4.3 on Storm 1: %s", classes,
			plugininfo.EarlyClass, f.lateBullet()),
			"name "+plugininfo.BulletClass+" instead; "+snippet)
	case late && !early && f.earlyBullet():
		return fail(fmt.Sprintf("%s names %s alone, which is for Bullet from 0.5.0 on, and this is %s", classes,
			plugininfo.BulletClass, f.Bullet),
			"name "+plugininfo.EarlyClass+" instead; "+snippet)
	case !truth(f.file(enable)):
		return fail(enable+" is not true: Bullet registers no consumer", "set "+enable+": true")
	case !truth(f.file(plugininfo.BuiltIn)):
		return fail("bullet.topology.metrics.built.in.enable is not true: Bullet's tasks report nothing of their own",
			"set bullet.topology.metrics.built.in.enable: true")
	case f.file(plugininfo.Custom+plugininfo.Register) != nil:
		return fail(plugininfo.Custom+plugininfo.Register+" takes the place of what register() sets",
			"take it out, or name the plugin there; "+snippet)
	}
	if early && !late {
		return ok(classes + " names the plugin's class for Bullet up to 0.4.3, whose register() gives Storm the rest")
	}
	return ok(classes + " names the plugin, whose register() gives Storm the rest")
}

// lateBullet returns the evidence that Bullet is 0.5.0 or later, for which the plugin's class for early versions has
// no effect. It returns "" if there is no evidence.
func (f Facts) lateBullet() string {
	storm, _, known := f.topology().storm()
	switch {
	case f.Bullet != "" && !f.earlyBullet():
		return "this is Bullet " + f.Bullet
	case known && storm >= 2:
		return "and Storm is " + f.topology().Storm
	case f.Bullet == "" && f.Cluster.runsWithoutUs():
		return "and the topology runs without the plugin"
	case f.Bullet == "" && f.Collector != nil && f.Collector.Err == nil && f.Collector.Found == nil:
		return "and the topology has not reported"
	}
	return ""
}

// earlyBullet reports whether Bullet is known to be 0.4.3 or earlier.
func (f Facts) earlyBullet() bool {
	var major, minor, patch int
	n, _ := fmt.Sscanf(f.Bullet, "%d.%d.%d", &major, &minor, &patch)
	return n >= 2 && major == 0 && (minor < 4 || minor == 4 && patch <= 3)
}
