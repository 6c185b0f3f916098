package report_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func build(t *testing.T, run *runstore.Figures) *report.Report {
	t.Helper()
	r, err := report.Build(run, onePlan())
	require.NoError(t, err)
	return r
}

func TestSlicesAreAlignedWithTheFirstStep(t *testing.T) {
	r := build(t, synthetic())
	require.NotEmpty(t, r.TimesMs)
	assert.Equal(t, originMs-40_000, r.TimesMs[0], "the first whole slice of the calibration")
	assert.Contains(t, r.TimesMs, originMs+10_000)
	assert.Equal(t, originMs+240_000, r.TimesMs[len(r.TimesMs)-1])
	for _, w := range r.Workers {
		assert.Len(t, w.CPUMsPerMinute, len(r.TimesMs))
		assert.Len(t, w.HeapUsedBytes, len(r.TimesMs))
		assert.Len(t, w.GCMsPerMinute, len(r.TimesMs))
	}
	assert.Len(t, r.QueriesRunning, len(r.TimesMs))
	assert.Len(t, r.FilterLatencyMeanMs, len(r.TimesMs))
}

func TestFiguresAreScaledToAMinute(t *testing.T) {
	run := synthetic()
	run.Workers = []runstore.Worker{{Name: "w:1", Pids: []int{7}, CPUSeconds: runstore.Slices{
		TimesMs: []int64{originMs, originMs + 10_000, originMs + 20_000}, Values: []report.Figure{100, 105, 110},
	}}}
	r := build(t, run)
	i := indexOf(t, r.TimesMs, originMs+10_000)
	assert.InDelta(t, 30_000, float64(r.Workers[0].CPUMsPerMinute[i]), 1e-6, "5 s of CPU in 10 s")
	assert.InDelta(t, 0.5, float64(r.Workers[0].CPUCores[i]), 1e-9)
}

// The same totals give the same values per minute with slices of 10 s and of 60 s.
func TestWiderSlicesAreTheMeansOfNarrowOnes(t *testing.T) {
	narrow := build(t, synthetic())
	wide := synthetic()
	wide.SliceMs = 60_000
	r := build(t, wide)
	last := len(r.TimesMs) - 1
	sum := report.Figure(0)
	for _, f := range narrow.Workers[0].CPUMsPerMinute[len(narrow.TimesMs)-6:] {
		sum += f
	}
	assert.InDelta(t, float64(sum/6), float64(r.Workers[0].CPUMsPerMinute[last]), 1e-6)
}

func TestAGapIsNull(t *testing.T) {
	r := build(t, synthetic())
	for _, missing := range []int64{130_000, 140_000, 150_000} { // the slice after a gap has no previous total
		i := indexOf(t, r.TimesMs, originMs+missing)
		assert.False(t, r.Workers[1].CPUMsPerMinute[i].Known(), "at %d", missing)
		assert.True(t, r.Workers[0].CPUMsPerMinute[i].Known())
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var decoded struct {
		Workers []struct {
			CPU []*float64 `json:"cpu_ms_per_minute"`
		} `json:"workers"`
	}
	require.NoError(t, json.Unmarshal(text, &decoded))
	assert.Nil(t, decoded.Workers[1].CPU[indexOf(t, r.TimesMs, originMs+130_000)])
	assert.Equal(t, 2, r.Collection.MissingSlices)
	assert.Equal(t, 50, r.Collection.ExpectedSlices)
}

func TestStepsLeaveWarmUpOut(t *testing.T) {
	run := synthetic()
	burst := runstore.Worker{Name: "w:1", Pids: []int{7}}
	for t, total := range map[int64]report.Figure{0: 0, 10_000: 500, 20_000: 1000, 40_000: 1010, 60_000: 1020} {
		burst.CPUSeconds.TimesMs = append(burst.CPUSeconds.TimesMs, originMs+t)
		burst.CPUSeconds.Values = append(burst.CPUSeconds.Values, total)
	}
	sortByTime(&burst.CPUSeconds)
	run.Workers, run.Steps = []runstore.Worker{burst}, run.Steps[:1]
	r := build(t, run)
	assert.InDelta(t, 30_000, float64(r.Steps[0].AverageCPUMsPerMinute), 1e-6, "20 s of CPU in the 40 s measured")
	assert.Equal(t, 1, r.Steps[0].Workers)
}

// The report shows the verdicts that were stored when the steps were measured.
func TestVerdictsAreTheSteps(t *testing.T) {
	run := synthetic()
	run.Steps[2].Verdict, run.Steps[3].Verdict = tuning.Fail, tuning.Inconclusive
	r := build(t, run)
	assert.Equal(t, []tuning.Verdict{tuning.OK, tuning.OK, tuning.Fail, tuning.Inconclusive},
		[]tuning.Verdict{r.Steps[0].Verdict, r.Steps[1].Verdict, r.Steps[2].Verdict, r.Steps[3].Verdict})
	assert.InDelta(t, 4.3, float64(r.Steps[1].FilterLatencyMeanMs), 1, "ms, mean of two tasks")
}

func TestARunWithNothingCollectedIsReported(t *testing.T) {
	run := synthetic()
	run.Workers, run.FilterLatencySeconds, run.QueriesRunning = nil, nil, runstore.Slices{}
	assert.Contains(t, markdown(t, run), "One trial")
}

func TestARunNeedsSteps(t *testing.T) {
	_, err := report.Build(&runstore.Figures{SliceMs: 10_000}, onePlan())
	assert.Error(t, err)
}

func TestFiguresSurviveTheirFile(t *testing.T) {
	want, err := json.Marshal(build(t, synthetic()).TimesMs)
	require.NoError(t, err)
	got, err := json.Marshal(oneTrial(t, synthetic()).Trials[0].Report.TimesMs)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(got))
}

// These parts of the demo's report.json are used by others.
func TestTheKeysOfASingleTrialsReport(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, oneTrial(t, synthetic()).WriteSingle(dir))
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	require.NoError(t, err)
	var r map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &r))
	for _, key := range []string{"title", "topology", "verdict", "started_ms", "slice_ms", "goals", "steps", "times_ms",
		"workers", "queries_running", "filter_latency_mean_ms",
		"filter_latency_slowest_task_ms", "calibration", "collection", "query", "manifest", "settings", "axis", "gc",
		"asked", "marks", "caveats", "capacity", "cost", "limiters"} {
		assert.Contains(t, r, key)
	}
	var steps, workers []map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(r["steps"], &steps))
	for _, key := range []string{"queries", "workers", "average_cpu_ms_per_minute", "average_cpu_cores",
		"total_cpu_ms_per_minute", "average_gc_ms_per_minute", "gc_share_of_cpu",
		"average_heap_used_bytes", "average_result_size", "filter_latency_mean_ms", "verdict", "reasons", "host_idle",
		"queries_running_mean", "clients", "records_per_second",
		"mib_per_second", "records_lag", "shares", "start_ms", "measured_from_ms", "end_ms"} {
		assert.Contains(t, steps[1], key)
	}
	require.NoError(t, json.Unmarshal(r["workers"], &workers))
	for _, key := range []string{"worker", "pid", "pids", "cpu_ms_per_minute", "cpu_cores", "heap_used_bytes",
		"gc_ms_per_minute"} {
		assert.Contains(t, workers[0], key)
	}
	assert.JSONEq(t, `"One trial"`, string(r["title"]))
	var goals struct {
		Limit float64 `json:"filter_latency_limit_ms"`
	}
	require.NoError(t, json.Unmarshal(r["goals"], &goals))
	assert.Equal(t, 200.0, goals.Limit)
}

func indexOf(t *testing.T, times []int64, ms int64) int {
	t.Helper()
	for i, at := range times {
		if at == ms {
			return i
		}
	}
	require.Failf(t, "no slice", "none ends at %d", ms)
	return -1
}

func sortByTime(s *runstore.Slices) {
	for i := range s.TimesMs {
		for j := i; j > 0 && s.TimesMs[j] < s.TimesMs[j-1]; j-- {
			s.TimesMs[j], s.TimesMs[j-1] = s.TimesMs[j-1], s.TimesMs[j]
			s.Values[j], s.Values[j-1] = s.Values[j-1], s.Values[j]
		}
	}
}

// cpu_ms_per_minute is user and system time together, here as on the page and in Grafana. The two parts are separate
// fields if they are known.
func TestCPUIsShownTogetherAndApart(t *testing.T) {
	run := synthetic()
	total := func(perSecond float64) (s runstore.Slices) {
		return gauge(-50_000, func(seconds float64) float64 { return 100 + perSecond*seconds })
	}
	run.Workers = []runstore.Worker{{Name: "w:1", Pids: []int{7}, CPUSeconds: total(0.5), CPUUserSeconds: total(0.4),
		CPUSystemSeconds: total(0.1)}}
	r := build(t, run)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var decoded struct {
		Workers []map[string]json.RawMessage
		Steps   []map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(text, &decoded))
	i := indexOf(t, r.TimesMs, originMs+100_000)
	for name, want := range map[string]float64{"cpu_ms_per_minute": 30_000, "cpu_user_ms_per_minute": 24_000,
		"cpu_system_ms_per_minute": 6_000} {
		var values []*float64
		require.NoError(t, json.Unmarshal(decoded.Workers[0][name], &values), name)
		assert.InDelta(t, want, *values[i], 1e-6, name)
	}
	for name, want := range map[string]float64{"total_cpu_ms_per_minute": 30_000,
		"total_cpu_user_ms_per_minute": 24_000, "total_cpu_system_ms_per_minute": 6_000} {
		var v float64
		require.NoError(t, json.Unmarshal(decoded.Steps[1][name], &v), name)
		assert.InDelta(t, want, v, 1e-6, name)
	}
	written := markdown(t, run)
	assert.Contains(t, written, "Total CPU, user ms/min")
	assert.Contains(t, written, "| 24,000 | 6,000 |")

	run.Workers[0].CPUUserSeconds, run.Workers[0].CPUSystemSeconds = runstore.Slices{}, runstore.Slices{}
	r = build(t, run)
	assert.False(t, r.Steps[1].TotalCPUUserMsPerMinute.Known(), "a system that does not tell them apart")
	assert.NotContains(t, markdown(t, run), "Total CPU, user")
}
