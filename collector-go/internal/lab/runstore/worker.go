package runstore

import "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"

// Worker holds the series of one worker, which is named "host:port".
type Worker struct {
	Name string `json:"worker"`
	// Pids are the processes that ran in the worker's slot, in their order; several after a restart.
	Pids []int `json:"pids"`
	// CPUSeconds and GCSeconds are totals (CPU: user and system; GC: all collectors); HeapUsedBytes is a gauge.
	CPUSeconds Slices `json:"cpu_seconds"`
	// CPUUserSeconds and CPUSystemSeconds are the parts of CPUSeconds; empty if the worker's system does not separate
	// them.
	CPUUserSeconds   Slices `json:"cpu_user_seconds,omitzero"`
	CPUSystemSeconds Slices `json:"cpu_system_seconds,omitzero"`

	GCSeconds     Slices `json:"gc_seconds"`
	HeapUsedBytes Slices `json:"heap_used_bytes"`
	// Collectors are the worker's garbage collectors, sorted by name.
	Collectors []Collector `json:"collectors,omitempty"`
	// StartsMs are the start times of the processes in the slot, in ms since the Unix epoch, ascending.
	StartsMs []int64 `json:"starts_ms,omitempty"`
}

// Collector is one of a worker's garbage collectors. Both series are totals.
type Collector struct {
	Name        string `json:"collector"`
	Seconds     Slices `json:"seconds"`
	Collections Slices `json:"collections"`
}

// RestartsMs returns all starts in (from, to] except the worker's first start.
func (w Worker) RestartsMs(from, to int64) (all []int64) {
	for i, ms := range w.StartsMs {
		if i > 0 && ms > from && ms <= to {
			all = append(all, ms)
		}
	}
	return all
}

// Collector returns the worker's garbage collector with a name. It is empty if the worker has none of that name.
func (w Worker) Collector(name string) Collector {
	c, _ := tuning.First(w.Collectors, func(c Collector) bool { return c.Name == name })
	return c
}
