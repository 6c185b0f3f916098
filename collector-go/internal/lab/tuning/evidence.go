package tuning

import (
	"encoding/json"
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/busy"
)

// Evidence holds all measurements that can show what limited a step. It is stored with the step, so that a report can
// explain the verdict without the collector. Figures cover the step's measured time, (FromMs, ToMs] in milliseconds
// since the Unix epoch. A figure that was not measured is Unknown, never 0: a queue of 0 would acquit a bolt that
// nobody observed. Start with NoEvidence, because the zero value of Evidence claims zeros.
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

	// Notes state what could not be read and why.
	Notes []string `json:"notes"`
}

// Endpoints that queries go through.
const (
	EndpointDRPC    = "drpc"
	EndpointGateway = "gateway"
)

// QueryEvidence shows how many queries were submitted, active and answered.
type QueryEvidence struct {
	// Endpoint is EndpointDRPC or EndpointGateway; empty if unknown.
	Endpoint string `json:"endpoint"`
	// EndpointCapacity is the maximum number of concurrent queries that the endpoint accepts: DRPC's threads, or the
	// gateway's limit.
	EndpointCapacity Figure `json:"endpoint_capacity_queries"`
	// Submitted is the mean number of queries that the client had in flight over the step.
	Submitted Figure `json:"submitted_queries"`
	// ActiveMean and ActiveMost are how many queries ran concurrently in the topology, as its join bolts count them.
	ActiveMean Figure `json:"active_mean_queries"`
	ActiveMost Figure `json:"active_most_queries"`
	// Created is how many queries the topology started in the step. Returned, Failed and Refused are the client's
	// counts; Refused is the part of Failed that the endpoint rejected with 429 or 503.
	Created  Figure `json:"created_queries"`
	Returned Figure `json:"returned_queries"`
	Failed   Figure `json:"failed_queries"`
	Refused  Figure `json:"refused_queries"`
	// BySlice holds the same counts for each slice.
	BySlice []QuerySlice `json:"by_slice"`
}

// NeverActive returns how many of the queries in flight were never active together with the others.
func (q QueryEvidence) NeverActive() Figure { return q.Submitted - q.ActiveMost }

// QuerySlice holds counts of the slice that ends at EndMs: the mean number of queries in flight at the client, the
// number active in the topology, and the number that returned.
type QuerySlice struct {
	EndMs     int64  `json:"end_ms"`
	Submitted Figure `json:"submitted_queries"`
	Active    Figure `json:"active_queries"`
	Returned  Figure `json:"returned_queries"`
}

// FilterBolt is Storm's name for the component that matches records with queries.
const FilterBolt = "FilterBolt"

// BoltEvidence shows how busy a bolt's executors were. An executor is one thread, so it can use at most one core.
type BoltEvidence struct {
	Component string `json:"component"`
	Executors Figure `json:"executors"`
	// BusyMean and BusyMost are the shares of the time that executors spent executing: the mean over all, and that of
	// the busiest one. BusyUnknown states why they are unknown.
	BusyMean    Figure `json:"busy_mean_ratio"`
	BusyMost    Figure `json:"busy_most_ratio"`
	BusyUnknown string `json:"busy_unknown_because,omitempty"`
	// QueueMost is the mean fill ratio of the fullest receive queue over the step.
	QueueMost Figure `json:"queue_most_ratio"`
	// WorkersCPU is the CPU of the workers that run its executors, in cores. If it is less than the executors' busy
	// time, they waited for a processor.
	WorkersCPU Figure `json:"workers_cpu_cores"`
}

// busyCores returns how many cores the executors would have used if they had never waited.
func (b BoltEvidence) busyCores() Figure { return b.BusyMean * b.Executors }

// Believed returns the evidence without a busy share that contradicts the workers' CPU. A bolt that computes cannot be
// busy for longer than its workers used processors. Storm's figures then come from few tuples or another time, or the
// executors waited for a processor, which is no work of theirs.
func (b BoltEvidence) Believed() BoltEvidence {
	if cores := Greater(b.BusyMost, b.busyCores()); busy.Computes(b.Component) && b.WorkersCPU < busy.Covered*cores {
		b.BusyUnknown = fmt.Sprintf("Storm reports %s busy for its busiest executor, and the busy time of all would need %s cores, but its workers used only %s cores. They waited for CPU, or Storm's figures are from another time",
			shareText(b.BusyMost), Digits(cores), Digits(b.WorkersCPU))
		b.BusyMean, b.BusyMost = Unknown, Unknown
	}
	return b
}

// GCEvidence is the garbage collection of the worker that spends most time on it.
type GCEvidence struct {
	Worker string `json:"worker"`
	// ShareOfTime is the collectors' time over the step's time; ShareOfCPU is that over the worker's CPU time.
	ShareOfTime Figure `json:"share_of_time_ratio"`
	ShareOfCPU  Figure `json:"share_of_cpu_ratio"`
	// HeapUsedMost is the largest used share of any worker's heap limit.
	HeapUsedMost Figure `json:"heap_used_most_ratio"`
}

// SpoutEvidence shows what delayed the record spouts.
type SpoutEvidence struct {
	Component string `json:"component"`
	Executors Figure `json:"executors"`
	// MaxPending is topology.max.spout.pending; BatchSize is how many records count as one pending tuple.
	MaxPending Figure `json:"max_spout_pending"`
	BatchSize  Figure `json:"batch_size_records"`
	// HeldByPending and HeldByBackPressure are the shares of the spouts' time in which Storm did not ask them for
	// tuples. The reasons are max spout pending and a full queue of a bolt.
	HeldByPending      Figure `json:"held_by_max_pending_ratio"`
	HeldByBackPressure Figure `json:"held_by_back_pressure_ratio"`
	// CompleteLatencyMs is the mean time for which a tuple is pending.
	CompleteLatencyMs Figure `json:"complete_latency_ms"`
}

// Kinds of record sources.
const (
	SourceKafka     = "kafka"
	SourceGenerator = "generator"
)

// SourceEvidence shows whether records are consumed as fast as they arrive.
type SourceEvidence struct {
	// Kind is SourceKafka or SourceGenerator; empty if unknown.
	Kind string `json:"kind"`
	// Partitions is the number of Kafka partitions that the spouts share.
	Partitions Figure `json:"kafka_partitions"`
	// RecordsPerSecond is the rate that was read or generated. LagStart and LagEnd are the numbers of waiting records
	// at the start and the end of the step.
	RecordsPerSecond Figure `json:"records_per_second"`
	BytesPerSecond   Figure `json:"bytes_per_second"`
	LagStart         Figure `json:"lag_start_records"`
	LagEnd           Figure `json:"lag_end_records"`
	// LagGrowth is the slope of the lag over the step.
	LagGrowth Figure `json:"lag_growth_records_per_second"`
}

// ClientEvidence shows whether the load client kept up.
type ClientEvidence struct {
	// LatenessP99Ms is how late the client submitted its queries through its own fault. It counts from when a query
	// was scheduled and allowed to be in flight.
	LatenessP99Ms Figure `json:"lateness_p99_ms"`
	// HeldMs is the duration of a held query, if the step holds queries and their latency is no goal. A late query
	// then only leaves its slot empty for part of that time. Otherwise it is unknown.
	HeldMs Figure `json:"held_ms"`
	// CPUCores is the CPU that the client used; CPULimitCores is its limit.
	CPUCores      Figure `json:"cpu_cores"`
	CPULimitCores Figure `json:"cpu_limit_cores"`
	// Hosts are the load clients if they run on other hosts. Each is judged separately, and CPUCores is unknown.
	Hosts []ClientHost `json:"hosts,omitempty"`
}

// ClientHost is the evidence for the load client of one host, as in ClientEvidence.
type ClientHost struct {
	Host          string `json:"host"`
	LatenessP99Ms Figure `json:"lateness_p99_ms"`
	CPUCores      Figure `json:"cpu_cores"`
	CPULimitCores Figure `json:"cpu_limit_cores"`
}

// ProcessShare is a process' share of all the host's CPU.
type ProcessShare struct {
	Process string `json:"process"`
	Ratio   Figure `json:"ratio"`
}

// HostEvidence shows how busy the machine was.
type HostEvidence struct {
	IdleRatio Figure `json:"idle_ratio"`
	// MinIdleRatio is the idle ratio below which figures describe the host rather than the topology
	// (Goals.MinHostIdle).
	MinIdleRatio Figure `json:"min_idle_ratio"`
	Cores        Figure `json:"cores"`
	// Shares are those of the processes that are known by name.
	Shares []ProcessShare `json:"shares"`
	// SharesBefore are those of the last step before it in which the host had idle CPU; empty if there was none.
	SharesBefore []ProcessShare `json:"shares_before,omitempty"`
	// OfRun states that this is only the machine of tune run. No worker runs there, so it excuses no missed goal, and
	// the load of the workers' machines was not measured.
	OfRun bool `json:"of_load_client,omitempty"`
}

// CollectorEvidence shows whether the collected figures are complete, and what collecting them cost.
type CollectorEvidence struct {
	// ShareOfHost is the collector's share of all the host's CPU.
	ShareOfHost Figure `json:"share_of_host_ratio"`
	// ExpectedSlices is how many slices of the workers' CPU should exist in the step, from each worker's first to its
	// last slice at the usual distance. MissingSlices is how many of them do not exist.
	ExpectedSlices Figure `json:"expected_slices"`
	MissingSlices  Figure `json:"missing_slices"`
	// LateSamples is how many samples came after their slice was closed during the step. DroppedSamples is how many
	// the workers dropped before sending them.
	LateSamples    Figure `json:"late_samples"`
	DroppedSamples Figure `json:"dropped_samples"`
}

// WorkerEvidence shows the state of the topology's workers.
type WorkerEvidence struct {
	Workers Figure `json:"workers"`
	// Expected is the number of workers that are known to belong to the topology.
	Expected Figure `json:"expected_workers"`
	// Silent is how many of them did not report at the step's end, because they ended or their data was lost.
	Silent   Figure `json:"silent_workers"`
	Restarts Figure `json:"restarts"`
	// CPUCores is the CPU of all workers.
	CPUCores Figure `json:"cpu_cores"`
}

// NoEvidence returns evidence in which everything is unknown.
func NoEvidence() Evidence {
	return unmeasured[Evidence]()
}

// UnmarshalJSON sets missing figures to unknown.
func (e *Evidence) UnmarshalJSON(text []byte) error {
	type plain Evidence
	*e = NoEvidence()
	return json.Unmarshal(text, (*plain)(e))
}

// UnmarshalJSON sets missing figures to unknown.
func (b *BoltEvidence) UnmarshalJSON(text []byte) error {
	type plain BoltEvidence
	*b = NoBoltEvidence("")
	err := json.Unmarshal(text, (*plain)(b))
	*b = b.Believed() // older programs stored impossible shares
	return err
}

// NoBoltEvidence returns evidence for a bolt in which everything but the name is unknown.
func NoBoltEvidence(component string) BoltEvidence {
	return BoltEvidence{Component: component, Executors: Unknown, BusyMean: Unknown, BusyMost: Unknown,
		QueueMost: Unknown, WorkersCPU: Unknown}
}

// bolt returns the evidence for a bolt. If there is none, everything in it is unknown.
func (e Evidence) Bolt(component string) BoltEvidence {
	if b, found := First(e.Bolts, func(b BoltEvidence) bool { return b.Component == component }); found {
		return b
	}
	return NoBoltEvidence(component)
}
