// Package stormconfig knows which settings a topology needs so that its metrics are exported, for each version of
// Storm and Bullet, and the reason for each setting. The command "storm snippet" prints its result, a SettingsFile.
//
// The package must not read files or query a cluster: its input is versions and addresses, and its output is lines.
// Start with For.
package stormconfig

import (
	"fmt"
	"net"

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
		return fmt.Errorf("nothing is known of Storm %s: name a version from 1.0.3 to 2.8, the nearest to yours",
			r.Storm)
	}
	if !r.Plain && (!r.Bullet.from(0, 3, 0) || r.Bullet.from(2, 0, 0)) {
		return fmt.Errorf("nothing is known of Bullet %s: name a version from 0.3 to 1.3, or ask for a topology without Bullet",
			r.Bullet)
	}
	if r.Executors < 0 {
		return fmt.Errorf("%d executors: write how many the topology has", r.Executors)
	}
	if len(r.Addresses) == 0 {
		return fmt.Errorf("no collector's address: write host:port")
	}
	for _, one := range r.Addresses {
		if err := address.HostPort(one).Server("collector.example:4320"); err != nil {
			return fmt.Errorf("the collector's address %w", err)
		}
	}
	return nil
}

// retained returns how many reports Storm has to keep for the consumer.
func retained(executors int) int {
	return max(plugininfo.LeastRetained, executors*plugininfo.ReportsAtATick*plugininfo.TicksRetained)
}

func (s *SettingsFile) bullet(r Request) {
	s.File = "bullet_settings.yaml"
	s.Lines = []Line{
		{plugininfo.Enable, true, "false in Bullet's defaults: without it no consumer is registered at all"},
		builtIn(),
		{plugininfo.Classes, []string{classFor(r.Bullet)},
			"Bullet calls its register(); where the list is there already, add the line to it"},
	}
	s.Lines = append(s.Lines, collector(r)...)
	if retained(r.Executors) > plugininfo.LeastRetained {
		s.Lines = append(s.Lines, Line{plugininfo.Collector + plugininfo.Retain, retained(r.Executors), whyRetained(r)})
	}
	s.Automatic = append(s.Automatic, storm(r)...)
	s.Automatic = append(s.Automatic, Line{"topology.auto.task.hooks", []string{plugininfo.HookClass},
		"latencies of records and queries as distributions; " + plugininfo.Collector +
			"latency.enabled: false leaves it out"})
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
	s.File = "storm.yaml of Nimbus and of every supervisor, or the topology's own configuration"
	s.Lines = storm(r)
	s.Notes = append(s.Notes,
		"A list or map that is there already is added to, not replaced. A topology that sets one itself overrides storm.yaml's: put the lines there then.")
}

func builtIn() Line {
	return Line{plugininfo.BuiltIn, true,
		"false in Bullet's defaults: without it Bullet's tasks report nothing of their own"}
}

// collector returns the settings with the addresses of the collectors.
func collector(r Request) []Line {
	lines := []Line{{plugininfo.Collector + "address", r.Addresses,
		"where bullet-metrics serve listens for gRPC; several are tried in order"}}
	if r.TLS {
		lines = append(lines, Line{plugininfo.Collector + "tls.enabled", true,
			"the samples leave the machine; tls.ca.file beside it where the collector's certificate is not of a public authority"})
	}
	return lines
}

// storm returns the settings for Storm. register() makes them, or a person does for a topology without Bullet.
func storm(r Request) []Line {
	lines := []Line{
		{plugininfo.Register, []any{registration(r)}, whyRegistered(r)},
		{"topology.worker.metrics", map[string]any{samplerName: plugininfo.SamplerClass},
			"each worker's CPU, heap and GC once a second; a class that the worker cannot load ends it, so the jar comes first"},
		{plugininfo.Interval, plugininfo.IntervalSeconds, whyInterval(r)},
	}
	if r.Storm.from(2, 2, 0) {
		lines = append(lines, Line{plugininfo.V2Tick, true,
			"false in Storm's defaults: from 2.2 on no V2 metric reaches a consumer without it, heap and GC among them"})
	}
	if r.Storm.from(2, 3, 0) {
		lines = append(lines, Line{plugininfo.V2Interval, plugininfo.IntervalSeconds, whyInterval(r)})
	}
	if r.Storm.from(2, 6, 0) {
		lines = append(lines, Line{"topology.kryo.register", []string{emptyMap},
			"data points carry an empty map from 2.6.1 on, and two workers of 2.8 crash on each other's metrics where it is not registered"})
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
	why := "the consumer, and where its collector is"
	if r.Storm.from(1, 1, 0) {
		return why + "; Storm keeps 100 reports by default, less than one tick of a large topology, and drops the oldest uncounted"
	}
	return why + "; Storm 1.0 hands reports over on the bolt's own thread and has no max.retain.metric.tuples"
}

func whyRetained(r Request) string {
	return fmt.Sprintf("%d ticks of %d executors with %d reports each; register() sets %d, or more where Bullet's settings of parallelism say so",
		plugininfo.TicksRetained, r.Executors, plugininfo.ReportsAtATick, plugininfo.LeastRetained)
}

func whyInterval(r Request) string {
	why := fmt.Sprintf("as wide as a slice, s; %d by default", 60)
	if r.Storm.from(2, 3, 0) {
		return why + fmt.Sprintf(", and never above %d: from 2.3 on a longer one is scheduled twice",
			plugininfo.MostIntervalSeconds)
	}
	return why
}

// notes adds the notes that apply with and without Bullet.
func (s *SettingsFile) notes(r Request) {
	s.Notes = append(s.Notes,
		"First put bullet-metrics-storm.jar on the class path of the submitter and of every worker: Storm's extlib/.")
	if len(s.Automatic) > 0 {
		s.Notes = append(s.Notes, undoes(r.Bullet))
	}
	if !r.Plain && !r.Bullet.from(0, 5, 0) {
		s.Notes = append(s.Notes, plugininfo.EarlyClass+
			" is for Bullet up to 0.4.3 only: when you move to a later one, name "+plugininfo.BulletClass+
			", or submitting will end with a NoClassDefFoundError.")
	}
	if !r.TLS && !local(r.Addresses) {
		s.Notes = append(s.Notes,
			"An address of another machine, without TLS: the collector listens there only with TLS (docs/security.md), or with --grpc-insecure.")
	}
	if !r.Plain && r.Bullet.from(1, 0, 0) != r.Storm.from(2, 0, 0) {
		s.Notes = append(s.Notes,
			fmt.Sprintf("Bullet %s was not built for Storm %s: Bullet before 1.0 is for Storm 1, from 1.0 on for 2.2 and later.",
				r.Bullet, r.Storm))
	}
}

// undoes returns a note about the settings that Bullet applies after register(), and which can therefore override it.
func undoes(bullet Version) string {
	which := "bullet.topology.custom.* is"
	if !bullet.from(0, 8, 0) {
		which = "Storm's own settings in bullet_settings.yaml (topology.*) are"
	}
	return which + " applied after register() and can undo what it set: no list, map or V2 tick of those above there."
}

// local reports whether all addresses are loopback addresses.
func local(addresses []string) bool {
	for _, address := range addresses {
		host, _, _ := net.SplitHostPort(address)
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}
