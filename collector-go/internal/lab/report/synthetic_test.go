package report_test

import (
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// originMs is the start of the first step of the synthetic run.
const originMs = int64(1_795_200_000_000)

const storedMs = int64(10_000)

// synthetic returns a run of four steps of one minute, with a calibration before them. Worker 6701 has a gap of two
// slices.
func synthetic() *runstore.Figures {
	run := &runstore.Figures{
		Topology: "bullet", SubmittedMs: originMs - 70_000, CollectedMs: originMs + 260_000,
		StoredSliceMs: storedMs, SliceMs: storedMs,
		Query:    "SELECT * FROM STREAM(30000, TIME) WHERE probe = '…' LIMIT 10",
		Settings: []runstore.Entry{{Key: "bullet.topology.filter.bolt.parallelism", Value: "2"}},
		Calibration: tuning.Calibration{TargetIdle: 0.4, RecordsPerSecond: 1800,
			Readings: []tuning.Reading{{RecordsPerSecond: 1000, HostIdle: 0.6},
				{RecordsPerSecond: 1800, HostIdle: 0.42}}},
	}
	for i, queries := range []int{0, 10, 20, 40} {
		run.Steps = append(run.Steps, step(i, queries))
	}
	run.Workers = []runstore.Worker{worker("127.0.0.1:6700", 4711, 0, nil),
		worker("127.0.0.1:6701", 4712, 8, []int64{130_000, 140_000})}
	for i := range run.Workers {
		w := &run.Workers[i]
		w.StartsMs = []int64{originMs - 65_000}
		w.Collectors = []runstore.Collector{{Name: "G1 Old Generation",
			Seconds:     gauge(-50_000, func(float64) float64 { return 0 }),
			Collections: gauge(-50_000, func(float64) float64 { return 0 })},
			{Name: "G1 Young Generation", Seconds: w.GCSeconds, Collections: gauge(-50_000, func(t float64) float64 {
				return math.Floor((t + 50) / 3)
			})}}
	}
	run.Workers[1].StartsMs = append(run.Workers[1].StartsMs, originMs+125_000)
	run.Requested = &runstore.ResourceRequest{Components: []runstore.Component{
		{Name: "DataSource", Parallelism: 2, CPUCoresTotal: 1, OnHeapMiB: 256, OffHeapMiB: 160, MemoryMiB: 832},
		{Name: "FilterBolt", Parallelism: 2, CPUCoresTotal: 2, OnHeapMiB: 256, OffHeapMiB: 160, MemoryMiB: 832},
	}, Totals: tuning.StatedTotals{Parallelism: 4, CPUCores: 3, MemoryMiB: 1664}}
	pending := tuning.PendingOf(1, 30, 2, 2, 0)
	run.Requested.Spouts = &pending
	run.QueriesRunning = gauge(-50_000, func(t float64) float64 { return math.Max(0, 10*math.Floor(t/60)) })
	run.FilterLatencySeconds = []runstore.Slices{
		gauge(-40_000, func(t float64) float64 { return 0.002 + 0.00001*t }), gauge(-40_000, func(t float64) float64 {
			return 0.003 + 0.00003*t
		}),
	}
	return run
}

func step(i, queries int) runstore.Step {
	start := originMs + int64(i)*60_000
	s := runstore.Step{
		Verdict: tuning.OK, Attempt: 1, Launch: 1, QueriesPerSecond: report.Unknown, CatchUpRatio: report.Unknown,
		MiBPerSecond: 3, Queries: queries, StartMs: start, MeasuredFromMs: start + 20_000, EndMs: start + 60_000,
		HostIdle: report.Figure(0.4 - 0.07*float64(i)),
		Clients: runstore.Clients{AverageResultSize: report.Unknown, LatencyMeanMs: report.Unknown,
			LatencyP50Ms: report.Unknown, LatencyP99Ms: report.Unknown},
		RecordsPerSecond: 1798, Shares: []runstore.Share{{Process: "worker 6700", Pid: 4711, Ratio: 0.2},
			{Process: "everything else", Ratio: 0.03}},
	}
	e := tuning.NoEvidence()
	e.Queries.Endpoint, e.Queries.Submitted, e.Queries.ActiveMean, e.Queries.ActiveMost = tuning.EndpointGateway,
		tuning.Figure(queries), tuning.Figure(queries), tuning.Figure(queries)
	e.Bolts = []tuning.BoltEvidence{{Component: tuning.FilterBolt, Executors: 2, BusyMean: 0.2 + 0.02*tuning.Figure(i),
		BusyMost: 0.3 + 0.02*tuning.Figure(i), QueueMost: 0, WorkersCPU: 0.9}}
	e.GC.ShareOfTime, e.Workers.Restarts, e.Host.Cores, e.Source.LagGrowth, e.Source.RecordsPerSecond = 0.02,
		0, 2, 0, 1798
	s.Evidence = &e
	if queries > 0 {
		s.Clients = runstore.Clients{Submitted: 4 * queries, Returned: 4 * queries, AverageResultSize: 10,
			LatencyMeanMs: 10_200, LatencyP50Ms: 10_100, LatencyP99Ms: 10_900}
	}
	return s
}

func worker(name string, pid int, shift float64, missing []int64) runstore.Worker {
	w := runstore.Worker{Name: name, Pids: []int{pid}}
	cpu, gc := 100.0, 1.0
	for t := int64(-50_000); t <= 240_000; t += storedMs {
		seconds := float64(t) / 1000
		cpu += 10 * (0.4 + math.Max(0, seconds)/600 + 0.05*math.Sin(seconds/9+shift))
		gc += 0.05 + math.Max(0, seconds)/4000
		lost := false
		for _, m := range missing {
			lost = lost || m == t
		}
		if lost {
			continue
		}
		add(&w.CPUSeconds, t, cpu)
		add(&w.GCSeconds, t, gc)
		add(&w.HeapUsedBytes, t, (120+60*math.Mod(seconds/35+shift+10, 1))*(1<<20))
	}
	return w
}

func gauge(fromMs int64, value func(seconds float64) float64) (s runstore.Slices) {
	for t := fromMs; t <= 240_000; t += storedMs {
		add(&s, t, value(float64(t)/1000-0.1))
	}
	return s
}

func add(s *runstore.Slices, t int64, v float64) {
	s.TimesMs, s.Values = append(s.TimesMs, originMs+t), append(s.Values, report.Figure(v))
}
