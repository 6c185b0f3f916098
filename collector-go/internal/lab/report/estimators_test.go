package report_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// sparse adds a filter task that reports a higher latency, but only in every fourth slice.
func sparse(t *testing.T, dir string) {
	t.Helper()
	run, err := runstore.Read(dir)
	require.NoError(t, err)
	for _, trial := range run.Trials {
		f, err := trial.Figures()
		require.NoError(t, err)
		var task runstore.Slices
		for i, end := range f.FilterLatencySeconds[0].TimesMs {
			if i%4 == 0 {
				task.TimesMs, task.Values = append(task.TimesMs, end), append(task.Values, 0.1)
			}
		}
		f.FilterLatencySeconds = append(f.FilterLatencySeconds, task)
		text, err := json.Marshal(f)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(trial.Dir, runstore.FiguresFile), text, 0o644))
	}
}

// A report and a comparison state the same value for the same figure of a run.
func TestReportAndCompareGiveTheSameFigures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "little")
	tellAll(t, dir, "as it is", littleHeap, littleHeap.again(1), littleHeap.again(2))
	sparse(t, dir)
	r, err := report.OpenRunReport(dir)
	require.NoError(t, err)
	c, err := report.Compare(dir, dir, 0.95)
	require.NoError(t, err)
	change := c.Configurations[0]
	require.NotEmpty(t, change.Steps)
	of := map[string]func(s report.StepReport) tuning.Figure{
		compare.TotalCPU:       func(s report.StepReport) tuning.Figure { return s.TotalCPUMsPerMinute },
		compare.MeanCPU:        func(s report.StepReport) tuning.Figure { return s.AverageCPUMsPerMinute },
		compare.GCShare:        func(s report.StepReport) tuning.Figure { return 100 * s.GCShareOfCPU },
		compare.TotalHeap:      func(s report.StepReport) tuning.Figure { return s.TotalHeapUsedBytes / (1 << 20) },
		compare.FilterLatency:  func(s report.StepReport) tuning.Figure { return s.FilterLatencyMeanMs },
		compare.ResultSize:     func(s report.StepReport) tuning.Figure { return s.AverageResultSize },
		compare.TimeToResult:   func(s report.StepReport) tuning.Figure { return s.Clients.LatencyMeanMs },
		compare.QueriesRunning: func(s report.StepReport) tuning.Figure { return s.QueriesRunningMean },
		compare.Records:        func(s report.StepReport) tuning.Figure { return s.RecordsPerSecond },
	}
	seen := map[string]int{}
	for i, step := range change.Steps {
		for _, f := range step.Figures {
			figure, known := of[f.Name]
			if !known {
				continue
			}
			var reported []tuning.Figure
			for _, trial := range r.Trials {
				reported = append(reported, figure(trial.Report.Steps[i]))
			}
			seen[f.Name]++
			assert.InEpsilon(t, 1+float64(runstore.Average(reported)), 1+float64(f.Before), 1e-9, "%s, %s", step.Name, f.Name)
		}
	}
	assert.Len(t, seen, len(of))
}

// A comparison states the cost of the report with its interval. It comes from the loads that were measured only for the
// cost, if there are any.
func TestReportAndCompareGiveTheSameCost(t *testing.T) {
	c := mirrored(1.000, 1.030, 1.090, 1.080, 1.010, 0.970)
	for _, step := range []cell{{value: 0, cores: 1}, {value: 100, cores: 1.6}, {value: 200, cores: 1.7}} {
		step.latencyMs, step.recordsPerS, step.mibPerS, step.verdict = 5, 1000, 1.8, tuning.OK
		c.cells = append(c.cells, step)
	}
	dir := asRun(t, runstore.OfConcurrency, runstore.Queries, []column{c})
	r, err := report.OpenRunReport(dir)
	require.NoError(t, err)
	require.Len(t, r.Results.Concurrency, 1)
	reported := r.Results.Concurrency[0]
	compared, err := report.Compare(dir, dir, 0.95)
	require.NoError(t, err)
	costs := compared.Configurations[0].Marginal
	require.Len(t, costs, 2)
	assert.Equal(t, reported.MarginalTotal, *costs[0].EstimateBefore)
	assert.Equal(t, reported.Marginal, *costs[1].EstimateAfter)
	assert.Equal(t, reported.MarginalTotal.Value, costs[0].Before)
	assert.Contains(t, compared.Document().Text(), "CPU that a query adds, all workers: before 100 ms/min (95%: 63 to 136), after 100 ms/min (95%: 63 to 136); change +0.0%")
}
