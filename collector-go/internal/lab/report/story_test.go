package report_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// story is a synthetic run of Tests 3 and 4 of the document: a number of workers with a heap for each filter bolt and a
// share of garbage collection.
type story struct {
	heapMiB, workers int
	// cores is the CPU of the whole topology at 0 queries, and perQuery what each query adds, both without garbage
	// collection.
	cores, perQuery float64
	// gc is the collectors' share of the CPU time.
	gc float64
	// lost is the share of records that is lost from 300 queries on.
	lost    float64
	startMs int64
	// repeat is the index of the launch among those of the same configuration, from 0.
	repeat int
	// noted are the engine's notes about each step.
	noted []string
}

var (
	littleHeap = story{heapMiB: 384, workers: 5, cores: 5.6, perQuery: 0.029, gc: 0.25, lost: 0.11,
		startMs: 1_795_000_000_000}
	muchHeap = story{heapMiB: 1024, workers: 8, cores: 5.6, perQuery: 0.029, gc: 0.04, lost: 0,
		startMs: 1_795_100_000_000}
)

const (
	storySlice = int64(10_000)
	storyStep  = int64(360_000) // one minute of warm-up and five measured minutes
)

var storyQueries = []int{0, 100, 200, 300}

func (s story) verdict(queries int) (tuning.Verdict, []string) {
	if queries >= 300 && s.lost > 0 {
		return tuning.Fail, []string{fmt.Sprintf("mean result size %.1f is below 9.9: records were lost",
			10*(1-s.lost))}
	}
	return tuning.OK, []string{}
}

func (s story) evidence(queries int) *tuning.Evidence {
	e := tuning.NoEvidence()
	q := tuning.Figure(queries)
	e.Queries.Endpoint, e.Queries.Submitted, e.Queries.ActiveMean, e.Queries.ActiveMost,
		e.Queries.Refused = tuning.EndpointGateway, q, q, q, 0
	busy := tuning.Figure(0.4 + float64(queries)/1000)
	e.Bolts = []tuning.BoltEvidence{{Component: tuning.FilterBolt, Executors: 16, BusyMean: busy, BusyMost: busy + 0.1,
		QueueMost: 0.1, WorkersCPU: tuning.Figure(s.cores)},
		{Component: "JoinBolt", Executors: 2, BusyMean: 0.05, BusyMost: 0.06, QueueMost: 0, WorkersCPU: 2}}
	e.GC = tuning.GCEvidence{Worker: "host-0:6700",
		ShareOfTime: tuning.Figure(s.gc * s.total(queries) / float64(s.workers)), ShareOfCPU: tuning.Figure(s.gc),
		HeapUsedMost: 0.5 + 0.47*tuning.Figure(min(1, s.gc*4))}
	e.Spout = tuning.SpoutEvidence{Component: "DataSource", Executors: 4, MaxPending: 30, BatchSize: 500,
		HeldByPending: 0.02, HeldByBackPressure: 0, CompleteLatencyMs: 20}
	e.Source = tuning.SourceEvidence{Kind: tuning.SourceKafka, Partitions: 8, RecordsPerSecond: 4000,
		BytesPerSecond: 7.4e6, LagStart: 0, LagEnd: 0, LagGrowth: 0}
	e.Client = tuning.ClientEvidence{LatenessP99Ms: 2, CPUCores: 0.2, CPULimitCores: 4}
	e.Host = tuning.HostEvidence{IdleRatio: 0.3, MinIdleRatio: 0.05, Cores: 48}
	e.Collector = tuning.CollectorEvidence{ShareOfHost: 0.01, ExpectedSlices: 150, MissingSlices: 0, LateSamples: 0,
		DroppedSamples: 0}
	e.Workers = tuning.WorkerEvidence{Workers: tuning.Figure(s.workers), Restarts: 0,
		CPUCores: tuning.Figure(s.total(queries))}
	return &e
}

// total returns the CPU of all workers, in cores.
func (s story) total(queries int) float64 {
	return (s.cores + s.perQuery*float64(queries)) / (1 - s.gc)
}

// figures returns the trial's series, with a variation that is correlated from slice to slice.
func (s story) figures() *runstore.Figures {
	random := rand.New(rand.NewPCG(uint64(s.heapMiB), 7+uint64(s.repeat)))
	end := s.startMs + storyStep*int64(len(storyQueries))
	run := &runstore.Figures{Topology: "bullet", SubmittedMs: s.startMs - 60_000, CollectedMs: end + 30_000,
		StoredSliceMs: storySlice, SliceMs: 60_000,
		Query:       "SELECT * FROM STREAM(30000, TIME) WHERE probe = '…' LIMIT 10",
		Calibration: tuning.Calibration{TargetIdle: tuning.Unknown, RecordsPerSecond: 4000}}
	for w := range s.workers {
		worker := runstore.Worker{Name: fmt.Sprintf("host-%d:6700", w), Pids: []int{4000 + w},
			StartsMs: []int64{s.startMs - 50_000}}
		young := runstore.Collector{Name: "G1 Young Generation"}
		cpu, gc, collections, ripple := 0.0, 0.0, 0.0, 0.0
		for t := s.startMs; t <= end; t += storySlice {
			queries := storyQueries[min(len(storyQueries)-1, int(max(0, t-1-s.startMs)/storyStep))]
			ripple = 0.5*ripple + 0.03*random.NormFloat64()
			used := s.total(queries) / float64(s.workers) * (1 + ripple) * 10
			cpu, gc, collections = cpu+used, gc+used*s.gc*(1+0.2*ripple), collections+math.Round(2+40*s.gc)
			put(&worker.CPUSeconds, t, cpu)
			put(&worker.GCSeconds, t, gc)
			put(&young.Seconds, t, gc)
			put(&young.Collections, t, collections)
			put(&worker.HeapUsedBytes, t,
				float64(s.heapMiB)*(0.45+0.3*math.Mod(float64(t/storySlice)/7+float64(w)/3, 1))*(1<<20))
		}
		worker.Collectors = []runstore.Collector{young}
		run.Workers = append(run.Workers, worker)
	}
	latency, running := runstore.Slices{}, runstore.Slices{}
	for t := s.startMs + storySlice; t <= end; t += storySlice {
		queries := storyQueries[min(len(storyQueries)-1, int((t-1-s.startMs)/storyStep))]
		put(&latency, t, (4+float64(queries)/50+100*s.gc+random.NormFloat64())/1000)
		put(&running, t, float64(queries))
	}
	run.FilterLatencySeconds, run.QueriesRunning = []runstore.Slices{latency}, running
	run.Requested = &runstore.ResourceRequest{Components: []runstore.Component{
		{Name: "DataSource", Parallelism: 4, CPUCoresTotal: 4, OnHeapMiB: 768, OffHeapMiB: 192, MemoryMiB: 3840},
		{Name: "FilterBolt", Parallelism: 16, CPUCoresTotal: 16, OnHeapMiB: tuning.Figure(s.heapMiB), OffHeapMiB: 192,
			MemoryMiB: tuning.Figure(16 * (s.heapMiB + 192))},
	}, Totals: tuning.StatedTotals{Parallelism: 20, CPUCores: 20, MemoryMiB: tuning.Figure(3840 + 16*(s.heapMiB+192))}}
	pending := tuning.PendingOf(500, 30, 4, 16, 8)
	run.Requested.Spouts = &pending
	run.Placement = s.placement()
	run.Annotations = []runstore.Annotation{
		{ID: "auto-1", StartMs: s.startMs - 60_000, Title: "Topology bullet submitted", Tags: []string{"submitted"},
			Origin: "registry"},
		{ID: "step-1", StartMs: s.startMs, EndMs: s.startMs + storyStep, Title: "step 1: 0 queries",
			Tags: []string{"step"}, Origin: "api"},
		{ID: "auto-2", StartMs: s.startMs + storyStep + 150_000, Title: "Changed topology.max.spout.pending",
			Text: "- topology.max.spout.pending: 30\n+ topology.max.spout.pending: 60",
			Tags: []string{"config", "settings"}, Origin: "registry"},
		{ID: "op-1", StartMs: s.startMs + 3*storyStep + 100_000, EndMs: s.startMs + 3*storyStep + 160_000,
			Title: "Neighbour's nightly batch", Tags: []string{"cluster"}, Origin: "api"},
	}
	return run
}

// placement places the filter bolts on all workers and the rest on the first ones, with three workers on each host.
func (s story) placement() *runstore.Placement {
	p := &runstore.Placement{}
	for w := range s.workers {
		placed := runstore.PlacedWorker{Worker: fmt.Sprintf("host-%d:6700", w), Host: fmt.Sprintf("host-%d", w/3),
			Components: []runstore.PlacedTasks{{Component: "FilterBolt", Tasks: (16 + w) / s.workers},
				{Component: "__acker", Tasks: 1}}}
		if w < 4 {
			placed.Components = append(placed.Components, runstore.PlacedTasks{Component: "DataSource", Tasks: 1})
		}
		if w < 2 {
			placed.Components = append(placed.Components, runstore.PlacedTasks{Component: "JoinBolt", Tasks: 1})
		}
		p.Workers = append(p.Workers, placed)
	}
	return p
}

// sharing returns how long the components waited and executed at a number of queries, and what two workers sent to each
// other.
func (s story) sharing(queries int) *runstore.Sharing {
	q := tuning.Figure(queries)
	return &runstore.Sharing{Components: []runstore.ComponentFlow{
		{Component: "DataSource", TuplesPerSecond: tuning.Unknown, QueueWaitMs: tuning.Unknown,
			QueueWaitMostMs: tuning.Unknown, ExecuteMs: tuning.Unknown,
			Note: "queue wait unknown: to a spout come acks"},
		{Component: "FilterBolt", TuplesPerSecond: 4000 + q, QueueWaitMs: 0.2 + q*q/3000, QueueWaitMostMs: 0.4 +
			q*q/2000, ExecuteMs: 1.1 + q/200},
		{Component: "JoinBolt", TuplesPerSecond: q + 1, QueueWaitMs: 0.02, QueueWaitMostMs: 0.03, ExecuteMs: 0.06},
	}, Traffic: []runstore.Traffic{{From: "host-0:6700", To: "host-1:6700", MessagesPerSecond: 812 + q},
		{From: "host-1:6700", To: "host-0:6700", MessagesPerSecond: 790 + q}}, TrafficLeftOut: 0}
}

func put(s *runstore.Slices, t int64, v float64) {
	s.TimesMs, s.Values = append(s.TimesMs, t), append(s.Values, tuning.Figure(v))
}

// workerHeapMiB is the worker heap of the document: smaller workers have more heap for each filter bolt.
func (s story) workerHeapMiB() int { return map[int]int{384: 4096, 1024: 3072}[s.heapMiB] }

func (s story) reported() runstore.ReportedConfig {
	return runstore.ReportedConfig{TopologyID: "bullet-1-1795000000", Bullet: "1.3.2", Storm: "2.8.3",
		WorkerJava:  "17.0.12",
		Plugin:      "v0",
		WorkerFlags: fmt.Sprintf("-Xmx768m -XX:+UseG1GC -Xmx%dm", s.workerHeapMiB()),
		HeapFlags:   fmt.Sprintf("-Xmx%dm", s.workerHeapMiB()), GCFlags: "-XX:+UseG1GC",
		HeapLimitBytes: tuning.Figure(s.workerHeapMiB() << 20), Executors: "DataSource 4, FilterBolt 16",
		Requested: "20 executors, 20.0 cores",
		Settings: []runstore.Entry{{Key: "topology.max.spout.pending", Value: "30"},
			{Key: "topology.worker.childopts", Value: "-XX:+UseG1GC"}}}
}

// write writes the story as a run directory.
func (s story) write(t *testing.T, dir string) {
	t.Helper()
	tellAll(t, dir, "as it is", s)
}

// trial returns the story as a trial of a run with several.
func (s story) trial(number int, label string, steps []runstore.PlannedStep) runstore.PlannedTrial {
	configuration := 1
	if label == "" {
		configuration, label = s.heapMiB, fmt.Sprintf("%d MiB", s.heapMiB)
	}
	return runstore.PlannedTrial{Number: number, Label: label, Configuration: configuration, Repeat: s.repeat + 1,
		Steps: steps, Settings: []runstore.Entry{
			{Key: "bullet.topology.filter.bolt.memory.on.heap.load", Value: fmt.Sprint(float64(s.heapMiB))}}}
}

// tellAll writes stories as the trials of one run. Without a label each heap is a configuration of its own.
func tellAll(t *testing.T, dir, label string, stories ...story) {
	t.Helper()
	s := stories[0]
	steps := make([]runstore.PlannedStep, len(storyQueries))
	for i, q := range storyQueries {
		steps[i] = runstore.PlannedStep{Kind: runstore.LoadStep, Value: float64(q)}
	}
	var trials []runstore.PlannedTrial
	for i, each := range stories {
		trials = append(trials, each.trial(i+1, label, steps))
	}
	u := tuning.Unknown
	plan := runstore.Plan{Experiment: "test4", Title: "What a larger heap does for simultaneous RAW queries", Test: 4,
		Analysis: runstore.OfConcurrency, Axis: runstore.Queries,
		Goals: []tuning.Goal{{Figure: tuning.ResultSize, Statistic: tuning.Mean, AtMost: u, AtLeast: 9.9},
			{Figure: tuning.FilterLatency, Statistic: tuning.Mean, AtMost: 200, AtLeast: u}},
		MinHostIdle: 0.05, Search: tuning.FullSearch, WarmUpMs: 60_000, SustainMs: 300_000, SliceMs: storySlice,
		ReportSliceMs: 60_000, Launch: "command", Trials: trials,
		Load: runstore.Load{Submit: "gateway", Class: "raw", QueriesPerSecond: u, RecordsPerSecond: 4000,
			TargetIdle: u, CatchUpFactor: u, QueryLimit: 10, QueryDurationMs: 30_000, MatchingPerSecond: 0.4,
			MeanRecordBytes: 1843},
		Caveats: []string{"Made up, for tests."}}
	manifest := runstore.Manifest{ID: fmt.Sprintf("test4-%d", s.startMs/1000), StartedMs: s.startMs,
		Command: "bullet-metrics tune run test4.yaml",
		Versions: runstore.Versions{BulletMetrics: "v0", Bullet: "1.3.2", Storm: "2.8.3", Kafka: "4.1.1",
			Java: "17.0.12", WorkerJava: "17.0.12", Plugin: "v0"},
		Machine: runstore.Machine{Role: runstore.LoadHost, CPUModel: "a made-up small processor", Cores: 4,
			UsableCores: 4, MemoryBytes: 16 << 30, Network: "eth0 (1000 Mbit/s)", Kernel: "Linux 6.1.0"},
		Cluster: &runstore.Cluster{Machines: 20, CPUModel: "a made-up processor", Cores: 48, UsableCores: 47,
			MemoryBytes: 256 << 30, Network: "25 Gbit/s", BusyByOthers: tuning.Unknown},
		Records: runstore.Records{Fields: 92, Strings: 62, Longs: 4, Maps: 23, ListsOfMaps: 3,
			MeanRecordBytes: 1843, CompressionRatio: 1.2},
		BulletSettings: []runstore.Entry{{Key: "bullet.topology.filter.bolt.parallelism", Value: "16"},
			{Key: "topology.max.spout.pending", Value: "30"}}, GCFlags: "-XX:+UseG1GC"}
	w, err := runstore.Create(dir, []byte("experiment: test4\n"), plan, manifest)
	require.NoError(t, err)
	defer w.Close()
	ended := int64(0)
	for i, each := range stories {
		ended = each.tellTrial(t, w, dir, trials[i])
	}
	end(t, w, ended)
}

// end writes the result of a run, as the runner does.
func end(t *testing.T, w *runstore.Writer, atMs int64) {
	t.Helper()
	run, err := runstore.Read(w.Dir())
	require.NoError(t, err)
	result := run.Judge()
	result.FinishedMs = atMs
	require.NoError(t, w.SaveResult(result))
}

// tellTrial writes the measurements of a trial and returns when they were collected.
func (s story) tellTrial(t *testing.T, w *runstore.Writer, dir string, trial runstore.PlannedTrial) int64 {
	t.Helper()
	require.NoError(t, w.BeginTrial(trial, []byte("bullet.topology.name: bullet\n"),
		runstore.Arguments{Settings: []string{"bullet.topology.filter.bolt.memory.on.heap.load=" + fmt.Sprint(s.heapMiB),
			"kafka.password=hush"},
			Launch: []string{"storm", "jar", "bullet-topology.jar", "--name", "test4-01", "-c",
				"kafka.password=hush", "-c",
				"topology.worker.childopts=-XX:+UseG1GC -Xmx1g"}}))
	require.NoError(t, w.SaveReportedConfig(trial, s.reported()))
	require.NoError(t, w.Record(runstore.Event{AtMs: s.startMs, Kind: runstore.TrialStarted, Trial: trial.Number,
		Launch: 1}))
	run := s.figures()
	var outcomes []byte
	for i, queries := range storyQueries {
		start := s.startMs + int64(i)*storyStep
		step, lines := s.step(t, i, queries, start)
		outcomes = append(outcomes, lines...)
		step.Evidence, step.Sharing = s.evidence(queries), s.sharing(queries)
		step.FilterLatency = &runstore.Percentiles{Records: 1.2e6, P50Ms: 3, P95Ms: 18 + tuning.Figure(queries)/10,
			P99Ms: 30 + tuning.Figure(queries)/4}
		require.NoError(t, w.FinishStep(trial, step, step.EndMs))
	}
	require.NoError(t, w.SaveFigures(trial, *run))
	file := filepath.Join(runstore.TrialDir(dir, trial), runstore.OutcomesFile)
	require.NoError(t, os.WriteFile(file, outcomes, 0o644))
	require.NoError(t, w.Record(runstore.Event{AtMs: run.CollectedMs, Kind: runstore.TrialFinished,
		Trial: trial.Number}))
	return run.CollectedMs
}

// step returns a step, and its queries as lines of the outcomes file.
func (s story) step(t *testing.T, i, queries int, start int64) (runstore.Step, []byte) {
	random := rand.New(rand.NewPCG(uint64(s.heapMiB), uint64(queries)))
	var lines []byte
	records, returned := 0, 0
	for end := start + 90_000; end <= start+storyStep; end += 30_000 {
		for slot := range queries {
			n := 10
			if queries >= 300 && random.Float64() < s.lost*2 {
				n -= 5
			}
			line, err := json.Marshal(map[string]any{"slot": slot, "intended_ms": end - 25_000,
				"submitted_ms": end - 25_000, "finished_ms": end + int64(slot), "end": "returned", "records": n})
			require.NoError(t, err)
			lines = append(append(lines, line...), '\n')
			records, returned = records+n, returned+1
		}
	}
	size := tuning.Unknown
	if returned > 0 {
		size = tuning.Figure(float64(records) / float64(returned))
	}
	verdict, reasons := s.verdict(queries)
	return runstore.Step{Number: i + 1, Kind: runstore.LoadStep, Value: float64(queries), Attempt: 1, Launch: 1,
		StartMs: start, MeasuredFromMs: start + 60_000, EndMs: start + storyStep,
		Queries: queries, QueriesPerSecond: tuning.Unknown, RecordsPerSecond: 4000, RecordsPerSecondAsked: 4000,
		MiBPerSecond: 4000 * 1843.0 / (1 << 20), CatchUpRatio: tuning.Unknown,
		Clients: runstore.Clients{Submitted: returned, Returned: returned, AverageResultSize: size,
			LatencyMeanMs: 25_100, LatencyP50Ms: 25_100, LatencyP99Ms: 25_300},
		HostIdle: tuning.Figure(0.45 - 0.0005*float64(queries)),
		Shares:   []runstore.Share{{Process: "workers", Ratio: 0.6}, {Process: "collector", Ratio: 0.01}},
		CPUCores: tuning.Figure(s.total(queries)), Workers: s.workers,
		Verdict: verdict, Reasons: reasons, Notes: s.noted}, lines
}
