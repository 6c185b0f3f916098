package runstore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// The properties of a trial are compared by name, and each name belongs to its variable.
func TestTheValuesOfATrial(t *testing.T) {
	run, err := runstore.Read(sample)
	require.NoError(t, err)
	values, err := run.Values(run.Trials[1])
	require.NoError(t, err)
	for key, want := range map[string]string{
		"bullet.topology.filter.bolt.parallelism": "2", "topology.workers": "2", "launch.worker_heap": "384 MiB",
		"launch.kind":  "local",
		"steps.values": "0, 20, 40, 80", "data.records_per_second": "calibrated to leave 40% of the host idle",
		tuning.CalibratedRate: "1500", tuning.BusyByOthers: "5.0%",
		"records.schema": "92 fields (62 strings, 4 longs, 23 maps, 3 lists of maps)", tuning.MeanRecord: "1843 bytes",
		"records.compression_ratio": "1.2",
		"machine.cores":             "2", "machine.usable_cores": "2", "machine.memory": "8.0 GiB",
		"versions.storm":    "2.8.4",
		"versions.java":     "17.0.9",
		"worker.heap_flags": "-Xmx384m", "worker.gc_flags": "-XX:+UseG1GC", "worker.heap_limit": "384 MiB",
	} {
		assert.Equal(t, want, values[key], key)
	}
	for _, key := range []string{"grid.filter bolts", "load.queries", "versions.kafka", "load_host.cores"} {
		assert.NotContains(t, values, key)
	}
	run.Trials[2].Settings = []runstore.Entry{{Key: "kafka.password", Value: "hush"}}
	values, err = run.Values(run.Trials[2])
	require.NoError(t, err, "one that was never launched has what was planned")
	assert.Equal(t, "(not shown)", values["kafka.password"])
	assert.NotContains(t, values, "worker.heap_flags")
}

// For a command launch, the hardware is that of the cluster and not that of the load host.
func TestTheHardwareIsTheClusters(t *testing.T) {
	plan, manifest := samplePlan(), sampleManifest()
	plan.Launch, plan.KafkaPartitions = runstore.CommandLaunch, 64
	then := runstore.Values(plan, nil, manifest)
	assert.Equal(t, []string{"2", ""}, []string{then["load_host.cores"], then["machine.cores"]})
	assert.Equal(t, "64", then["source.kafka_partitions"])

	manifest.Machine.Cores, manifest.Machine.CPUModel = 8, "another host of the load"
	changes := tuning.DiffSettings(then, runstore.Values(plan, nil, manifest))
	assert.NotEmpty(t, changes)
	assert.Empty(t, tuning.Moved(changes), "the topology runs elsewhere")

	then = runstore.Values(plan, nil, withCluster(manifest, 48, 0.7))
	assert.Equal(t, []string{"20", "48", "47", "70.0%"}, []string{then["machine.count"], then["machine.cores"],
		then["machine.usable_cores"], then[tuning.BusyByOthers]})
	changes = tuning.DiffSettings(then, runstore.Values(plan, nil, withCluster(manifest, 64, 0.9)))
	assert.Equal(t, []tuning.Variable{tuning.Hardware, tuning.ClusterLoad}, tuning.Moved(changes))
}

func withCluster(m runstore.Manifest, cores int, busy tuning.Figure) runstore.Manifest {
	m.Cluster = &runstore.Cluster{Machines: 20, Cores: cores, UsableCores: tuning.Figure(cores - 1), BusyByOthers: busy}
	return m
}
