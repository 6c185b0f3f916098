// Package experimentfile is the file of an experiment: what is asked of a topology, in which configurations, and what
// it is to hold. It reads such a file (docs/experiments.md) and makes the plan of a run from it. It knows no cluster,
// no clock and no earlier run.
package experimentfile

import (
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// File is an experiment's file. Every field has its line in docs/experiments.md; a test holds them together.
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

	path   string
	places places
}

// Goal is a figure, its statistic and its limit.
type Goal struct {
	Figure    string `yaml:"figure"`
	Statistic string `yaml:"statistic"`
	AtMost    Limit  `yaml:"at_most"`
	AtLeast   Limit  `yaml:"at_least"`
}

// Topology is what is launched.
type Topology struct {
	Name     string        `yaml:"name"`
	Conf     textfile.Path `yaml:"conf"`
	Settings Settings      `yaml:"settings"`
}

// Records is the shape of what the source emits, as far as somebody knows it.
type Records struct {
	MeanSize         Bytes   `yaml:"mean_size"`
	Fields           int     `yaml:"fields"`
	Strings          int     `yaml:"strings"`
	Longs            int     `yaml:"longs"`
	Maps             int     `yaml:"maps"`
	ListsOfMaps      int     `yaml:"lists_of_maps"`
	CompressionRatio float64 `yaml:"compression_ratio"`
}

// Axis is an axis of the grid of configurations: values of one setting, or configurations that are given in full.
type Axis struct {
	Axis           string          `yaml:"axis"`
	Setting        string          `yaml:"setting"`
	Values         []string        `yaml:"values"`
	Configurations []Configuration `yaml:"configurations"`
}

// Configuration is a place on an axis.
type Configuration struct {
	Label    string    `yaml:"label"`
	Value    Number    `yaml:"value"`
	Settings Settings  `yaml:"settings"`
	Steps    []float64 `yaml:"steps"`
}

// Steps are what each trial goes through.
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

// CatchUp is a time after each step in which more records are offered than the step's rate.
type CatchUp struct {
	Factor  float64  `yaml:"factor"`
	Sustain Duration `yaml:"sustain"`
}

// Load is what is asked of the topology in all steps.
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

// Launch is how a topology comes to run: on a local cluster, or by a command.
type Launch struct {
	Local   *Local   `yaml:"local"`
	Command *Command `yaml:"command"`
	// Load is where the queries are asked from; nil for the process that runs the experiment.
	Load *LoadHosts `yaml:"load"`
	// SliceWidth and SliceLateness are the collector's; a local collector is started with them.
	SliceWidth    Duration `yaml:"slice_width"`
	SliceLateness Duration `yaml:"slice_lateness"`
}

// Local is a cluster on this machine.
type Local struct {
	Workers    int   `yaml:"workers"`
	WorkerHeap Bytes `yaml:"worker_heap"`
	// Kafka is where records come from; nil for the topology's own source.
	Kafka *Kafka `yaml:"kafka"`
}

// Kafka is a broker that the records come through: one that is started on this machine, unless Bootstrap is given.
// Partitions are the topic's; of a broker that is there they may be unknown, 0.
type Kafka struct {
	Partitions int    `yaml:"partitions"`
	Bootstrap  string `yaml:"bootstrap"`
}

// Command launches on a cluster that is there.
type Command struct {
	Submit    []string      `yaml:"submit"`
	Kill      []string      `yaml:"kill"`
	Collector string        `yaml:"collector"`
	TLSCA     textfile.Path `yaml:"tls_ca"`
	TokenFile textfile.Path `yaml:"token_file"`
	Gateway   string        `yaml:"gateway"`
	// GatewayCapacity and Partitions, those of the Kafka topic that is read, are evidence of what limited a step; 0
	// where there is none, or nobody says.
	GatewayCapacity int      `yaml:"gateway_capacity"`
	Workers         int      `yaml:"workers"`
	Partitions      int      `yaml:"partitions"`
	Wait            Duration `yaml:"wait"`
}

// LoadHosts are hosts of load clients, each started by a command, in which {host} stands for the host.
type LoadHosts struct {
	Command []string `yaml:"command"`
	Hosts   []string `yaml:"hosts"`
}

// The values of fields that are words.
const (
	SubmitByGateway = "gateway"
	SubmitByDRPC    = "drpc"

	SourceByGateway = "gateway"

	FailFails    = "fail"
	FailBrackets = "bracket"

	calibrated = "calibrated"
)

// DefaultWait is how long a topology of a command launch may take to report.
const DefaultWait = Duration(10 * time.Minute)

// Defaults are what a field has that a file leaves out.
func defaults() *File {
	return &File{
		OnFail: FailFails, MinHostIdle: 0.05,
		// the generator's
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

// Path is where the file was read from.
func (f *File) Path() string { return f.path }
