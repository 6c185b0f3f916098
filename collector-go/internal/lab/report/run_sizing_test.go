package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// section returns a section of the report as text.
func section(t *testing.T, markdown, title string) string {
	t.Helper()
	_, text, found := strings.Cut(markdown, "\n## "+title+"\n")
	require.True(t, found, "the report has no section %s", title)
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

func markdownOf(t *testing.T, out string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(out, "report.md"))
	require.NoError(t, err)
	return string(text)
}

// A run of data volumes sizes every component for the most records that were held. It says that it knows nothing about
// more queries.
func TestTheSizingOfARunOfVolumes(t *testing.T) {
	r, out := reported(t, asRun(t, runstore.OfData, runstore.RecordsPerSecond, test6(t)))
	s := r.Results.Sizing
	require.NotNil(t, s.Sizing, s.Note)
	settings := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(s.YAML), &settings))
	assert.EqualValues(t, 200, settings["bullet.topology.dsl.bolt.cpu.load"])
	assert.EqualValues(t, 2580, settings["bullet.topology.dsl.bolt.memory.on.heap.load"])
	assert.EqualValues(t, 2, settings["bullet.topology.join.bolt.parallelism"])
	for _, key := range []string{"bullet.topology.dsl.spout.parallelism", "bullet.topology.dsl.bolt.parallelism",
		"bullet.topology.filter.bolt.parallelism"} {
		require.Contains(t, settings, key)
		assert.Regexp(t, key+`: \d+  # \d+ to \d+; `, s.YAML, "with its interval")
	}
	text := section(t, markdownOf(t, out), "Sizing")
	for _, want := range []string{"For the highest record rate that this run held, 1,004,500 records/s (4,024 MiB/s), with 400 queries. It has no headroom",
		`The configuration that held this one is "for 1004500".`,
		"# Bullet on Storm for 1,004,500 records/s and 400 RAW queries at an average filter latency of at most 200 ms.\n",
		"the resources for more queries, and their possible number, are unknown", "### Not known from this run",
		"every step ran 400 queries",
		"topology/experiments/test7.yaml",
		"bullet-metrics tune size --records-per-s RECORDS --queries QUERIES --limit 200ms --from THIS-RUN,RUN-OF-TEST-7"} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "NaN")
}

// A run of queries sizes the filter bolts for the most queries that were held, less the headroom. All other components
// stay the same.
func TestTheSizingOfARunOfQueries(t *testing.T) {
	r, out := reported(t, asRun(t, runstore.OfQueries, runstore.Queries, test7(t)))
	s := r.Results.Sizing
	require.NotNil(t, s.Sizing, s.Note)
	assert.Equal(t, 400, s.Sizing.Queries, "a fifth less than 500")
	settings := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(s.YAML), &settings))
	assert.EqualValues(t, 16, settings["bullet.topology.bullet.spout.parallelism"])
	assert.EqualValues(t, 256, settings["bullet.topology.custom.topology.acker.executors"])
	assert.EqualValues(t, 1024, settings["bullet.topology.filter.bolt.memory.on.heap.load"])
	bolts := settings["bullet.topology.filter.bolt.parallelism"]
	assert.InDelta(t, 20, bolts, 1, "20 bolts held 500")
	assert.InDelta(t, 94.3, float64(s.Sizing.CPUCores.Value), 1)
	assert.Len(t, strings.Split(s.YAML, "bullet.topology.filter.bolt.parallelism:"), 2, "once")
	text := section(t, markdownOf(t, out), "Sizing")
	for _, want := range []string{"For 400 queries at 68,400 records/s. That is 20% less than the largest number that this run held, 500 with 20 filter bolts.",
		"with 20% of the capacity for queries left free.",
		"as in this run; no fit changes it", "The resources for more records/s", "topology/experiments/test6.yaml",
		"--from RUN-OF-TEST-6,THIS-RUN"} {
		assert.Contains(t, text, want)
	}
}

// If nothing was held there is no sizing, and the report says so.
func TestARunThatHeldNothingSizesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		analysis runstore.Analysis
		axis     runstore.Axis
		says     string
	}{
		"volumes": {runstore.OfData, runstore.RecordsPerSecond, "no configuration held any of its records/s"},
		"queries": {runstore.OfQueries, runstore.Queries, "no configuration held any queries"},
	} {
		t.Run(name, func(t *testing.T) {
			r, out := reported(t,
				asRun(t, c.analysis, c.axis,
					[]column{{label: "one", filterBolts: 2, cores: 3, memoryMiB: 100, cells: []cell{
						{value: 100, latencyMs: 900, recordsPerS: 80, mibPerS: 1, verdict: tuning.Fail},
						{value: 200, latencyMs: 9, recordsPerS: 80, mibPerS: 1, verdict: tuning.Limited}}}}))
			require.NotNil(t, r.Results.Sizing)
			assert.Nil(t, r.Results.Sizing.Sizing)
			assert.Contains(t, section(t, markdownOf(t, out), "Sizing"), "This run cannot be sized: "+
				c.says)
		})
	}
	r, _ := reported(t, asRun(t, runstore.OfConcurrency, runstore.Queries,
		[]column{{label: "one", cores: 3, memoryMiB: 100,
			cells: []cell{{value: 100, latencyMs: 9, verdict: tuning.OK}}}}))
	assert.Nil(t, r.Results.Sizing, "nothing is sized from a run about completeness")
}

// Each configuration's result has its mean records/s and MiB/s over the measured time.
func TestTheVolumeStandsBesideEachResult(t *testing.T) {
	r, out := reported(t, asRun(t, runstore.OfQueries, runstore.Queries, []column{
		{label: "one", filterBolts: 1, cores: 3, memoryMiB: 100,
			cells: []cell{{value: 100, latencyMs: 9, recordsPerS: 1000, mibPerS: 2, verdict: tuning.OK},
				{value: 200, latencyMs: 900, recordsPerS: 500, mibPerS: 1, verdict: tuning.Fail}}},
		{label: "two", filterBolts: 2, cores: 4, memoryMiB: 100,
			cells: []cell{{value: 100, latencyMs: 9, recordsPerS: 1200, mibPerS: 2.4, verdict: tuning.OK}}}}))
	assert.InDelta(t, 900, float64(r.Volume.RecordsPerSecond), 1e-9)
	text := section(t, markdownOf(t, out), "All configurations")
	assert.Regexp(t, `\| one \|.*\| 750 \| 1\.5 \|\n`, text)
	assert.Regexp(t, `\| two \|.*\| 1,200 \| 2\.4 \|\n`, text)
	assert.Regexp(t, `\| whole test \|.*\| 900 \| 1\.8 \|\n`, text)
	data, err := os.ReadFile(filepath.Join(out, "report.json"))
	require.NoError(t, err)
	assert.Contains(t, string(data), `"data_volume": {`)
}
