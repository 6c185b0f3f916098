package runstore

import (
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Component is a row of the topology's resource request. Values that are not set are null.
type Component struct {
	Name          string        `json:"component"`
	Parallelism   int           `json:"parallelism"`
	CPUCoresTotal tuning.Figure `json:"cpu_cores_total"`
	OnHeapMiB     tuning.Figure `json:"on_heap_mib"`
	OffHeapMiB    tuning.Figure `json:"off_heap_mib"`
	MemoryMiB     tuning.Figure `json:"total_memory_mib"`
}

// ResourceRequest is a topology's resource request to the scheduler, as its own configuration states it, with the
// limits for records in flight.
type ResourceRequest struct {
	Components []Component         `json:"components"`
	Totals     tuning.StatedTotals `json:"totals"`
	// Spouts holds the true max spout pending and the fan-out; nil if no record spout is known.
	Spouts *tuning.SpoutPending `json:"spouts,omitempty"`
}

// Resources returns the added and audited resource request. It returns an error if the request cannot be added up. CPU
// that is not set counts as 0 and is noted, because schedulers that are not resource-aware get no CPU request.
func (a *ResourceRequest) Resources(machine tuning.Machine) (*tuning.Resources, error) {
	var components []tuning.Component
	var unset []string
	for _, c := range a.Components {
		cpu, memory := c.CPUCoresTotal, c.OnHeapMiB
		if !cpu.Known() {
			cpu, unset = 0, append(unset, c.Name)
		}
		if !memory.Known() && !c.MemoryMiB.Known() {
			memory = 0
		}
		components = append(components, tuning.Component{
			Name: c.Name, Parallelism: max(1, c.Parallelism), CPUCoresTotal: cpu, CPUCoresEach: tuning.Unknown,
			OnHeapMiB: memory, OffHeapMiB: c.OffHeapMiB, TotalMemoryMiB: c.MemoryMiB,
		})
	}
	totals := a.Totals
	totals.CPUColumn = tuning.ColumnCPUTotal
	r, err := tuning.AnalyzeResources(components, &totals, machine)
	if err != nil {
		return nil, err
	}
	if len(unset) > 0 {
		r.Notes = append(r.Notes, "these components request no CPU: "+strings.Join(unset, ", "))
	}
	r.Spouts = a.Spouts
	return r, nil
}
