package tuning

import (
	"encoding/json"
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/busy"
)

// Evidence holds all measurements that can show what limited a step. It is stored with the step, so that a report can
// explain the verdict without the collector. Figures cover the step's measured time, (FromMs, ToMs] in milliseconds
// since the Unix epoch. A figure that was not measured is Unknown, never 0: a queue of 0 would clear a bolt that nobody
// looked at. Start with NoEvidence, because the zero value of Evidence claims zeros.
type Evidence struct {
	Topology string `json:"topology"`
	FromMs   int64  `json:"from_ms"`
	ToMs     int64  `json:"to_ms"`

	Queries    QueryEvidence      `json:"queries"`
	Bolts      []BoltEvidence     `json:"bolts"`
	GC         GCEvidence         `json:"gc"`
	Spout      SpoutEvidence      `json:"spout"`
	Source     SourceEvidence     `json:"source"`
	SourceRate SourceRateEvidence `json:"supply"`
	Client     ClientEvidence     `json:"client"`
	Host       HostEvidence       `json:"host"`
	Collector  CollectorEvidence  `json:"collector"`
	Workers    WorkerEvidence     `json:"workers"`

	// Notes say what could not be read and why.
	Notes []string `json:"notes"`
}

// Endpoints that queries go through.
const (
	EndpointDRPC    = "drpc"
	EndpointGateway = "gateway"
)

// QueryEvidence is how far queries came.
type QueryEvidence struct {
	// Endpoint is EndpointDRPC or EndpointGateway, empty where that is not known.
	Endpoint string `json:"endpoint"`
	// EndpointCapacity is how many queries the endpoint lets through at the same time: DRPC's threads, the gateway's
	// most queries.
	EndpointCapacity Figure `json:"endpoint_capacity_queries"`
	// Submitted is how many queries the client had under way at the same time, the mean over the step.
	Submitted Figure `json:"submitted_queries"`
	// ActiveMean and ActiveMost are how many ran in the topology at the same time, as its join bolts count them.
	ActiveMean Figure `json:"active_mean_queries"`
	ActiveMost Figure `json:"active_most_queries"`
	// Created is how many queries the topology took up in the step, Returned, Failed and Refused what the client saw of
	// them (refused: those of the failed that the endpoint turned away, with 429 or 503).
	Created  Figure `json:"created_queries"`
	Returned Figure `json:"returned_queries"`
	Failed   Figure `json:"failed_queries"`
	Refused  Figure `json:"refused_queries"`
	// BySlice is the same over time.
	BySlice []QuerySlice `json:"by_slice"`
}

// NeverActive is how many of the queries under way never ran in the topology at the same time as the others.
func (q QueryEvidence) NeverActive() Figure { return q.Submitted - q.ActiveMost }

// QuerySlice is how many queries were under way at the client (the mean) and active in the topology in the slice that
// ends at EndMs, and how many returned in it.
type QuerySlice struct {
	EndMs     int64  `json:"end_ms"`
	Submitted Figure `json:"submitted_queries"`
	Active    Figure `json:"active_queries"`
	Returned  Figure `json:"returned_queries"`
}

// FilterBolt is the component that matches records with queries, as Storm knows it.
const FilterBolt = "FilterBolt"

// BoltEvidence is how busy a bolt's executors were. An executor is one thread: it can have one core and no more.
type BoltEvidence struct {
	Component string `json:"component"`
	Executors Figure `json:"executors"`
	// BusyMean and BusyMost are the share of the executors' time that they spent executing: over all, and of the
	// busiest one. Where they are not known, BusyUnknown states why.
	BusyMean    Figure `json:"busy_mean_ratio"`
	BusyMost    Figure `json:"busy_most_ratio"`
	BusyUnknown string `json:"busy_unknown_because,omitempty"`
	// QueueMost is how full the fullest receive queue was, the mean over the step.
	QueueMost Figure `json:"queue_most_ratio"`
	// WorkersCPU is what the workers that hold its executors used, in cores: less than the executors' busy time means
	// that these waited for a processor.
	WorkersCPU Figure `json:"workers_cpu_cores"`
}

// busyCores is how many cores its executors would have used had they never waited.
func (b BoltEvidence) busyCores() Figure { return b.BusyMean * b.Executors }

// Believed refuses a busy share that its workers' CPU does not allow. A bolt that computes cannot be busy for longer
// than its workers used processors: Storm's figures are then of a few tuples, or of a time before. Where the host was
// starved its executors may have waited for a processor, which is no work of theirs either.
func (b BoltEvidence) Believed() BoltEvidence {
	if cores := Greater(b.BusyMost, b.busyCores()); busy.Computes(b.Component) && b.WorkersCPU < busy.Covered*cores {
		b.BusyUnknown = fmt.Sprintf("Storm's figures come to %s of its busiest executor and %s cores' time in all, but its workers used only %s cores: they waited for a processor, or the figures are of another time",
			shareText(b.BusyMost), Digits(cores), Digits(b.WorkersCPU))
		b.BusyMean, b.BusyMost = Unknown, Unknown
	}
	return b
}

// GCEvidence is the garbage collection of the worker that collects most.
type GCEvidence struct {
	Worker string `json:"worker"`
	// ShareOfTime is the collectors' time over the step's, ShareOfCPU over the worker's CPU time.
	ShareOfTime Figure `json:"share_of_time_ratio"`
	ShareOfCPU  Figure `json:"share_of_cpu_ratio"`
	// HeapUsedMost is the most of a worker's heap that was in use, over its limit.
	HeapUsedMost Figure `json:"heap_used_most_ratio"`
}

// SpoutEvidence is what held the spouts of records back.
type SpoutEvidence struct {
	Component string `json:"component"`
	Executors Figure `json:"executors"`
	// MaxPending is topology.max.spout.pending, BatchSize how many records count as one of it.
	MaxPending Figure `json:"max_spout_pending"`
	BatchSize  Figure `json:"batch_size_records"`
	// HeldByPending and HeldByBackPressure are the shares of the spouts' time in which Storm did not ask them for
	// tuples, for max spout pending and since a bolt's queue was full.
	HeldByPending      Figure `json:"held_by_max_pending_ratio"`
	HeldByBackPressure Figure `json:"held_by_back_pressure_ratio"`
	// CompleteLatencyMs is how long a tuple is pending, the mean.
	CompleteLatencyMs Figure `json:"complete_latency_ms"`
}

// Sources of records.
const (
	SourceKafka     = "kafka"
	SourceGenerator = "generator"
)

// SourceEvidence reports whether records are taken as fast as they come.
type SourceEvidence struct {
	// Kind is SourceKafka or SourceGenerator, empty where that is not known.
	Kind string `json:"kind"`
	// Partitions is how many Kafka partitions the spouts share.
	Partitions Figure `json:"kafka_partitions"`
	// RecordsPerSecond is what was read or generated, LagStart and LagEnd how many records waited at the step's ends.
	RecordsPerSecond Figure `json:"records_per_second"`
	BytesPerSecond   Figure `json:"bytes_per_second"`
	LagStart         Figure `json:"lag_start_records"`
	LagEnd           Figure `json:"lag_end_records"`
	// LagGrowth is the slope of the lag over the step.
	LagGrowth Figure `json:"lag_growth_records_per_second"`
}

// ClientEvidence is how the load client itself fared.
type ClientEvidence struct {
	// LatenessP99Ms is how late the client submitted its queries by its own fault: from when one was due and might be
	// under way.
	LatenessP99Ms Figure `json:"lateness_p99_ms"`
	// HeldMs is how long a query is held, where the step is of held queries and their latency is no goal: then a late
	// one only leaves its place empty for a share of its time. Unknown otherwise.
	HeldMs Figure `json:"held_ms"`
	// CPUCores is what the client used, CPULimitCores the most that it may have.
	CPUCores      Figure `json:"cpu_cores"`
	CPULimitCores Figure `json:"cpu_limit_cores"`
	// Hosts are the load clients, where they are on several hosts: each is judged apart, and CPUCores is unknown.
	Hosts []ClientHost `json:"hosts,omitempty"`
}

// ClientHost is how the load client of one host fared, as ClientEvidence has it.
type ClientHost struct {
	Host          string `json:"host"`
	LatenessP99Ms Figure `json:"lateness_p99_ms"`
	CPUCores      Figure `json:"cpu_cores"`
	CPULimitCores Figure `json:"cpu_limit_cores"`
}

// ProcessShare is a process' share of all the host's processors.
type ProcessShare struct {
	Process string `json:"process"`
	Ratio   Figure `json:"ratio"`
}

// HostEvidence is how busy the machine was.
type HostEvidence struct {
	IdleRatio Figure `json:"idle_ratio"`
	// MinIdleRatio is below which figures are the host's rather than the topology's (Goals.MinHostIdle).
	MinIdleRatio Figure `json:"min_idle_ratio"`
	Cores        Figure `json:"cores"`
	// Shares are of the processes that are known by name.
	Shares []ProcessShare `json:"shares"`
	// SharesBefore are those of the last step before it that did not starve the host; none where there is no such step.
	SharesBefore []ProcessShare `json:"shares_before,omitempty"`
	// OfRun states that this is tune run's machine alone: no worker runs there, it excuses no goal that is
	// missed, and how busy the workers' machines were was not measured.
	OfRun bool `json:"of_load_client,omitempty"`
}

// CollectorEvidence is whether what was collected can be believed, and what the collecting cost.
type CollectorEvidence struct {
	// ShareOfHost is the collector's share of all the host's processors.
	ShareOfHost Figure `json:"share_of_host_ratio"`
	// ExpectedSlices is how many slices of the workers' CPU there should be in the step by what was seen of each: from
	// its first to its last, at the distance that they have; MissingSlices how many are not there.
	ExpectedSlices Figure `json:"expected_slices"`
	MissingSlices  Figure `json:"missing_slices"`
	// LateSamples came after their slice was closed, DroppedSamples the workers dropped before they could be sent; over
	// the step.
	LateSamples    Figure `json:"late_samples"`
	DroppedSamples Figure `json:"dropped_samples"`
}

// WorkerEvidence is what became of the topology's workers.
type WorkerEvidence struct {
	Workers Figure `json:"workers"`
	// Expected is how many are known to belong to it and should have reported.
	Expected Figure `json:"expected_workers"`
	// Silent is how many of these did not report at the step's end: they ended, or what they sent was lost.
	Silent   Figure `json:"silent_workers"`
	Restarts Figure `json:"restarts"`
	// CPUCores is what all of them used.
	CPUCores Figure `json:"cpu_cores"`
}

// NoEvidence knows nothing yet.
func NoEvidence() Evidence {
	u := Unknown
	return Evidence{
		Queries: QueryEvidence{EndpointCapacity: u, Submitted: u, ActiveMean: u, ActiveMost: u, Created: u,
			Returned: u, Failed: u, Refused: u},
		GC: GCEvidence{ShareOfTime: u, ShareOfCPU: u, HeapUsedMost: u},
		Spout: SpoutEvidence{Executors: u, MaxPending: u, BatchSize: u, HeldByPending: u, HeldByBackPressure: u,
			CompleteLatencyMs: u},
		Source: SourceEvidence{Partitions: u, RecordsPerSecond: u, BytesPerSecond: u, LagStart: u, LagEnd: u,
			LagGrowth: u},
		SourceRate: SourceRateEvidence{AskedPerSecond: u, MadePerSecond: u},
		Client:     ClientEvidence{LatenessP99Ms: u, HeldMs: u, CPUCores: u, CPULimitCores: u},
		Host:       HostEvidence{IdleRatio: u, MinIdleRatio: u, Cores: u},
		Collector: CollectorEvidence{ShareOfHost: u, ExpectedSlices: u, MissingSlices: u, LateSamples: u,
			DroppedSamples: u},
		Workers: WorkerEvidence{Workers: u, Expected: u, Silent: u, Restarts: u, CPUCores: u},
	}
}

// UnmarshalJSON takes what is not there for unknown.
func (e *Evidence) UnmarshalJSON(text []byte) error {
	type plain Evidence
	*e = NoEvidence()
	return json.Unmarshal(text, (*plain)(e))
}

// UnmarshalJSON takes what is not there for unknown.
func (b *BoltEvidence) UnmarshalJSON(text []byte) error {
	type plain BoltEvidence
	*b = NoBoltEvidence("")
	err := json.Unmarshal(text, (*plain)(b))
	*b = b.Believed() // older programs wrote shares that cannot be
	return err
}

// NoBoltEvidence knows nothing of a bolt but its name.
func NoBoltEvidence(component string) BoltEvidence {
	return BoltEvidence{Component: component, Executors: Unknown, BusyMean: Unknown, BusyMost: Unknown,
		QueueMost: Unknown, WorkersCPU: Unknown}
}

// bolt finds a bolt; one that nothing is known of where it is missing.
func (e Evidence) bolt(component string) BoltEvidence {
	for _, b := range e.Bolts {
		if b.Component == component {
			return b
		}
	}
	return NoBoltEvidence(component)
}
