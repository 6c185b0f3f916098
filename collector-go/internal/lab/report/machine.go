package report

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// machine is what one machine of the topology's has to give: this one's on the local cluster, else what is known of the
// cluster's.
func (r *RunReport) machine() tuning.Machine {
	if hostOfRun(r.plan) {
		return clusterMachine(r.Manifest.Cluster)
	}
	m := tuning.Machine{CPUCores: r.Manifest.Machine.UsableCores, MemoryMiB: inMiB(r.Manifest.Machine.MemoryBytes)}
	if !m.CPUCores.Known() || m.CPUCores <= 0 {
		m.CPUCores = Figure(max(1, r.Manifest.Machine.Cores))
	}
	return m
}

// clusterMachine is one of the cluster's machines; unknown where it is not stated.
func clusterMachine(c *runstore.Cluster) tuning.Machine {
	switch {
	case c == nil || c.Cores <= 0:
		return tuning.UnknownMachine()
	case !c.UsableCores.Known() || c.UsableCores <= 0:
		return tuning.Machine{CPUCores: Figure(c.Cores), MemoryMiB: inMiB(c.MemoryBytes)}
	}
	return tuning.Machine{CPUCores: c.UsableCores, MemoryMiB: inMiB(c.MemoryBytes)}
}

func inMiB(bytes int64) Figure {
	if bytes <= 0 {
		return Unknown
	}
	return Figure(bytes) / (1 << 20)
}
