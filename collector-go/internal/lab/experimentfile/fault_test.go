package experimentfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
)

const complete = `experiment: mine
title: Mine
analysis: queries
goals:
  - {figure: filter_latency, statistic: mean, at_most: 200ms}
topology:
  conf: bullet_settings.yaml
  settings:
    bullet.topology.filter.bolt.parallelism: 4
steps:
  values: [10, 20]
  warm_up: 10s
  sustain: 30s
launch:
  local: {workers: 2, worker_heap: 384MiB}
`

// local is the launch of the complete file; elsewhere is a command launch.
const (
	local     = "  local: {workers: 2, worker_heap: 384MiB}"
	elsewhere = "  command: {submit: [storm, \"{name}\"], kill: [storm], collector: a, gateway: b, workers: 1}"
)

func TestACompleteFileIsRead(t *testing.T) {
	f, err := experimentfile.Parse("mine.yaml", []byte(complete))
	require.NoError(t, err)
	plan := f.Plan()
	require.Len(t, plan.Trials, 1)
	assert.Equal(t, "mine", plan.Trials[0].Label)
	assert.Equal(t, int64(30_000), plan.SustainMs)
	assert.Equal(t, 384, plan.Trials[0].WorkerHeapMiB)
	assert.Len(t, plan.Goals, 2, "queries that fail are a missed goal unless the file says otherwise")
}

// Each case changes one line of a complete file. The fault must name its line, column and field, and what to do.
func TestFaultsNameTheirPlaceAndWhatToDo(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"unknown field": {"  values: [10, 20]", "  valeus: [10, 20]",
			`mine.yaml:11:3: unknown field "steps.valeus"; did you mean "steps.values"?`},
		"unknown field at the top": {"title: Mine", "titel: Mine",
			`mine.yaml:2:1: unknown field "titel"; did you mean "title"?`},
		"unknown field in a list": {"statistic: mean", "statistik: mean", `did you mean "goals[0].statistic"?`},
		"twice":                   {"title: Mine", "title: Mine\ntitle: Yours", "already defined"},
		"a time": {"  sustain: 30s", "  sustain: 30",
			`mine.yaml:13:12: steps.sustain: "30" is not a duration; use for example 30s or 5m`},
		"an empty path": {"conf: bullet_settings.yaml", `conf: ""`, "topology.conf: the path is empty; set a path"},
		"a share": {"title: Mine", "title: Mine\nmin_host_idle: 500",
			`mine.yaml:3:16: min_host_idle: "500" is not a ratio`},
		"a size":   {"384MiB", "384", `launch.local.worker_heap: "384" is not a size`},
		"a number": {"workers: 2", "workers: two", `launch.local.workers: "two" is not a whole number`},
		"a list":   {"[10, 20]", "10", "mine.yaml:11:11: steps.values: this is a list"},
		"a mapping": {"  local: {workers: 2, worker_heap: 384MiB}", "  local: here",
			"launch.local: this has fields"},
		"an anchor": {"title: Mine", "title: &t Mine", "anchors, aliases and tags are not read"},
		"no value":  {"title: Mine", "title:", "title: there is no value"},
		"a word": {"analysis: queries", "analysis: query",
			`mine.yaml:3:11: analysis: "query" is not one of timeline, concurrency, data, queries; did you mean "queries"?`},
		"a figure": {"figure: filter_latency", "figure: filter_lateness",
			`goals[0].figure: "filter_lateness" is not one of`},
		"a statistic": {"statistic: mean", "statistic: p90",
			`goals[0].statistic: "p90" is not one of mean, p50, p95, p99, max`},
		"no statistic":   {"statistic: mean, ", "", "missing statistic of filter_latency; set one of mean"},
		"no limit":       {", at_most: 200ms", "", "goals[0]: set one of at_most and at_least"},
		"a limit's unit": {"200ms", "200", `goals[0]: 200 has no unit, but filter_latency is a time; write 200ms`},
		"slices": {"sustain: 30s", "sustain: 35s",
			"steps.sustain: 35s is not a multiple of the slice width, 10s"},
		"twice in a list":  {"[10, 20]", "[10, 10]", "mine.yaml:11:16: steps.values[1]: 10 is listed twice"},
		"too many queries": {"[10, 20]", "[10, 2000]", "is not a whole number of queries from 0 to 1000"},
		"half a query": {"  sustain: 30s", "  sustain: 30s\n  start_up_queries: 0.5",
			"mine.yaml:14:21: steps.start_up_queries: 0.5 is not a whole number of queries from 0 to 1000"},
		"a share above 1": {"at_most: 200ms}",
			"at_most: 200ms}\n  - {figure: completeness, statistic: mean, at_least: 99.9}",
			"mine.yaml:6:5: goals[1]: completeness is a share and cannot exceed 1"},
		"a limit below 0": {"at_most: 200ms}",
			"at_most: 200ms}\n  - {figure: result_size, statistic: mean, at_least: -1}",
			"mine.yaml:6:5: goals[1]: the limit of result_size, -1, is below 0"},
		"no steps": {"  values: [10, 20]\n", "", "steps.values: missing"},
		"no launch": {"  local: {workers: 2, worker_heap: 384MiB}", "  slice_width: 10s",
			"launch: set either `local` or `command`"},
		"a placeholder": {"  local: {workers: 2, worker_heap: 384MiB}",
			"  command: {submit: [storm, \"{nmae}\"], kill: [storm], collector: a, gateway: b, workers: 1}",
			"launch.command.submit[1]: unknown placeholder {nmae}; use {name}, {conf}, {settings}, {workers}"},
		"the name": {"experiment: mine", "experiment: My Experiment",
			"experiment: \"My Experiment\" is not a valid name"},
		"catch-up": {"figure: filter_latency, statistic: mean, at_most: 200ms",
			"figure: catch_up, statistic: mean, at_least: 5", "missing, but there is a goal for the catch-up ratio"},
		"a timeline's records": {"  values: [10, 20]",
			"  kind: timeline\n  timeline_records: generate\n  values: [1]",
			`steps.timeline_records: "generate" is not one of flowing, generated; did you mean "generated"?`},
		"partitions": {"worker_heap: 384MiB}", "worker_heap: 384MiB, kafka: {partitions: 0}}",
			"launch.local.kafka.partitions: 0 is below the minimum of 1"},
		"partitions of a broker that is there": {"worker_heap: 384MiB}",
			"worker_heap: 384MiB, kafka: {bootstrap: \"k:9092\", partitions: -1}}",
			"launch.local.kafka.partitions: -1 is below the minimum of 0"},
		"a capacity": {"  local: {workers: 2, worker_heap: 384MiB}",
			"  command: {submit: [storm, \"{name}\"], kill: [storm], collector: a, gateway: b, workers: 1, gateway_capacity: -1}",
			"launch.command.gateway_capacity: -1 is below the minimum of 0"},
		"partitions of a command's Kafka": {"  local: {workers: 2, worker_heap: 384MiB}",
			"  command: {submit: [storm, \"{name}\"], kill: [storm], collector: a, gateway: b, workers: 1, partitions: -1}",
			"launch.command.partitions: -1 is below the minimum of 0"},
		"servers of a local DRPC": {local, local + "\nload: {submit: drpc, drpc: [\"d:1\"]}",
			"load.drpc: cannot be combined with launch.local, which starts its own DRPC server"},
		"threads of a local DRPC": {local, local + "\nload: {submit: drpc, drpc_threads: 4}", "load.drpc_threads"},
		"a local DRPC and Kafka": {local,
			"  local: {workers: 2, worker_heap: 384MiB, kafka: {partitions: 2}}\nload: {submit: drpc}",
			"load.submit: drpc cannot be combined with launch.local.kafka"},
		"a capacity with DRPC": {"  local: {workers: 2, worker_heap: 384MiB}",
			"  command: {submit: [storm, \"{name}\"], kill: [storm], collector: a, gateway: b, workers: 1, gateway_capacity: 5}\nload: {submit: drpc, drpc: [\"d:1\"]}",
			"launch.command.gateway_capacity: cannot be combined with load.submit: drpc; set load.drpc_threads instead"},
		"calibrated elsewhere": {local, elsewhere,
			"mine.yaml:1:1: load.records_per_second: calibrated is not possible with launch.command, because the CPU of the workers' hosts is not measured; set a number"},
		"no gateway": {local, strings.Replace(elsewhere, "gateway: b, ", "", 1) +
			"\nload: {records_per_second: 5}", "launch.command.gateway: missing"},
		"load hosts at home": {local, local + "\n  load: {command: [ssh, \"{host}\"], hosts: [a]}",
			"mine.yaml:16:9: launch.load: cannot be combined with launch.local"},
		"load hosts without a command": {local, elsewhere + "\n  load: {hosts: [a]}",
			"launch.load.command: missing; write the command as a list of words, for example [ssh, \"{host}\", COMMAND]"},
		"load hosts without the host": {local, elsewhere + "\n  load: {command: [ssh, a], hosts: [a]}",
			"mine.yaml:16:19: launch.load.command: missing placeholder {host}: all clients would run on the same host"},
		"a load host's placeholder": {local, elsewhere + "\n  load: {command: [ssh, \"{hsot}\"], hosts: [a]}",
			"mine.yaml:16:25: launch.load.command[1]: unknown placeholder {hsot}; use {host}"},
		"no load hosts": {local, elsewhere + "\n  load: {command: [ssh, \"{host}\"]}",
			"launch.load.hosts: 0 hosts; list 1 to 100"},
		"a load host twice": {local, elsewhere + "\n  load: {command: [ssh, \"{host}\"], hosts: [a, b, a]}",
			`mine.yaml:16:50: launch.load.hosts[2]: "a" is listed twice`},
		"an option for a load host": {local, elsewhere + "\n  load: {command: [ssh, \"{host}\"], hosts: [-oProxy]}",
			`launch.load.hosts[0]: "-oProxy" is not a host name`},
		"a field of load hosts": {local, elsewhere + "\n  load: {comand: [ssh, \"{host}\"], hosts: [a]}",
			`unknown field "launch.load.comand"; did you mean "launch.load.command"?`},
		"a source": {local, local + "\nload: {source: nome}",
			`load.source: "nome" is not one of gateway, none; did you mean "none"?`},
		"no source at home": {local, local + "\nload: {source: none}",
			"load.source: none cannot be combined with launch.local"},
		"a setting twice": {"    bullet.topology.filter.bolt.parallelism: 4", "    a: 4\n    a: 5",
			"already defined"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(complete, c.old, c.new, 1)
			require.NotEqual(t, complete, text)
			_, err := experimentfile.Parse("mine.yaml", []byte(text))
			require.Error(t, err)
			assert.Contains(t, err.Error(), c.want)
			assert.Contains(t, err.Error(), "mine.yaml")
		})
	}
}

// live is an experiment with a foreign record source.
const live = `experiment: mine
title: Mine
analysis: queries
goals:
  - {figure: filter_latency, statistic: mean, at_most: 200ms}
  - {figure: source_lag, at_most: 1000}
topology: {conf: /etc/bullet.yaml}
steps: {values: [10, 20]}
load: {source: none, submit: drpc, drpc: ["drpc:3774"]}
launch:
  command: {submit: [storm, "{name}"], kill: [storm], collector: "https://a:443/metrics", tls_ca: ca.pem, token_file: /etc/token, workers: 1}
`

func TestRecordsThatNobodySteers(t *testing.T) {
	f, err := experimentfile.Parse("there/mine.yaml", []byte(live))
	require.NoError(t, err, "neither a rate nor a gateway is asked for")
	plan := f.Plan()
	assert.True(t, plan.Load.NoSource())
	assert.False(t, plan.Load.RecordsPerSecond.Known())
	assert.False(t, plan.Load.TargetIdle.Known())
	assert.Contains(t, plan.Load.Describe(plan.Axis), "the records that the topology reads, at their own rate")
	assert.NotContains(t, plan.Load.Describe(plan.Axis), "matching")
	assert.False(t, plan.Load.MeanRecordBytes.Known(), "their size is not our generator's")
	assert.Zero(t, f.Manifest().Records.Fields, "nor is their schema")
	assert.False(t, f.Manifest().Records.MeanRecordBytes.Known())
	stated, err := experimentfile.Parse("there/mine.yaml", []byte(live+"records: {mean_size: 1843B, fields: 92}\n"))
	require.NoError(t, err)
	assert.InDelta(t, 1843, float64(stated.Plan().Load.MeanRecordBytes), 0, "somebody says so")
	assert.Equal(t, 92, stated.Manifest().Records.Fields)
	assert.Zero(t, stated.Manifest().Records.Strings)
	assert.Equal(t, []string{"there/ca.pem", "/etc/token"}, []string{f.CA(), f.Token()})
	for name, c := range map[string]struct{ old, new, want string }{
		"a result size": {"figure: source_lag, at_most: 1000",
			"figure: result_size, statistic: mean, at_least: 9",
			"goals[1].figure: cannot be combined with load.source: none, because the number of records"},
		"a catch-up": {"values: [10, 20]", "values: [10, 20], catch_up: {factor: 5, sustain: 1m}",
			"steps.catch_up: cannot be combined with load.source: none, because the record rate cannot be changed"},
		"steps by records": {"values: [10, 20]", "values: [10, 20], axis: records_per_second",
			"steps.axis: cannot be combined with load.source: none, because the record rate"},
		"generated": {"values: [10, 20]", "values: [1], kind: timeline, timeline_records: generated",
			"steps.timeline_records: cannot be combined with load.source: none, because no records are generated"},
		"own BQL and a timeline": {"values: [10, 20]}\nload: {", "values: [1], kind: timeline}\nload: {bql: SELECT, ",
			"load.bql: cannot be combined with steps.kind: timeline"},
		"own BQL and a source": {"source: none", "bql: SELECT",
			"load.bql: needs load.source: none"},
		"a rate": {"source: none", "source: none, records_per_second: 100",
			"load.records_per_second: cannot be combined with load.source: none"},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(live, c.old, c.new, 1)
			require.NotEqual(t, live, text)
			_, err := experimentfile.Parse("mine.yaml", []byte(text))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Load hosts are part of the plan, and are refused for a timeline.
func TestLoadHosts(t *testing.T) {
	text := strings.Replace(complete, local, elsewhere+"\n  load: {command: [ssh, \"{host}\"], hosts: [a, b]}\nload: {records_per_second: 5}", 1)
	f, err := experimentfile.Parse("mine.yaml", []byte(text))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b"}, f.Plan().LoadHosts)
	_, err = experimentfile.Parse("mine.yaml", []byte(strings.Replace(text, "  values: [10, 20]", "  kind: timeline\n  values: [1]", 1)))
	require.ErrorContains(t, err, "launch.load: cannot be combined with steps.kind: timeline")
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	_, err := experimentfile.Parse("mine.yaml",
		[]byte(strings.NewReplacer("title", "titel", "30s", "soon", "workers:", "werkers:").Replace(complete)))
	require.Error(t, err)
	assert.Len(t, strings.Split(err.Error(), "\n"), 3, err.Error())
}

func TestFilesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{"": "is empty", "a: [": "mine.yaml: [", "- 1": "this has fields",
		"a: 1\n---\nb: 2": "more than one"} {
		_, err := experimentfile.Parse("mine.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
	_, _, err := experimentfile.Read(filepath.Join(t.TempDir(), "none.yaml"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Values of settings are formatted as they follow "-c name=" on Storm's command line.
func TestSettingsKeepWhatTheySay(t *testing.T) {
	f, err := experimentfile.Parse("mine.yaml", []byte(strings.Replace(complete, "    bullet.topology.filter.bolt.parallelism: 4", `    whole: 4
    float: 256.0
    truth: true
    text: -XX:+UseG1GC -Xmx96m
    number.as.text: "4"
    list: [a, "http://b:1/c"]
    map: {default: 5}
    none: null`, 1)))
	require.NoError(t, err)
	got := map[string]string{}
	for _, e := range f.Plan().Trials[0].Settings {
		got[e.Key] = e.Value
	}
	assert.Equal(t, map[string]string{"whole": "4", "float": "256.0", "truth": "true", "text": `"-XX:+UseG1GC -Xmx96m"`,
		"number.as.text": `"4"`,
		"list":           `[a, "http://b:1/c"]`, "map": "{default: 5}", "none": "null"}, got)
}

func TestTheGridIsMultipliedOut(t *testing.T) {
	f, err := experimentfile.Parse("mine.yaml", []byte(strings.Replace(complete, "steps:\n", `grid:
  - {axis: bolts, setting: bolts.parallelism, values: [1, 2]}
  - axis: heap
    configurations:
      - {label: small, value: 96, settings: {heap: 96}}
      - {label: large, settings: {heap: 384}, steps: [5]}
steps:
  repeats: 2
`, 1)))
	require.NoError(t, err)
	plan := f.Plan()
	var labels []string
	for _, trial := range plan.Trials {
		labels = append(labels, trial.Name())
	}
	assert.Equal(t, []string{"01-bolts-1-heap-small", "02-bolts-1-heap-large", "03-bolts-2-heap-small",
		"04-bolts-2-heap-large",
		"05-bolts-1-heap-small", "06-bolts-1-heap-large", "07-bolts-2-heap-small", "08-bolts-2-heap-large"}, labels)
	assert.Len(t, plan.Trials[1].Steps, 1)
	assert.Len(t, plan.Trials[2].Steps, 2)
	assert.Equal(t, 2, plan.Trials[5].Repeat)
	assert.Equal(t, 2, plan.Trials[5].Configuration)
	assert.Equal(t, "bolts.parallelism", plan.Trials[3].Settings[1].Key)
}
