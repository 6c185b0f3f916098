package registry

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// Versions are the releases that a topology runs on. A field is "" if the version is unknown.
type Versions struct {
	Storm  string `json:"storm"`
	Bullet string `json:"bullet"`
	Java   string `json:"java"`
	Plugin string `json:"plugin"`
}

// Input is a stream that a component reads.
type Input struct {
	Component string   `json:"component"`
	Stream    string   `json:"stream"`
	Grouping  string   `json:"grouping"`
	Fields    []string `json:"fields,omitempty"`
}

// Component is a component of a topology, as its producers reported it.
type Component struct {
	Name string `json:"name"`
	// Kind is "spout", "bolt" or, if it is unknown, "".
	Kind string `json:"kind"`
	// Parallelism is the component's number of executors at submission.
	Parallelism int     `json:"parallelism"`
	Tasks       []int32 `json:"tasks"`
	// CPUPercent, OnHeapMiB and OffHeapMiB are the resource request of one executor, for the resource-aware scheduler.
	CPUPercent float64 `json:"cpu_percent"`
	OnHeapMiB  float64 `json:"on_heap_mib"`
	OffHeapMiB float64 `json:"off_heap_mib"`
	Inputs     []Input `json:"inputs"`
}

// systemComponent is Storm's system bolt. It runs in every worker and has no task of its own.
const systemComponent = "__system"

// System reports whether the component is one of Storm's own.
func (c Component) System() bool { return strings.HasPrefix(c.Name, "__") }

// info is the description of a topology as a producer reported it, cut to the limits. It is immutable, so views and
// comparisons may share it. Lists are sorted, because the order in which a producer sends them must not look like a
// change.
type info struct {
	versions   Versions
	components []Component // sorted by name
	settings   map[string]string
}

// newInfo converts a producer's report and cuts it to the limits. It calls dropped, with a reason and a number, for
// everything that does not fit.
func newInfo(reported *bulletmetricsv1.TopologyInfo, l Limits, dropped func(reason string, n int)) *info {
	text := func(s string) string { return clip(s, l.TextBytes) }
	in := &info{
		versions: Versions{text(reported.GetStormVersion()), text(reported.GetBulletVersion()),
			text(reported.GetJavaVersion()), text(reported.GetPluginVersion())},
		settings: map[string]string{},
	}
	tasks := 0
	for _, c := range reported.GetComponents() {
		tasks += len(c.GetTasks())
		if len(in.components) == l.Components || tasks > l.Tasks {
			dropped("components", 1)
			continue
		}
		in.components = append(in.components, newComponent(c, text, l))
	}
	slices.SortFunc(in.components, func(a, b Component) int { return strings.Compare(a.Name, b.Name) })
	in.components = slices.CompactFunc(in.components, func(a, b Component) bool { return a.Name == b.Name })
	for _, name := range slices.Sorted(maps.Keys(reported.GetSettings())) {
		if len(in.settings) == l.Settings {
			dropped("settings", 1)
			continue
		}
		in.settings[text(name)] = text(reported.GetSettings()[name])
	}
	return in
}

// newComponent converts a component of a report. A kind that this program does not know becomes "".
func newComponent(c *bulletmetricsv1.ComponentInfo, text func(string) string, l Limits) Component {
	out := Component{
		Name: text(c.GetName()), Parallelism: int(c.GetParallelism()), Tasks: append([]int32{}, c.GetTasks()...),
		Inputs: []Input{}, CPUPercent: finite(c.GetCpuPercent()), OnHeapMiB: finite(c.GetOnHeapMib()),
		OffHeapMiB: finite(c.GetOffHeapMib()),
		Kind:       strings.ToLower(strings.TrimPrefix(c.GetKind().String(), "COMPONENT_KIND_")),
	}
	if c.GetKind() != bulletmetricsv1.ComponentKind_COMPONENT_KIND_SPOUT &&
		c.GetKind() != bulletmetricsv1.ComponentKind_COMPONENT_KIND_BOLT {
		out.Kind = ""
	}
	slices.Sort(out.Tasks)
	for _, in := range c.GetInputs()[:min(len(c.GetInputs()), l.Components)] {
		input := Input{Component: text(in.GetComponent()), Stream: text(in.GetStream()),
			Grouping: text(in.GetGrouping())}
		for _, field := range in.GetFields()[:min(len(in.GetFields()), l.Components)] {
			input.Fields = append(input.Fields, text(field))
		}
		out.Inputs = append(out.Inputs, input)
	}
	slices.SortFunc(out.Inputs, func(a, b Input) int {
		return cmp.Or(strings.Compare(a.Component, b.Component), strings.Compare(a.Stream, b.Stream))
	})
	return out
}

// finite returns f, or 0 if f is NaN or infinite, because JSON cannot represent those.
func finite(f float64) float64 {
	if f-f != 0 {
		return 0
	}
	return f
}

// clip cuts a text to a number of bytes at a rune boundary, and replaces invalid UTF-8. JSON and the web page need
// valid text, but a sender may send any bytes.
func clip(s string, most int) string {
	if s = strings.ToValidUTF8(s, "\uFFFD"); len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

// digest is a hash of everything that diff compares. A producer repeats its description, and comparing digests is
// cheaper than comparing descriptions. It is stored in checkpoints, so its computation must not change.
func (in *info) digest() uint64 {
	hash := fnv.New64a()
	write := func(texts ...string) {
		for _, s := range texts {
			_, _ = hash.Write(binary.AppendUvarint(nil, uint64(len(s))))
			_, _ = hash.Write([]byte(s))
		}
	}
	write(in.versions.Storm, in.versions.Bullet, in.versions.Java, in.versions.Plugin)
	for _, c := range in.components {
		write(c.Name, c.line())
		for _, task := range c.Tasks {
			_, _ = hash.Write(binary.AppendVarint(nil, int64(task)))
		}
		for _, input := range c.Inputs {
			write(input.line(c.Name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.settings)) {
		write(name, in.settings[name])
	}
	return hash.Sum64()
}
