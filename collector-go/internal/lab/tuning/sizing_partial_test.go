package tuning_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Without one of the two tables, the other is used as far as possible, and notes state what is unknown.
func TestSizeFromVolumesAlone(t *testing.T) {
	e := evidence()
	e.Points, e.Others = nil, nil
	s, err := tuning.Size(targetLoad(8000, 160), e)
	require.NoError(t, err)
	got := settingsOf(t, s)
	assert.EqualValues(t, 8, got["bullet.topology.bullet.spout.parallelism"])
	assert.EqualValues(t, 16, got["bullet.topology.filter.bolt.parallelism"])
	assert.False(t, s.FilterBoltsForQueries.Value.Known())
	assert.InDelta(t, 24, float64(s.CPUCores.Value), 1e-6)
	assert.Contains(t, s.YAML(), "# Note: the resources for more queries, and their possible number, are unknown")
	assert.NotContains(t, s.YAML(), "left free", "how much is free is not known")
	assert.NotContains(t, s.YAML(), "NaN")
}

func TestSizeFromQueriesAlone(t *testing.T) {
	e := evidence()
	e.Volumes, e.OthersFrom = nil, "this run"
	filter := tuning.Component{Name: "FilterBolt", Parallelism: 32, CPUCoresEach: 1, CPUCoresTotal: tuning.Unknown,
		OnHeapMiB: 512, OffHeapMiB: 128, TotalMemoryMiB: tuning.Unknown}
	e.Others = append(e.Others, filter)
	s, err := tuning.Size(targetLoad(4000, 160), e)
	require.NoError(t, err)
	got := settingsOf(t, s)
	assert.EqualValues(t, 20, got["bullet.topology.filter.bolt.parallelism"],
		"200 of 10 a bolt, and those between 20 bolts and their next step")
	assert.EqualValues(t, 512, got["bullet.topology.filter.bolt.memory.on.heap.load"])
	assert.EqualValues(t, 2, got["bullet.topology.join.bolt.parallelism"])
	assert.InDelta(t, 23.75, float64(s.CPUCores.Value), 0.5, "4 cores and one a bolt")
	assert.InDelta(t, 640*23.75, float64(s.MemoryMiB.Value), 640)
	assert.Contains(t, s.YAML(), "# Note: the resources for more records are unknown")
	assert.Contains(t, s.YAML(), "as in this run; no fit changes it")

	d := targetLoad(4000, 160)
	d.QueryTestRecordsPerS = tuning.Unknown
	_, err = tuning.Size(d, e)
	assert.ErrorContains(t, err, "the record rate at which the queries were measured is unknown")
}

// Three volumes that the smallest configuration held do not show how it grows, however narrow the intervals are.
func TestOneConfigurationThatHeldAllVolumes(t *testing.T) {
	e := evidence()
	for i := range e.Volumes {
		e.Volumes[i].TotalCPUCores, e.Volumes[i].TotalMemoryMiB, e.Volumes[i].Component.Parallelism = 10, 640, 4
	}
	s, err := tuning.Size(targetLoad(8000, 160), e)
	require.NoError(t, err)
	assert.Contains(t, s.YAML(),
		"one configuration held all 4 measured volumes, up to 32,000 records/s, so its intervals have no width")
	several, err := tuning.Size(targetLoad(8000, 160), evidence())
	require.NoError(t, err)
	assert.NotContains(t, several.YAML(), "one configuration held all")
}

// A load that leaves a fifth of the smallest measured capacity free is within the measurements.
func TestTheHeadroomBelowTheFewestMeasuredQueriesIsMeasured(t *testing.T) {
	_, err := tuning.Size(targetLoad(8000, 56), evidence())
	require.NoError(t, err, "56 of 70, the fewest")
	_, err = tuning.Size(targetLoad(8000, 55), evidence())
	assert.ErrorContains(t, err, "below the smallest value")
}

// Components with the names of Bullet and Storm.
func TestSizeKnowsBulletsOwnNames(t *testing.T) {
	for name, c := range map[string]struct {
		components []string
		want       []string
		not        []string
	}{
		"the DSL's spout and bolt": {[]string{"DataSpout", "DataSource", "FilterBolt"},
			[]string{"bullet.topology.dsl.spout.parallelism", "bullet.topology.dsl.bolt.parallelism"},
			[]string{"bullet.topology.bullet.spout.parallelism"}},
		"Bullet's spout": {[]string{"DataSource", "FilterBolt"},
			[]string{"bullet.topology.bullet.spout.parallelism"}, []string{"bullet.topology.dsl.spout.parallelism"}},
		"the document's": {[]string{"DataSource spout", "DataSource bolt", "Filter bolt"},
			[]string{"bullet.topology.dsl.spout.parallelism", "bullet.topology.dsl.bolt.parallelism"}, nil},
		"ticks and Storm's": {[]string{"FilterBolt", "TickSpout", "__acker", "__metrics_x.Y"},
			[]string{"bullet.topology.tick.spout.cpu.load", "bullet.topology.custom.topology.acker.executors"},
			[]string{"bullet.topology.tick.spout.parallelism", "bullet.topology.custom.topology.acker.cpu.load"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := evidence()
			e.Volumes, e.Others = nil, nil
			for _, rate := range []float64{4000, 8000} {
				for _, component := range c.components {
					row := tuning.DataRow{DataMiBPerS: rate / 500, RecordsPerS: rate, TotalCPUCores: rate / 1000,
						TotalMemoryMiB: rate}
					row.Component = tuning.Component{Name: component, Parallelism: int(rate / 1000), CPUCoresEach: 1,
						CPUCoresTotal: tuning.Unknown, OnHeapMiB: 1, OffHeapMiB: 1, TotalMemoryMiB: tuning.Unknown}
					e.Volumes = append(e.Volumes, row)
				}
			}
			s, err := tuning.Size(targetLoad(8000, 100), e)
			require.NoError(t, err)
			got := settingsOf(t, s)
			for _, key := range c.want {
				assert.Contains(t, got, key)
			}
			for _, key := range c.not {
				assert.NotContains(t, got, key)
			}
			if strings.HasPrefix(name, "ticks") {
				assert.Contains(t, s.YAML(),
					"the number of Storm's own components follows from Storm's settings; at 8,000 records/s there were __metrics_x.Y 8")
			}
		})
	}
}

// Filter bolts that are also in the table of components are not added twice.
func TestFilterBoltsAreSizedOnce(t *testing.T) {
	e := evidence()
	e.Volumes = nil
	for _, rate := range []float64{4000, 8000} {
		e.Volumes = append(e.Volumes, tuning.DataRow{DataMiBPerS: rate / 500, RecordsPerS: rate,
			TotalCPUCores: rate / 1000, TotalMemoryMiB: rate})
	}
	e.Others = append(e.Others, tuning.Component{Name: "Filter bolt", Parallelism: 128, CPUCoresEach: 1,
		CPUCoresTotal: tuning.Unknown, OnHeapMiB: 384, OffHeapMiB: 192, TotalMemoryMiB: tuning.Unknown})
	s, err := tuning.Size(targetLoad(8000, 100), e)
	require.NoError(t, err)
	assert.EqualValues(t, 384, settingsOf(t, s)["bullet.topology.filter.bolt.memory.on.heap.load"])
}
