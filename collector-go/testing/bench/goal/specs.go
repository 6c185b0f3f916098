package goal

import (
	"fmt"
	"math"
)

// Ours is the subject that is judged.
const Ours = "ours"

// Scenarios that more than one file names.
const (
	OwnSlice         = "own-slice"
	OwnSliceRecorded = "own-slice-recorded"
	SixtyToOne       = "sixty-to-one"
	Sustained1s      = "sustained-1s"
	Sustained10s     = "sustained-10s"
	SmallMessages    = "small-messages"
	Paced            = "paced"
	Stages           = "stages"
	Day              = "day"
	DayRecorded      = "day-recorded"
	Memory           = "memory"
	Start            = "start"
	Plugin           = "plugin"
)

// Subjects beside ours that are no peers of package peer: the floor with samples of 8 and of 12 bytes, and Storm's
// consumer that forwards by HTTP.
const (
	Floor8  = "floor"
	Floor12 = "floor-12"
	HTTP    = "http-forwarding"
)

// Growth are the scenarios of goal 10: what grows, and how large it is in each.
var Growth = []struct {
	What  string
	Name  string
	Sizes []int
}{
	{"series", "series", []int{1_000, 10_000, 100_000, 1_000_000}},
	{"senders", "senders", []int{1, 10, 100, 1_000}},
	{"hours of history", "hours", []int{1, 24, 168, 720}},
}

// GrowthScenario is the scenario of one size.
func GrowthScenario(name string, size int) string { return fmt.Sprintf("%s-%d", name, size) }

// Cost is the value of those scenarios that must not grow.
const Cost = "cpu_ns_per_sample"

// spec is one of the goals.
type spec struct {
	id    int
	what  string
	parts []func(Pieces) Part
}

// compared is a part whose figures all have one name.
func compared(what, unit string, limit Limit, scenario, value string, peers ...string) func(Pieces) Part {
	return func(all Pieces) Part {
		var theirs []Figure
		for _, peer := range peers {
			theirs = append(theirs, all.Figure(scenario, peer, value))
		}
		return judge(what, unit, limit, all.Figure(scenario, Ours, value), theirs)
	}
}

// perCPU is a part about samples a server CPU-second.
func perCPU(what string, limit Limit, scenario string, peers ...string) func(Pieces) Part {
	return compared(what, "samples/CPU-s", limit, scenario, "samples_per_cpu_second", peers...)
}

// floorItself is what the floor must take for its comparison to count.
func floorItself(all Pieces) Part {
	return judge("the floor itself, 12 bytes a sample", "samples/CPU-s", AtLeast(60e6),
		all.Figure(SixtyToOne, Floor12, "samples_per_cpu_second"), nil)
}

// queries are the parts of a day's questions.
func queries() (parts []func(Pieces) Part) {
	for _, q := range []struct{ name, what string }{{"average", "average by topology"},
		{"greatest", "most of an hour, by worker"}, {"raw", "raw"}, {"all", "all ten metrics"}} {
		parts = append(parts, compared(q.what+", VictoriaMetrics", "CPU ms", OfPeer(1), Day, "query_"+q.name+"_cpu_ms",
			"victoria"),
			compared(q.what+", Prometheus", "CPU ms", OfPeer(0.25), Day, "query_"+q.name+"_cpu_ms", "prometheus"))
	}
	return parts
}

// grown is how much more a sample costs at the dearest size than at the first.
func grown(what, name string, sizes []int) func(Pieces) Part {
	return func(all Pieces) Part {
		f := Figure{Subject: Ours}
		first := math.NaN()
		for _, size := range sizes {
			scenario := GrowthScenario(name, size)
			at := all.Figure(scenario, Ours, Cost)
			switch {
			case math.IsNaN(at.Value):
				f.Value, f.Why = math.NaN(), at.Why
			case math.IsNaN(first):
				first = at.Value
			}
			f.Value = math.Max(f.Value, at.Value/first) // NaN stays
			f.Rounds, f.Scale, f.Seconds = at.Rounds, at.Scale, at.Seconds
		}
		return judge(fmt.Sprintf("%s, %d to %d: the dearest over the first", what, sizes[0], sizes[len(sizes)-1]), "x",
			AtMost(2), f, nil)
	}
}

func growth() (parts []func(Pieces) Part) {
	for _, g := range Growth {
		parts = append(parts, grown(g.What, g.Name, g.Sizes))
	}
	return parts
}

// specs are the goals.
var specs = []spec{
	{1, "samples a server CPU-second, every sample its own slice", []func(Pieces) Part{
		perCPU("TSBS rows, the better of VictoriaMetrics and QuestDB", TimesPeer(5), OwnSlice, "victoria", "questdb"),
		perCPU("TSBS rows, Prometheus", TimesPeer(25), OwnSlice, "prometheus"),
		perCPU("recorded heap and CPU, the better of VictoriaMetrics and QuestDB", TimesPeer(5), OwnSliceRecorded,
			"victoria", "questdb"),
		perCPU("recorded heap and CPU, Prometheus", TimesPeer(25), OwnSliceRecorded, "prometheus"),
	}},
	{2, "1 s rows cut into 60 s slices, a server CPU-second", []func(Pieces) Part{
		perCPU("samples", AtLeast(20e6), SixtyToOne),
		perCPU("beside the floor, of the same bytes a sample", TimesPeer(0.25), SixtyToOne, Floor8),
		floorItself,
	}},
	{3, "rows of 10 metrics a second, sustained until queryable, client on the same cores", []func(Pieces) Part{
		compared("1 s rows, 60 s slices", "rows/s", AtLeast(1e6), Sustained1s, "rows_per_s"),
		compared("10 s rows and slices", "rows/s", AtLeast(1e6), Sustained10s, "rows_per_s"),
	}},
	{4, "small senders: 100 samples a message", []func(Pieces) Part{
		perCPU("500 streams, saturated, VictoriaMetrics", TimesPeer(5), SmallMessages, "victoria"),
		perCPU("500 streams, saturated, an OpenTelemetry Collector that stores nothing", TimesPeer(5),
			SmallMessages, "otelcol"),
		compared("500 workers x 100 samples/s over 4 streams", "cores", AtMost(0.1), Paced, "cores"),
		compared("the same, memory", "MiB", AtMost(128), Paced, "rss_mib"),
	}},
	{5, "bytes a sample on disk, a day of 500 workers", []func(Pieces) Part{
		compared("settled, index included, TSBS rows", "bytes/sample", OfPeer(0.8), Day, "disk_bytes_per_sample",
			"victoria"),
		compared("settled, index included, recorded heap and CPU, half a day", "bytes/sample", OfPeer(0.8), DayRecorded,
			"disk_bytes_per_sample", "victoria"),
		compared("written in all, TSBS rows", "bytes/sample", OfPeer(0.25), Day, "written_bytes_per_sample",
			"prometheus"),
		compared("written in all, recorded heap and CPU, half a day", "bytes/sample", OfPeer(0.25), DayRecorded,
			"written_bytes_per_sample", "prometheus"),
	}},
	{6, "acknowledgement and stages at 50,000 samples/s", []func(Pieces) Part{
		compared("acknowledgement p99, fsync included", "ms", OfPeer(1), Paced, "ack_p99_ms", "influxdb"),
		compared("a batch of 60: acceptance TP99", "ms", AtMost(0.0074), Stages, "accept_p99_ms"),
		compared("a batch of 60: extraction TP99", "ms", AtMost(0.0026), Stages, "extract_p99_ms"),
	}},
	{7, "CPU of a query over a day of 500 workers, answers compared value by value", queries()},
	{8, "memory of live series, and start", []func(Pieces) Part{
		compared("resident memory, 200,000 series", "bytes/series", OfPeer(0.4), Memory, "bytes_per_series",
			"victoria"),
		compared("ready after a kill, 1,000,000 series on disk", "s", AtMost(2), Start, "ready_s"),
	}},
	{9, "plugin: one metrics tick of 1,162 executors", []func(Pieces) Part{
		compared("CPU, all of the plugin's threads", "us/tick", OfPeer(0.2), Plugin, "cpu_us_per_tick", HTTP),
		compared("allocated by all of the plugin's threads", "KB/tick", OfPeer(0.2), Plugin,
			"allocated_kb_per_tick", HTTP),
	}},
	{10, "cost grows with work: CPU a sample from end to end", growth()},
}
