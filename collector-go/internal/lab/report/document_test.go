package report_test

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Runs with the figures of the tuning document's tables. The reports must have the same results as tune analyze for
// these tables.

// cell is a step of a made-up run.
type cell struct {
	value, latencyMs, recordsPerS, mibPerS float64
	verdict                                tuning.Verdict
	kind                                   runstore.StepKind // LoadStep by default
	timeline                               *tuning.Timeline
	// cores is the CPU that the single worker used. bytesPerS is what the source counted. 0 means not measured.
	cores, bytesPerS float64
	// busy is the share of a core that the busiest JoinBolt executor used. 0 means not measured.
	busy float64
	// limiter is what limited the step. "" means that no evidence was gathered.
	limiter tuning.Limiter
}

// column is a configuration with its steps.
type column struct {
	label            string
	filterBolts      int
	repeatOf         int // the configuration of which this is another launch; 0 for a configuration of its own
	cores, memoryMiB float64
	// components are the requested components of the topology. nil means filter bolts only.
	components []runstore.Component
	cells      []cell
}

// requests returns the resource request that the topology reported.
func (c column) requests() *runstore.ResourceRequest {
	u := tuning.Unknown
	if c.components == nil {
		return &runstore.ResourceRequest{Components: []runstore.Component{
			{Name: tuning.FilterBolt, Parallelism: max(1, c.filterBolts), CPUCoresTotal: report.Figure(c.cores),
				OnHeapMiB: 1, OffHeapMiB: u, MemoryMiB: report.Figure(c.memoryMiB)}},
			Totals: tuning.StatedTotals{Parallelism: u, CPUCores: u, MemoryMiB: u}}
	}
	return &runstore.ResourceRequest{Components: c.components,
		Totals: tuning.StatedTotals{Parallelism: u, CPUCores: report.Figure(c.cores),
			MemoryMiB: report.Figure(c.memoryMiB), CPUColumn: tuning.ColumnCPUTotal}}
}

// instances returns a component from the resources of each instance.
func instances(name string, n int, coresEach, onHeapMiB, offHeapMiB float64) runstore.Component {
	return runstore.Component{Name: name, Parallelism: n, CPUCoresTotal: report.Figure(coresEach * float64(n)),
		OnHeapMiB: report.Figure(onHeapMiB), OffHeapMiB: report.Figure(offHeapMiB),
		MemoryMiB: report.Figure(float64(n) * (onHeapMiB + offHeapMiB))}
}

// rest returns a component that has the resources that the other components leave of the total.
func (c column) rest(name string, n int, offHeapMiB float64) runstore.Component {
	cores, memory := c.cores, c.memoryMiB
	for _, other := range c.components {
		cores, memory = cores-float64(other.CPUCoresTotal), memory-float64(other.MemoryMiB)
	}
	cores = math.Round(10*cores) / 10
	return runstore.Component{Name: name, Parallelism: n, CPUCoresTotal: report.Figure(cores),
		OnHeapMiB: report.Figure(memory/float64(n) - offHeapMiB), OffHeapMiB: report.Figure(offHeapMiB),
		MemoryMiB: report.Figure(memory)}
}

// asRun writes configurations as a run directory.
func asRun(t *testing.T, analysis runstore.Analysis, axis runstore.Axis, columns []column) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	u := tuning.Unknown
	plan := runstore.Plan{Experiment: "document", Title: "The document's own figures", Analysis: analysis, Axis: axis,
		SliceMs: 10_000, ReportSliceMs: 10_000, WarmUpMs: 10_000, SustainMs: 50_000,
		Goals:  []tuning.Goal{{Figure: tuning.FilterLatency, Statistic: tuning.Mean, AtMost: 200, AtLeast: u}},
		Search: tuning.FullSearch, MinHostIdle: 0.05, Launch: "command",
		Load: runstore.Load{Submit: "gateway", Class: "raw", QueriesPerSecond: u, Queries: 400, RecordsPerSecond: 68_400,
			TargetIdle: u, CatchUpFactor: u, QueryLimit: 10, MatchingPerSecond: 1, MeanRecordBytes: 1843}}
	for i, c := range columns {
		trial := runstore.PlannedTrial{Number: i + 1, Label: c.label, Configuration: i + 1, Repeat: 1}
		if c.repeatOf > 0 {
			trial.Configuration, trial.Repeat = c.repeatOf, i+2-c.repeatOf
		}
		if c.filterBolts > 0 {
			trial.Settings = []runstore.Entry{{Key: "bullet.topology.filter.bolt.parallelism",
				Value: strconv.Itoa(c.filterBolts)}}
		}
		plan.Trials = append(plan.Trials, trial)
	}
	w, err := runstore.Create(dir, []byte("experiment: document\n"), plan,
		runstore.Manifest{ID: "document-1", StartedMs: originMs, Machine: runstore.Machine{Cores: 48, UsableCores: 47,
			MemoryBytes: 256 << 30}})
	require.NoError(t, err)
	defer w.Close()
	for i, c := range columns {
		trial := plan.Trials[i]
		require.NoError(t, w.BeginTrial(trial, nil, runstore.Arguments{}))
		require.NoError(t, w.Record(runstore.Event{AtMs: originMs, Kind: runstore.TrialStarted, Trial: i + 1,
			Launch: 1}))
		run := &runstore.Figures{Topology: "bullet", SubmittedMs: originMs, StoredSliceMs: 10_000, SliceMs: 10_000,
			FilterLatencySeconds: make([]runstore.Slices, 1),
			Requested:            c.requests()}
		used, worker := 0.0, runstore.Worker{Name: "host:6700", Pids: []int{4711}}
		for n, at := range c.cells {
			start := originMs + int64(n)*60_000
			step := runstore.Step{Number: n + 1, Kind: cmp.Or(at.kind, runstore.LoadStep), Value: at.value, Attempt: 1,
				Launch: 1, StartMs: start, MeasuredFromMs: start + 10_000, EndMs: start + 60_000,
				QueriesPerSecond: u, RecordsPerSecond: report.Figure(at.recordsPerS), RecordsPerSecondAsked: u,
				MiBPerSecond: report.Figure(at.mibPerS), CatchUpRatio: u,
				Clients: runstore.Clients{AverageResultSize: 10}, HostIdle: 0.4, CPUCores: u, Verdict: at.verdict,
				Reasons: []string{}}
			if axis == runstore.Queries {
				step.Queries = int(at.value)
			}
			if at.timeline != nil {
				step.Kind = runstore.TimelineStep
				step.Timeline = at.timeline
			}
			if at.cores > 0 {
				step.CPUCores, step.Workers = report.Figure(at.cores), 1
				for end := start + 10_000; end <= step.EndMs; end += 10_000 {
					used += 10 * at.cores
					put(&worker.CPUSeconds, end, used)
					put(&worker.GCSeconds, end, used/100)
				}
			}
			if at.bytesPerS > 0 || at.busy > 0 {
				e := tuning.NoEvidence()
				if at.busy > 0 {
					join := tuning.NoBoltEvidence("JoinBolt")
					join.BusyMost = report.Figure(at.busy)
					e.Bolts = append(e.Bolts, join)
				}
				if at.bytesPerS > 0 {
					e.Source.BytesPerSecond = report.Figure(at.bytesPerS)
				}
				step.Evidence = &e
			}
			if at.limiter != "" {
				step.Limitation = &tuning.Limitation{Limiters: []tuning.Limiter{at.limiter},
					Text:     fmt.Sprintf("limited by %s: it was full; and more", at.limiter),
					Findings: []tuning.LimiterFinding{{Limiter: at.limiter, State: tuning.Reached, Says: "it was full"}}}
				step.Reasons = append(step.Reasons, step.Limitation.Text)
			}
			require.NoError(t, w.FinishStep(trial, step, step.EndMs))
			for end := start + 10_000; end <= step.EndMs; end += 10_000 {
				put(&run.FilterLatencySeconds[0], end, at.latencyMs/1000)
			}
		}
		if used > 0 {
			run.Workers = []runstore.Worker{worker}
		}
		require.NoError(t, w.SaveFigures(trial, *run))
		require.NoError(t, w.Record(runstore.Event{AtMs: originMs, Kind: runstore.TrialFinished, Trial: i + 1}))
	}
	end(t, w, originMs+3_600_000)
	return dir
}

// documentTable reads one of the tuning document's tables.
func documentTable(t *testing.T, name string) (rows []map[string]string) {
	t.Helper()
	file, err := os.Open("../csvtable/testdata/document/" + name)
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

// test7 returns the document's rows of Test 7: filter bolts beside 16 spouts and the ackers, at 68,400 records/s and
// 105 MiB/s.
func test7(t *testing.T) (columns []column) {
	t.Helper()
	for _, row := range documentTable(t, "query-scaling-test7.csv") {
		bolts := int(numberIn(t, row, "filter_bolts"))
		if len(columns) == 0 || columns[len(columns)-1].filterBolts != bolts {
			c := column{label: fmt.Sprintf("%d filter bolts", bolts), filterBolts: bolts,
				cores: numberIn(t, row, "topology_cpu_cores"), memoryMiB: numberIn(t, row, "topology_memory_mib"),
				components: []runstore.Component{instances("DataSource", 16, 1, 1024, 192),
					instances("FilterBolt", bolts, 1, 1024, 192)}}
			c.components = append(c.components, c.rest("__acker", 256, 0))
			columns = append(columns, c)
		}
		at := cell{value: numberIn(t, row, "queries"), latencyMs: numberIn(t, row, "average_latency_ms"),
			recordsPerS: 68_400, mibPerS: 105, verdict: tuning.OK}
		if at.latencyMs > 200 {
			at.verdict = tuning.Fail
		}
		columns[len(columns)-1].cells = append(columns[len(columns)-1].cells, at)
	}
	return columns
}

func TestTheReportOfTest7(t *testing.T) {
	r, text := written(t, asRun(t, runstore.OfQueries, runstore.Queries, test7(t)))
	if os.Getenv("UPDATE_IMAGES") != "" {
		out := t.TempDir()
		require.NoError(t, r.Write(out))
		drawn, err := os.ReadFile(filepath.Join(out, "figures", "trials.svg"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("../../../../docs/images/trials.svg", drawn, 0o644))
	}
	require.NotNil(t, r.Results.Queries)
	assert.InDelta(t, 28.68, float64(r.Results.Queries.Fit.QueriesPerCore), 0.01, "as tune analyze says")
	assert.Contains(t, text, "| 4 | 78.3 | 112,256 | holds 50, fails at 60 | 40 | yes | 32 | 36% |")
	assert.Contains(t, text, "| T2 | 8 filter bolts | bullet.topology.filter.bolt.parallelism: 4 → 8 |",
		"what was changed between the trials")
	assert.Contains(t, text, "figures/trials.svg")
	assert.NotContains(t, text, "n 2)", "nothing was repeated")
	for _, want := range []string{"| 50 | 78.3 | 4 |", "| 500 | ", "| 550 | – | not held |",
		"figures/queries-demand.svg", "Largest capacity: holds 500, fails at 550 simultaneous queries (20 filter bolts)."} {
		assert.Contains(t, text, want)
	}
	assert.Contains(t, text,
		"# for up to 400 simultaneous queries: 20% below the last OK step, capacity: holds 500, fails at 550, knee at 500\nbullet.topology.filter.bolt.parallelism: 20")
}

// test6 returns the document's volumes. Each configuration holds its own rate and the previous one, and fails at the
// next. The components are those of the table by Bullet's names, and one for what the table leaves out.
func test6(t *testing.T) (columns []column) {
	t.Helper()
	volumes := map[float64]column{}
	var order []float64
	bulletsName := map[string]string{"DataSource spout": "DataSpout", "DataSource bolt": "DataSource",
		"Filter bolt": "FilterBolt"}
	for _, row := range documentTable(t, "data-scaling-test6.csv") {
		rate := numberIn(t, row, "records_per_s")
		c, found := volumes[rate]
		if !found {
			order = append(order, rate)
			c = column{label: fmt.Sprintf("for %.0f", rate), cores: numberIn(t, row, "total_cpu_cores"),
				memoryMiB: numberIn(t, row, "total_memory_mib"), cells: []cell{
					{value: rate, latencyMs: 5, recordsPerS: rate, mibPerS: numberIn(t, row, "data_mib_per_s"),
						verdict: tuning.OK}}}
		}
		c.components = append(c.components,
			instances(bulletsName[row["component"]], int(numberIn(t, row, "parallelism")),
				numberIn(t, row, "cpu_cores_each"), numberIn(t, row, "on_heap_mib"), 192))
		volumes[rate] = c
	}
	for rate, c := range volumes {
		c.components = append(c.components, c.rest("JoinBolt", 2, 192))
		volumes[rate] = c
	}
	for i, rate := range order {
		c := volumes[rate]
		if i > 0 { // the previous configuration fails at this rate, and a larger one holds it, too
			columns[i-1].cells = append(columns[i-1].cells, cell{value: rate, latencyMs: 900, recordsPerS: rate * 0.8,
				mibPerS: c.cells[0].mibPerS * 0.8, verdict: tuning.Fail})
			c.cells = append([]cell{{value: order[i-1], latencyMs: 4, recordsPerS: order[i-1],
				mibPerS: columns[i-1].cells[0].mibPerS, verdict: tuning.OK}}, c.cells...)
		}
		columns = append(columns, c)
	}
	// The cells of column i are: the previous rate (if any), its own, and the next one (if any). The first volume's own
	// rate is the one read above.
	for i := range columns {
		if i > 1 {
			columns[i].cells[0].mibPerS = volumes[order[i-1]].cells[0].mibPerS
		}
	}
	return columns
}

func TestTheReportOfTest6(t *testing.T) {
	r, text := written(t, asRun(t, runstore.OfData, runstore.RecordsPerSecond, test6(t)))
	require.NotNil(t, r.Results.Data)
	assert.InDelta(t, 782.2, float64(r.Results.Data.Fits.RecordsPerCore.Slope), 0.1, "as tune analyze says")
	assert.InDelta(t, 760.7, float64(r.Results.Data.Fits.RecordsPerCore.ThroughOrigin), 0.1)
	assert.InDelta(t, 1.305, float64(r.Results.Data.Fits.GiBPerCore.Slope), 0.001)
	assert.Contains(t, text, "figures/data-residuals.svg")
	assert.Contains(t, text, "| Records/s requested | ")
}

// The delays of Test 1: a record that waits in Kafka before the query arrives, and the 1.66 ms that Bullet adds.
func TestTheReportOfTest1(t *testing.T) {
	timeline := &tuning.Timeline{Queries: 100, Returned: 100, AddedDelay: tuning.Estimate{Value: 1.66, Low: 1.5,
		High: 1.8}, FindTime: tuning.Estimate{Value: 10.3, Low: 9, High: 11.6},
		Skews: []tuning.Skew{{From: "kafka-1", To: "host-a", LeastMs: 0.1, MostMs: 0.7, Method: "round trips"}}}
	for _, row := range documentTable(t, "latency-test1.csv") {
		mean := tuning.Figure(numberIn(t, row, "delay_ms"))
		timeline.Stages = append(timeline.Stages, tuning.Stage{Name: row["stage"], Host: "host-a", Count: 100,
			MeanMs: mean, DeviationMs: 0.2 * max(mean, -mean), LeastMs: mean - 0.5*max(mean, -mean), MedianMs: mean,
			MostMs: mean + 0.5*max(mean, -mean)})
	}
	starved := &tuning.Timeline{Queries: 100, Returned: 7, AddedDelay: tuning.Estimate{Value: 812}}
	r, text := written(t,
		asRun(t, runstore.OfTimeline, runstore.Queries,
			[]column{{label: "as it is", cores: 2, memoryMiB: 100, cells: []cell{
				{value: 1, latencyMs: 2, verdict: tuning.Inconclusive, timeline: starved},
				{value: 1, latencyMs: 2, verdict: tuning.OK, timeline: timeline}}}}))
	require.Len(t, r.Results.Timelines, 1, "of a step that was repeated the last one")
	first, _, _ := strings.Cut(text, "\n## ")
	assert.Contains(t, first,
		"| Configuration | Verdict | Added delay, mean ms | Time to find a record, mean ms | Records found |")
	assert.Contains(t, first, "| as it is | OK | 1.66 (95%: 1.5 to 1.8) | 10.3 (95%: 9 to 11.6) | 100 of 100 |")
	assert.NotContains(t, first, "Capacity", "a timeline has none")
	for _, want := range []string{"| Kafka Received | host-a | 100 | -710.8 |",
		"Delay added by Bullet: 1.66 ms (95%: 1.5 to 1.8).", "| host-a | kafka-1 | 0.1 | 0.7 | round trips |",
		"figures/timeline-stages.svg"} {
		assert.Contains(t, text, want)
	}
}

// For two launches of one configuration the report has the mean and the spread.
func TestRepeatsHaveASpread(t *testing.T) {
	cells := func(latencyMs, more float64, last tuning.Verdict) []cell {
		return []cell{{value: 100, latencyMs: latencyMs, recordsPerS: 1000, mibPerS: 1.8, verdict: tuning.OK},
			{value: 200, latencyMs: more, recordsPerS: 1000, mibPerS: 1.8, verdict: last}}
	}
	r, text := written(t, asRun(t, runstore.OfQueries, runstore.Queries, []column{
		{label: "4 filter bolts", filterBolts: 4, cores: 80, memoryMiB: 1000, cells: cells(10, 90, tuning.OK)},
		{label: "4 filter bolts", filterBolts: 4, repeatOf: 1, cores: 80, memoryMiB: 1000,
			cells: cells(14, 250, tuning.Fail)}}))
	require.Len(t, r.Results.Repeats, 2)
	latency := r.Results.Repeats[0].Figures[0]
	assert.Equal(t, "filter latency, mean", latency.Name)
	assert.Equal(t, 2, latency.Launches)
	for want, got := range map[float64]report.Figure{12: latency.Mean, 10: latency.Least, 14: latency.Most,
		2.8284: latency.Deviation} {
		assert.InDelta(t, want, float64(got), 1e-3)
	}
	for _, want := range []string{"| 4 filter bolts | 100 | OK | 12 (10 to 14, n 2) |",
		"| 4 filter bolts | 200 | OK, FAIL | 170 (90 to 250, n 2) |",
		"| Capacity of each repeat |", "| at least 200; holds 100, fails at 200 |", "| T2 | 4 filter bolts (repeat 2) |  |"} {
		assert.Contains(t, text, want)
	}
}

// A knee that depends on a single point gives no recommendation.
func TestARecommendationOnAnUnstableKneeSaysSo(t *testing.T) {
	var cells []cell
	for i, latencyMs := range []float64{5, 5.1, 60, 61, 62, 180, 900} {
		at := cell{value: float64(100 * (i + 1)), latencyMs: latencyMs, recordsPerS: 1000, mibPerS: 1.8,
			verdict: tuning.OK}
		if latencyMs > 200 {
			at.verdict = tuning.Fail
		}
		cells = append(cells, at)
	}
	r, text := written(t,
		asRun(t, runstore.OfQueries, runstore.Queries,
			[]column{{label: "4 filter bolts", filterBolts: 4, cores: 80, memoryMiB: 1000, cells: cells}}))
	knee := r.Results.Queries.Rows[0].Knee
	require.NotNil(t, knee)
	require.False(t, knee.Stable)
	assert.Contains(t, text,
		"The recommendation for 4 filter bolts is uncertain, because its knee is not stable.")
	assert.Contains(t, text, "# which is not stable: without one of the points it would move by more than one step")
}
