package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// custom is before the settings that Bullet hands to Storm after register(). setting is a value of the file, else of
// what the collector has; source names which. In Bullet's file a setting of Storm's counts only under the custom
// prefix.
func (f Facts) setting(name string) (value any, source string) {
	if f.Settings != nil && f.Settings.Err == nil {
		key := plugininfo.Custom + name
		if f.registered() != nil {
			key = name
		}
		if v, found := f.Settings.Values[key]; found {
			return v, key + " in " + f.Settings.Path
		}
	}
	if t := f.topology(); t != nil {
		if v, found := t.Settings[name]; found {
			return v, name + " as the topology runs"
		}
	}
	return nil, ""
}

// reported is a setting of the topology as it runs.
func (f Facts) reported(name string) (value any, found bool) {
	if t := f.topology(); t != nil {
		value, found = t.Settings[name]
	}
	return value, found
}

// topology is what the collector knows of it; nil where it was not asked or knows nothing.
func (f Facts) topology() *Topology {
	if f.Collector == nil {
		return nil
	}
	return f.Collector.Found
}

// file is a value of the settings file alone.
func (f Facts) file(name string) any {
	if f.Settings == nil {
		return nil
	}
	return f.Settings.Values[name]
}

// truth reads a boolean as Storm and Bullet do: a text in any case, or YAML's own.
func truth(value any) bool { return strings.EqualFold(strings.TrimSpace(fmt.Sprint(value)), "true") }

// number reads a number that may be written as text.
func number(value any) (float64, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(fmt.Sprint(value)), 64)
	return n, err == nil
}

// texts is a list of texts, also where it is written as one with commas.
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

// registered is the plugin's entry in Storm's own list of consumers; nil where Bullet registers it, or nobody. Its
// argument holds the plugin's settings then.
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

// plugin is one of the plugin's own settings: the registration's argument has it, or the file.
func (f Facts) plugin(name string) any {
	values, _, _ := argument(f.registered()["argument"])
	if value := values[plugininfo.Collector+name]; value != nil {
		return value
	}
	return f.file(plugininfo.Collector + name)
}

// PluginText is one of the plugin's own settings as text; "" where it is not set.
func (f Facts) PluginText(name string) string {
	if v := f.plugin(name); v != nil {
		return strings.TrimSpace(fmt.Sprint(v))
	}
	return ""
}

// Addresses are those that the plugin tries, in their order.
func (f Facts) Addresses() []string {
	if all := texts(f.plugin("address")); len(all) > 0 {
		return all
	}
	return []string{"127.0.0.1:" + plugininfo.Port}
}

// storm is the version that runs, or zeros where that is not known.
func (t *Topology) storm() (major, minor int, known bool) {
	if t == nil {
		return 0, 0, false
	}
	n, _ := fmt.Sscanf(t.Storm, "%d.%d", &major, &minor)
	return major, minor, n == 2
}
