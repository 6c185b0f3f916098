package compare

// The figures of a step by their names.
const (
	TotalCPU       = "CPU of all workers"
	MeanCPU        = "CPU, mean of a worker"
	Workers        = "workers"
	TotalGC        = "GC of all workers"
	MeanGC         = "GC, mean of a worker"
	GCShare        = "GC's share of CPU"
	TotalHeap      = "heap used, all workers"
	MeanHeap       = "heap used, mean of a worker"
	FilterLatency  = "filter latency, mean"
	ResultSize     = "result size"
	TimeToResult   = "time to result"
	Lateness       = "result after the query's own time" // TimeToResult where queries have such a time
	QueriesRunning = "queries running"
	Records        = "records"
	HostIdle       = "host idle"
)

// Figures are what is compared in each step, in the order in which it is shown. Worse is which way it changes for the
// worse, "up" or "down"; "" for neither. Slices states that a figure is known slice by slice; the others are of the
// queries one by one, or one a step.
var Figures = []struct {
	Name, Unit, Worse string
	Slices            bool
}{
	{TotalCPU, "ms/min", "up", true}, {MeanCPU, "ms/min", "", true}, {Workers, "", "", false},
	{TotalGC, "ms/min", "up", true}, {MeanGC, "ms/min", "", true}, {GCShare, "%", "up", true},
	{TotalHeap, "MiB", "", true}, {MeanHeap, "MiB", "", true},
	{FilterLatency, "ms", "up", true}, {ResultSize, "records", "down", false}, {TimeToResult, "ms", "up", false},
	{QueriesRunning, "queries", "", true}, {Records, "records/s", "", false}, {HostIdle, "%", "down", false},
}
