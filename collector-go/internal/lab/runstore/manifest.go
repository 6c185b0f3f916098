package runstore

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

// Manifest is manifest.json: what ran, on what (W1 of the tuning workflow). It is written at the start and again when
// the first topology has reported its versions. What is not known is "" or null.
type Manifest struct {
	// ID names the run for good; StartedMs is ms since the Unix epoch.
	ID        string `json:"id"`
	StartedMs int64  `json:"started_ms"`
	// ExperimentPath is where the experiment's file was read from; its paths are relative to that.
	ExperimentPath string `json:"experiment_path"`
	// Command is the command line.
	Command  string   `json:"command"`
	Versions Versions `json:"versions"`
	// Machine is the host of the load; with a local launch all else ran on it too.
	Machine Machine `json:"machine"`
	// Cluster is what the experiment's file states of a cluster that a command launches on; null where it states
	// nothing.
	Cluster *Cluster `json:"cluster,omitempty"`
	Records Records  `json:"records"`
	// BulletSettings are the entries of the Bullet YAML as it was, before each trial's settings.
	BulletSettings []Entry `json:"bullet_settings"`
	// WorkerFlags are the options of the workers' JVMs in the first trial that reported any, GCFlags those of them
	// about the garbage collector. Each trial's own are in its ReportedConfig.
	WorkerFlags string `json:"worker_flags"`
	GCFlags     string `json:"gc_flags"`
	// Further is what else is worth knowing.
	Further []Entry `json:"further,omitempty"`
}

// Versions holds the version of each part that can change a result. An empty version is unknown.
type Versions struct {
	BulletMetrics string `json:"bullet_metrics"`
	Bullet        string `json:"bullet"`
	Storm         string `json:"storm"`
	// Kafka is the broker's: that of a broker that the run started, else what the experiment's file says.
	Kafka string `json:"kafka"`
	// Java is that of the host of the load, which launches; WorkerJava is the workers'.
	Java       string `json:"java"`
	WorkerJava string `json:"worker_java"`
	Plugin     string `json:"plugin"`
}

// Cluster is what a cluster is made of. What nobody stated is 0, "" or null.
type Cluster struct {
	// Machines are how many there are; all else is one's.
	Machines    int           `json:"machines"`
	CPUModel    string        `json:"cpu_model"`
	Cores       int           `json:"cores"`
	UsableCores tuning.Figure `json:"usable_cores"`
	MemoryBytes int64         `json:"memory_bytes"`
	Network     string        `json:"network"`
	// BusyByOthers is the share of the cluster that is not the topology's to have.
	BusyByOthers tuning.Figure `json:"busy_by_others"`
}

// Roles of a run's machine.
const (
	OnlyMachine = "the only one: cluster, load and collector"
	LoadHost    = "host of the load"
)

// Machine is the host that the run was started on.
type Machine struct {
	// Role is OnlyMachine or LoadHost; "" in runs of before it was kept.
	Role     string `json:"role,omitempty"`
	CPUModel string `json:"cpu_model"`
	// Cores are the host's, UsableCores those that this process may use.
	Cores       int           `json:"cores"`
	UsableCores tuning.Figure `json:"usable_cores"`
	MemoryBytes int64         `json:"memory_bytes"`
	// Network names the interfaces that are up with their speeds, and states where all went over loopback.
	Network string `json:"network"`
	Kernel  string `json:"kernel"`
}

// Records is the shape and size of what the source emits.
type Records struct {
	Fields          int           `json:"fields"`
	Strings         int           `json:"strings"`
	Longs           int           `json:"longs"`
	Maps            int           `json:"maps"`
	ListsOfMaps     int           `json:"lists_of_maps"`
	MeanRecordBytes tuning.Figure `json:"mean_record_bytes"`
	// CompressionRatio is raw over compressed, by gzip unless the note states otherwise.
	CompressionRatio tuning.Figure `json:"compression_ratio"`
	Note             string        `json:"note,omitempty"`
}
