package tuning

// GCReport is the cost of garbage collection by collector, and its correlation with other figures.
type GCReport struct {
	Steps []GCStep `json:"steps"`
	// The correlations are between all workers' GC time and their CPU time or the mean filter latency. They use the
	// slices within the measured time of a step.
	WithCPU     Estimate `json:"correlation_with_cpu"`
	WithLatency Estimate `json:"correlation_with_filter_latency"`
	Confidence  float64  `json:"confidence"`
}

// GCStep is one collector in one step. Means are over the workers that have the collector.
type GCStep struct {
	Queries   int    `json:"queries"`
	StartMs   int64  `json:"start_ms"` // start of the step
	Collector string `json:"collector"`
	Workers   int    `json:"workers"`
	// AverageMsPerMinute is per worker; TotalMsPerMinute is for the whole topology.
	AverageMsPerMinute Figure `json:"average_ms_per_minute"`
	TotalMsPerMinute   Figure `json:"total_ms_per_minute"`
	CollectionsPerMin  Figure `json:"average_collections_per_minute"`
	ShareOfCPU         Figure `json:"share_of_cpu"`
	ShareOfTime        Figure `json:"share_of_time"`
	MostShareOfTime    Figure `json:"share_of_time_in_the_worst_worker"`
	WorkerOfMost       string `json:"worst_worker"`
	MeanCollectionInMs Figure `json:"mean_collection_ms"`
}
