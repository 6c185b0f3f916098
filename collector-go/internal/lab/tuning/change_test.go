package tuning_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Test 4 of the document changes heaps and the size of workers, which belong to none of the eight variables.
func TestTheDocumentsChangeOfHeap(t *testing.T) {
	before := map[string]string{"bullet.topology.filter.bolt.memory.on.heap.load": "384.0",
		"bullet.topology.bullet.spout.memory.on.heap.load": "768.0",
		"topology.worker.max.heap.size.mb":                 "4096.0", "topology.max.spout.pending": "20000"}
	after := map[string]string{"bullet.topology.filter.bolt.memory.on.heap.load": "1024.0",
		"bullet.topology.bullet.spout.memory.on.heap.load": "1280.0",
		"topology.worker.max.heap.size.mb":                 "3072.0", "topology.max.spout.pending": "20000"}
	changes := tuning.DiffSettings(before, after)
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.Lines()...)
	}
	assert.Equal(t, []string{
		"- bullet.topology.bullet.spout.memory.on.heap.load: 768.0",
		"+ bullet.topology.bullet.spout.memory.on.heap.load: 1280.0",
		"- bullet.topology.filter.bolt.memory.on.heap.load: 384.0",
		"+ bullet.topology.filter.bolt.memory.on.heap.load: 1024.0",
		"- topology.worker.max.heap.size.mb: 4096.0", "+ topology.worker.max.heap.size.mb: 3072.0",
	}, lines)
	assert.Empty(t, tuning.Moved(changes))
}

func TestWhichVariableASettingMoves(t *testing.T) {
	for key, want := range map[string]tuning.Variable{
		"bullet.topology.filter.bolt.parallelism":          tuning.Parallelism,
		"bullet.topology.dsl.spout.parallelism":            tuning.Parallelism,
		"bullet.topology.dsl.spout.enable":                 tuning.DataSource,
		"bullet.topology.dsl.spout.cpu.load":               "",
		"bullet.topology.custom.topology.workers":          tuning.Parallelism,
		"topology.workers":                                 tuning.Parallelism,
		"topology.max.spout.pending":                       tuning.DataSource,
		"bullet.dsl.connector.kafka.max.poll.records":      tuning.DataSource,
		"bullet.topology.source.sampling.percentage":       tuning.DataVolume,
		"bullet.topology.generator.records.per.second":     tuning.DataVolume,
		"bullet.topology.generator.seed":                   tuning.DataSource,
		"data.records_per_second":                          tuning.DataVolume,
		"load.queries":                                     tuning.QueryCount,
		"load.class":                                       tuning.QueryKind,
		"machine.cores":                                    tuning.Hardware,
		"versions.storm":                                   tuning.SoftwareVersion,
		"cluster.busy_by_others":                           tuning.ClusterLoad,
		"records.schema":                                   tuning.DataSource,
		"records.mean_size":                                tuning.DataVolume,
		"source.kafka_partitions":                          tuning.DataSource,
		"load_host.cores":                                  "",
		"worker.gc_flags":                                  "",
		"steps.values":                                     "",
		"bullet.topology.custom.topology.worker.childopts": "",
	} {
		assert.Equal(t, want, tuning.VariableOf(key), key)
	}
}

func TestWhatComesAndGoesIsAChange(t *testing.T) {
	changes := tuning.DiffSettings(map[string]string{"a": "1", "same": "x"},
		map[string]string{"load.class": "group", "topology.workers": "2", "same": "x"})
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.Lines()...)
	}
	assert.Equal(t, []string{"- a: 1", "+ load.class: group", "+ topology.workers: 2"}, lines)
	assert.Equal(t, []tuning.Variable{tuning.QueryKind, tuning.Parallelism}, tuning.Moved(changes))
	assert.Equal(t, []tuning.Change{}, tuning.DiffSettings(nil, nil))
}

// A rate that is calibrated again differs by a few percent each time; a given rate is exact.
func TestMeasuredValuesMayScatter(t *testing.T) {
	for name, c := range map[string]struct {
		key, before, after string
		moved              []tuning.Variable
	}{
		"a calibrated rate, within": {tuning.CalibratedRate, "2000", "1905", []tuning.Variable{}},
		"a calibrated rate, beyond": {tuning.CalibratedRate, "2000", "1890", []tuning.Variable{tuning.DataVolume}},
		"a given rate": {"data.records_per_second", "2000", "1990",
			[]tuning.Variable{tuning.DataVolume}},
		"a cluster as free as before":  {tuning.BusyByOthers, "70%", "75%", []tuning.Variable{}},
		"a cluster with less to spare": {tuning.BusyByOthers, "70%", "75.1%", []tuning.Variable{tuning.ClusterLoad}},
		"no number":                    {tuning.BusyByOthers, "70%", "much", []tuning.Variable{tuning.ClusterLoad}},
	} {
		t.Run(name, func(t *testing.T) {
			changes := tuning.DiffSettings(map[string]string{c.key: c.before}, map[string]string{c.key: c.after})
			assert.Equal(t, c.moved, tuning.Moved(changes))
			assert.Len(t, changes, len(c.moved))
		})
	}
}

// A missing setting has its default. A machine that only one side states may be the same on the other.
func TestWhatOnlyOneSideReportsMovesNothing(t *testing.T) {
	before := map[string]string{"machine.cores": "48", "versions.storm": "2.8.3"}
	after := map[string]string{"versions.storm": "2.8.3", "cluster.busy_by_others": "70%", "topology.workers": "2"}
	changes := tuning.DiffSettings(before, after)
	assert.Len(t, changes, 3, "the lines tell all the same")
	assert.Equal(t, []tuning.Variable{tuning.Parallelism}, tuning.Moved(changes))
	assert.Equal(t, []tuning.Variable{tuning.Hardware, tuning.ClusterLoad}, tuning.Undetermined(before, after))
	assert.Equal(t, []tuning.Variable{tuning.Hardware, tuning.SoftwareVersion, tuning.ClusterLoad},
		tuning.Undetermined(nil, after))
	after["machine.cores"], before["cluster.busy_by_others"] = "64", "71%"
	assert.Empty(t, tuning.Undetermined(before, after))
	assert.Equal(t, []tuning.Variable{tuning.Parallelism, tuning.Hardware},
		tuning.Moved(tuning.DiffSettings(before, after)))
}
