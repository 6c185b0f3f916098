package runstore

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

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
