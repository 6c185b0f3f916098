package registry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// change is a difference between two infos, as an annotation shows it. Its lines begin with "- " and "+ ", like those
// of a diff of configuration files.
type change struct {
	title string
	lines []string
	tags  []string
}

// maxNamed is the largest number of things that a title names. If there are more, it counts the rest.
const maxNamed = 3

// diff describes what changed from one description of a topology to the next. Versions, settings and components each
// get a change of their own, because users look for one of them and filter annotations by tag. The text depends on
// nothing but the two descriptions, so a replay of the journal makes the same annotations.
func diff(before, after *info) []change {
	return slices.DeleteFunc([]change{versionsChanged(before, after), settingsChanged(before, after),
		componentsChanged(before, after)}, func(c change) bool { return len(c.lines) == 0 })
}

// versionsChanged lists the programs whose versions differ. A version that becomes unknown is a change too.
func versionsChanged(before, after *info) change {
	c := change{tags: []string{"config", "versions"}}
	var named []string
	for _, v := range []struct{ name, before, after string }{
		{"Storm", before.versions.Storm, after.versions.Storm},
		{"Bullet", before.versions.Bullet, after.versions.Bullet},
		{"Java", before.versions.Java, after.versions.Java},
		{"the plugin", before.versions.Plugin, after.versions.Plugin},
	} {
		if v.before != v.after {
			named = append(named, v.name)
			c.lines = append(c.lines, fmt.Sprintf("- %s %s", v.name, cmp.Or(v.before, "unknown")),
				fmt.Sprintf("+ %s %s", v.name, cmp.Or(v.after, "unknown")))
		}
	}
	c.title = "Another version of " + list(named, "versions")
	return c
}

// settingsChanged lists the settings that differ, were added or were removed, sorted by name.
func settingsChanged(before, after *info) change {
	c := change{tags: []string{"config", "settings"}}
	var named []string
	for _, name := range union(before.settings, after.settings) {
		old, had := before.settings[name]
		now, has := after.settings[name]
		if had == has && old == now {
			continue
		}
		named = append(named, name)
		if had {
			c.lines = append(c.lines, fmt.Sprintf("- %s: %s", name, old))
		}
		if has {
			c.lines = append(c.lines, fmt.Sprintf("+ %s: %s", name, now))
		}
	}
	c.title = "Changed " + list(named, "settings")
	return c
}

// componentsChanged lists changes of a component's size, resources and inputs. It compares lines of text, so that
// exactly the properties in those lines are compared.
func componentsChanged(before, after *info) change {
	c := change{tags: []string{"config", "components"}}
	was, is := linesByComponent(before), linesByComponent(after)
	var named []string
	for _, name := range union(was, is) {
		gone := without(was[name], is[name])
		come := without(is[name], was[name])
		if len(gone)+len(come) > 0 {
			named = append(named, name)
		}
		for _, line := range gone {
			c.lines = append(c.lines, "- "+line)
		}
		for _, line := range come {
			c.lines = append(c.lines, "+ "+line)
		}
	}
	c.title = "Changed " + list(named, "components")
	return c
}

// linesByComponent returns the lines that describe each component: one for the component, and one for each of its
// inputs.
func linesByComponent(in *info) map[string][]string {
	lines := map[string][]string{}
	for _, c := range in.components {
		lines[c.Name] = append(lines[c.Name], c.line())
		for _, input := range c.Inputs {
			lines[c.Name] = append(lines[c.Name], input.line(c.Name))
		}
	}
	return lines
}

// line describes a component's size and resources in one line.
func (c Component) line() string {
	return fmt.Sprintf("%s: parallelism %d, %s, each executor %s%% CPU, %s MiB on-heap, %s MiB off-heap", c.Name,
		c.Parallelism, plural(len(c.Tasks), "task"), number(c.CPUPercent), number(c.OnHeapMiB), number(c.OffHeapMiB))
}

// line describes a stream that a component reads.
func (in Input) line(reader string) string {
	return fmt.Sprintf("%s reads %s/%s (%s)", reader, in.Component, in.Stream,
		strings.Join(append([]string{in.Grouping}, in.Fields...), " "))
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// list names up to maxNamed things and counts the rest.
func list(names []string, what string) string {
	if len(names) > maxNamed {
		return fmt.Sprintf("%d %s", len(names), what)
	}
	return strings.Join(names, ", ")
}

// union returns the keys of both maps, sorted.
func union[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// without returns the lines that the other list does not have, in their order.
func without(lines, other []string) (left []string) {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(other, line) })
}
