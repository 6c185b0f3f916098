package experimentfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// onACluster is a command launch with the record rate that it needs.
const onACluster = elsewhere + "\nload: {records_per_second: 5}\n"

// The file must not state what is measured on the local cluster, and what it states about a cluster must be possible.
func TestFaultsOfACluster(t *testing.T) {
	for name, c := range map[string]struct{ new, want string }{
		"machines that are measured": {local + "\ncluster: {machines: {cores: 48}}",
			"cluster: `machines` and `busy_by_others` cannot be combined with launch.local"},
		"a Kafka that is not there": {local + "\ncluster: {kafka_version: 4.1.1}",
			"cluster: `kafka_version` needs launch.local.kafka.bootstrap"},
		"machines without cores": {onACluster + "cluster: {machines: {memory: 256GiB}}",
			"cluster.machines.cores: missing"},
		"more cores than there are": {onACluster + "cluster: {machines: {cores: 48, usable_cores: 49}}",
			"cluster.machines.usable_cores: 49 exceeds the 48 cores of a machine"},
		"a share of the cluster": {onACluster + "cluster: {busy_by_others: 70}",
			`cluster.busy_by_others: "70" is not a ratio`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := experimentfile.Parse("mine.yaml", []byte(strings.Replace(complete, local, c.new, 1)))
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTheClusterIsDescribed(t *testing.T) {
	text := strings.Replace(complete, local, strings.Replace(onACluster, "workers: 1", "workers: 1, partitions: 64", 1)+`cluster:
  kafka_version: 3.9.0
  machines: {count: 20, cpu_model: some, cores: 48, memory: 256GiB, network: 25 Gbit/s}
  busy_by_others: 70%
records: {compression_ratio: 1.2}`, 1)
	f, err := experimentfile.Parse("mine.yaml", []byte(text))
	require.NoError(t, err)
	assert.Equal(t, 64, f.Plan().KafkaPartitions)
	m := f.Manifest()
	assert.Equal(t, "3.9.0", m.Versions.Kafka)
	assert.Equal(t, &runstore.Cluster{Machines: 20, CPUModel: "some", Cores: 48, UsableCores: 48, MemoryBytes: 256 << 30,
		Network: "25 Gbit/s", BusyByOthers: 0.7}, m.Cluster)
	assert.InDelta(t, 1.2, float64(m.Records.CompressionRatio), 0)

	f, err = experimentfile.Parse("mine.yaml", []byte(strings.Replace(complete, "384MiB}", "384MiB, kafka: {partitions: 4}}", 1)))
	require.NoError(t, err)
	assert.Equal(t, 4, f.Plan().KafkaPartitions)
	assert.Nil(t, f.Manifest().Cluster)
	assert.False(t, f.Manifest().Records.CompressionRatio.Known())
}
