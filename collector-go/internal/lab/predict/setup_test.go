package predict

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

var conf = Settings{
	"bullet.topology.bullet.spout.parallelism": "2", "bullet.topology.filter.bolt.parallelism": "4",
	"bullet.topology.filter.bolt.cpu.load":             "20.0",
	"bullet.topology.filter.bolt.memory.on.heap.load":  "128.0",
	"bullet.topology.filter.bolt.memory.off.heap.load": "32.0",
	"bullet.topology.join.bolt.parallelism":            "2", "bullet.topology.custom.topology.acker.executors": "2",
	"bullet.topology.custom.topology.workers":           "2",
	"bullet.topology.custom.topology.max.spout.pending": "30",
}

func TestSettingsMakeASetup(t *testing.T) {
	s := conf.Whole()
	assert.Equal(t, map[string]float64{"DataSource": 2, "FilterBolt": 4, "JoinBolt": 2, "__acker": 2, "TickSpout": 1,
		"__metrics": 1}, s.Executors)
	assert.Equal(t, 2.0, s.Workers)

	over := conf.Over(Settings{"topology.workers": "6", "bullet.topology.dsl.spout.enable": "true",
		"bullet.topology.dsl.bolt.enable":       "true",
		"bullet.topology.dsl.spout.parallelism": "128", "bullet.topology.dsl.bolt.parallelism": "256",
		"topology.worker.max.heap.size.mb": "3072.0"})
	s = over.Whole()
	assert.Equal(t, 6.0, s.Workers, "the setting wins over what Bullet hands on")
	assert.Equal(t, 3072.0, s.HeapMiB)
	assert.Equal(t, 128.0, s.Executors["DataSpout"])
	assert.Equal(t, 256.0, s.Executors["DataSource"])
	assert.Equal(t, 30.0, s.Pending)
	for options, mib := range map[string]float64{"-XX:+UseG1GC -Xmx128m": 128, "-Xmx64m -Xmx2g": 2048, "-Xmx1048576": 1,
		"-Xmx512K": 0.5, "-XX:+UseG1GC": 3072} {
		assert.Equal(t, mib, over.Over(Settings{"topology.worker.childopts": options}).Whole().HeapMiB, options)
	}
}

func TestARequestIsAddedUp(t *testing.T) {
	s := Setup{}.With(tuning.FilterBolt, 10).With("JoinBolt", 2)
	r := conf.Request(s, tuning.Machine{CPUCores: 1, MemoryMiB: 1000})
	assert.InDelta(t, 10*0.2+2*0.1, r.CPUCores, 1e-9)
	assert.InDelta(t, 10*160+2*128, r.MemoryMiB, 1e-9)
	assert.Equal(t, 3, r.Machines)
	assert.Equal(t, tuning.LimitedByCPU, r.Limiting)
	assert.Equal(t, tuning.LimitedByMemory, conf.Request(s, tuning.Machine{CPUCores: 47, MemoryMiB: 1000}).Limiting)
	assert.Nil(t, Settings{}.Request(s, tuning.Machine{CPUCores: 47}),
		"nothing is requested of a scheduler by settings that are not there")
}

func TestSettingsAreChecked(t *testing.T) {
	ignored, err := conf.Check(Settings{"bullet.topology.filter.bolt.parallelism": "6",
		"topology.max.spout.pending": "100", "bullet.topology.filter.bolt.cpu.load": "50",
		"topology.worker.childopts": "-Xmx512m"})
	require.NoError(t, err)
	assert.Equal(t, []string{"topology.max.spout.pending"}, ignored)
	_, err = conf.Check(Settings{"bullet.topology.filter.bolts.parallelism": "6"})
	assert.EqualError(t, err,
		`unknown setting "bullet.topology.filter.bolts.parallelism" of the topology; the nearest is bullet.topology.filter.bolt.parallelism`)
	_, err = conf.Check(Settings{"bullet.topology.filter.bolt.parallelism": "six"})
	assert.ErrorContains(t, err, `"six" is not a positive number`)
}

// unknownAsZero replaces unknown figures, which do not compare as equal.
func unknownAsZero(all []Reach) []Reach {
	for i := range all {
		if !all[i].Times.Known() {
			all[i].Times = 0
		}
	}
	return all
}

func TestTheReach(t *testing.T) {
	observed := []Observation{{Load: Load{100, 1000}, Setup: setupOf(1)}, {Load: Load{400, 1010}, Setup: setupOf(3)}}
	assert.Empty(t, reach(observed, Load{300, 1005}, setupOf(2)))
	far := reach(observed, Load{720, 1000}, setupOf(6).With("DSLBolt", 2))
	var texts []string
	for _, r := range far {
		texts = append(texts, r.Text())
	}
	assert.Equal(t, []string{"2 DSLBolt executors: never measured", "6 FilterBolt executors: 2 times the largest measured value, 3",
		"720 queries: 1.8 times the largest measured value, 400",
		"12 executors in total: 1.71 times the largest measured value, 7"}, texts)
	assert.InDelta(t, 0.2,
		scatter([]Reach{{Wanted: 2, Most: 1, Times: 2}, {Times: tuning.Unknown},
			{load: true, Wanted: 1, Least: 8, Most: 8, Times: 8}}), 1e-9)
	alone := []Observation{{Load: Load{100, 1000}, Setup: Setup{}.With(tuning.FilterBolt, 2)}}
	assert.Equal(t, []Reach{{What: "DataSource executors", Wanted: 2}, {What: "JoinBolt executors", Wanted: 2}},
		unknownAsZero(reach(alone, Load{100, 1000}, setupOf(2))),
		"a table's filter bolts are no smaller topology than a whole one")
	assert.Equal(t, "10 queries: the smallest measured value, 100, is 10 times as large",
		reach(observed, Load{10, 1000}, setupOf(2))[0].Text())
}
