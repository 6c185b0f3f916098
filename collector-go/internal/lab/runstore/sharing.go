package runstore

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

// Percentiles are of the filter latency in a step's measured time, ms, from the latency hook's histogram over all
// filter tasks.
type Percentiles struct {
	Records tuning.Figure `json:"records"` // how many were measured
	P50Ms   tuning.Figure `json:"p50_ms"`
	P95Ms   tuning.Figure `json:"p95_ms"`
	P99Ms   tuning.Figure `json:"p99_ms"`
	// Spectrum are the percentiles of SpectrumShares, ms; none in runs from before it was written.
	Spectrum []tuning.Figure `json:"spectrum_ms,omitempty"`
}

// SpectrumShares are the shares of the records whose latency Percentiles.Spectrum has.
var SpectrumShares = []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999}

// Placement is where a topology's tasks ran.
type Placement struct {
	Workers []PlacedWorker `json:"workers"`
	// Unplaced are tasks of which the collector had heard nothing.
	Unplaced []PlacedTasks `json:"unplaced,omitempty"`
}

// PlacedWorker is a worker with what it held.
type PlacedWorker struct {
	Worker     string        `json:"worker"`
	Host       string        `json:"host"`
	Components []PlacedTasks `json:"components"`
}

// PlacedTasks are some tasks of a component.
type PlacedTasks struct {
	Component string `json:"component"`
	Tasks     int    `json:"tasks"`
}

// Sharing is how the components and workers got on with each other in a step's measured time.
type Sharing struct {
	Components []ComponentFlow `json:"components"`
	// Traffic is from worker to worker, most first.
	Traffic []Traffic `json:"traffic"`
	// TrafficLeftOut counts what is not in Traffic since others had more.
	TrafficLeftOut int `json:"traffic_left_out,omitempty"`
}

// ComponentFlow is how long a tuple waited for a component's tasks and how long it then took, both means over its
// tuples.
type ComponentFlow struct {
	Component       string        `json:"component"`
	TuplesPerSecond tuning.Figure `json:"executed_per_second"`
	// QueueWaitMs is the time in the tasks' receive queues as Storm makes it from population and arrival rate,
	// QueueWaitMostMs that of the task with the longest. Unknown of a spout, to which acks come, and of few tuples.
	QueueWaitMs     tuning.Figure `json:"queue_wait_ms"`
	QueueWaitMostMs tuning.Figure `json:"queue_wait_most_ms"`
	// ExecuteMs is what a tuple took in execute(); unknown where Storm's own figure is too coarse.
	ExecuteMs tuning.Figure `json:"execute_ms"`
	// Note is why a figure is unknown.
	Note string `json:"note,omitempty"`
}

// Traffic is what one worker sent to another.
type Traffic struct {
	From string `json:"from"`
	// To is "" where Storm reported only what was to be sent to all other workers.
	To                string        `json:"to,omitempty"`
	MessagesPerSecond tuning.Figure `json:"messages_per_second"`
}

// Annotation is one of the collector's on the topology's time axis (docs/annotations.md).
type Annotation struct {
	ID      string `json:"id"`
	StartMs int64  `json:"start_ms"`
	// EndMs is 0 of one that is a moment, or open.
	EndMs int64    `json:"end_ms,omitempty"`
	Title string   `json:"title"`
	Text  string   `json:"text"`
	Tags  []string `json:"tags"`
	// Origin is who made it: "registry" (the collector itself), "stream" or "api".
	Origin string `json:"origin"`
}
