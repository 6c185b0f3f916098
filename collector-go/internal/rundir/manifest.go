package rundir

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"

// Manifest is manifest.json: what ran, on what (W1 of the tuning workflow). It is written at the start and again when the first
// topology has told its versions. What is not known is "" or null.
type Manifest struct {
	// ID names the run for good; StartedMs is ms since the Unix epoch.
	ID        string `json:"id"`
	StartedMs int64  `json:"started_ms"`
	// ExperimentPath is where the experiment's file was read from; its paths are relative to that.
	ExperimentPath string `json:"experiment_path"`
	// Command is the command line.
	Command  string   `json:"command"`
	Versions Versions `json:"versions"`
	Machine  Machine  `json:"machine"`
	Records  Records  `json:"records"`
	// BulletSettings are the entries of the Bullet YAML as it was, before each trial's settings.
	BulletSettings []Entry `json:"bullet_settings"`
	// WorkerFlags are the options of the workers' JVMs, GCFlags those of them about the garbage collector.
	WorkerFlags string `json:"worker_flags"`
	GCFlags     string `json:"gc_flags"`
	// Further is what else is worth knowing.
	Further []Entry `json:"further,omitempty"`
}

// Versions of the parts.
type Versions struct {
	BulletMetrics string `json:"bullet_metrics"`
	Bullet        string `json:"bullet"`
	Storm         string `json:"storm"`
	Kafka         string `json:"kafka"`
	Java          string `json:"java"`
	WorkerJava    string `json:"worker_java"`
	Plugin        string `json:"plugin"`
}

// Machine is the host that the run was started on; with a local cluster the only one.
type Machine struct {
	CPUModel string `json:"cpu_model"`
	// Cores are the host's, UsableCores those that this process may use.
	Cores       int           `json:"cores"`
	UsableCores tuning.Figure `json:"usable_cores"`
	MemoryBytes int64         `json:"memory_bytes"`
	// Network is the interface of the route out with its speed, or says that all went over loopback.
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
	// CompressionRatio is raw over compressed, by gzip unless the note says otherwise.
	CompressionRatio tuning.Figure `json:"compression_ratio"`
	Note             string        `json:"note,omitempty"`
}
