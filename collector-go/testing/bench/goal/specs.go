package goal

import (
	"fmt"
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/answer"
)

// Ours is the subject that is judged.
const Ours = "ours"

// Scenarios that more than one file names.
const (
	Traffic       = "traffic"
	TrafficPaced  = "traffic-paced"
	OwnSlice      = "own-slice"
	TenToOne      = "ten-to-one"
	SixtyToOne    = "sixty-to-one"
	Sustained1s   = "sustained-1s"
	Sustained10s  = "sustained-10s"
	SmallMessages = "small-messages"
	Paced         = "paced"
	Day           = "day"
	DayRecorded   = "day-recorded"
	Memory        = "memory"
	MemoryMillion = "memory-million"
	Start         = "start"
	Plugin        = "plugin"
)

// Floor is a subject that is no peer of package peer.
const Floor = "floor"

// Growth are the scenarios of goal 9 whose cost per sample must not grow: what grows, and how large it is in each.
var Growth = []struct {
	What  string
	Name  string
	Sizes []int
}{
	{"series", "series", []int{1_000, 10_000, 100_000, 1_000_000}},
	{"senders", "senders", []int{1, 10, 100, 1_000}},
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
		p := judge(what, unit, limit, all.Figure(scenario, Ours, value), theirs)
		p.Floor = known(all.Figure(scenario, Floor, value).Value)
		return p
	}
}

// perCPU is a part about samples a server CPU-second.
func perCPU(what string, limit Limit, scenario string, peers ...string) func(Pieces) Part {
	return compared(what, "samples/CPU-s", limit, scenario, "samples_per_cpu_second", peers...)
}

// queries are the parts of a day's questions.
func queries() (parts []func(Pieces) Part) {
	for _, q := range answer.Questions("", 0) {
		parts = append(parts,
			compared(q.What, "CPU ms", OfPeer(0.8), Day, "query_"+q.Name+"_cpu_ms", "victoria"),
			compared("the same, by the clock", "ms", OfPeer(1), Day, "query_"+q.Name+"_ms", "victoria"))
	}
	return append(parts, compared("one worker, every 10 s", "ms", AtMost(3), Day, "query_"+answer.Panel+"_ms"))
}

// grown is how much more a sample costs at the most expensive size than at the first.
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
		return judge(fmt.Sprintf("CPU per sample, %[2]d to %[3]d %[1]s", what, sizes[0], sizes[len(sizes)-1]), "x",
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
	{1, "samples per CPU-second of the server, each its own slice", []func(Pieces) Part{
		perCPU("recorded traffic of topologies", TimesPeer(5), Traffic, "victoria"),
		perCPU("TSBS rows", TimesPeer(5), OwnSlice, "victoria", "questdb"),
	}},
	{2, "samples of 1 s per CPU-second of the server, cut into slices", []func(Pieces) Part{
		perCPU("slices of 10 s, beside stream aggregation", TimesPeer(5), TenToOne, "victoria"),
		perCPU("slices of 60 s, beside stream aggregation", TimesPeer(5), SixtyToOne, "victoria"),
		perCPU("slices of 60 s, beside the floor", TimesPeer(0.25), SixtyToOne, Floor),
	}},
	{3, "rows of 10 metrics per second, until queryable, client on the same cores", []func(Pieces) Part{
		compared("1 s rows, 60 s slices", "rows/s", AtLeast(1e6), Sustained1s, "rows_per_s"),
		compared("10 s rows and slices", "rows/s", AtLeast(1e6), Sustained10s, "rows_per_s"),
	}},
	{4, "recorded traffic of 100 workers at its own pace", []func(Pieces) Part{
		compared("CPU", "cores", AtMost(0.012), TrafficPaced, "cores"),
		compared("memory at its peak", "MiB", AtMost(100), TrafficPaced, "peak_rss_mib"),
		compared("ready after a kill, 200,000 series", "s", AtMost(0.5), Start, "ready_s"),
		compared("memory when empty", "MiB", AtMost(45), Start, "empty_rss_mib"),
	}},
	{5, "small senders: 500 streams, 100 samples per message", []func(Pieces) Part{
		perCPU("samples per CPU-second", TimesPeer(8), SmallMessages, "victoria"),
	}},
	{6, "bytes on disk", []func(Pieces) Part{
		compared("all data of a day, TSBS rows", "bytes/sample", OfPeer(1), Day, "data_bytes_per_sample", "victoria"),
		compared("the store alone", "bytes/sample", OfPeer(0.8), Day, "disk_bytes_per_sample", "victoria"),
		compared("all data of half a day, recorded heap and CPU", "bytes/sample", OfPeer(1), DayRecorded,
			"data_bytes_per_sample", "victoria"),
		compared("the store alone", "bytes/sample", OfPeer(0.8), DayRecorded, "disk_bytes_per_sample", "victoria"),
		compared("written, recorded traffic of 100 workers", "GB/day", AtMost(3), TrafficPaced, "written_gb_per_day"),
	}},
	{7, "50,000 samples/s at their own pace", []func(Pieces) Part{
		compared("acknowledgement p99, fsync included", "ms", OfPeer(1), Paced, "ack_p99_ms", "influxdb"),
		compared("CPU", "cores", AtMost(0.1), Paced, "cores"),
	}},
	{8, "queries over a day of 500 workers, answers compared value by value", queries()},
	{9, "cost as series and senders grow", append([]func(Pieces) Part{
		compared("memory, 200,000 series", "bytes/series", OfPeer(0.5), Memory, "bytes_per_series", "victoria"),
		compared("memory, 1,000,000 series", "bytes/series", OfPeer(0.5), MemoryMillion, "bytes_per_series",
			"victoria"),
	}, growth()...)},
	{10, "the plugin in the worker", []func(Pieces) Part{
		compared("a tick of 1,162 executors, all threads", "us of CPU", AtMost(20_000), Plugin, "cpu_us_per_tick"),
		compared("a call on Storm's thread", "us of CPU", AtMost(10), Plugin, "caller_cpu_us_per_call"),
		compared("the latency hook, a record", "ns of CPU", AtMost(50), Plugin, "hook_ns_per_record"),
	}},
}
