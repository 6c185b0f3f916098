package tuning_test

import (
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// evidence is a cluster whose components follow the record rate exactly: one spout for 1,000 records/s, one filter
// bolt for 500. A filter bolt holds 10 queries at 4,000 records/s.
func evidence() tuning.Measurements {
	var e tuning.Measurements
	for _, k := range []int{4, 8, 16, 32} {
		rate := float64(1000 * k)
		for _, c := range []tuning.Component{{Name: "DataSource spout", Parallelism: k},
			{Name: "Filter bolt", Parallelism: 2 * k}} {
			c.CPUCoresEach, c.CPUCoresTotal, c.OnHeapMiB, c.OffHeapMiB, c.TotalMemoryMiB = 1, tuning.Unknown, 512, 128,
				tuning.Unknown
			e.Volumes = append(e.Volumes, tuning.DataRow{DataMiBPerS: rate / 500, RecordsPerS: rate, Component: c,
				TotalCPUCores: float64(3 * k), TotalMemoryMiB: float64(3 * k * 640)})
		}
	}
	for _, bolts := range []int{8, 16, 24, 32} {
		for _, step := range []int{-10, -5, 0, 5, 10} {
			latency := 20.0
			if step > 0 {
				latency = 900
			}
			e.Points = append(e.Points, tuning.QueryPoint{FilterBolts: bolts, Queries: 10*bolts + step,
				LatencyMs: latency, TopologyCPUCores: tuning.Figure(4 + bolts),
				TopologyMemoryMiB: tuning.Figure(640 * (4 + bolts))})
		}
	}
	e.Others = []tuning.Component{{Name: "Join bolt", Parallelism: 2, CPUCoresEach: 0.5, CPUCoresTotal: tuning.Unknown,
		OnHeapMiB: 256, OffHeapMiB: 64, TotalMemoryMiB: tuning.Unknown}}
	return e
}

func targetLoad(records float64, queries int) tuning.TargetLoad {
	return tuning.TargetLoad{RecordsPerS: records, Queries: queries,
		Goals: tuning.QueryGoals{LimitMs: 200, Headroom: 0.2,
			Confidence: 0.95},
		QueryTestRecordsPerS: 4000, Machine: tuning.Machine{CPUCores: 47, MemoryMiB: tuning.Unknown}}
}

func settingsOf(t *testing.T, s *tuning.Sizing) map[string]any {
	t.Helper()
	var settings map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(s.YAML()), &settings), s.YAML())
	require.Len(t, settings, len(s.Settings))
	return settings
}

func TestSizeFollowsTheFits(t *testing.T) {
	s, err := tuning.Size(targetLoad(8000, 160), evidence())
	require.NoError(t, err)
	got := settingsOf(t, s)
	assert.EqualValues(t, 8, got["bullet.topology.bullet.spout.parallelism"])
	// 160 queries with a fifth left free are a capacity of 200. That is 20 bolts at 4,000 records/s (and a quarter,
	// because [200, 205) is where 20 bolts end), and twice that at 8,000.
	assert.InDelta(t, 40, float64(s.FilterBoltsForQueries.Value), 1)
	assert.InDelta(t, 16, float64(s.FilterBoltsForRecords.Value), 1e-9)
	assert.EqualValues(t, 40, got["bullet.topology.filter.bolt.parallelism"])
	assert.EqualValues(t, 100, got["bullet.topology.filter.bolt.cpu.load"])
	assert.EqualValues(t, 512, got["bullet.topology.filter.bolt.memory.on.heap.load"])
	assert.EqualValues(t, 2, got["bullet.topology.join.bolt.parallelism"])
	assert.EqualValues(t, 50, got["bullet.topology.join.bolt.cpu.load"])
	assert.InDelta(t, 24+40-16, float64(s.CPUCores.Value), 1,
		"the power law over records/s, and the filter bolts that the queries need beyond it")
	assert.Equal(t, 2, s.Machines)
	assert.Contains(t, s.YAML(), "for the queries; the records/s alone need 16")

	few, err := tuning.Size(targetLoad(8000, 70), evidence())
	require.NoError(t, err)
	assert.EqualValues(t, 17, settingsOf(t, few)["bullet.topology.filter.bolt.parallelism"],
		"70 of the 87.5 are held by 8.6 bolts, twice that at 8,000")
}

// Twice the records need twice the bolts, whether or not the rate of the query test is known.
func TestSizeGrowsWithTheRecords(t *testing.T) {
	d := targetLoad(4000, 200)
	one, err := tuning.Size(d, evidence())
	require.NoError(t, err)
	d.RecordsPerS, d.QueryTestRecordsPerS = 16_000, tuning.Unknown
	four, err := tuning.Size(d, evidence())
	require.NoError(t, err)
	assert.InDelta(t, 4*float64(one.FilterBoltsForQueries.Value), float64(four.FilterBoltsForQueries.Value), 1e-9)
	assert.Contains(t, strings.Join(four.Notes, "\n"), "the record rate of the query test is unknown")
	assert.NotContains(t, strings.Join(one.Notes, "\n"), "unknown (no column")
}

func TestSizeOutsideOfTheMeasurements(t *testing.T) {
	for name, c := range map[string]struct {
		records float64
		queries int
		says    []string
	}{
		"records above": {48_000, 100, []string{"48,000 records/s is 50% above the largest value that was measured, 32,000",
			"--extrapolate"}},
		"records below": {1_000, 100, []string{"1,000 records/s is 75% below the smallest value that was measured, 4,000"}},
		"queries above": {8_000, 400,
			[]string{"400 queries is 25% above the largest value that was held within the limit, 320"}},
		"queries below": {8_000, 35, []string{"35 queries is 50% below the smallest value"}},
		"both":          {48_000, 400, []string{"400 queries", "48,000 records/s"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := targetLoad(c.records, c.queries)
			_, err := tuning.Size(d, evidence())
			var outside tuning.OutOfRange
			require.ErrorAs(t, err, &outside)
			for _, say := range c.says {
				assert.ErrorContains(t, err, say)
			}
			d.Extrapolate = true
			s, err := tuning.Size(d, evidence())
			require.NoError(t, err)
			assert.Contains(t, s.YAML(), "OUTSIDE THE MEASUREMENTS: "+c.says[0][:10])
			settingsOf(t, s)
		})
	}
}

// If the rows give no fit, a measured configuration that held the queries is used; if none did, the sizing is refused.
func TestSizeWithoutAFit(t *testing.T) {
	e := evidence()
	for i := range e.Points {
		e.Points[i].LatencyMs = 10 // nothing ever failed
	}
	s, err := tuning.Size(targetLoad(4000, 160), e)
	require.NoError(t, err)
	assert.EqualValues(t, 24, s.FilterBoltsForQueries.Value, "the smallest that held 200")
	assert.Contains(t, strings.Join(s.Notes, "\n"), "no row has both an OK step and a FAIL step")
	_, err = tuning.Size(targetLoad(4000, 300), e)
	assert.ErrorContains(t, err, "no measured configuration held the 375 queries")
	for i := range e.Points {
		e.Points[i].LatencyMs = 1000
	}
	_, err = tuning.Size(targetLoad(4000, 160), e)
	assert.ErrorContains(t, err, "every measured point is above the limit of 200 ms")
}

// Every setting exists in Bullet, according to the topology's own list of defaults.
func TestSizeWritesBulletsSettings(t *testing.T) {
	text, err := os.ReadFile("../../../../topology/bullet-storm-config/src/main/resources/bullet_storm_defaults.yaml")
	require.NoError(t, err)
	var known map[string]any
	require.NoError(t, yaml.Unmarshal(text, &known))
	e := evidence()
	for _, name := range []string{"DataSource bolt", "Query spout", "Result bolt", "Loop bolt", "Replay bolt",
		"DSL spout", "ReturnResults bolt", "TickSpout", "DataSpout"} {
		e.Others = append(e.Others, tuning.Component{Name: name, Parallelism: 1, CPUCoresEach: 1,
			CPUCoresTotal: tuning.Unknown, OnHeapMiB: 1, OffHeapMiB: 1, TotalMemoryMiB: tuning.Unknown})
	}
	s, err := tuning.Size(targetLoad(8000, 100), e)
	require.NoError(t, err)
	require.Greater(t, len(s.Settings), 30)
	for _, setting := range s.Settings {
		assert.Contains(t, known, setting.Key)
	}
}

func TestSizeRefusesNonsense(t *testing.T) {
	for name, spoil := range map[string]func(*tuning.TargetLoad){
		"records":  func(d *tuning.TargetLoad) { d.RecordsPerS = nan },
		"queries":  func(d *tuning.TargetLoad) { d.Queries = -1 },
		"headroom": func(d *tuning.TargetLoad) { d.Goals.Headroom = 1 },
		"machine":  func(d *tuning.TargetLoad) { d.Machine.CPUCores = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			d := targetLoad(8000, 100)
			spoil(&d)
			_, err := tuning.Size(d, evidence())
			assert.Error(t, err)
		})
	}
	_, err := tuning.Size(targetLoad(8000, 100), tuning.Measurements{})
	assert.Error(t, err, "no evidence")
}
