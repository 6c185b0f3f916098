package report_test

import (
	"bytes"
	"fmt"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

func TestHostileComponentsStayText(t *testing.T) {
	r, err := tuning.AnalyzeResources([]tuning.Component{{Name: `<script>|x`, Parallelism: 2, CPUCoresEach: 1,
		CPUCoresTotal: tuning.Unknown,
		OnHeapMiB:     1, OffHeapMiB: 1, TotalMemoryMiB: tuning.Unknown}}, nil,
		tuning.Machine{CPUCores: 47, MemoryMiB: tuning.Unknown})
	require.NoError(t, err)
	a := report.OfResources(r)
	svg, err := a.Figures[0].SVG()
	require.NoError(t, err)
	assertXML(t, svg)
	assert.NotContains(t, string(svg), "<script")
	assert.Contains(t, a.Markdown("figures"), `<script>\|x`)
	assert.Contains(t, a.Markdown("figures"), "](figures/resources.svg)")
	assert.NotContains(t, a.Markdown(""), "## Figures")
}

// queries returns a grid of three rows: the first fails at some load, the second fails at every load, and the third
// never fails.
func queries(t *testing.T) *tuning.Queries {
	t.Helper()
	var points []tuning.QueryPoint
	for row, latencies := range [][]float64{{5, 6, 9, 900}, {300, 400, 900, 1000}, {5, 5, 6, 7}} {
		for i, ms := range latencies {
			points = append(points, tuning.QueryPoint{FilterBolts: 4 * (row + 1), Queries: 100 * (row + 1) * (i + 1),
				LatencyMs:        ms,
				TopologyCPUCores: tuning.Figure(80 + row), TopologyMemoryMiB: tuning.Unknown})
		}
	}
	q, err := tuning.AnalyzeQueries(points, tuning.QueryGoals{LimitMs: 200, Headroom: 0.2, Confidence: 0.95})
	require.NoError(t, err)
	return q
}

func TestCapacitiesAsPeopleReadThem(t *testing.T) {
	a := report.OfQueries(queries(t))
	out := a.Text()
	for _, want := range []string{"holds 300, fails at 400", "below 200", "at least 1,200", "unknown: a slope needs at least two rows",
		"900  FAIL"} {
		assert.Contains(t, out, want)
	}
	for line := range strings.Lines(out) {
		assert.Equal(t, strings.TrimRight(line, " \n")+"\n", line, "no blanks at the end")
	}
}

// Charts draw open results as open: an arrow for a row that never failed, and a ring for a failed point. No coordinate
// is NaN.
func TestChartsOfOpenIntervals(t *testing.T) {
	for _, chart := range report.OfQueries(queries(t)).Figures {
		svg, err := chart.SVG()
		require.NoError(t, err)
		assertXML(t, svg)
		assert.NotContains(t, string(svg), "NaN")
		picture, err := chart.PNG()
		require.NoError(t, err)
		decoded, err := png.Decode(bytes.NewReader(picture))
		require.NoError(t, err)
		assert.Equal(t, 1520, decoded.Bounds().Dx())
	}
}

// The drawing has each measured point: an additional row gives an additional dot.
func TestEveryPointIsDrawn(t *testing.T) {
	dots := func(n int) int {
		var rows []tuning.ScalingRow
		for i := range n {
			rows = append(rows, tuning.ScalingRow{Size: float64(i + 1), Throughput: 100 * float64(i+1)})
		}
		s, err := tuning.AnalyzeScaling(rows, tuning.ScalingColumns{Size: "nodes", Throughput: "throughput"}, 0.25,
			0.95)
		require.NoError(t, err)
		svg, err := report.OfScaling(s).Figures[0].SVG()
		require.NoError(t, err)
		return len(regexp.MustCompile(`<path d="M[^"]*A[^"]*"`).FindAllString(string(svg), -1))
	}
	assert.Equal(t, dots(4)+3, dots(7))
}

// The chart of completeness comes first if a step lost records, else the chart of the cost.
func TestTheFigureOfAStepsGoalComesFirst(t *testing.T) {
	for lost, want := range map[bool][]string{true: {"concurrency-completeness", "concurrency-cpu"},
		false: {"concurrency-cpu", "concurrency-completeness"}} {
		rows := []tuning.ConcurrencyRow{{Queries: 100, AverageResultSize: 10}, {Queries: 200, AverageResultSize: 10,
			Verdict: tuning.Fail}}
		if lost {
			rows[1].AverageResultSize = 5
		}
		for i := range rows {
			rows[i].AverageCPUMsPerMinute, rows[i].Workers = tuning.Figure(rows[i].Queries), 2
			rows[i].TotalCPUMsPerMinute, rows[i].AverageGCMsPerMinute = tuning.Unknown, tuning.Unknown
		}
		c, err := tuning.AnalyzeConcurrency(rows, tuning.DefaultGoals(), 0.95)
		require.NoError(t, err)
		d := report.OfConcurrency(c)
		var names []string
		for _, f := range d.Figures {
			names = append(names, f.Name)
			svg, err := f.SVG()
			require.NoError(t, err)
			assert.Contains(t, string(svg), "measured (hollow: not OK)", "one legend, whatever the step missed")
		}
		assert.Equal(t, want, names)
		assert.Equal(t, !lost, strings.Contains(d.Text(), "A complete step that is FAIL missed another goal"))
	}
}

func TestAnalysesOfOneRow(t *testing.T) {
	c, err := tuning.AnalyzeConcurrency([]tuning.ConcurrencyRow{{Queries: 100, AverageCPUMsPerMinute: 60_000,
		AverageResultSize: 8, Workers: 3,
		TotalCPUMsPerMinute: tuning.Unknown, AverageGCMsPerMinute: tuning.Unknown}}, tuning.DefaultGoals(), 0.95)
	require.NoError(t, err)
	d, err := tuning.AnalyzeData([]tuning.DataRow{{DataMiBPerS: 100, RecordsPerS: 20_000, TotalCPUCores: 30,
		TotalMemoryMiB: 4096}}, 0.95)
	require.NoError(t, err)
	s, err := tuning.AnalyzeScaling([]tuning.ScalingRow{{Size: 1, Throughput: 5}},
		tuning.ScalingColumns{Size: "nodes", Throughput: "throughput"}, 0.25, 0.95)
	require.NoError(t, err)
	for name, a := range map[string]*document.Document{"concurrency": report.OfConcurrency(c), "data": report.OfData(d),
		"scaling": report.OfScaling(s)} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, chart.WriteFigures(a.Figures, t.TempDir()))
			text := a.Text() + a.Markdown("")
			for _, never := range []string{"NaN", "Inf", "%!"} {
				assert.NotContains(t, text, never)
			}
			assert.Contains(t, text, map[string]string{"concurrency": "below 100", "data": "but there are 1",
				"scaling": "one size shows no scaling"}[name])
		})
	}
	assert.Contains(t, report.OfConcurrency(c).Text(), "180,000", "three workers' total beside their mean")
	assert.Contains(t, fmt.Sprint(c.Notes), "no step has 0 queries")
}
