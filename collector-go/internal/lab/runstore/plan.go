package runstore

import (
	"fmt"
	"path/filepath"
	"regexp"
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
	loads := append([]float64{float64(max(p.Load.Queries, leastProbes, p.StartUpQueries))}, p.CostLoads...)
	if p.Axis == Queries {
		loads = append(loads, p.StepValues()...)
	}
	return int(slices.Max(loads))
}

// StepValues returns the planned values of the steps of all trials, in their order.
func (p Plan) StepValues() []float64 {
	steps := slices.Concat(tuning.Each(p.Trials, func(t PlannedTrial) []PlannedStep { return t.Steps })...)
	return tuning.Each(steps, func(s PlannedStep) float64 { return s.Value })
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

// Manifest is manifest.json: what ran, and on what (W1 of the tuning workflow). It is written at the start and again
// when the first topology has reported its versions. Unknown values are "" or null.
type Manifest struct {
	// ID identifies the run permanently; StartedMs is in ms since the Unix epoch.
	ID        string `json:"id"`
	StartedMs int64  `json:"started_ms"`
	// ExperimentPath is the path of the experiment file when it was read; paths in the file are relative to it.
	ExperimentPath string `json:"experiment_path"`
	// Command is the command line of the run.
	Command  string   `json:"command"`
	Versions Versions `json:"versions"`
	// Machine is the host that generates the load. In a local launch everything else runs on it too.
	Machine Machine `json:"machine"`
	// Cluster is what the experiment file states about the cluster of a command launch; null if it states nothing.
	Cluster *Cluster `json:"cluster,omitempty"`
	Records Records  `json:"records"`
	// BulletSettings are the entries of the Bullet YAML, without the settings of the trials.
	BulletSettings []Entry `json:"bullet_settings"`
	// WorkerFlags are the JVM options of the workers in the first trial that reported any. GCFlags are those about the
	// garbage collector. Each trial's own options are in its ReportedConfig.
	WorkerFlags string `json:"worker_flags"`
	GCFlags     string `json:"gc_flags"`
	// Further are additional facts about the run.
	Further []Entry `json:"further,omitempty"`
}

// Versions holds the version of each part that can change a result. An empty version is unknown.
type Versions struct {
	BulletMetrics string `json:"bullet_metrics"`
	Bullet        string `json:"bullet"`
	Storm         string `json:"storm"`
	// Kafka is the broker's version. It is that of the started broker, or the one that the experiment file states.
	Kafka string `json:"kafka"`
	// Java is the version on the load host, which launches; WorkerJava is that of the workers.
	Java       string `json:"java"`
	WorkerJava string `json:"worker_java"`
	Plugin     string `json:"plugin"`
}

// Cluster is the hardware of a cluster. Values that the experiment file does not state are 0, "" or null.
type Cluster struct {
	// Machines is the number of machines; all other fields describe one machine.
	Machines    int           `json:"machines"`
	CPUModel    string        `json:"cpu_model"`
	Cores       int           `json:"cores"`
	UsableCores tuning.Figure `json:"usable_cores"`
	MemoryBytes int64         `json:"memory_bytes"`
	Network     string        `json:"network"`
	// BusyByOthers is the share of the cluster that others use.
	BusyByOthers tuning.Figure `json:"busy_by_others"`
}

// Roles of a run's machine.
const (
	OnlyMachine = "the only one: cluster, load and collector"
	LoadHost    = "host of the load"
)

// Machine is the host that the run was started on.
type Machine struct {
	// Role is OnlyMachine or LoadHost; "" in older runs, which did not store it.
	Role     string `json:"role,omitempty"`
	CPUModel string `json:"cpu_model"`
	// Cores are those of the host; UsableCores are those that this process may use.
	Cores       int           `json:"cores"`
	UsableCores tuning.Figure `json:"usable_cores"`
	MemoryBytes int64         `json:"memory_bytes"`
	// Network names the interfaces that are up, with their speeds. It also states if all traffic used loopback.
	Network string `json:"network"`
	Kernel  string `json:"kernel"`
}

// Machine returns one machine of the cluster.
func (c *Cluster) Machine() Machine {
	return Machine{CPUModel: c.CPUModel, Cores: c.Cores, UsableCores: c.UsableCores, MemoryBytes: c.MemoryBytes,
		Network: c.Network}
}

// Records is the schema and the size of the records that the source emits.
type Records struct {
	Fields          int           `json:"fields"`
	Strings         int           `json:"strings"`
	Longs           int           `json:"longs"`
	Maps            int           `json:"maps"`
	ListsOfMaps     int           `json:"lists_of_maps"`
	MeanRecordBytes tuning.Figure `json:"mean_record_bytes"`
	// CompressionRatio is the raw size over the compressed size, with gzip unless the note states otherwise.
	CompressionRatio tuning.Figure `json:"compression_ratio"`
	Note             string        `json:"note,omitempty"`
}

// Component is a row of the topology's resource request. Values that are not set are null.
type Component struct {
	Name          string        `json:"component"`
	Parallelism   int           `json:"parallelism"`
	CPUCoresTotal tuning.Figure `json:"cpu_cores_total"`
	OnHeapMiB     tuning.Figure `json:"on_heap_mib"`
	OffHeapMiB    tuning.Figure `json:"off_heap_mib"`
	MemoryMiB     tuning.Figure `json:"total_memory_mib"`
}

// ResourceRequest is a topology's resource request to the scheduler, as its own configuration states it, with the
// limits for records in flight.
type ResourceRequest struct {
	Components []Component         `json:"components"`
	Totals     tuning.StatedTotals `json:"totals"`
	// Spouts holds the true max spout pending and the fan-out; nil if no record spout is known.
	Spouts *tuning.SpoutPending `json:"spouts,omitempty"`
}

// Resources returns the added and audited resource request. It returns an error if the request cannot be added up. CPU
// that is not set counts as 0 and is noted, because schedulers that are not resource-aware get no CPU request.
func (a *ResourceRequest) Resources(machine tuning.Machine) (*tuning.Resources, error) {
	var components []tuning.Component
	var unset []string
	for _, c := range a.Components {
		cpu, memory := c.CPUCoresTotal, c.OnHeapMiB
		if !cpu.Known() {
			cpu, unset = 0, append(unset, c.Name)
		}
		if !memory.Known() && !c.MemoryMiB.Known() {
			memory = 0
		}
		components = append(components, tuning.Component{
			Name: c.Name, Parallelism: max(1, c.Parallelism), CPUCoresTotal: cpu, CPUCoresEach: tuning.Unknown,
			OnHeapMiB: memory, OffHeapMiB: c.OffHeapMiB, TotalMemoryMiB: c.MemoryMiB,
		})
	}
	totals := a.Totals
	totals.CPUColumn = tuning.ColumnCPUTotal
	r, err := tuning.AnalyzeResources(components, &totals, machine)
	if err != nil {
		return nil, err
	}
	if len(unset) > 0 {
		r.Notes = append(r.Notes, "these components request no CPU: "+strings.Join(unset, ", "))
	}
	r.Spouts = a.Spouts
	return r, nil
}

// ReportedConfigFile is the file with a topology's reported configuration, relative to the trial's directory.
const ReportedConfigFile = "topology.json"

// ReportedConfig is trials/NN-label/topology.json: the effective configuration that a trial's topology reported. If
// the trial was launched several times, it is that of the last launch. Values that were not reported are "" or null.
type ReportedConfig struct {
	TopologyID string `json:"topology_id"`
	// Bullet, Storm, WorkerJava and Plugin are versions.
	Bullet     string `json:"bullet"`
	Storm      string `json:"storm"`
	WorkerJava string `json:"worker_java"`
	Plugin     string `json:"plugin"`
	// WorkerFlags are the options of the workers' JVMs in the order in which Storm joins them. HeapFlags are those
	// about the heap, GCFlags those about the garbage collector. Both contain only the last of repeated options, which
	// is the one that the JVM uses.
	WorkerFlags string `json:"worker_flags"`
	HeapFlags   string `json:"heap_flags"`
	GCFlags     string `json:"gc_flags"`
	// HeapLimitBytes is the largest maximum heap size of any worker, as its JVM reports it.
	HeapLimitBytes tuning.Figure `json:"heap_limit_bytes"`
	// Executors lists the executors of Bullet's components, such as "FilterBolt 4, JoinBolt 1". Requested is the total
	// resource request to the scheduler.
	Executors string `json:"executors"`
	Requested string `json:"asked"`
	// Settings are the settings that the plugin reports, sorted by name.
	Settings []Entry `json:"settings"`
}

// Add copies a topology's reported configuration into a run's manifest.
func (m *Manifest) Add(c ReportedConfig) {
	m.Versions.Storm, m.Versions.Bullet, m.Versions.WorkerJava, m.Versions.Plugin = c.Storm, c.Bullet,
		c.WorkerJava, c.Plugin
	m.WorkerFlags, m.GCFlags = c.WorkerFlags, c.GCFlags
	m.Further = []Entry{{"Topology id", c.TopologyID}, {"Executors", c.Executors},
		{"Requested from the scheduler", c.Requested}}
}

// SaveReportedConfig writes the configuration that a trial's topology reported. It replaces that of an earlier launch.
func (w *Writer) SaveReportedConfig(t PlannedTrial, c ReportedConfig) error {
	return w.save(filepath.Join(TrialsDir, t.Name(), ReportedConfigFile), c)
}

// ReportedConfig returns the configuration that the trial's topology reported; nil if there is none.
func (t Trial) ReportedConfig() (*ReportedConfig, error) {
	return readIfThere[ReportedConfig](filepath.Join(t.Dir, ReportedConfigFile))
}

// Arguments returns how the trial's topology was launched; empty if it never was.
func (t Trial) Arguments() (a Arguments, err error) {
	if there, err := readIfThere[Arguments](filepath.Join(t.Dir, ArgumentsFile)); there != nil {
		return *there, err
	}
	return a, err
}

// secret matches the names of settings whose values must not be shown. The path of a file is not secret.
var secret = regexp.MustCompile(`(?i)(password|passwd|secret|token|credential|private|api.?key)`)

const hidden = "(not shown)"

// Shown returns a setting's value for display; secrets are masked.
func Shown(key, value string) string {
	if secret.MatchString(key) && !strings.HasSuffix(key, ".file") {
		return hidden
	}
	return value
}

// Shown returns the settings for display; secrets are masked.
func (a Arguments) Shown() (entries []Entry) {
	for _, setting := range a.Settings {
		key, value, _ := strings.Cut(setting, "=")
		entries = append(entries, Entry{Key: key, Value: Shown(key, value)})
	}
	return entries
}

// CommandLine returns the command that submitted the topology, quoted for a shell and without secrets. It is "" if the
// local cluster submitted it.
func (a Arguments) CommandLine() string {
	var words []string
	for _, word := range a.Launch {
		if key, value, found := strings.Cut(word, "="); found {
			word = key + "=" + Shown(key, value)
		}
		if !plainWord.MatchString(word) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+{}-]+$`)
