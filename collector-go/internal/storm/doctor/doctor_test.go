package doctor

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/plugininfo"
)

var now = time.Date(2027, 1, 15, 8, 10, 0, 0, time.UTC)

// well returns the facts of a topology without problems.
func well() Facts {
	seen := map[Kind]NewestSlice{}
	for _, k := range Kinds {
		seen[k.Kind] = NewestSlice{Newest: now.Add(-50 * time.Second), Workers: 2}
	}
	return Facts{
		Jar: &Jar{Path: "plugin.jar", Classes: 3_756},
		Settings: &Settings{Path: "bullet.yaml", Values: map[string]any{
			"bullet.topology.metrics.enable": true, "bullet.topology.metrics.built.in.enable": "true",
			"bullet.topology.metrics.classes": []any{plugininfo.BulletClass}, plugininfo.Collector +
				"address": []any{"127.0.0.1:4320"}}},
		Ports: []Port{{Address: "127.0.0.1:4320", WithPort: "127.0.0.1:4320", Protocol: PlainGRPC}},
		Cluster: &Cluster{Address: "nimbus:6627", Topology: "bullet", ID: "bullet-1-2", Uptime: time.Hour,
			Consumers: []string{"other", plugininfo.StormClass}},
		Logs: []Log{{Path: "worker.log", Messages: 3}},
		Collector: &Collector{Address: "http://here", Topology: "bullet", Known: []string{"bullet"}, Now: now,
			Slices: seen, Width: 10 * time.Second, Lateness: 30 * time.Second,
			Skews: map[string]Skew{"h:6700": {Least: -0.02, Most: 0.01},
				"h:6701": {Sure: -0.3, Least: -0.5, Most: -0.3}},
			Found: &Topology{ID: "bullet-1-2", Submitted: now.Add(-time.Hour), FirstSeen: now.Add(-59 * time.Minute),
				LastSeen: now.Add(-time.Second),
				Alive:    true, Storm: "2.8.3", Workers: 2, Executors: 40, Settings: map[string]string{
					"topology.enable.v2.metrics.tick": "true", "topology.builtin.metrics.bucket.size.secs": "10"}}},
	}
}

func TestAllIsWell(t *testing.T) {
	r := Examine(well())
	assert.True(t, r.Well)
	var names []string
	for _, found := range r.Findings {
		names = append(names, found.Check)
		assert.Equal(t, OK, found.Status, "%+v", found)
		assert.NotEmpty(t, found.Says)
	}
	assert.Equal(t, []string{"jar", "settings", "registration", "v2 tick", "retain limit", "interval", "files",
		"address", "tls", "permission", "submitted", "logs", "skew", "first batch", "restarts", "cpu", "heap", "gc",
		"latency", "names"}, names)
}

func restarted(worker string, times int) func(*Facts) {
	return func(f *Facts) {
		if f.Collector.Restarts == nil {
			f.Collector.Restarts = map[string]int{}
		}
		f.Collector.Restarts[worker] = times
	}
}

func restartedAgo(ago time.Duration) func(*Facts) {
	return func(f *Facts) { f.Collector.RestartedAt = now.Add(-ago) }
}

// seenAgo sets the age of the newest slice of every kind.
func seenAgo(ago time.Duration) func(*Facts) {
	return func(f *Facts) {
		for kind := range f.Collector.Slices {
			f.Collector.Slices[kind] = NewestSlice{Newest: now.Add(-ago), Workers: 2}
		}
	}
}

func ended(how, by string) func(*Facts) {
	return func(f *Facts) {
		t := f.Collector.Found
		t.Ended, t.EndedBy, t.EndedAt = how, by, now.Add(-30*time.Second)
	}
}

func clockAhead(by time.Duration) func(*Facts) {
	return func(f *Facts) {
		f.Collector.Found.ClockAhead = by
		f.Collector.Skews["h:6701"] = Skew{by.Seconds(), by.Seconds(), by.Seconds()}
	}
}

func set(name string, value any) func(*Facts) {
	return func(f *Facts) { f.Settings.Values[name] = value }
}

func reports(name, value string) func(*Facts) {
	return func(f *Facts) { f.Collector.Found.Settings[name] = value }
}

func plain(entry map[string]any, more ...func(*Facts)) func(*Facts) {
	return func(f *Facts) {
		entry["class"] = plugininfo.StormClass
		f.Settings.Values = map[string]any{"topology.metrics.consumer.register": []any{map[string]any{"class": "other"},
			entry}}
		for _, change := range more {
			change(f)
		}
	}
}

func noCollector(f *Facts)     { f.Collector = nil }
func notReported(f *Facts)     { f.Collector.Found = nil }
func noSettings(f *Facts)      { f.Settings = nil }
func nothingReported(f *Facts) { f.Collector.Found.Settings = nil }
func noCluster(f *Facts)       { f.Cluster = nil }
func noLogs(f *Facts)          { f.Logs = nil }
func trouble(text string) func(*Facts) {
	return func(f *Facts) { f.Logs[0].Problems = []Problem{{plugininfo.Read(text), plugininfo.LogMark + text}} }
}
func noPorts(f *Facts)  { f.Ports = nil }
func noSlices(f *Facts) { f.Collector.Slices, f.Collector.Skews = nil, nil }
func without(f *Facts)  { f.Cluster.Consumers = []string{"other"} }

func bullet(version string) func(*Facts) { return func(f *Facts) { f.Bullet = version } }

func speaks(s Protocol, untrusted string) func(*Facts) {
	return func(f *Facts) {
		f.Ports[0].Protocol, f.Ports[0].Untrusted, f.Ports[0].Problem = s, untrusted, "connection refused"
	}
}

// fresh sets the time since the first batch of a topology.
func fresh(age time.Duration) func(*Facts) {
	return func(f *Facts) { f.Collector.Found.FirstSeen = now.Add(-age) }
}

func wrongSettings(f *Facts) { f.Settings = &Settings{Err: errors.New("no such file")} }

func TestEachCheck(t *testing.T) {
	for _, c := range []struct {
		name, check string
		change      []func(*Facts)
		status      Status
		says        string
	}{
		{"no jar", "jar", []func(*Facts){func(f *Facts) { f.Jar = nil }}, Unknown, "--jar"},
		{"unreadable", "jar", []func(*Facts){func(f *Facts) { f.Jar.Err = errors.New("not a zip") }}, Fail,
			"not a zip"},
		{"another jar", "jar", []func(*Facts){func(f *Facts) { f.Jar.Missing = []string{plugininfo.StormClass} }}, Fail,
			"3756 classes, but lacks " + plugininfo.StormClass},
		{"fat jar", "jar", []func(*Facts){func(f *Facts) { f.Jar.Visible = []string{"io.grpc", "io.netty"} }}, Fail,
			"io.grpc, io.netty"},

		{"unreadable", "settings", []func(*Facts){wrongSettings}, Fail, "no such file"},
		{"no YAML", "settings", []func(*Facts){func(f *Facts) {
			f.Settings = &Settings{Path: "b.yaml", Line: 7, Err: errors.New("b.yaml:7: invalid YAML")}
		}}, Fail, "b.yaml:7: invalid YAML"},
		{"misspelt", "settings", []func(*Facts){set(plugininfo.Collector+"adress", "a:1")}, Fail,
			"unknown setting in bullet.yaml: bullet.topology.metrics.collector.adress"},
		{"misspelt before the plugin's part", "settings",
			[]func(*Facts){set("bullet.topology.metrics.colector.address", "a:1")}, Fail, "colector"},
		{"misspelt of Bullet", "settings", []func(*Facts){set("bullet.topology.metrics.clases", "a")}, Fail, "clases"},
		{"misspelt in an argument", "settings",
			[]func(*Facts){plain(map[string]any{"argument": map[string]any{plugininfo.Collector + "tls.enable": true}})},
			Fail, "collector.tls.enable"},
		{"a list of one map", "settings", []func(*Facts){plain(map[string]any{"argument": []any{
			map[string]any{plugininfo.Collector + "address": []any{"c:5100"}}}})}, OK, "are valid"},
		{"no prefix", "settings", []func(*Facts){plain(map[string]any{"argument": map[string]any{"address": "c:5100"}})},
			OK, "are valid"},
		{"misspelt without prefix", "settings",
			[]func(*Facts){plain(map[string]any{"argument": map[string]any{"adress": "c:5100"}})}, Fail,
			"unknown setting in bullet.yaml: bullet.topology.metrics.collector.adress"},
		{"a text", "settings", []func(*Facts){plain(map[string]any{"argument": "c:5100"})}, Fail,
			`the registration's argument "c:5100" is not a map of settings`},
		{"a list of a text", "settings", []func(*Facts){plain(map[string]any{"argument": []any{"c:5100"}})}, Fail,
			"is not a map of settings"},
		{"no value", "settings", []func(*Facts){plain(map[string]any{"argument": map[string]any{"address": nil}})}, Fail,
			"address has no value"},
		{"an address that is none", "settings", []func(*Facts){set(plugininfo.Collector+"address", []any{nil})}, Fail,
			`address: "<nil>" is not a string`},
		{"an address that is a number", "settings", []func(*Facts){set(plugininfo.Collector+"address", 4320)}, Fail, "is not a string"},
		{"no addresses", "settings", []func(*Facts){set(plugininfo.Collector+"address", []any{})}, Fail, "an empty list"},
		{"a flag", "settings", []func(*Facts){set(plugininfo.Collector+"tls.enabled", "on")}, Fail, "use true or false"},
		{"a fraction", "settings", []func(*Facts){set(plugininfo.Collector+"queue.capacity", 2000.5)}, Fail,
			`queue.capacity is "2000.5"; use an integer from 1000 to 100000000`},
		{"a list for a number", "settings", []func(*Facts){set(plugininfo.Collector+"parallelism", []any{1})}, Fail,
			"an integer from 1 to 1000"},
		{"a number beyond all", "settings", []func(*Facts){set(plugininfo.Collector+plugininfo.Retain, "99999999999999999999")}, Fail,
			"an integer from 1 to 10000000"},
		{"a policy", "settings", []func(*Facts){set(plugininfo.Collector+"policy", true)}, Fail, "use first or spread"},
		{"a file", "settings", []func(*Facts){set(plugininfo.Collector+"token.file", []any{"t"})}, Fail, "the path of a file"},
		{"whole numbers as texts", "settings", []func(*Facts){set(plugininfo.Collector+"queue.capacity", " 2000 "),
			set(plugininfo.Collector+"series.limit", 2000.0)}, OK, "are valid"},
		{"levels", "settings", []func(*Facts){set("bullet.topology.metrics.collector", map[string]any{"address": "a"})},
			Fail, "bullet.yaml: bullet.topology.metrics.collector"},
		{"others' settings", "settings", []func(*Facts){set("topology.workers", 2), set("bullet.topology.name", "b"),
			set("bullet.topology.metrics.mine", 1)}, OK, "has 7 settings, and the plugin's are valid"},
		{"none", "settings", []func(*Facts){noSettings}, Unknown, "--bullet-conf"},
		{"unreadable", "registration", []func(*Facts){wrongSettings}, Unknown, "because settings failed"},
		{"early class on Bullet 1.3", "registration", []func(*Facts){noCollector, noCluster, bullet("1.3"),
			set("bullet.topology.metrics.classes", []any{plugininfo.EarlyClass})}, Fail, "this is Bullet 1.3"},
		{"early class, and nothing comes", "registration",
			[]func(*Facts){notReported, noCluster, set("bullet.topology.metrics.classes", []any{plugininfo.EarlyClass})},
			Fail, "has not reported"},
		{"early class, and it runs without", "registration",
			[]func(*Facts){noCollector, without, set("bullet.topology.metrics.classes", []any{plugininfo.EarlyClass})},
			Fail, "runs without the plugin"},
		{"early class on early Bullet", "registration", []func(*Facts){notReported, without, bullet("0.4.3"),
			set("bullet.topology.metrics.classes", []any{plugininfo.EarlyClass})}, OK, "up to 0.4.3"},
		{"late class on early Bullet", "registration", []func(*Facts){bullet("0.4.2")}, Fail, "this is Bullet 0.4.2"},
		{"by reports", "registration", []func(*Facts){noSettings}, OK, "reports"},
		{"nothing known", "registration", []func(*Facts){noSettings, noCollector}, Unknown, "--bullet-conf"},
		{"not named", "registration", []func(*Facts){set("bullet.topology.metrics.classes", []any{"com.yahoo.Other"})},
			Fail, "neither"},
		{"early Bullet", "registration",
			[]func(*Facts){noCollector, set("bullet.topology.metrics.classes", []any{plugininfo.EarlyClass})}, OK,
			"for Bullet up to 0.4.3"},
		{"both Bullets", "registration",
			[]func(*Facts){set("bullet.topology.metrics.classes", []any{plugininfo.EarlyClass, plugininfo.BulletClass})}, OK,
			"has the plugin's class;"},
		{"early Bullet on a late Storm", "registration",
			[]func(*Facts){set("bullet.topology.metrics.classes", []any{plugininfo.EarlyClass})}, Fail,
			"the topology runs on Storm 2.8.3"},
		{"off", "registration", []func(*Facts){set("bullet.topology.metrics.enable", false)}, Fail,
			"registers no metrics consumer"},
		{"no Bullet metrics", "registration", []func(*Facts){set("bullet.topology.metrics.built.in.enable", false)},
			Fail, "none of its own metrics"},
		{"undone", "registration", []func(*Facts){set(plugininfo.Custom+"topology.metrics.consumer.register", []any{})},
			Fail, "replaces the registration"},
		{"plain", "registration", []func(*Facts){plain(map[string]any{})}, OK, "contains the plugin"},

		{"undone", "v2 tick", []func(*Facts){set(plugininfo.Custom+"topology.enable.v2.metrics.tick", false)}, Fail,
			"false (" + plugininfo.Custom},
		{"by register", "v2 tick", []func(*Facts){noCollector}, OK, "register() sets it"},
		{"after a failure", "v2 tick", []func(*Facts){noCollector, set("bullet.topology.metrics.enable", false)},
			Unknown, "because registration failed"},
		{"no YAML", "v2 tick", []func(*Facts){noCollector, wrongSettings}, Unknown, "set --bullet-conf"},
		{"plain without", "v2 tick", []func(*Facts){noCollector, plain(map[string]any{})}, Fail, "not set"},
		{"plain with", "v2 tick",
			[]func(*Facts){noCollector, plain(map[string]any{}, set("topology.enable.v2.metrics.tick", true))}, OK,
			"true (topology"},
		{"runs without", "v2 tick",
			[]func(*Facts){noSettings,
				func(f *Facts) { delete(f.Collector.Found.Settings, "topology.enable.v2.metrics.tick") }}, Fail,
			"runs without"},
		{"nothing reported", "v2 tick", []func(*Facts){noSettings, nothingReported}, Unknown,
			"has reported no settings"},
		{"old Storm", "v2 tick", []func(*Facts){nothingReported, func(f *Facts) { f.Collector.Found.Storm = "2.1.0" }}, OK,
			"not needed"},
		{"nothing known", "v2 tick", []func(*Facts){noSettings, noCollector}, Unknown, "not checked"},

		{"no file", "retain limit", []func(*Facts){noSettings}, Unknown, "--bullet-conf"},
		{"after a failure", "retain limit", []func(*Facts){set("bullet.topology.metrics.enable", false)}, Unknown,
			"because registration failed"},
		{"no YAML", "retain limit", []func(*Facts){wrongSettings}, Unknown, "--bullet-conf"},
		{"too little", "retain limit", []func(*Facts){func(f *Facts) { f.Collector.Found.Executors = 5_001 }}, Fail,
			"keeps 10000 reports, but a metric tick of 5001 executors can have 10002"},
		{"just enough", "retain limit", []func(*Facts){func(f *Facts) { f.Collector.Found.Executors = 5_000 }}, OK,
			"of 5000 executors"},
		{"no number", "retain limit", []func(*Facts){set(plugininfo.Collector+"max.retain.metric.tuples", "many")},
			Fail, "many"},
		{"Storm's default", "retain limit", []func(*Facts){plain(map[string]any{}, noCollector)}, Fail,
			"keeps 100 reports"},
		{"too little as it runs", "retain limit", []func(*Facts){noSettings, reports("max.retain.metric.tuples", "79")},
			Fail, "keeps 79 reports, but a metric tick of 40 executors can have 80"},
		{"enough as it runs", "retain limit", []func(*Facts){noSettings, reports("max.retain.metric.tuples", "80")}, OK,
			"keeps 80 reports"},
		{"the file before what runs", "retain limit",
			[]func(*Facts){set(plugininfo.Collector+"max.retain.metric.tuples", 500),
				reports("max.retain.metric.tuples", "79")}, OK, "keeps 500 reports"},
		{"register() made it larger", "retain limit", []func(*Facts){reports("max.retain.metric.tuples", "40008"),
			func(f *Facts) { f.Collector.Found.Executors = 5_001 }}, OK, "keeps 40008 reports"},
		{"Storm 1.0 keeps none", "retain limit",
			[]func(*Facts){noSettings, func(f *Facts) { f.Collector.Found.Storm = "1.0.3" }}, OK, "has no such limit"},
		{"without bound", "retain limit", []func(*Facts){plain(map[string]any{"max.retain.metric.tuples": 0})},
			OK, "keeps"},

		{"128 s", "interval", []func(*Facts){set(plugininfo.Custom+"topology.builtin.metrics.bucket.size.secs", 128)}, Fail,
			"128 s (" + plugininfo.Custom},
		{"127 s", "interval", []func(*Facts){set(plugininfo.Custom+"topology.builtin.metrics.bucket.size.secs", 127)},
			OK, "127 s"},
		{"128 s by V2", "interval",
			[]func(*Facts){set(plugininfo.Custom+"topology.v2.metrics.tick.interval.seconds", "128")}, Fail, "v2"},
		{"Storm's name in Bullet's file", "interval",
			[]func(*Facts){noCollector, set("topology.builtin.metrics.bucket.size.secs", 300)}, OK, "not set"},
		{"128 s plain", "interval",
			[]func(*Facts){plain(map[string]any{}, set("topology.builtin.metrics.bucket.size.secs", 128))}, Fail,
			"128 s (topology.builtin"},
		{"128 s in Bullet", "interval",
			[]func(*Facts){set("bullet.topology.metrics.built.in.emit.interval.mapping",
				map[string]any{"default": 300})}, Fail, "300 s (bullet.topology.metrics.built.in.emit.interval.mapping for default)"},
		{"as it runs", "interval", []func(*Facts){noSettings, func(f *Facts) {
			f.Collector.Found.Settings["topology.builtin.metrics.bucket.size.secs"] = "300"
		}}, Fail, "of the running topology"},
		{"Storm 2.2", "interval", []func(*Facts){set(plugininfo.Custom+"topology.builtin.metrics.bucket.size.secs", 300),
			func(f *Facts) { f.Collector.Found.Storm = "2.2.0" }}, OK, "2.2.0"},
		{"none set", "interval", []func(*Facts){noCollector}, OK, "not set"},
		{"no number", "interval",
			[]func(*Facts){set(plugininfo.Custom+"topology.v2.metrics.tick.interval.seconds", "often")}, Fail, "often"},

		{"half a key", "tls", []func(*Facts){set(plugininfo.Collector+"tls.cert.file", "a.pem")}, Fail, "only one"},
		{"CA without TLS", "tls", []func(*Facts){set(plugininfo.Collector+"tls.ca.file", "a.pem")}, Fail,
			"the plugin rejects"},
		{"at the plugin only", "tls", []func(*Facts){noCollector, set(plugininfo.Collector+"tls.enabled", true)}, Fail,
			"only the plugin uses TLS: 127.0.0.1:4320"},
		{"at the collector only", "tls", []func(*Facts){noCollector, speaks(TLSGRPC, "")}, Fail,
			"only the collector uses TLS: 127.0.0.1:4320"},
		{"at both", "tls", []func(*Facts){noCollector, speaks(TLSGRPC, ""), set(plugininfo.Collector+"tls.enabled", true)},
			OK, "used by both sides"},
		{"not trusted", "tls", []func(*Facts){noCollector, speaks(TLSGRPC, "signed by unknown authority"),
			set(plugininfo.Collector+"tls.enabled", true)}, Fail, "unknown authority"},
		{"a certificate is wanted", "tls", []func(*Facts){noCollector, speaks(TLSGRPC, ""),
			set(plugininfo.Collector+"tls.enabled", true), func(f *Facts) { f.Ports[0].WantsCertificate = true }}, Fail,
			"requires a client certificate"},
		{"by whom the collector refused", "tls",
			[]func(*Facts){noSettings, notReported,
				func(f *Facts) { f.Collector.Refused = map[string]int{"tls_plain_text": 12} }}, Fail,
			"refused 12 connections"},
		{"none on either side", "tls", []func(*Facts){noCollector}, OK, "not used on either side"},

		{"a file is not there", "files",
			[]func(*Facts){func(
				f *Facts) {
				f.Unreadable = map[string]string{"tls.ca.file": "open ca.pem: no such file"}
			}}, Fail, "tls.ca.file: open ca.pem: no such file"},
		{"no file", "files", []func(*Facts){noSettings}, Unknown, "--bullet-conf"},

		{"none looked at", "address", []func(*Facts){noSettings}, Unknown, "--bullet-conf"},
		{"no address", "address",
			[]func(*Facts){func(f *Facts) {
				f.Ports[0] = Port{Address: "http://a",
					Invalid: "\"http://a\" is not an address"}
			}}, Fail, "is not an address"},
		{"the HTTP port", "address", []func(*Facts){speaks(PlainHTTP, "")}, Fail, "is an HTTP port"},
		{"the HTTPS port", "address", []func(*Facts){speaks(TLSHTTP, "")}, Fail, "HTTPS"},
		{"something else", "address", []func(*Facts){speaks(Other, "")}, Fail, "is not a collector"},
		{"nobody", "address", []func(*Facts){noCollector, speaks(Unreachable, "")}, Fail,
			"this machine cannot reach 127.0.0.1:4320"},
		{"nobody, without a port", "address", []func(*Facts){noCollector, speaks(Unreachable, ""),
			func(f *Facts) { f.Ports[0].Address = "127.0.0.1" }}, Fail,
			"127.0.0.1 has no port, so the default 4320 is used"},
		{"one of two", "address",
			[]func(*Facts){speaks(Unreachable, ""),
				func(f *Facts) { f.Ports = append(f.Ports, Port{Address: "b:1", WithPort: "b:1", Protocol: TLSGRPC}) }},
			OK, "listens at b:1; not reachable: 127.0.0.1:4320"},
		{"nobody from here", "address", []func(*Facts){speaks(Unreachable, "")}, OK, "batches arrive, although"},

		{"no Nimbus", "submitted", []func(*Facts){noCluster}, Unknown, "--nimbus"},
		{"Nimbus is away", "submitted", []func(*Facts){func(f *Facts) { f.Cluster.Err = errors.New("refused") }},
			Fail, "refused"},
		{"not there", "submitted",
			[]func(*Facts){func(f *Facts) { f.Cluster.ID, f.Cluster.Known = "", []string{"other"} }}, Fail,
			`no topology "bullet"; its topologies: other`},
		{"without the plugin", "submitted", []func(*Facts){without}, Fail,
			"runs without the plugin; classes in topology.metrics.consumer.register: other"},
		{"a class is missing", "submitted", []func(*Facts){func(f *Facts) {
			f.Cluster.Errors = []string{"x: other", "__metrics: ClassNotFoundException: " + plugininfo.StormClass}
		}}, Fail, "ClassNotFoundException"},
		{"the jar on the submitter only", "submitted", []func(*Facts){notReported}, Fail,
			"the jar may be missing on the Supervisors"},
		{"nothing comes, and the way is wrong", "submitted", []func(*Facts){notReported, speaks(Unreachable, "")}, OK,
			"for 1h0m0s"},

		{"none", "logs", []func(*Facts){noLogs}, Unknown, "--log"},
		{"by the collector", "logs",
			[]func(*Facts){noLogs, func(f *Facts) { f.Collector.Unreached = "08:01:00 to 08:02:00, a:1: refused" }}, OK,
			"a:1: refused"},
		{"unreadable", "logs", []func(*Facts){func(f *Facts) { f.Logs[0].Err = errors.New("no such log") }}, Fail,
			"no such log"},
		{"a class is missing", "logs",
			[]func(*Facts){func(f *Facts) { f.Logs[0].MissingClass = "ClassNotFoundException: x" }}, Fail,
			"ClassNotFoundException"},
		{"trouble", "logs", []func(
			*Facts){trouble("No metrics are exported: a is wrong. The topology continues without them.")}, Fail,
			"worker.log: bullet-metrics: No metrics are exported: a is wrong. The topology continues without them. (the consumer could not start"},
		{"trouble of another release", "logs", []func(*Facts){trouble("Something new.")}, Fail,
			"worker.log: bullet-metrics: Something new."},
		{"nothing of ours", "logs", []func(*Facts){func(f *Facts) { f.Logs[0].Messages = 0 }}, Unknown, "no line has"},

		{"fresh", "cpu", []func(*Facts){fresh(20 * time.Second), noSlices}, Waiting, "first slices are expected at 08:10:41"},
		{"fresh", "skew", []func(*Facts){fresh(20 * time.Second), noSlices}, Waiting, "first slices are expected at 08:10:41"},
		{"fresh by Storm's interval", "gc", []func(*Facts){fresh(20 * time.Second), noSlices,
			reports("topology.builtin.metrics.bucket.size.secs", "60")}, Waiting, "first slices are expected at 08:11:41"},
		{"a worker is fresh", "heap",
			[]func(*Facts){fresh(20 * time.Second), func(f *Facts) { f.Collector.Slices[Heap] = NewestSlice{now, 1} }},
			Waiting,
			"first slices"},
		{"due for a while", "latency", []func(*Facts){fresh(70 * time.Second), noSlices}, Waiting,
			"were expected at 08:09:51"},
		{"overdue", "cpu", []func(*Facts){fresh(100 * time.Second), noSlices}, Fail, "no slice in"},
		{"just submitted", "first batch",
			[]func(*Facts){notReported, func(f *Facts) { f.Cluster.Uptime = 40 * time.Second }}, Waiting,
			"was submitted 40s ago"},
		{"just submitted", "cpu", []func(*Facts){notReported, func(f *Facts) { f.Cluster.Uptime = 40 * time.Second }},
			Waiting, "first batch"},
		{"just submitted without the plugin", "first batch", []func(*Facts){notReported, func(f *Facts) {
			f.Cluster.Uptime, f.Cluster.Consumers = 40*time.Second, nil
		}}, Unknown, "because of the failures above"},
		{"a token that may only read", "permission", []func(*Facts){func(f *Facts) { f.Ports[0].Refused = "only read" }},
			Fail, "127.0.0.1:4320 refuses the plugin: only read"},
		{"nobody named it", "first batch",
			[]func(*Facts){func(f *Facts) { f.Collector.Err, f.Collector.Assumed = errors.New("refused"), true }},
			Unknown, "set --collector"},
		{"nobody named a topology", "first batch", []func(*Facts){notReported, func(f *Facts) {
			f.Collector.Assumed, f.Collector.Topology, f.Collector.Known = true, "", nil
		}}, Unknown, "set --topology"},

		{"on", "tls", []func(*Facts){noCollector, noPorts, set(plugininfo.Collector+"tls.enabled", true),
			set(plugininfo.Collector+"address", "collector:4320")}, OK, "uses TLS"},
		{"elsewhere", "tls",
			[]func(*Facts){noCollector, noPorts, set(plugininfo.Collector+"address", "localhost:1, collector:4320")}, Fail,
			"collector:4320 is on another host"},
		{"elsewhere, meant", "tls", []func(*Facts){set(plugininfo.Collector+"address", "collector:4320")}, OK,
			"batches arrive"},
		{"in an argument", "tls",
			[]func(*Facts){noCollector, noPorts,
				plain(map[string]any{"argument": map[string]any{plugininfo.Collector + "address": "collector:4320"}})},
			Fail, "another host"},

		{"behind", "skew", []func(*Facts){func(f *Facts) { f.Collector.Skews["h:6701"] = Skew{-0.501, -0.7, -0.501} }},
			Fail, "clock of h:6701 is at least 501ms behind the collector's"},
		{"ahead", "skew", []func(*Facts){func(f *Facts) { f.Collector.Skews["h:6700"] = Skew{0.6, 0.6, math.Inf(1)} }},
			Fail, "clock of h:6700 is at least 600ms ahead of the collector's"},
		{"by the alert's limit", "skew",
			[]func(*Facts){func(f *Facts) { f.Collector.Skews["h:6700"] = Skew{0.5, 0.5, 3} }}, OK,
			"no clock skew above 0.5 s is certain (h:6700 is ahead by 500ms to 3s)"},
		{"old samples", "skew",
			[]func(*Facts){func(f *Facts) { f.Collector.Skews = map[string]Skew{"h:6700": {0, -60, math.Inf(1)}} }}, OK,
			"no upper bound"},
		{"two hours behind", "skew", []func(*Facts){clockAhead(-2 * time.Hour)}, Fail,
			"the clock of h:6701 is at least 2h0m0s behind the collector's; alert rules cannot see this topology"},
		{"five minutes ahead", "skew", []func(*Facts){clockAhead(5 * time.Minute)}, Fail,
			"ahead of the collector's; alerts about this topology are delayed"},
		{"two hours behind", "cpu", []func(*Facts){clockAhead(-2 * time.Hour), seenAgo(2*time.Hour + 50*time.Second)}, OK,
			"newest slice is 50s old"},
		{"two hours behind, nothing yet", "cpu", []func(*Facts){clockAhead(-2 * time.Hour), noSlices}, Unknown, "see skew"},
		{"set back", "skew",
			[]func(*Facts){func(f *Facts) { f.Collector.SetBack = map[string]int{"h:6701": 12} }}, Fail,
			"clock of h:6701 was set back in the last 10m0s: 12 samples with times already reported"},
		{"set back just now", "skew",
			[]func(*Facts){func(f *Facts) {
				f.Collector.SetBackBy = map[string]time.Duration{"h:6700": 3 * time.Second, "h:6701": 20 * time.Second}
			}}, Fail,
			"clock of h:6701 was set back by at least 20s in the last 10m0s: samples with times"},
		{"registered twice", "first batch",
			[]func(*Facts){func(f *Facts) { f.Collector.Duplicates = map[string]int{"h:6700": 7} }}, Fail,
			"7 duplicate samples of h:6700"},
		{"a few samples twice", "first batch",
			[]func(*Facts){func(f *Facts) {
				f.Collector.Duplicates, f.Collector.Samples = map[string]int{"h:6700": 7}, map[string]int{"h:6700": 1000}
			}}, OK, "reports"},
		{"no topology at all", "first batch",
			[]func(*Facts){notReported, func(f *Facts) { f.Collector.Topology, f.Collector.Known = "", nil }}, Fail,
			"no topology has reported to http://here"},
		{"nobody", "skew", []func(*Facts){func(f *Facts) { f.Collector.Skews = nil }}, Unknown, "no slice of a worker"},
		{"not reported", "skew", []func(*Facts){notReported}, Unknown, "because first batch failed"},

		{"no collector", "first batch", []func(*Facts){noCollector}, Unknown, "--collector"},
		{"not to be asked", "first batch", []func(*Facts){func(f *Facts) { f.Collector.Err = errors.New("refused") }},
			Fail, "refused"},
		{"not reported", "first batch", []func(*Facts){notReported}, Fail,
			`"bullet" has not reported to http://here; topologies that have: bullet`},
		{"silent", "first batch", []func(*Facts){func(f *Facts) { f.Collector.Found.Alive = false }}, Fail,
			"arrived 1s ago"},
		{"came", "first batch", nil, OK, "its first batch arrived 1m0s after the submission"},

		{"again and again", "restarts", []func(*Facts){restarted("h:6701", 2), restarted("h:6700", 1)}, Fail,
			"worker h:6701 restarted 2 times in the last 10m0s"},
		{"once", "restarts", []func(*Facts){restarted("h:6700", 1)}, OK,
			"worker h:6700 restarted once in the last 10m0s, and no worker more often"},
		{"all at once", "restarts", []func(*Facts){restarted("h:6701", 1), restarted("h:6700", 1), restartedAgo(time.Minute)},
			Fail, "all 2 workers restarted in the last 10m0s (the last 1m0s ago)"},
		{"all at once", "cpu", []func(*Facts){restarted("h:6701", 1), restarted("h:6700", 1), restartedAgo(time.Minute),
			seenAgo(4 * time.Minute)}, Waiting, "from before workers restarted 1m0s ago"},
		{"all long ago, and nothing since", "cpu", []func(*Facts){restarted("h:6701", 1), restarted("h:6700", 1),
			restartedAgo(5 * time.Minute), seenAgo(6 * time.Minute)}, Fail, "workers restarted in the last 10m0s"},
		{"stopped in order", "first batch", []func(*Facts){ended("stopped", "consumer")}, Fail,
			"bullet-1-2 was stopped at 08:09:30 UTC, 30s ago: Storm closed its metrics consumer, which"},
		{"killed", "first batch", []func(*Facts){ended("killed", "nimbus")}, Fail,
			"bullet-1-2 was killed at 08:09:30 UTC, 30s ago, as nimbus reported"},
		{"stopped in order", "cpu", []func(*Facts){ended("stopped", "consumer"), seenAgo(5 * time.Minute)}, Unknown,
			"because first batch failed"},
		{"none", "restarts", nil, OK, "no worker restarted"},
		{"not reported", "restarts", []func(*Facts){notReported}, Unknown, "because first batch failed"},

		{"not reported", "cpu", []func(*Facts){notReported}, Unknown, "because first batch failed"},
		{"no collector", "gc", []func(*Facts){noCollector}, Unknown, "--collector"},
		{"none", "heap", []func(*Facts){func(f *Facts) { delete(f.Collector.Slices, Heap) }}, Fail,
			"no slice in the last 10m0s"},
		{"late", "cpu", []func(*Facts){func(f *Facts) {
			f.Collector.Slices[CPU] = NewestSlice{now.Add(-101 * time.Second),
				2}
		}}, Fail, "newest slice is 1m41s old; 2 of 2 workers have slices; the maximum age is 1m40s"},
		{"a worker missing", "gc", []func(*Facts){func(f *Facts) { f.Collector.Slices[GC] = NewestSlice{now, 1} }}, Fail,
			"1 of 2 workers"},
		{"one worker's", "latency", []func(*Facts){func(f *Facts) { f.Collector.Slices[Latency] = NewestSlice{now, 1} }}, OK,
			"1 of 2 workers"},
	} {
		t.Run(c.check+"/"+c.name, func(t *testing.T) {
			f := well()
			for _, change := range c.change {
				change(&f)
			}
			r := Examine(f)
			failed := false
			for _, found := range r.Findings {
				failed = failed || found.Status == Fail
				assert.Equal(t, found.Status == Fail, found.Fix != "", "each failure has its fix: %+v", found)
				if found.Check == c.check {
					require.Equal(t, c.status, found.Status, "%+v", found)
					assert.Contains(t, found.Says, c.says)
				}
			}
			assert.Equal(t, !failed, r.Well)
		})
	}
}

// Findings that only time can change have the status Waiting. Findings that require an action have not.
func TestWhatIsWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		change []func(*Facts)
		waits  bool
	}{
		"all is well": {nil, false}, "fresh": {[]func(*Facts){fresh(time.Second), noSlices}, true},
		"not reported":                           {[]func(*Facts){notReported, noCluster}, true},
		"overdue":                                {[]func(*Facts){fresh(time.Hour), noSlices}, false},
		"not reported, and the address is wrong": {[]func(*Facts){notReported, noCluster, speaks(Unreachable, "")}, false},
	} {
		f := well()
		for _, change := range c.change {
			change(&f)
		}
		assert.Equal(t, c.waits, Examine(f).Waits(), name)
	}
}

// Metrics that are not stored are named. It is a failure if a metric of the topology is lost, but not if a metric only
// repeats another one.
func TestNamesOfWhatIsNotStored(t *testing.T) {
	f := well()
	f.Collector.NotStored = []catalog.NotStored{
		{Component: "Bolt", Metric: "storm_depth_max", Reason: catalog.ReasonOwnName, Beside: "depth_max"},
		{Component: "Bolt", Metric: "hits.m1_rate", Reason: catalog.ReasonDerived, Beside: "hits.count"}}
	f.Collector.NotStoredMore = 3
	found := names(f)
	assert.Equal(t, OK, found.Status)
	assert.Equal(t, "all metrics of the topology are stored; not derived: storm_depth_max (the topology has its own metric depth_max); 4 metrics are not stored because they repeat others: hits.m1_rate and 3 more",
		found.Says)

	f.Collector.NotStored = append(f.Collector.NotStored, catalog.NotStored{Component: "Bolt", Metric: "server.cost",
		Reason: catalog.ReasonCollision, Beside: "server_cost", Lost: true})
	found = names(f)
	assert.Equal(t, Fail, found.Status)
	assert.Contains(t, found.Says, "not stored: server.cost of Bolt (server_cost has the same stored name); not derived: ")
	assert.Contains(t, found.Fix, "rename one of the two")
}
