package runstore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Plan is plan.json: everything that a run does, with all defaults filled in. It is written once, before the run
// starts, and a resumed run follows it. A change of the experiment file or of a default in a newer program version can
// therefore not change a run halfway.
type Plan struct {
	// Experiment is the experiment's name, by which runs of it are found again; Title and About are for people.
	Experiment string `json:"experiment"`
	Title      string `json:"title"`
	About      string `json:"about,omitempty"`
	// Test is the test of "Tuning and Performance of Bullet in Storm" that it redoes, 1 to 7; 0 for none.
	Test int `json:"test,omitempty"`
	// Analysis is what its figures are put to at the end.
	Analysis    Analysis      `json:"analysis"`
	Goals       []tuning.Goal `json:"goals"`
	MinHostIdle tuning.Figure `json:"min_host_idle"`
	// Search is which of a trial's steps are run: full, step or binary.
	Search tuning.SearchKind `json:"search"`
	// InconclusiveRepeats is how often a step that was inconclusive is measured again before the row says so.
	InconclusiveRepeats int `json:"inconclusive_repeats"`
	// Confirm has an ascending search measure the bounds of the capacity once more.
	Confirm bool `json:"confirm,omitempty"`
	// EndEarly states that only the verdict is wanted: a step ends once it is certain to miss its goal of the mean
	// filter latency.
	EndEarly bool `json:"end_early,omitempty"`
	// CostLoads are simultaneous queries, in the order in which each trial holds them for what a query costs, before it
	// searches for its capacity; none where no capacity is expected.
	CostLoads []float64 `json:"cost_loads,omitempty"`
	// StartUpMs is how long at most a topology that was just launched is warmed up before its first step.
	StartUpMs int64 `json:"start_up_ms,omitempty"`
	// StartUpQueries are held meanwhile, and end before the first step: what only queries have a worker do is compiled
	// by then.
	StartUpQueries int `json:"start_up_queries,omitempty"`
	// FailFails states that a missed goal is a failure of the run (exit code 99). A search for the capacity succeeds by
	// finding it.
	FailFails bool `json:"fail_fails"`
	// Axis is what the steps of each trial ascend along.
	Axis Axis `json:"axis"`
	// Load is what is asked of the topology in all steps, the axis apart.
	Load Load `json:"load"`
	// WarmUpMs is left out of each step's figures, SustainMs is what is measured; both are whole slices.
	WarmUpMs  int64 `json:"warm_up_ms"`
	SustainMs int64 `json:"sustain_ms"`
	// SliceMs is the collector's slice width, ReportSliceMs that of the report's figures.
	SliceMs       int64 `json:"slice_ms"`
	ReportSliceMs int64 `json:"report_slice_ms"`
	// Launch is LocalLaunch or CommandLaunch.
	Launch string `json:"launch"`
	// LoadHosts are those whose load clients ask the queries, each its part; none where the run itself does.
	LoadHosts []string `json:"load_hosts,omitempty"`
	// KafkaPartitions are those of the topic that the records come from; 0 where their number is not stated, or there
	// is none.
	KafkaPartitions int `json:"kafka_partitions,omitempty"`
	// Topology is what the topologies' names begin with.
	Topology string `json:"topology"`
	// Record are selectors of further series that are kept beside the ones that every report needs.
	Record  []string       `json:"record,omitempty"`
	Trials  []PlannedTrial `json:"trials"`
	Caveats []string       `json:"caveats"`
}

// The kinds of launches.
const (
	LocalLaunch   = "local"
	CommandLaunch = "command"
)

// Analysis is what is made of a run's figures; each is one of internal/lab/tuning.
type Analysis string

// The analyses.
const (
	OfTimeline    Analysis = "timeline"    // a record's way through Bullet (Tests 1 and 2)
	OfConcurrency Analysis = "concurrency" // completeness and cost of queries (Tests 3, 4 and 5)
	OfData        Analysis = "data"        // records and MiB per core (Test 6)
	OfQueries     Analysis = "queries"     // queries per core over a grid (Test 7)
)

// Axis is the quantity that increases from step to step: simultaneous queries, queries per second or records per
// second.
type Axis string

// The axes.
const (
	Queries          Axis = "queries"            // held at the same time
	QueriesPerSecond Axis = "queries_per_second" // started at a constant rate, whatever comes back
	RecordsPerSecond Axis = "records_per_second" // background records of the source
)

// Unit is what a place on the axis counts.
func (a Axis) Unit() string {
	switch a {
	case QueriesPerSecond:
		return "queries/s"
	case RecordsPerSecond:
		return "records/s"
	}
	return "queries"
}

// StepKind is how a step is run.
type StepKind string

// The kinds of steps.
const (
	// LoadStep holds a load for the warm-up and the time to be sustained.
	LoadStep StepKind = "load"
	// CostStep is a load step for what a query costs alone: the search for the capacity does not see it.
	CostStep StepKind = "cost"
	// TimelineStep runs queries one after the other and follows a record through Bullet for each.
	TimelineStep StepKind = "timeline"
)

// TimelineRecords names which records the queries of a timeline step look for.
type TimelineRecords string

// The records.
const (
	// FlowingRecords are there already: a query takes the first that a filter bolt shows it (Test 1).
	FlowingRecords TimelineRecords = "flowing"
	// GeneratedRecords are made once the query runs, one for each (Test 2).
	GeneratedRecords TimelineRecords = "generated"
)

// Load is the load on the topology apart from the axis. A figure that is not set is Unknown.
type Load struct {
	// Submit is the way of queries: "gateway" (BQL over HTTP) or "drpc" (Storm's DRPC over HTTP). Class is a query
	// class of internal/lab/load.
	Submit string `json:"submit"`
	Class  string `json:"class"`
	// Source is "none" where the records are not ours: nobody steers them, and their rate is what the collector says;
	// else "".
	Source string `json:"source,omitempty"`
	// BQL is asked instead of the class' own query; "" for none.
	BQL string `json:"bql,omitempty"`
	// Queries are held where the axis is another; QueriesPerSecond likewise.
	Queries          int           `json:"queries"`
	QueriesPerSecond tuning.Figure `json:"queries_per_second"`
	// RecordsPerSecond is the rate of background records; null where it is calibrated to leave TargetIdle of the host
	// idle.
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	TargetIdle       tuning.Figure `json:"target_idle"`
	// CatchUpFactor is how many times its record rate each step offers for CatchUpMs after its measured time, as a
	// source does that has fallen behind; null for none.
	CatchUpFactor tuning.Figure `json:"catch_up_factor"`
	CatchUpMs     int64         `json:"catch_up_ms,omitempty"`
	// TimelineQueries is how many queries a timeline step runs, one after the other.
	TimelineQueries int `json:"timeline_queries,omitempty"`
	// TimelineRecords are the records that they look for; "" is flowing.
	TimelineRecords TimelineRecords `json:"timeline_records,omitempty"`
	// The query: the most records that it returns, its longest life, and the rate of records that match it.
	QueryLimit        int           `json:"query_limit"`
	QueryDurationMs   int64         `json:"query_duration_ms"`
	MatchingPerSecond tuning.Figure `json:"matching_per_second"`
	MeanRecordBytes   tuning.Figure `json:"mean_record_bytes"`
}

// SourceNone is the source of records that nobody steers.
const SourceNone = "none"

// NoneToMatch reports whether no record is made for the queries to find, so that what they return shows nothing of
// completeness.
func (a Load) NoneToMatch() bool { return a.MatchingPerSecond == 0 }

// NoSource reports whether the records are not ours.
func (a Load) NoSource() bool { return a.Source == SourceNone }

// PlannedTrial is one configuration, measured once: the settings to launch the topology with, and its candidate steps.
// Repeats of a configuration are trials of their own with the same Configuration number.
type PlannedTrial struct {
	// Number counts from 1 over the run; Label names the configuration, and the directory with the number.
	Number int    `json:"number"`
	Label  string `json:"label"`
	// Configuration counts the points of the grid from 1; repeats of a trial share it. Repeat counts from 1.
	Configuration int `json:"configuration"`
	Repeat        int `json:"repeat"`
	// Point is where the configuration lies on each axis of the grid, in the axes' order.
	Point []Coordinate `json:"point"`
	// Settings are laid over the Bullet YAML, in this order.
	Settings []Entry `json:"settings"`
	// Workers and WorkerHeapMiB are of the local cluster; 0 where another launches.
	Workers       int `json:"workers,omitempty"`
	WorkerHeapMiB int `json:"worker_heap_mib,omitempty"`
	// Steps are what a full search does, in its order.
	Steps []PlannedStep `json:"steps"`
}

// Coordinate is a configuration's place on one axis of the grid.
type Coordinate struct {
	Axis  string `json:"axis"`
	Label string `json:"label"`
	// Value is the place as a number, null where it is none.
	Value tuning.Figure `json:"value"`
}

// PlannedStep is a step as it is meant.
type PlannedStep struct {
	Kind StepKind `json:"kind"`
	// Value is where on the plan's axis the step is.
	Value float64 `json:"value"`
}

// Entry is a named value: a setting, or a line of the manifest.
type Entry struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// MostQueries is how many queries at most are held at the same time in any step, and so how many probes the source
// needs; for queries started at a rate it is a number that they share.
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

// leastProbes is how many probes the source is asked for at least.
const leastProbes = 10

// Describe is the load in a sentence, without what the steps' axis says.
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
		queries = fmt.Sprintf("the file's own BQL for %s at most through %s", life, way)
	}
	if !a.NoSource() {
		queries += fmt.Sprintf(", %s matching records/s each", short(float64(a.MatchingPerSecond)))
	}
	if axis != Queries && a.Queries > 0 {
		queries = fmt.Sprintf("%d %s", a.Queries, queries)
	}
	if a.TimelineQueries > 0 {
		which := "any record that flows"
		if a.TimelineRecords == GeneratedRecords {
			which = "a record that is generated once it runs"
		}
		queries = fmt.Sprintf("%d %s queries through %s, one after the other, each for %s, %s at most",
			a.TimelineQueries, a.Class, way, which, life)
	}
	return strings.Join(append(parts, queries), "; ")
}
