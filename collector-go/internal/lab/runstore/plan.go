package runstore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Plan is plan.json: everything that a run does, with all defaults filled in. It is written once, before the run
// starts, and a resumed run follows it. A change of the experiment file, or of a default in a newer program version,
// can therefore not change a run halfway.
type Plan struct {
	// Experiment is the experiment's name, by which its runs are found; Title and About are for people.
	Experiment string `json:"experiment"`
	Title      string `json:"title"`
	About      string `json:"about,omitempty"`
	// Test is the test of "Tuning and Performance of Bullet in Storm" that the run repeats, 1 to 7; 0 means none.
	Test int `json:"test,omitempty"`
	// Analysis is the analysis that the run's figures are used for.
	Analysis    Analysis      `json:"analysis"`
	Goals       []tuning.Goal `json:"goals"`
	MinHostIdle tuning.Figure `json:"min_host_idle"`
	// Search selects the order in which a trial's steps are run: full, step or binary.
	Search tuning.SearchKind `json:"search"`
	// InconclusiveRepeats is how often an inconclusive step is repeated before the row becomes inconclusive.
	InconclusiveRepeats int `json:"inconclusive_repeats"`
	// Confirm makes an ascending search measure the bounds of the capacity once more.
	Confirm bool `json:"confirm,omitempty"`
	// EndEarly states that only the verdict matters: a step ends once it is certain to miss its goal for the mean
	// filter latency.
	EndEarly bool `json:"end_early,omitempty"`
	// CostLoads are numbers of concurrent queries. Each trial holds them in this order, before its capacity search, to
	// measure the cost of a query. The list is empty if no capacity is expected.
	CostLoads []float64 `json:"cost_loads,omitempty"`
	// StartUpMs is the longest warm-up of a newly launched topology before its first step.
	StartUpMs int64 `json:"start_up_ms,omitempty"`
	// StartUpQueries is the number of queries held during the warm-up; they end before the first step. They make the
	// workers compile the code that only queries use.
	StartUpQueries int `json:"start_up_queries,omitempty"`
	// FailFails states that a missed goal makes the run fail (exit code 99). A search for the capacity does not set
	// it, because it succeeds by finding a miss.
	FailFails bool `json:"fail_fails"`
	// Axis is the quantity that increases over the steps of each trial.
	Axis Axis `json:"axis"`
	// Load is the load of all steps, apart from the quantity on the axis.
	Load Load `json:"load"`
	// WarmUpMs is the part of each step without figures; SustainMs is the measured part. Both are whole slices.
	WarmUpMs  int64 `json:"warm_up_ms"`
	SustainMs int64 `json:"sustain_ms"`
	// SliceMs is the collector's slice width; ReportSliceMs is that of the report's figures.
	SliceMs       int64 `json:"slice_ms"`
	ReportSliceMs int64 `json:"report_slice_ms"`
	// Launch is LocalLaunch or CommandLaunch.
	Launch string `json:"launch"`
	// LoadHosts are the hosts whose load clients share the queries; empty if the run itself asks them.
	LoadHosts []string `json:"load_hosts,omitempty"`
	// KafkaPartitions is the number of partitions of the topic that the records come from. It is 0 if unknown or if
	// there is no topic.
	KafkaPartitions int `json:"kafka_partitions,omitempty"`
	// Topology is the prefix of the topologies' names.
	Topology string `json:"topology"`
	// Record holds selectors of further series to save, in addition to those of every report.
	Record  []string       `json:"record,omitempty"`
	Trials  []PlannedTrial `json:"trials"`
	Caveats []string       `json:"caveats"`
}

// Kinds of launches.
const (
	LocalLaunch   = "local"
	CommandLaunch = "command"
)

// Analysis is the purpose of a run's figures; each is an analysis in internal/lab/tuning.
type Analysis string

// Kinds of analyses.
const (
	OfTimeline    Analysis = "timeline"    // the stages of a record in Bullet (Tests 1 and 2)
	OfConcurrency Analysis = "concurrency" // completeness and cost of queries (Tests 3, 4 and 5)
	OfData        Analysis = "data"        // records and MiB per core (Test 6)
	OfQueries     Analysis = "queries"     // queries per core over a grid (Test 7)
)

// Axis is the quantity that increases from step to step: concurrent queries, queries/s or records/s.
type Axis string

// Kinds of axes.
const (
	Queries          Axis = "queries"            // held concurrently
	QueriesPerSecond Axis = "queries_per_second" // started at a constant rate, independent of the answers
	RecordsPerSecond Axis = "records_per_second" // background records of the source
)

// Unit returns the unit of the axis.
func (a Axis) Unit() string {
	switch a {
	case QueriesPerSecond:
		return "queries/s"
	case RecordsPerSecond:
		return "records/s"
	}
	return "queries"
}

// StepKind defines how a step is run.
type StepKind string

// Kinds of steps.
const (
	// LoadStep applies a load for the warm-up and the measured time.
	LoadStep StepKind = "load"
	// CostStep is a load step that only measures the cost of a query. The capacity search ignores it.
	CostStep StepKind = "cost"
	// TimelineStep runs queries one after the other and follows one record through Bullet for each.
	TimelineStep StepKind = "timeline"
)

// TimelineRecords selects the records that the queries of a timeline step look for.
type TimelineRecords string

// Kinds of records of a timeline step.
const (
	// FlowingRecords already flow through the topology: a query takes the first that a filter bolt sees (Test 1).
	FlowingRecords TimelineRecords = "flowing"
	// GeneratedRecords are made after the query has started, one for each query (Test 2).
	GeneratedRecords TimelineRecords = "generated"
)

// Load is the load on the topology, apart from the quantity on the axis. A figure that is not set is Unknown.
type Load struct {
	// Submit is how queries are submitted: "gateway" (BQL over HTTP) or "drpc" (Storm's DRPC over HTTP). Class is a
	// query class of internal/lab/load.
	Submit string `json:"submit"`
	Class  string `json:"class"`
	// Source is "none" if the record source is foreign. Its rate cannot be controlled, and only the collector reports
	// it. Otherwise Source is "".
	Source string `json:"source,omitempty"`
	// BQL replaces the query of the class; "" means no replacement.
	BQL string `json:"bql,omitempty"`
	// Queries and QueriesPerSecond apply if the axis is another quantity.
	Queries          int           `json:"queries"`
	QueriesPerSecond tuning.Figure `json:"queries_per_second"`
	// RecordsPerSecond is the rate of background records. It is null if the rate is calibrated to leave TargetIdle of
	// the host idle.
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	TargetIdle       tuning.Figure `json:"target_idle"`
	// CatchUpFactor is the multiple of its record rate that each step offers for CatchUpMs after its measured time. It
	// simulates a source that has fallen behind; null means no catch-up.
	CatchUpFactor tuning.Figure `json:"catch_up_factor"`
	CatchUpMs     int64         `json:"catch_up_ms,omitempty"`
	// TimelineQueries is how many queries a timeline step runs, one after the other.
	TimelineQueries int `json:"timeline_queries,omitempty"`
	// TimelineRecords are the records that these queries look for; "" means flowing.
	TimelineRecords TimelineRecords `json:"timeline_records,omitempty"`
	// Query parameters: the maximum number of records, the maximum duration, and the rate of matching records.
	QueryLimit        int           `json:"query_limit"`
	QueryDurationMs   int64         `json:"query_duration_ms"`
	MatchingPerSecond tuning.Figure `json:"matching_per_second"`
	MeanRecordBytes   tuning.Figure `json:"mean_record_bytes"`
}

// SourceNone is the Load.Source of records whose rate cannot be controlled.
const SourceNone = "none"

// NoneToMatch reports whether no records are made for the queries to find. Their results then say nothing about
// completeness.
func (a Load) NoneToMatch() bool { return a.MatchingPerSecond == 0 }

// NoSource reports whether the record source is foreign.
func (a Load) NoSource() bool { return a.Source == SourceNone }

// PlannedTrial is one configuration, measured once: the settings to launch the topology with, and its candidate steps.
// Repeats of a configuration are trials of their own with the same Configuration number.
type PlannedTrial struct {
	// Number counts from 1 over the run. Label names the configuration; Number and Label together name the directory.
	Number int    `json:"number"`
	Label  string `json:"label"`
	// Configuration counts the points of the grid from 1; repeats of a trial share it. Repeat counts from 1.
	Configuration int `json:"configuration"`
	Repeat        int `json:"repeat"`
	// Point is the configuration's position on each axis of the grid, in the order of the axes.
	Point []Coordinate `json:"point"`
	// Settings override those of the Bullet YAML, in this order.
	Settings []Entry `json:"settings"`
	// Workers and WorkerHeapMiB describe the local cluster; 0 for other launches.
	Workers       int `json:"workers,omitempty"`
	WorkerHeapMiB int `json:"worker_heap_mib,omitempty"`
	// Steps are the steps of a full search, in their order.
	Steps []PlannedStep `json:"steps"`
}

// Coordinate is a configuration's position on one axis of the grid.
type Coordinate struct {
	Axis  string `json:"axis"`
	Label string `json:"label"`
	// Value is the position as a number, null if it has none.
	Value tuning.Figure `json:"value"`
}

// PlannedStep is a step that a trial may run.
type PlannedStep struct {
	Kind StepKind `json:"kind"`
	// Value is the step's position on the plan's axis.
	Value float64 `json:"value"`
}

// Entry is a named value: a setting, or a line of the manifest.
type Entry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// MostQueries returns the largest number of concurrent queries in any step, which is also the number of probes that
// the source needs. Queries that are started at a rate share the probes.
func (p Plan) MostQueries() int {
	most := max(p.Load.Queries, leastProbes, p.StartUpQueries, int(slices.Max(append([]float64{0}, p.CostLoads...))))
	for _, t := range p.Trials {
		for _, s := range t.Steps {
			if p.Axis == Queries {
				most = max(most, int(s.Value))
			}
		}
	}
	return most
}

// leastProbes is the minimum number of probes requested from the source.
const leastProbes = 10

// Describe returns the load as a sentence, without the quantity on the steps' axis.
func (a Load) Describe(axis Axis) string {
	var parts []string
	if axis != RecordsPerSecond {
		records := "records at a rate calibrated to leave " + short(100*float64(a.TargetIdle)) +
			"% of the host idle without queries"
		if a.NoSource() {
			records = "the records that the topology reads, at their own rate"
		} else if a.RecordsPerSecond.Known() {
			records = short(float64(a.RecordsPerSecond)) + " records/s"
		}
		parts = append(parts, records)
	}
	way, life := map[string]string{"gateway": "the gateway", "drpc": "DRPC"}[a.Submit],
		time.Duration(a.QueryDurationMs)*time.Millisecond
	queries := fmt.Sprintf("%s queries of %d records or %s through %s", a.Class, a.QueryLimit, life, way)
	if a.BQL != "" {
		queries = fmt.Sprintf("queries with the BQL of the file, at most %s, through %s", life, way)
	}
	if !a.NoSource() {
		queries += fmt.Sprintf(", %s matching records/s each", short(float64(a.MatchingPerSecond)))
	}
	if axis != Queries && a.Queries > 0 {
		queries = fmt.Sprintf("%d %s", a.Queries, queries)
	}
	if a.TimelineQueries > 0 {
		which := "any record"
		if a.TimelineRecords == GeneratedRecords {
			which = "a record that is generated after its start"
		}
		queries = fmt.Sprintf("%d %s queries through %s, one after the other, each for %s, at most %s",
			a.TimelineQueries, a.Class, way, which, life)
	}
	return strings.Join(append(parts, queries), "; ")
}
