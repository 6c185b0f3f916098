package measure

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFlagsByWhatTheyAreAbout(t *testing.T) {
	for options, want := range map[string]struct{ heap, gc string }{
		"-Xmx384m -XX:+UseG1GC -Xmx96m": {"-Xmx96m", "-XX:+UseG1GC"},
		"-XX:+UseG1GC -XX:ParallelGCThreads=8 -XX:ConcGCThreads=4 -Xmx3072m": {"-Xmx3072m",
			"-XX:+UseG1GC -XX:ParallelGCThreads=8 -XX:ConcGCThreads=4"},
		"-Xms1g -Xmn256m -Xss512k -XX:MaxMetaspaceSize=96m -XX:MaxRAMPercentage=70": {
			"-Xms1g -Xmn256m -Xss512k -XX:MaxMetaspaceSize=96m -XX:MaxRAMPercentage=70", ""},
		"-XX:+AlwaysPreTouch -XX:-AlwaysPreTouch -XX:MaxGCPauseMillis=50": {"",
			"-XX:-AlwaysPreTouch -XX:MaxGCPauseMillis=50"},
		"-XX:G1HeapRegionSize=8m -XX:InitiatingHeapOccupancyPercent=35 -XX:NewRatio=2": {"",
			"-XX:G1HeapRegionSize=8m -XX:InitiatingHeapOccupancyPercent=35 -XX:NewRatio=2"},
		"-XX:+UseConcMarkSweepGC -XX:CMSInitiatingOccupancyFraction=70": {"",
			"-XX:+UseConcMarkSweepGC -XX:CMSInitiatingOccupancyFraction=70"},
		"-XX:+UseZGC -XX:+ZGenerational -XX:ZAllocationSpikeTolerance=2": {"",
			"-XX:+UseZGC -XX:+ZGenerational -XX:ZAllocationSpikeTolerance=2"},
		"-Xint -XX:TieredStopAtLevel=1 -XX:+UseNUMA -XX:ActiveProcessorCount=4": {"", ""},
		"": {"", ""},
	} {
		assert.Equal(t, want.heap, heapFlags(options), options)
		assert.Equal(t, want.gc, gcFlags(options), options)
	}
}

// Storm puts the cluster's options first, then the topology's. For the collector options, those of the topology
// replace those of the cluster.
func TestWorkerFlagsAreInStormsOrder(t *testing.T) {
	settings := map[string]string{"worker.childopts": "-Xmx384m", "topology.worker.childopts": "-Xmx96m",
		"worker.gc.childopts": "-XX:+UseParallelGC", "topology.worker.gc.childopts": "-XX:+UseG1GC"}
	assert.Equal(t, "-Xmx384m -Xmx96m -XX:+UseG1GC", Topology{Settings: settings}.flags())
	delete(settings, "topology.worker.gc.childopts")
	assert.Equal(t, "-Xmx384m -Xmx96m -XX:+UseParallelGC", Topology{Settings: settings}.flags())
}
