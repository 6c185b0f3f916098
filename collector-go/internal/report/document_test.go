package report_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Runs whose figures are those of the document's own tables: the reports must come to what tune analyze makes of the tables.

// cell is a step of a made-up run.
type cell struct {
	value, latencyMs, recordsPerS, mibPerS float64
	verdict                                tuning.Verdict
	timeline                               *tuning.Timeline
}

// column is a configuration with its steps.
type column struct {
	label            string
	filterBolts      int
	cores, memoryMiB float64
	cells            []cell
}

// asRun writes configurations as a run's directory.
func asRun(t *testing.T, analysis rundir.Analysis, axis rundir.Axis, columns []column) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	u := tuning.Unknown
	plan := rundir.Plan{Experiment: "document", Title: "The document's own figures", Analysis: analysis, Axis: axis, SliceMs: 10_000, ReportSliceMs: 10_000, WarmUpMs: 10_000, SustainMs: 50_000,
		Goals: []tuning.Goal{{Figure: tuning.FilterLatency, Statistic: tuning.Mean, AtMost: 200, AtLeast: u}}, Search: tuning.FullSearch, MinHostIdle: 0.05, Launch: "command",
		Load: rundir.Asked{Submit: "gateway", Class: "raw", QueriesPerSecond: u, RecordsPerSecond: 1000, TargetIdle: u, CatchUpFactor: u, QueryLimit: 10, MatchingPerSecond: 1, MeanRecordBytes: 1843}}
	for i, c := range columns {
		plan.Trials = append(plan.Trials, rundir.PlannedTrial{Number: i + 1, Label: c.label, Configuration: i + 1, Repeat: 1})
	}
	w, err := rundir.Create(dir, []byte("experiment: document\n"), plan, rundir.Manifest{ID: "document-1", StartedMs: originMs})
	require.NoError(t, err)
	defer w.Close()
	for i, c := range columns {
		trial := plan.Trials[i]
		require.NoError(t, w.BeginTrial(trial, nil, rundir.Arguments{}))
		require.NoError(t, w.Tell(rundir.Event{AtMs: originMs, Kind: rundir.TrialStarted, Trial: i + 1, Launch: 1}))
		run := &report.Run{Topology: "bullet", Goals: tuning.DefaultGoals(), SubmittedMs: originMs, StoredSliceMs: 10_000, SliceMs: 10_000, FilterLatencySeconds: make([]report.Slices, 1),
			Asked: &report.Asked{Components: []report.Component{{Name: tuning.FilterBolt, Parallelism: max(1, c.filterBolts), CPUCoresTotal: report.Figure(c.cores), OnHeapMiB: 1, OffHeapMiB: u, MemoryMiB: report.Figure(c.memoryMiB)}},
				Totals: tuning.StatedTotals{Parallelism: u, CPUCores: u, MemoryMiB: u}}}
		for n, at := range c.cells {
			start := originMs + int64(n)*60_000
			step := rundir.Step{Number: n + 1, Kind: rundir.LoadStep, Value: at.value, Attempt: 1, Launch: 1, StartMs: start, MeasuredFromMs: start + 10_000, EndMs: start + 60_000,
				QueriesPerSecond: u, RecordsPerSecond: report.Figure(at.recordsPerS), RecordsPerSecondAsked: u, MiBPerSecond: report.Figure(at.mibPerS), CatchUpRatio: u, HostIdle: 0.4, CPUCores: u, Verdict: at.verdict, Reasons: []string{}}
			if axis == rundir.Queries {
				step.Queries = int(at.value)
			}
			if at.timeline != nil {
				step.Kind = rundir.TimelineStep
				step.Timeline, err = json.Marshal(at.timeline)
				require.NoError(t, err)
			}
			require.NoError(t, w.FinishStep(trial, step, step.EndMs))
			for end := start + 10_000; end <= step.EndMs; end += 10_000 {
				put(&run.FilterLatencySeconds[0], end, at.latencyMs/1000)
			}
			run.Steps = append(run.Steps, report.Step{Queries: step.Queries, StartMs: start, MeasuredFromMs: step.MeasuredFromMs, EndMs: step.EndMs, HostIdle: 0.4, RecordsPerSecond: step.RecordsPerSecond})
		}
		require.NoError(t, run.Save(rundir.TrialDir(dir, trial)))
		require.NoError(t, w.Tell(rundir.Event{AtMs: originMs, Kind: rundir.TrialFinished, Trial: i + 1}))
	}
	return dir
}

// document reads one of the document's tables.
func document(t *testing.T, name string) (rows []map[string]string) {
	t.Helper()
	file, err := os.Open("../sheet/testdata/document/" + name)
	require.NoError(t, err)
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, head := range lines[0] {
			row[head] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func numberIn(t *testing.T, row map[string]string, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(row[name], 64)
	require.NoError(t, err, "%s of %v", name, row)
	return v
}

func written(t *testing.T, dir string) (*report.RunReport, string) {
	t.Helper()
	r, err := report.OpenRunReport(dir)
	require.NoError(t, err)
	out := t.TempDir()
	if named := os.Getenv("REPORT_OUT"); named != "" {
		out = filepath.Join(named, t.Name())
	}
	require.NoError(t, r.Write(out))
	text, err := os.ReadFile(filepath.Join(out, "report.md"))
	require.NoError(t, err)
	return r, string(text)
}

func TestTheReportOfTest7(t *testing.T) {
	var columns []column
	for _, row := range document(t, "query-scaling-test7.csv") {
		bolts := int(numberIn(t, row, "filter_bolts"))
		if len(columns) == 0 || columns[len(columns)-1].filterBolts != bolts {
			columns = append(columns, column{label: fmt.Sprintf("%d filter bolts", bolts), filterBolts: bolts, cores: numberIn(t, row, "topology_cpu_cores"), memoryMiB: numberIn(t, row, "topology_memory_mib")})
		}
		at := cell{value: numberIn(t, row, "queries"), latencyMs: numberIn(t, row, "average_latency_ms"), recordsPerS: 1000, mibPerS: 1.8, verdict: tuning.OK}
		if at.latencyMs > 200 {
			at.verdict = tuning.Fail
		}
		columns[len(columns)-1].cells = append(columns[len(columns)-1].cells, at)
	}
	r, text := written(t, asRun(t, rundir.OfQueries, rundir.Queries, columns))
	require.NotNil(t, r.Judged.Queries)
	assert.InDelta(t, 28.68, float64(r.Judged.Queries.Fit.QueriesPerCore), 0.01, "as tune analyze says")
	assert.Contains(t, text, "| 4 | 78.3 | 112,256 | [50, 60) | 40 | yes | 32 | 36% |")
	assert.Contains(t, text, "# for up to 400 simultaneous queries: 20% left free of the last step that held, capacity [500, 550), the knee at 500\nbullet.topology.filter.bolt.parallelism: 20")
}

func TestTheReportOfTest6(t *testing.T) {
	volumes := map[float64]column{}
	var order []float64
	for _, row := range document(t, "data-scaling-test6.csv") {
		rate := numberIn(t, row, "records_per_s")
		if _, found := volumes[rate]; !found {
			order = append(order, rate)
		}
		volumes[rate] = column{label: fmt.Sprintf("for %g", rate), cores: numberIn(t, row, "total_cpu_cores"), memoryMiB: numberIn(t, row, "total_memory_mib"), cells: []cell{
			{value: rate, latencyMs: 5, recordsPerS: rate, mibPerS: numberIn(t, row, "data_mib_per_s"), verdict: tuning.OK}}}
	}
	var columns []column
	for i, rate := range order {
		c := volumes[rate]
		if i > 0 { // the configuration before fails at this rate, a larger one holds it too
			columns[i-1].cells = append(columns[i-1].cells, cell{value: rate, latencyMs: 900, recordsPerS: rate * 0.8, mibPerS: c.cells[0].mibPerS * 0.8, verdict: tuning.Fail})
			c.cells = append([]cell{{value: order[i-1], latencyMs: 4, recordsPerS: order[i-1], mibPerS: columns[i-1].cells[0].mibPerS, verdict: tuning.OK}}, c.cells...)
		}
		columns = append(columns, c)
	}
	// Cells of column i: [the rate before,] its own[, the next one]; the first volume's own is the one read above.
	for i := range columns {
		if i > 1 {
			columns[i].cells[0].mibPerS = volumes[order[i-1]].cells[0].mibPerS
		}
	}
	r, text := written(t, asRun(t, rundir.OfData, rundir.RecordsPerSecond, columns))
	require.NotNil(t, r.Judged.Data)
	assert.InDelta(t, 782.2, float64(r.Judged.Data.Fits.RecordsPerCore.Slope), 0.1, "as tune analyze says")
	assert.InDelta(t, 760.7, float64(r.Judged.Data.Fits.RecordsPerCore.ThroughOrigin), 0.1)
	assert.InDelta(t, 1.305, float64(r.Judged.Data.Fits.GiBPerCore.Slope), 0.001)
	assert.Contains(t, text, "figures/data-residuals.svg")
	assert.Contains(t, text, "| Records/s asked for | ")
}

// The delays of Test 1: a record that waits in Kafka before anybody asks, and Bullet's own 1.66 ms.
func TestTheReportOfTest1(t *testing.T) {
	timeline := &tuning.Timeline{Queries: 100, Returned: 100, AddedDelay: tuning.Estimate{Value: 1.66, Low: 1.5, High: 1.8}, FindTime: tuning.Estimate{Value: 10.3, Low: 9, High: 11.6},
		Skews: []tuning.Skew{{From: "kafka-1", To: "host-a", LeastMs: 0.1, MostMs: 0.7, Method: "round trips"}}}
	for _, row := range document(t, "latency-test1.csv") {
		mean := tuning.Figure(numberIn(t, row, "delay_ms"))
		timeline.Stages = append(timeline.Stages, tuning.Stage{Name: row["stage"], Host: "host-a", Count: 100, MeanMs: mean, DeviationMs: 0.2 * max(mean, -mean), LeastMs: mean - 0.5*max(mean, -mean), MedianMs: mean, MostMs: mean + 0.5*max(mean, -mean)})
	}
	starved := &tuning.Timeline{Queries: 100, Returned: 7, AddedDelay: tuning.Estimate{Value: 812}}
	r, text := written(t, asRun(t, rundir.OfTimeline, rundir.Queries, []column{{label: "as it is", cores: 2, memoryMiB: 100, cells: []cell{
		{value: 1, latencyMs: 2, verdict: tuning.Inconclusive, timeline: starved}, {value: 1, latencyMs: 2, verdict: tuning.OK, timeline: timeline}}}}))
	require.Len(t, r.Judged.Timelines, 1, "of a step that was repeated the last one")
	for _, want := range []string{"| Kafka Received | host-a | 100 | -710.8 |", "Delay that Bullet adds: 1.66 ms (95%: 1.5 to 1.8).", "| host-a | kafka-1 | 0.1 | 0.7 | round trips |",
		"figures/timeline-stages.svg"} {
		assert.Contains(t, text, want)
	}
}
