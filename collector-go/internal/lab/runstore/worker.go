package runstore

// Worker is what was recorded of one worker, "host:port".
type Worker struct {
	Name string `json:"worker"`
	// Pids are the processes that held the worker's slot, in their order; more than one after a restart.
	Pids []int `json:"pids"`
	// CPUSeconds and GCSeconds are totals (CPU: user and system; GC: all collectors); HeapUsedBytes is a gauge.
	CPUSeconds Slices `json:"cpu_seconds"`
	// CPUUserSeconds and CPUSystemSeconds are its parts; empty where the worker's system does not separate them.
	CPUUserSeconds   Slices `json:"cpu_user_seconds,omitzero"`
	CPUSystemSeconds Slices `json:"cpu_system_seconds,omitzero"`

	GCSeconds     Slices `json:"gc_seconds"`
	HeapUsedBytes Slices `json:"heap_used_bytes"`
	// Collectors are the worker's garbage collectors apart, by name.
	Collectors []Collector `json:"collectors,omitempty"`
	// StartsMs are when the processes that held the slot were started, ms since the Unix epoch, ascending.
	StartsMs []int64 `json:"starts_ms,omitempty"`
}

// Collector is one of a worker's garbage collectors; both are totals.
type Collector struct {
	Name        string `json:"collector"`
	Seconds     Slices `json:"seconds"`
	Collections Slices `json:"collections"`
}

// RestartsMs are the starts but the first, as far as they lie in (from, to].
func (w Worker) RestartsMs(from, to int64) (all []int64) {
	for i, ms := range w.StartsMs {
		if i > 0 && ms > from && ms <= to {
			all = append(all, ms)
		}
	}
	return all
}

// Collector is one of the worker's collectors; one that it does not have is empty.
func (w Worker) Collector(name string) Collector {
	for _, c := range w.Collectors {
		if c.Name == name {
			return c
		}
	}
	return Collector{}
}
