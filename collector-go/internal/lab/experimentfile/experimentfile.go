// Package experimentfile reads an experiment file (docs/experiments.md), checks it, and derives the plan of a run. An
// experiment file names the topology, the grid of configurations, the load, the steps and the goals of each step. With
// a search section (docs/tune/search-file.md), tune optimize chooses the configurations instead. The package also reads
// space files, which hold the outcomes of trials for a search without a cluster.
//
// The package owns the fields of these files, their defaults, their checks and the expansion of the grid into trials.
// It must know no cluster, no clock and no earlier run. The same file therefore always gives the same plan, also on a
// machine that cannot reach the cluster. It decides nothing about a search, which package optimize does.
//
// Start reading at File. Parse reads a file in three passes: defaults (defaults), values with their positions
// (yamlfile.Fields), and checks that involve several fields (File.Check). File.Plan then turns it into a
// runstore.Plan, which is all that the runner sees. search.go has the search section.
package experimentfile

import (
	"cmp"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// File is an experiment file as it was read, with defaults filled in. Every field has a line in docs/experiments.md; a
// test compares the two.
//
// The fields keep the vocabulary of the file; File.Plan translates it. After a change of a field, Check must be called
// again.
type File struct {
	Experiment  string   `yaml:"experiment"`
	Title       string   `yaml:"title"`
	About       string   `yaml:"about"`
	Test        int      `yaml:"test"`
	Analysis    string   `yaml:"analysis"`
	Goals       []Goal   `yaml:"goals"`
	OnFail      string   `yaml:"on_fail"`
	MinHostIdle Ratio    `yaml:"min_host_idle"`
	Topology    Topology `yaml:"topology"`
	Records     Records  `yaml:"records"`
	Grid        []Axis   `yaml:"grid"`
	Steps       Steps    `yaml:"steps"`
	Load        Load     `yaml:"load"`
	Launch      Launch   `yaml:"launch"`
	Cluster     Cluster  `yaml:"cluster"`
	Record      []string `yaml:"record"`
	ReportSlice Duration `yaml:"report_slice"`
	Caveats     []string `yaml:"caveats"`
	Search      *Search  `yaml:"search"`

	// latency is the goal whose measured figure is the latency of a search's trial.
	latency tuning.Goal
	// path is the base of relative paths and begins each error; places gives an error its line and column.
	path   string
	places *yamlfile.Places
}

// Goal limits one figure of a step, for example the mean filter latency to at most 200 ms. Exactly one of AtMost and
// AtLeast must be set, so that a goal has one direction and a miss has one meaning. Statistic may be omitted only if
// the figure has a single one.
type Goal struct {
	Figure    string `yaml:"figure"`
	Statistic string `yaml:"statistic"`
	AtMost    Limit  `yaml:"at_most"`
	AtLeast   Limit  `yaml:"at_least"`

	field string // where the file states the goal, if not in goals
}

// Topology is the topology to launch: a Bullet YAML, and settings that override it in every trial. Name is the prefix
// of the topologies' names in Storm; each trial appends its own number.
type Topology struct {
	Name     string        `yaml:"name"`
	Conf     textfile.Path `yaml:"conf"`
	Settings Settings      `yaml:"settings"`
}

// Records is the schema and the mean size of a record of the source. Reports use it to state throughput in MiB/s and
// to compare runs with the same data. The defaults describe the generator of the demo topology. File.claimNoRecords
// removes them for other topologies, whose data this program cannot know.
type Records struct {
	MeanSize         Bytes   `yaml:"mean_size"`
	Fields           int     `yaml:"fields"`
	Strings          int     `yaml:"strings"`
	Longs            int     `yaml:"longs"`
	Maps             int     `yaml:"maps"`
	ListsOfMaps      int     `yaml:"lists_of_maps"`
	CompressionRatio float64 `yaml:"compression_ratio"`
}

// Axis is one axis of the grid. It lists either values of one setting, or whole configurations. The grid is the
// product of its axes, so the number of trials is the product of their lengths (at most maxTrials).
type Axis struct {
	Axis           string          `yaml:"axis"`
	Setting        string          `yaml:"setting"`
	Values         []string        `yaml:"values"`
	Configurations []Configuration `yaml:"configurations"`
}

// Configuration is one position on an axis: a label, settings that override those of the topology, and optionally its
// own step values. Value is its position in plots; without one, reports treat the axis as a list of names.
type Configuration struct {
	Label    string    `yaml:"label"`
	Value    Number    `yaml:"value"`
	Settings Settings  `yaml:"settings"`
	Steps    []float64 `yaml:"steps"`
}

// Steps describes the load steps of each trial. Values lists the candidate loads along Axis. Search decides which of
// them are run and in which order. WarmUp is the part of each step that is not measured; Sustain is the measured part.
// Both must be whole slices of the collector, because a figure of a partial slice cannot be read back.
type Steps struct {
	Kind                string    `yaml:"kind"`
	Axis                string    `yaml:"axis"`
	Values              []float64 `yaml:"values"`
	WarmUp              Duration  `yaml:"warm_up"`
	Sustain             Duration  `yaml:"sustain"`
	Search              string    `yaml:"search"`
	Confirm             bool      `yaml:"confirm"`
	ExpectedCapacity    float64   `yaml:"expected_capacity"`
	StartUp             Duration  `yaml:"start_up"`
	StartUpQueries      Number    `yaml:"start_up_queries"`
	Repeats             int       `yaml:"repeats"`
	InconclusiveRepeats int       `yaml:"inconclusive_repeats"`
	CatchUp             CatchUp   `yaml:"catch_up"`
	TimelineQueries     int       `yaml:"timeline_queries"`
	TimelineRecords     string    `yaml:"timeline_records"`
}

// CatchUp is an optional period after each step in which the source offers Factor times the step's record rate for
// Sustain. It measures how fast the topology could work off a backlog.
type CatchUp struct {
	Factor  float64  `yaml:"factor"`
	Sustain Duration `yaml:"sustain"`
}

// Load is the part of the load that is the same in all steps: the class and the lifetime of the queries, how they are
// submitted, and the record rate. The quantity on the axis of the steps overrides its counterpart here.
type Load struct {
	Submit            string   `yaml:"submit"`
	Source            string   `yaml:"source"`
	DRPC              []string `yaml:"drpc"`
	DRPCFunction      string   `yaml:"drpc_function"`
	DRPCThreads       int      `yaml:"drpc_threads"`
	Class             string   `yaml:"class"`
	BQL               string   `yaml:"bql"`
	Queries           int      `yaml:"queries"`
	QueriesPerSecond  float64  `yaml:"queries_per_second"`
	RecordsPerSecond  Rate     `yaml:"records_per_second"`
	LeaveIdle         Ratio    `yaml:"leave_idle"`
	Records           int      `yaml:"records"`
	Duration          Duration `yaml:"duration"`
	MatchingPerSecond float64  `yaml:"matching_per_second"`
}

// Launch defines how a topology is started. Exactly one of Local and Command is set. Local runs a Storm cluster on
// this machine; Command submits the topology to an existing cluster by the user's commands.
type Launch struct {
	Local   *Local   `yaml:"local"`
	Command *Command `yaml:"command"`
	// Load lists the hosts that run the queries; nil if this process runs them.
	Load *LoadHosts `yaml:"load"`
	// SliceWidth and SliceLateness are the collector's settings; a local collector is started with them.
	SliceWidth    Duration `yaml:"slice_width"`
	SliceLateness Duration `yaml:"slice_lateness"`
}

// Local is a Storm cluster that the run starts on this machine and owns. Its collector, gateway and workers share the
// CPUs with the load client, which is why min_host_idle matters here.
type Local struct {
	Workers    int   `yaml:"workers"`
	WorkerHeap Bytes `yaml:"worker_heap"`
	// Kafka is the broker that records come from; nil if the topology's own source makes them.
	Kafka *Kafka `yaml:"kafka"`
}

// Kafka is the broker that the records pass through. It is started on this machine unless Bootstrap names an existing
// one. Partitions is the topic's number of partitions; for an existing broker it may be 0 (unknown).
type Kafka struct {
	Partitions int    `yaml:"partitions"`
	Bootstrap  string `yaml:"bootstrap"`
}

// Command launches topologies on an existing cluster. The cluster, its collector and its gateway belong to somebody
// else. The run submits and kills topologies by the user's commands, and starts or stops nothing else.
type Command struct {
	Submit    []string      `yaml:"submit"`
	Kill      []string      `yaml:"kill"`
	Collector string        `yaml:"collector"`
	TLSCA     textfile.Path `yaml:"tls_ca"`
	TokenFile textfile.Path `yaml:"token_file"`
	Gateway   string        `yaml:"gateway"`
	// GatewayCapacity and Partitions (of the Kafka topic) are evidence for the limiter of a step. They are 0 if
	// unknown or if there is no gateway or topic.
	GatewayCapacity int      `yaml:"gateway_capacity"`
	Workers         int      `yaml:"workers"`
	Partitions      int      `yaml:"partitions"`
	Wait            Duration `yaml:"wait"`
}

// LoadHosts lists the hosts that submit queries, for a load that one process cannot generate. The command starts one
// load client per host, usually through ssh; {host} in it stands for the host.
type LoadHosts struct {
	Command []string `yaml:"command"`
	Hosts   []string `yaml:"hosts"`
}

// Values of the fields that are words.
const (
	SubmitByGateway = "gateway"
	SubmitByDRPC    = "drpc"

	SourceByGateway = "gateway"

	FailFails    = "fail"
	FailBrackets = "bracket"

	calibrated = "calibrated"
)

// DefaultWait is how long a topology of a command launch may take until it reports.
const DefaultWait = Duration(10 * time.Minute)

// defaults returns the value of each field that a file omits. docs/experiments.md lists them.
func defaults() *File {
	return &File{
		OnFail: FailFails, MinHostIdle: 0.05,
		// the demo topology's generator
		Records: Records{MeanSize: 1843, Fields: 92, Strings: 62, Longs: 4, Maps: 23, ListsOfMaps: 3},
		Steps: Steps{Kind: "load", Axis: "queries", WarmUp: Duration(time.Minute), Sustain: Duration(5 * time.Minute),
			Search: "full", Confirm: true, StartUp: Duration(2 * time.Minute), Repeats: 1, InconclusiveRepeats: 1,
			TimelineQueries: 100, TimelineRecords: string(runstore.FlowingRecords)},
		Load: Load{Submit: SubmitByGateway, Source: SourceByGateway, Class: "raw",
			RecordsPerSecond: Rate{Calibrated: true}, LeaveIdle: 0.4, Records: 10, DRPCFunction: "bullet-query",
			Duration: Duration(30 * time.Second), MatchingPerSecond: 0.4},
		Launch: Launch{SliceWidth: Duration(10 * time.Second), SliceLateness: Duration(5 * time.Second)},
	}
}

// Path returns the path that the file was read from.
func (f *File) Path() string { return f.path }

// Conf returns the path of the Bullet YAML.
func (f *File) Conf() string { return f.Topology.Conf.In(f.path) }

// CA returns the path of the collector's CA certificate for a command launch, Token that of its token; "" if not set.
func (f *File) CA() string    { return f.Launch.Command.TLSCA.In(f.path) }
func (f *File) Token() string { return f.Launch.Command.TokenFile.In(f.path) }

// Cluster holds the facts about an existing cluster that the program cannot find out itself. They go into the manifest
// and from there into reports. A local launch must omit the machine, because it is measured.
type Cluster struct {
	KafkaVersion string   `yaml:"kafka_version"`
	Machines     Machines `yaml:"machines"`
	BusyByOthers Share    `yaml:"busy_by_others"`
}

// Machines describes the machines of the workers. All are assumed to be alike; Cores and Memory are those of one
// machine.
type Machines struct {
	Count       int     `yaml:"count"`
	CPUModel    string  `yaml:"cpu_model"`
	Cores       int     `yaml:"cores"`
	UsableCores float64 `yaml:"usable_cores"`
	Memory      Bytes   `yaml:"memory"`
	Network     string  `yaml:"network"`
}

// Share is a ratio that may be left out.
type Share struct{ Number }

// Set parses a share and notes that it was given, so that 0% differs from an omitted field.
func (s *Share) Set(text string) error {
	var ratio Ratio
	err := ratio.Set(text)
	s.Number = Number{Value: float64(ratio), Given: err == nil}
	return err
}

// Manifest returns the part of the run's manifest that only the file can state: records, cluster and Kafka version.
// The runner adds everything that it can observe itself. A figure that the file omits is Unknown, never 0.
func (f *File) Manifest() runstore.Manifest {
	r := f.Records
	m := runstore.Manifest{Versions: runstore.Versions{Kafka: f.Cluster.KafkaVersion},
		Machine: runstore.Machine{UsableCores: tuning.Unknown},
		Records: runstore.Records{Fields: r.Fields, Strings: r.Strings, Longs: r.Longs, Maps: r.Maps,
			ListsOfMaps: r.ListsOfMaps, MeanRecordBytes: stated(float64(r.MeanSize)),
			CompressionRatio: stated(r.CompressionRatio)}}
	machines := f.Cluster.Machines
	if machines == (Machines{}) && !f.Cluster.BusyByOthers.Given {
		return m
	}
	m.Cluster = &runstore.Cluster{Machines: machines.Count, CPUModel: machines.CPUModel, Cores: machines.Cores,
		UsableCores: stated(cmp.Or(machines.UsableCores, float64(machines.Cores))), MemoryBytes: int64(machines.Memory),
		Network: machines.Network, BusyByOthers: f.Cluster.BusyByOthers.figure()}
	return m
}

// stated returns a figure of the file. It is unknown if the file does not state it, which leaves it 0.
func stated(v float64) tuning.Figure {
	if !(v > 0) {
		return tuning.Unknown
	}
	return tuning.Figure(v)
}

// kafkaPartitions returns the number of partitions of the topic that the records come from. It is 0 if unknown or if
// there is no topic.
func (f *File) kafkaPartitions() int {
	switch {
	case f.Launch.Command != nil:
		return f.Launch.Command.Partitions
	case f.Launch.Local != nil && f.Launch.Local.Kafka != nil:
		return f.Launch.Local.Kafka.Partitions
	}
	return 0
}

//go:embed demo.yaml
var demoText string

// DemoConf is the file with Bullet's settings in the experiment of the demo.
const DemoConf = "topology/bullet-topology/conf/bullet_settings.yaml"

// Times of a demo.
const (
	// DemoLimit is the default limit.
	DemoLimit = 5 * time.Minute
	leastDemo = 3 * time.Minute
	demoStart = 110 * time.Second // up to the first step
	// DemoReporting is the time to end the topology and to write the report.
	DemoReporting = 10 * time.Second
	// DemoLeastSteps is the minimum number of steps.
	DemoLeastSteps = 3
)

// Demo changes the built-in experiment.
type Demo struct {
	Limit            time.Duration // from the start of the program to the written report
	Queries          []int         // of each step; nil for those of the experiment
	RecordsPerSecond float64       // 0 finds the rate
	BulletConf       string        // file with Bullet's settings
}

// File returns the experiment and its text.
func (d Demo) File() (*File, []byte, error) {
	if d.Limit < leastDemo {
		return nil, nil, fmt.Errorf("--seconds: the demo needs at least %s, because starting a topology takes half of that", leastDemo)
	}
	text := []byte(strings.Replace(demoText, DemoConf, strconv.Quote(d.BulletConf), 1))
	file, err := Parse("demo.yaml", text)
	if err != nil {
		return nil, nil, err
	}
	if d.Queries != nil {
		if len(d.Queries) < DemoLeastSteps || d.Queries[0] != 0 {
			return nil, nil, fmt.Errorf("--queries %v: give at least %d steps, the first with 0 queries as the baseline",
				d.Queries, DemoLeastSteps)
		}
		file.Steps.Values = tuning.Each(d.Queries, func(n int) float64 { return float64(n) })
	}
	if d.RecordsPerSecond < 0 {
		return nil, nil, fmt.Errorf("--records-per-second %g: must not be negative", d.RecordsPerSecond)
	}
	if d.RecordsPerSecond > 0 {
		file.Load.RecordsPerSecond = Rate{PerSecond: d.RecordsPerSecond}
	}
	// The steps share the time. There is one for each value, and two confirm the bounds of the capacity.
	steps := time.Duration(len(file.Steps.Values) + 2)
	spare := (d.Limit-demoStart-DemoReporting)/steps - file.Plan().StepTime()
	file.Steps.Sustain += max(0, Duration(spare)/file.Launch.SliceWidth*file.Launch.SliceWidth)
	return file, text, file.Check()
}
