package report_test

import (
	"cmp"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/csvtable"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/predict"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Regression: a sizing used 1.28 declared cores where 1.63 were used, and recommended the declared 20% for a bolt that
// was 85% to 98% busy.
func TestSizingGoesByWhatWasUsedAndShowsWhatWasDeclared(t *testing.T) {
	c := column{label: "2 filter bolts", filterBolts: 2, cores: 1.28, memoryMiB: 2000, components: []runstore.Component{
		instances("DataSource", 1, 0.5, 256, 128), instances("FilterBolt", 2, 0.29, 256, 128),
		instances("JoinBolt", 1, 0.2, 256, 128)}}
	for _, at := range []cell{{value: 10, cores: 1.1, busy: 0.5}, {value: 20, cores: 1.63, busy: 0.85},
		{value: 30, cores: 1.9, busy: 0.98, latencyMs: 900}} {
		at.latencyMs, at.recordsPerS, at.mibPerS, at.verdict = max(5, at.latencyMs), 1000, 1.8, tuning.OK
		if at.latencyMs > 200 {
			at.verdict = tuning.Fail
		}
		c.cells = append(c.cells, at)
	}
	r, text := written(t, asRun(t, runstore.OfQueries, runstore.Queries, []column{c}))
	require.NotNil(t, r.Results.Queries)
	assert.InDelta(t, 1.63, float64(r.Results.Queries.Rows[0].TopologyCPUCores), 1e-9, "at the last step that held")
	assert.Contains(t, text,
		"the cores are those that the workers used in the last OK step (1.63; 1.28 declared)")
	require.NotNil(t, r.Results.Sizing.Sizing, r.Results.Sizing.Note)
	assert.Contains(t, r.Results.Sizing.YAML,
		"bullet.topology.join.bolt.cpu.load: 100.0  # the busiest instance was 85% busy at the last step that held; plus 20% headroom, at most one core; declared 20")
}

// Regression: the table showed 1.061 cores for 200 queries, which two filter bolts used only at 800 queries.
func TestTheDemandOfALoadIsWhatWasUsedAtIt(t *testing.T) {
	var columns []column
	for bolts, cells := range [][]cell{
		{{value: 200, cores: 0.6}, {value: 500, cores: 1.2}, {value: 800, cores: 1.6}},
		{{value: 500, cores: 0.9}, {value: 800, cores: 1.061}, {value: 1000, cores: 1.9, verdict: tuning.Fail}},
	} {
		c := column{label: tuning.Counted(bolts+1, "filter bolt"), filterBolts: bolts + 1, cores: 1.28, memoryMiB: 2000,
			cells: cells}
		for i := range c.cells {
			at := &c.cells[i]
			at.latencyMs, at.recordsPerS, at.mibPerS = 5, 1000, 1.8
			at.verdict = cmp.Or(at.verdict, tuning.OK)
		}
		columns = append(columns, c)
	}
	r, text := written(t, asRun(t, runstore.OfQueries, runstore.Queries, columns))
	demand := section(t, text, "Query scaling at a filter latency of at most 200 ms")
	assert.Contains(t, demand,
		"| 200 | 0.6 | 1 |\n| 500 | 0.9 | 2 |\n| 800 | 1.061 | 2 |\n| 1,000 | – | not held |\n")
	assert.InDelta(t, 1.061, float64(r.Results.Queries.Rows[1].TopologyCPUCores), 1e-9, "of all it held")
}

// Regression: a rate was attributed to the configuration that declared the fewest cores (1.08, used 1.1), although
// another one used only 0.5.
func TestDataScalingGoesByTheCoresThatWereUsed(t *testing.T) {
	var columns []column
	used := map[string]float64{"small": 1.1, "medium": 0.5}
	for _, c := range []column{{label: "small", filterBolts: 1, cores: 1.08},
		{label: "medium", filterBolts: 2, cores: 1.28}} {
		each := c.cores / float64(c.filterBolts)
		c.memoryMiB = 2000
		c.components = []runstore.Component{instances("FilterBolt", c.filterBolts, each, 256, 128)}
		for i, rate := range []float64{4000, 8000} {
			c.cells = append(c.cells, cell{value: rate, recordsPerS: rate, mibPerS: rate * 1843 / (1 << 20),
				latencyMs: 1, cores: used[c.label] * float64(i+1) / 2, verdict: tuning.OK})
		}
		columns = append(columns, c)
	}
	dir := asRun(t, runstore.OfData, runstore.RecordsPerSecond, columns)
	r, text := written(t, dir)
	require.NotNil(t, r.Results.Data)
	require.Len(t, r.Results.Data.Rows, 2)
	most := r.Results.Data.Rows[1]
	assert.InDelta(t, 0.5, float64(most.UsedCPUCores), 1e-9, "of the one that used the fewest")
	assert.InDelta(t, 1.28, float64(most.TotalCPUCores), 1e-9, "what it declared stands beside")
	assert.InDelta(t, 16_000, float64(most.RecordsPerCore), 1e-6)
	assert.Contains(t, text, "| Cores declared | Cores used |")
	assert.Contains(t, text, "Largest capacity: at least 8,000 records/s (small and medium).")
	require.NotNil(t, r.Results.Sizing.Sizing, r.Results.Sizing.Note)
	assert.InDelta(t, 0.5, float64(r.Results.Sizing.Sizing.CPUCores.Value), 0.01)
	assert.Contains(t, r.Results.Sizing.YAML,
		"cores are those that the workers used at each volume: 0.5 at 8,000 records/s, while 1.28 were declared")

	// The CSV file has both, so that an analysis of the file gives the figures of the report.
	_, out := reported(t, dir)
	path := filepath.Join(out, "data.csv")
	_, rows, err := csvtable.Data(path, csvtable.CPUUnsaid)
	require.NoError(t, err)
	again, err := tuning.AnalyzeData(rows, tuning.DefaultConfidence)
	require.NoError(t, err)
	assert.Equal(t, asText(t, r.Results.Data), asText(t, again))
	curve, err := csvtable.Scaling(path)
	require.NoError(t, err)
	assert.Equal(t, []tuning.ScalingRow{{Size: 0.25, Throughput: 4000}, {Size: 0.5, Throughput: 8000}}, curve.Rows)
	source, err := predict.OfTable(path, tuning.Unknown)
	require.NoError(t, err)
	measured := source.Observations[1].Measured
	assert.InDelta(t, 0.5, float64(measured[predict.CPU]), 1e-9)
	assert.InDelta(t, 1.28, float64(measured[predict.CoresHeld]), 1e-9)

	// If used cores are known for only some volumes, a note says that requested cores are taken for the others.
	for i := range rows {
		if rows[i].RecordsPerS == 4000 {
			rows[i].UsedCPUCores = 0
		}
	}
	mixed, err := tuning.AnalyzeData(rows, tuning.DefaultConfidence)
	require.NoError(t, err)
	assert.Contains(t, mixed.Notes, "the used cores are known for 1 of 2 volumes; for the others the requested cores are used")
	rows[0].UsedCPUCores = -1
	_, err = tuning.AnalyzeData(rows, tuning.DefaultConfidence)
	assert.ErrorContains(t, err, tuning.ColumnUsedCPU)
}
