package tuning

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// analyses returns, for every analysis, the result for rows in random order and with CPU in another unit.
var analyses = map[string]func(t *testing.T, random *rand.Rand, unit float64) (any, Figure){
	"concurrency": func(t *testing.T, random *rand.Rand, unit float64) (any, Figure) {
		var rows []ConcurrencyRow
		for i, cpu := range []float64{90_000, 131_000, 168_000, 231_000, 270_000} {
			rows = append(rows, ConcurrencyRow{Queries: 100 * i, AverageCPUMsPerMinute: Figure(unit * cpu),
				AverageResultSize: Figure(10.2 - float64(i)/2),
				Workers:           4, TotalCPUMsPerMinute: Unknown, AverageGCMsPerMinute: Unknown})
		}
		shuffle(random, rows)
		c, err := AnalyzeConcurrency(rows, DefaultGoals(), 0.95)
		require.NoError(t, err)
		return c, c.Marginal.High
	},
	"data": func(t *testing.T, random *rand.Rand, unit float64) (any, Figure) {
		var rows []DataRow
		for _, r := range [][2]float64{{69_700, 98.3}, {216_825, 242.7}, {374_370, 531.5}, {524_266, 812.3}} {
			rows = append(rows, DataRow{DataMiBPerS: r[0] / 227, RecordsPerS: r[0] * unit, TotalCPUCores: r[1],
				TotalMemoryMiB: 1000 * r[1]})
		}
		shuffle(random, rows)
		d, err := AnalyzeData(rows, 0.95)
		require.NoError(t, err)
		return d, d.Fits.RecordsPerCore.High
	},
	"scaling": func(t *testing.T, random *rand.Rand, unit float64) (any, Figure) {
		rows := []ScalingRow{{1, 955 * unit}, {2, 1870 * unit}, {4, 3471 * unit}, {8, 5941 * unit}, {16, 8380 * unit}}
		shuffle(random, rows)
		s, err := AnalyzeScaling(rows, ScalingColumns{"nodes", "throughput"}, 0.25, 0.95)
		require.NoError(t, err)
		return s, s.USL.Rate.High
	},
}

func shuffle[T any](random *rand.Rand, rows []T) {
	if random != nil {
		random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
}

func TestNoAnalysisDependsOnTheOrderOfRowsOrOnUnits(t *testing.T) {
	for name, analyze := range analyses {
		t.Run(name, func(t *testing.T) {
			want, figure := analyze(t, nil, 1)
			for seed := range uint64(20) {
				got, _ := analyze(t, rand.New(rand.NewPCG(seed, 9)), 1)
				assert.Equal(t, text(t, want), text(t, got))
			}
			for _, unit := range []float64{1e-3, 1.0 / 60, 1024} {
				_, scaled := analyze(t, nil, unit)
				same(t, unit*float64(figure), scaled, 1e-6, "the interval's end scales with the unit")
			}
		})
	}
}

// The order of components changes no total, and doubling every instance doubles the totals.
func TestResourcesAddUp(t *testing.T) {
	components := []Component{{"a", 64, 6.4, Unknown, 768, 192, 61440, 0}, {"b", 3, Unknown, 0.1, 10, 0, 30, 0},
		{"c", 7, 0.7, Unknown, 1, 2, Unknown, 0}}
	machine := Machine{47, 65_536}
	want, err := AnalyzeResources(components, nil, machine)
	require.NoError(t, err)
	assert.Equal(t, Totals{74, 7.4, 61_491}, want.Totals)
	slices.Reverse(components)
	got, err := AnalyzeResources(components, nil, machine)
	require.NoError(t, err)
	assert.Equal(t, want.Totals, got.Totals)
	for i := range components {
		c := &components[i]
		c.Parallelism, c.CPUCoresTotal, c.TotalMemoryMiB = 2*c.Parallelism, 2*c.CPUCoresTotal, 2*c.TotalMemoryMiB
	}
	twice, err := AnalyzeResources(components, nil, machine)
	require.NoError(t, err)
	assert.Equal(t, Totals{148, 14.8, 122_982}, twice.Totals)
	assert.Empty(t, twice.Audit)
}
