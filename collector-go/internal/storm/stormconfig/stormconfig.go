// Package stormconfig knows which settings a topology needs so that its metrics are exported, for each version of
// Storm and Bullet, and the reason for each setting. The command "storm snippet" prints its result, a SettingsFile.
//
// The package must not read files or query a cluster: its input is versions and addresses, and its output is lines.
// Start with For.
package stormconfig

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

// Values that the plugin's register() sets.
const (
	samplerName = "bullet-metrics.sampler"
	emptyMap    = "java.util.Collections$EmptyMap"
)

// Request describes the topology for which a SettingsFile is made.
type Request struct {
	Storm     Version
	Bullet    Version // unused if Plain
	Plain     bool    // a Storm topology without Bullet
	Addresses []string
	TLS       bool
	Executors int // number in the topology; 0 if unknown
}

// Line is one setting with its reason.
type Line struct {
	Setting string `json:"setting"`
	Value   any    `json:"value"`
	Why     string `json:"why"`
}

// SettingsFile has the settings to paste, and the file to which they belong. It is also the JSON output of "storm
// snippet".
type SettingsFile struct {
	Storm  string `json:"storm"`
	Bullet string `json:"bullet,omitempty"`
	// File says which file the lines belong to.
	File  string `json:"file"`
	Lines []Line `json:"lines"`
	// Automatic are the settings that register() makes itself when the topology is submitted. They must not be pasted.
	Automatic []Line   `json:"automatic"`
	Notes     []string `json:"notes"`
}

// For returns the settings for a request. The error names the unknown version or the invalid address.
func For(r Request) (SettingsFile, error) {
	if err := check(r); err != nil {
		return SettingsFile{}, err
	}
	s := SettingsFile{Storm: r.Storm.String(), Automatic: []Line{}, Notes: []string{}}
	if !r.Plain {
		s.Bullet = r.Bullet.String()
	}
	if r.Plain {
		s.plain(r)
	} else {
		s.bullet(r)
	}
	s.notes(r)
	return s, nil
}

func check(r Request) error {
	if !r.Storm.from(1, 0, 3) || r.Storm.from(2, 9, 0) {
		return fmt.Errorf("unsupported Storm version %s; use the nearest version from 1.0.3 to 2.8", r.Storm)
	}
	if !r.Plain && (!r.Bullet.from(0, 3, 0) || r.Bullet.from(2, 0, 0)) {
		return fmt.Errorf("unsupported Bullet version %s; use the nearest version from 0.3 to 1.3", r.Bullet)
	}
	if r.Executors < 0 {
		return fmt.Errorf("the number of executors must not be negative: %d", r.Executors)
	}
	if len(r.Addresses) == 0 {
		return errors.New("no collector address; use HOST:PORT")
	}
	for _, one := range r.Addresses {
		if err := address.HostPort(one).Server("collector.example:4320"); err != nil {
			return fmt.Errorf("collector address %w", err)
		}
	}
	return nil
}

// retained returns how many reports Storm has to keep for the consumer.
func retained(executors int) int {
	return max(plugininfo.LeastRetained, executors*plugininfo.ReportsPerTick*plugininfo.TicksRetained)
}

func (s *SettingsFile) bullet(r Request) {
	s.File = "bullet_settings.yaml"
	s.Lines = []Line{
		{plugininfo.Enable, true, "false by default; Bullet registers metrics consumers only if it is true"},
		{plugininfo.BuiltIn, true, "false by default; Bullet reports its own metrics only if it is true"},
		{plugininfo.Classes, []string{classFor(r.Bullet)},
			"Bullet calls register() of this class; if the list already exists, add the class to it"},
	}
	s.Lines = append(s.Lines, collector(r)...)
	if retained(r.Executors) > plugininfo.LeastRetained {
		s.Lines = append(s.Lines, Line{plugininfo.Collector + plugininfo.Retain, retained(r.Executors), whyRetained(r)})
	}
	s.Automatic = append(s.Automatic, storm(r)...)
	s.Automatic = append(s.Automatic, Line{"topology.auto.task.hooks", []string{plugininfo.HookClass},
		"measures latency distributions of records and queries; " + plugininfo.Collector +
			"latency.enabled: false disables it"})
	s.Automatic = append(s.Automatic, resources(r)...)
}

// classFor returns the plugin class for a version of Bullet. The versions call register() with different types.
func classFor(bullet Version) string {
	if bullet.from(0, 5, 0) {
		return plugininfo.BulletClass
	}
	return plugininfo.EarlyClass
}

func (s *SettingsFile) plain(r Request) {
	s.File = "storm.yaml on Nimbus and all Supervisors, or the topology's configuration"
	s.Lines = storm(r)
	s.Notes = append(s.Notes,
		"If a list or map already exists, add the entries to it. If a topology sets one itself, its value overrides storm.yaml: add the entries there.")
}

// collector returns the settings with the addresses of the collectors.
func collector(r Request) []Line {
	lines := []Line{{plugininfo.Collector + "address", r.Addresses,
		"gRPC address of bullet-metrics serve; several addresses are tried in order"}}
	if r.TLS {
		lines = append(lines, Line{plugininfo.Collector + "tls.enabled", true,
			"because samples leave the host; also set tls.ca.file unless the collector's certificate is from a public CA"})
	}
	return lines
}

// storm returns the settings for Storm. register() makes them, or a person does for a topology without Bullet.
func storm(r Request) []Line {
	lines := []Line{
		{plugininfo.Register, []any{registration(r)}, whyRegistered(r)},
		{"topology.worker.metrics", map[string]any{samplerName: plugininfo.SamplerClass},
			"samples CPU, heap and GC of each worker every second; install the jar first, because a worker that cannot load the class ends"},
		{plugininfo.Interval, plugininfo.IntervalSeconds, whyInterval(r)},
	}
	if r.Storm.from(2, 2, 0) {
		lines = append(lines, Line{plugininfo.V2Tick, true,
			"false by default; without it, Storm 2.2 and later pass no V2 metrics (such as heap and GC) to consumers"})
	}
	if r.Storm.from(2, 3, 0) {
		lines = append(lines, Line{plugininfo.V2Interval, plugininfo.IntervalSeconds, whyInterval(r)})
	}
	if r.Storm.from(2, 6, 0) {
		lines = append(lines, Line{"topology.kryo.register", []string{emptyMap},
			"Storm 2.6.1 and later send empty maps with metrics; without this, workers of Storm 2.8 fail on each other's metrics"})
	}
	return lines
}

// pair is a setting inside a registration. The order of pairs is kept in the output.
type pair struct {
	name  string
	value any
}

func registration(r Request) entry {
	e := entry{{"class", plugininfo.StormClass}, {"parallelism.hint", 1}}
	if r.Storm.from(1, 1, 0) {
		e = append(e, pair{plugininfo.Retain, retained(r.Executors)})
	}
	if !r.Plain {
		return e // register() adds the collector's settings from Bullet's file
	}
	var argument entry
	for _, line := range collector(r) {
		argument = append(argument, pair{line.Setting, line.Value})
	}
	return append(e, pair{"argument", argument})
}

func whyRegistered(r Request) string {
	why := "the metrics consumer and the address of its collector"
	if r.Storm.from(1, 1, 0) {
		return why + "; by default Storm keeps 100 reports, fewer than one metric tick of a large topology has, and drops the oldest without counting them"
	}
	return why
}

func whyRetained(r Request) string {
	return fmt.Sprintf("%d metric ticks of %d executors with %d reports each; register() sets %d, or more according to Bullet's parallelism settings",
		plugininfo.TicksRetained, r.Executors, plugininfo.ReportsPerTick, plugininfo.LeastRetained)
}

func whyInterval(r Request) string {
	const why = "in seconds, equal to the width of a slice; the default is 60"
	if r.Storm.from(2, 3, 0) {
		return why + fmt.Sprintf(". Storm 2.3 and later schedule intervals above %d s twice", plugininfo.MostIntervalSeconds)
	}
	return why
}

// notes adds the notes that apply with and without Bullet.
func (s *SettingsFile) notes(r Request) {
	s.Notes = append(s.Notes,
		"First install bullet-metrics-storm.jar in Storm's extlib/ on the submitting host and on all Supervisors.")
	if len(s.Automatic) > 0 {
		s.Notes = append(s.Notes, undoes(r.Bullet))
	}
	if !r.Plain && !r.Bullet.from(0, 5, 0) {
		s.Notes = append(s.Notes, plugininfo.EarlyClass+
			" is only for Bullet up to 0.4.3. With a later version, use "+plugininfo.BulletClass+
			"; otherwise the submission fails with a NoClassDefFoundError.")
	}
	if !r.TLS && slices.ContainsFunc(r.Addresses, func(a string) bool { return !address.HostPort(a).IsLoopback() }) {
		s.Notes = append(s.Notes,
			"The collector is on another host: it accepts connections without TLS there only with --grpc-insecure (docs/security.md).")
	}
	if !r.Plain && r.Bullet.from(1, 0, 0) != r.Storm.from(2, 0, 0) {
		s.Notes = append(s.Notes,
			fmt.Sprintf("Bullet %s was not built for Storm %s: Bullet before 1.0 requires Storm 1, and later versions require Storm 2.2 or later.",
				r.Bullet, r.Storm))
	}
}

// undoes returns a note about the settings that Bullet applies after register(), and which can therefore override it.
func undoes(bullet Version) string {
	which := "Settings with the prefix bullet.topology.custom."
	if !bullet.from(0, 8, 0) {
		which = "Storm's settings (topology.*) in bullet_settings.yaml"
	}
	return which + " are applied after register(). Do not set a list or map from above, or the V2 tick, there."
}

// Version is a release of Storm or Bullet. Without a patch number it means the newest of its series.
type Version struct {
	major, minor, patch int
	text                string
}

// newest is the patch number of a version without one.
const newest = 1 << 30

// ParseVersion parses "2.8.3" or "2.8".
func ParseVersion(text string) (Version, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 2 && len(parts) != 3 {
		return Version{}, fmt.Errorf("%q is not a version; use a form such as 2.8.3 or 2.8", text)
	}
	numbers := [3]int{2: newest}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return Version{}, fmt.Errorf("%q is not a version; use a form such as 2.8.3 or 2.8", text)
		}
		numbers[i] = int(n)
	}
	return Version{major: numbers[0], minor: numbers[1], patch: numbers[2], text: text}, nil
}

// String returns the version as it was written.
func (v Version) String() string { return v.text }

// from reports whether v is major.minor.patch or later.
func (v Version) from(major, minor, patch int) bool {
	switch {
	case v.major != major:
		return v.major > major
	case v.minor != minor:
		return v.minor > minor
	}
	return v.patch >= patch
}

// The resources that register() requests for the consumer (plugin-java's ConsumerResources). "PerThousand" means per
// 1,000 executors.
const (
	leastHeapMiB       = 64
	heapMiBPerThousand = 32
	offHeapMiB         = 24
	leastCPU           = 2 // in percent of a core
	cpuPerThousand     = 4
)

// resources returns the resource requests for the resource-aware scheduler, which supports consumers since Storm 2.0.
// If the size of the topology is unknown, they are those of the smallest topology. register() counts the executors
// itself.
func resources(r Request) []Line {
	if !r.Storm.from(2, 0, 0) {
		return nil
	}
	const of = "topology.metrics.consumer."
	share := func(perThousand int) int { return (r.Executors*perThousand + 999) / 1000 }
	why := fmt.Sprintf("resource request of the metrics consumer for %d executors; register() counts the executors in Bullet's settings",
		r.Executors)
	return []Line{
		{of + "resources.onheap.memory.mb", leastHeapMiB + share(heapMiBPerThousand), why},
		{of + "resources.offheap.memory.mb", offHeapMiB, why},
		{of + "cpu.pcore.percent", leastCPU + share(cpuPerThousand), why},
	}
}
