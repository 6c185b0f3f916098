package stormconfig

import "fmt"

// The resources that register() requests for the consumer (plugin-java's ConsumerResources). "PerThousand" means per
// 1,000 executors.
const (
	leastHeapMiB       = 64
	heapMiBPerThousand = 32
	offHeapMiB         = 24
	leastCPU           = 2 // in percent of a core
	cpuPerThousand     = 4
)

// resources returns the resource requests for the resource-aware scheduler, which supports consumers since Storm 2.0.
// If the size of the topology is unknown, they are those of the smallest topology. register() counts the executors
// itself.
func resources(r Request) []Line {
	if !r.Storm.from(2, 0, 0) {
		return nil
	}
	const of = "topology.metrics.consumer."
	share := func(perThousand int) int { return (r.Executors*perThousand + 999) / 1000 }
	why := fmt.Sprintf("resource request of the metrics consumer for %d executors; register() counts the executors in Bullet's settings",
		r.Executors)
	return []Line{
		{of + "resources.onheap.memory.mb", leastHeapMiB + share(heapMiBPerThousand), why},
		{of + "resources.offheap.memory.mb", offHeapMiB, why},
		{of + "cpu.pcore.percent", leastCPU + share(cpuPerThousand), why},
	}
}
