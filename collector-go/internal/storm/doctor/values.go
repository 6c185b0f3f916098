package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// setting returns the value of a Storm setting and where it was found. It reads the settings file first, and then the
// running topology as the collector knows it. In Bullet's file a Storm setting has an effect only with the prefix
// plugininfo.Custom, which Bullet applies after register().
func (f Facts) setting(name string) (value any, source string) {
	if f.settingsRead() {
		key := plugininfo.Custom + name
		if f.registered() != nil {
			key = name
		}
		if v, found := f.Settings.Values[key]; found {
			return v, key + " in " + f.Settings.Path
		}
	}
	if v, found := f.reported(name); found {
		return v, name + " of the running topology"
	}
	return nil, ""
}

// reported returns a setting of the running topology.
func (f Facts) reported(name string) (value any, found bool) {
	if t := f.topology(); t != nil {
		value, found = t.Settings[name]
	}
	return value, found
}

// topology returns what the collector knows about the topology, or nil if it was not queried or knows nothing.
func (f Facts) topology() *Topology {
	if f.Collector == nil {
		return nil
	}
	return f.Collector.Found
}

// settingsRead reports whether there is a settings file that could be read.
func (f Facts) settingsRead() bool { return f.Settings != nil && f.Settings.Err == nil }

// file returns a value of the settings file.
func (f Facts) file(name string) any {
	if f.Settings == nil {
		return nil
	}
	return f.Settings.Values[name]
}

// truth converts a value to a boolean as Storm and Bullet do: a text in any case, or a YAML boolean.
func truth(value any) bool { return strings.EqualFold(strings.TrimSpace(fmt.Sprint(value)), "true") }

// number converts a value to a number, which may be written as text.
func number(value any) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(fmt.Sprint(value)), 64)
	return n, err == nil
}

// texts converts a value to a list of texts. A text is split at commas.
func texts(value any) (all []string) {
	switch v := value.(type) {
	case nil:
	case []any:
		for _, each := range v {
			if text, is := each.(string); is {
				all = append(all, texts(text)...)
				continue
			}
			all = append(all, fmt.Sprint(each))
		}
	default:
		for part := range strings.SplitSeq(fmt.Sprint(v), ",") {
			all = append(all, strings.TrimSpace(part))
		}
	}
	return all
}

// registered returns the plugin's entry in Storm's own list of consumers, or nil if Bullet registers the plugin or
// nobody does. The argument of the entry has the plugin's settings.
func (f Facts) registered() map[string]any {
	entries, _ := f.file(plugininfo.Register).([]any)
	for _, entry := range entries {
		if e, isMap := entry.(map[string]any); isMap &&
			(e["class"] == plugininfo.StormClass || e["class"] == plugininfo.BulletClass) {
			return e
		}
	}
	return nil
}

// plugin returns one of the plugin's own settings, from the argument of its registration or from the file.
func (f Facts) plugin(name string) any {
	values, _, _ := argument(f.registered()["argument"])
	if value := values[plugininfo.Collector+name]; value != nil {
		return value
	}
	return f.file(plugininfo.Collector + name)
}

// PluginText returns one of the plugin's own settings as text, or "" if it is not set.
func (f Facts) PluginText(name string) string {
	if v := f.plugin(name); v != nil {
		return strings.TrimSpace(fmt.Sprint(v))
	}
	return ""
}

// Addresses returns the addresses that the plugin tries, in order.
func (f Facts) Addresses() []string {
	if all := texts(f.plugin("address")); len(all) > 0 {
		return all
	}
	return []string{"127.0.0.1:" + plugininfo.Port}
}

// stormBefore reports whether the topology is known to run on a version of Storm before major.minor.
func (t *Topology) stormBefore(major, minor int) bool {
	found, known := t.storm()
	return known && slices.Compare(found[:], []int{major, minor}) < 0
}

// storm returns the version of Storm that the topology runs on. known is false if it is unknown.
func (t *Topology) storm() (majorMinor [2]int, known bool) {
	if t == nil {
		return majorMinor, false
	}
	n, _ := fmt.Sscanf(t.Storm, "%d.%d", &majorMinor[0], &majorMinor[1])
	return majorMinor, n == 2
}
