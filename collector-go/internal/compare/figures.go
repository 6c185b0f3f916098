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
	QueriesRunning = "queries running"
	Records        = "records"
	HostIdle       = "host idle"
)

// Figures are what is compared in each step, in the order in which it is shown. Worse is which way it changes for the
// worse, "up" or "down"; "" for neither.
var Figures = []struct{ Name, Unit, Worse string }{
	{TotalCPU, "ms/min", "up"}, {MeanCPU, "ms/min", ""}, {Workers, "", ""},
	{TotalGC, "ms/min", "up"}, {MeanGC, "ms/min", ""}, {GCShare, "%", "up"},
	{TotalHeap, "MiB", ""}, {MeanHeap, "MiB", ""},
	{FilterLatency, "ms", "up"}, {ResultSize, "records", "down"}, {TimeToResult, "ms", "up"},
	{QueriesRunning, "queries", ""}, {Records, "records/s", ""}, {HostIdle, "%", "down"},
}
