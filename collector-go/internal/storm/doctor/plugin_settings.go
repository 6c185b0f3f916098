package doctor

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// argument reads the argument of a registration as the plugin does (plugin-java's Argument). It is a map of settings
// or a list of such maps. The prefix of names is optional. unknown are names that are not settings, and problems are
// other things without effect. If this code and the plugin differed, doctor would accept settings that the plugin
// ignores.
func argument(of any) (values map[string]any, unknown, problems []string) {
	entriesOf, isList := of.([]any)
	if !isList {
		entriesOf = []any{of}
	}
	values = map[string]any{}
	for _, one := range entriesOf {
		entries, isMap := one.(map[string]any)
		switch {
		case isMap:
			for _, given := range slices.Sorted(maps.Keys(entries)) {
				name := plugininfo.Collector + strings.TrimPrefix(given, plugininfo.Collector)
				_, twice := values[name]
				switch {
				case !slices.Contains(plugininfo.CollectorSettings(), strings.TrimPrefix(name, plugininfo.Collector)):
					unknown = append(unknown, given)
				case entries[given] == nil:
					problems = append(problems, name+" has no value")
				case twice:
					problems = append(problems, name+" is set twice; the first value is used")
				default:
					values[name] = entries[given]
				}
			}
		case one != nil:
			problems = append(problems, fmt.Sprintf("the registration's argument %q is not a map of settings", fmt.Sprint(one)))
		}
	}
	return values, unknown, problems
}

// pluginProblems returns the settings that the plugin refuses, and the parts of its registration's argument that it
// ignores.
func (f Facts) pluginProblems() (all []string) {
	if entry := f.registered(); entry != nil {
		_, _, all = argument(entry["argument"])
	}
	for _, name := range plugininfo.CollectorSettings() {
		if problem := problemOf(name, f.plugin(name)); problem != "" {
			all = append(all, plugininfo.Collector+name+problem)
		}
	}
	return all
}

// problemOf returns the plugin's complaint about the value of a setting (plugin-java's Settings), or "". It repeats
// the plugin's rules, because the plugin refuses a wrong value only in the worker, and the topology then runs without
// metrics. Addresses are checked one by one elsewhere.
func problemOf(name string, value any) string {
	if value == nil {
		return ""
	}
	text := strings.TrimSpace(fmt.Sprint(value))
	_, isText := value.(string)
	least, most := plugininfo.Bounds(name)
	switch {
	case name == "address" && len(texts(value)) == 0:
		return " is an empty list; add at least one collector"
	case name == "address":
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		for _, one := range list {
			if _, isText := one.(string); !isText {
				return fmt.Sprintf(": %q is not a string; use HOST:PORT, for example collector.example:4320", fmt.Sprint(one))
			}
		}
	case name == "policy" && !slices.Contains([]string{"first", "spread"}, text):
		return fmt.Sprintf(" is %q; use first or spread", text)
	case strings.HasSuffix(name, ".enabled") && !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false"):
		return fmt.Sprintf(" is %q; use true or false", text)
	case strings.HasSuffix(name, ".file") && !isText:
		return fmt.Sprintf(" is %q; use the path of a file", text)
	case most > 0:
		n, isNumber := new(big.Rat).SetString(text)
		if number, is := value.(float64); is && !math.IsNaN(number) && !math.IsInf(number, 0) {
			n, isNumber = new(big.Rat).SetFloat64(number), true
		}
		if !isNumber || strings.Contains(text, "/") || !n.IsInt() || n.Cmp(big.NewRat(least, 1)) < 0 ||
			n.Cmp(big.NewRat(most, 1)) > 0 {
			return fmt.Sprintf(" is %q; use an integer from %d to %d", text, least, most)
		}
	}
	return ""
}
