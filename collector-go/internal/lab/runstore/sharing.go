package runstore

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

// Percentiles are the percentiles of the filter latency in a step's measured time, in ms. They come from the latency
// hook's histogram over all filter tasks.
type Percentiles struct {
	Records tuning.Figure `json:"records"` // number of measured records
	P50Ms   tuning.Figure `json:"p50_ms"`
	P95Ms   tuning.Figure `json:"p95_ms"`
	P99Ms   tuning.Figure `json:"p99_ms"`
	// Spectrum holds the percentiles of SpectrumShares, in ms; older runs do not have it.
	Spectrum []tuning.Figure `json:"spectrum_ms,omitempty"`
}

// SpectrumShares are the shares of records to which the latencies in Percentiles.Spectrum belong.
var SpectrumShares = []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999}

// Placement states where a topology's tasks ran.
type Placement struct {
	Workers []PlacedWorker `json:"workers"`
	// Unplaced are tasks whose worker the collector does not know.
	Unplaced []PlacedTasks `json:"unplaced,omitempty"`
}

// PlacedWorker is a worker with the tasks that it ran.
type PlacedWorker struct {
	Worker     string        `json:"worker"`
	Host       string        `json:"host"`
	Components []PlacedTasks `json:"components"`
}

// PlacedTasks is a number of tasks of one component.
type PlacedTasks struct {
	Component string `json:"component"`
	Tasks     int    `json:"tasks"`
}

// Sharing states how components and workers shared resources in a step's measured time.
type Sharing struct {
	Components []ComponentFlow `json:"components"`
	// Traffic lists the traffic between workers, most first.
	Traffic []Traffic `json:"traffic"`
	// TrafficLeftOut is the number of pairs that are not in Traffic, because others had more traffic.
	TrafficLeftOut int `json:"traffic_left_out,omitempty"`
}

// ComponentFlow states how long a tuple waited for a component's tasks and how long it then took, as means over its
// tuples.
type ComponentFlow struct {
	Component       string        `json:"component"`
	TuplesPerSecond tuning.Figure `json:"executed_per_second"`
	// QueueWaitMs is the time in the tasks' receive queues, which Storm computes from queue size and arrival rate.
	// QueueWaitMostMs is that of the task with the longest wait. Both are unknown for a spout, which receives acks,
	// and for few tuples.
	QueueWaitMs     tuning.Figure `json:"queue_wait_ms"`
	QueueWaitMostMs tuning.Figure `json:"queue_wait_most_ms"`
	// ExecuteMs is the time of a tuple in execute(); unknown if Storm's own figure is too coarse.
	ExecuteMs tuning.Figure `json:"execute_ms"`
	// Note states why a figure is unknown.
	Note string `json:"note,omitempty"`
}

// Traffic is the message rate from one worker to another.
type Traffic struct {
	From string `json:"from"`
	// To is "" if Storm reported only the traffic to all other workers together.
	To                string        `json:"to,omitempty"`
	MessagesPerSecond tuning.Figure `json:"messages_per_second"`
}

// Annotation is a collector's annotation on the topology's time axis (docs/annotations.md).
type Annotation struct {
	ID      string `json:"id"`
	StartMs int64  `json:"start_ms"`
	// EndMs is 0 for an annotation that is a moment or still open.
	EndMs int64    `json:"end_ms,omitempty"`
	Title string   `json:"title"`
	Text  string   `json:"text"`
	Tags  []string `json:"tags"`
	// Origin states who made it: "registry" (the collector itself), "stream" or "api".
	Origin string `json:"origin"`
}
