package runstore_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

var update = flag.Bool("update", false, "write testdata/sample again")

const sample = "testdata/sample"

// The sample is invented. Of its three configurations one holds all loads, one fails, and one could not be launched.
// Readers of run directories are tested on it.
const (
	sampleStart = int64(1_790_000_000_000)
	slice       = int64(10_000)
)

const sampleExperiment = `experiment: sample
title: A made-up grid of filter bolts by queries
test: 7
`

func samplePlan() runstore.Plan {
	plan := runstore.Plan{
		Experiment: "sample", Title: "A made-up grid of filter bolts by queries",
		About: "Nothing of this was measured.", Test: 7, Analysis: runstore.OfQueries,
		Goals: []tuning.Goal{
			{Figure: tuning.FilterLatency, Statistic: tuning.Mean, AtMost: 200, AtLeast: tuning.Unknown},
			{Figure: tuning.ResultSize, Statistic: tuning.Mean, AtMost: tuning.Unknown, AtLeast: 9.9},
		},
		MinHostIdle: 0.05, Search: tuning.FullSearch, InconclusiveRepeats: 1, FailFails: true, Axis: runstore.Queries,
		Load: runstore.Load{Submit: "gateway", Class: "raw", QueriesPerSecond: tuning.Unknown,
			RecordsPerSecond: tuning.Unknown, TargetIdle: 0.4,
			CatchUpFactor: tuning.Unknown, QueryLimit: 10, QueryDurationMs: 30_000, MatchingPerSecond: 0.4,
			MeanRecordBytes: 1843},
		WarmUpMs: 20_000, SustainMs: 40_000, SliceMs: slice, ReportSliceMs: slice, Launch: "local", Topology: "bullet",
		Record:  []string{"storm_capacity_ratio"},
		Caveats: []string{"Made up, for tests."},
	}
	for i, bolts := range []int{1, 2, 4} {
		trial := runstore.PlannedTrial{Number: i + 1, Label: fmt.Sprintf("%d filter bolts", bolts), Configuration: i +
			1, Repeat: 1,
			Point: []runstore.Coordinate{{Axis: "filter bolts", Label: fmt.Sprint(bolts),
				Value: tuning.Figure(bolts)}},
			Settings: []runstore.Entry{{Key: "bullet.topology.filter.bolt.parallelism", Value: fmt.Sprint(bolts)}},
			Workers:  2, WorkerHeapMiB: 384}
		for _, queries := range []float64{0, 20, 40, 80} {
			trial.Steps = append(trial.Steps, runstore.PlannedStep{Kind: runstore.LoadStep, Value: queries})
		}
		plan.Trials = append(plan.Trials, trial)
	}
	return plan
}

func sampleManifest() runstore.Manifest {
	return runstore.Manifest{
		ID: "sample-1790000000", StartedMs: sampleStart, Command: "bullet-metrics tune run sample.yaml",
		Versions: runstore.Versions{BulletMetrics: "v0", Bullet: "1.2.0", Storm: "2.8.4", Java: "17.0.9",
			WorkerJava: "17.0.9", Plugin: "v0"},
		Machine: runstore.Machine{Role: runstore.OnlyMachine, CPUModel: "a made-up processor", Cores: 2, UsableCores: 2,
			MemoryBytes: 8 << 30, Network: "loopback", Kernel: "Linux 6.1.0"},
		Records: runstore.Records{Fields: 92, Strings: 62, Longs: 4, Maps: 23, ListsOfMaps: 3, MeanRecordBytes: 1843,
			CompressionRatio: 1.2,
			Note:             "seeded generator"},
		BulletSettings: []runstore.Entry{{Key: "bullet.topology.name", Value: "bullet"},
			{Key: "bullet.topology.filter.bolt.parallelism", Value: "2"}},
		WorkerFlags: "-Xmx384m -XX:+UseG1GC", GCFlags: "-XX:+UseG1GC",
	}
}

func sampleReportedConfig(trial runstore.PlannedTrial) runstore.ReportedConfig {
	return runstore.ReportedConfig{TopologyID: fmt.Sprintf("bullet-%d-1790000000", trial.Number), Bullet: "1.2.0",
		Storm:      "2.8.4",
		WorkerJava: "17.0.9", Plugin: "v0",
		WorkerFlags: "-Xmx384m -XX:+UseG1GC", HeapFlags: "-Xmx384m", GCFlags: "-XX:+UseG1GC", HeapLimitBytes: 384 << 20,
		Executors: "FilterBolt " + trial.Point[0].Label,
		Requested: "", Settings: []runstore.Entry{{Key: "topology.workers", Value: "2"},
			{Key: "worker.childopts", Value: "-Xmx384m"}}}
}

// made is a measured step. Its latency and the host's idle CPU depend on bolts and queries.
type made struct {
	queries, attempt, number    int
	startMs                     int64
	latency, idle, size, perSec float64
	verdict                     tuning.Verdict
	reasons                     []string
}

func madeSteps(trial int, startMs int64) []made {
	var steps []made
	add := func(m made) {
		m.number = len(steps) + 1
		m.startMs = startMs + int64(len(steps))*60_000
		steps = append(steps, m)
	}
	for _, queries := range []int{0, 20, 40, 80} {
		m := made{queries: queries, attempt: 1, latency: 5 + float64(queries)/10, idle: 0.42 - float64(queries)/400,
			size: 10, perSec: 1500, verdict: tuning.OK}
		switch {
		case trial == 1 && queries == 80:
			m.latency, m.size, m.perSec = 812.5, 8.4, 1210
			m.verdict, m.reasons = tuning.Fail, []string{"mean filter latency 812.5 ms is above 200 ms",
				"average result size 8.40 is below 9.90: records were lost"}
		case trial == 2 && queries == 40:
			m.idle, m.verdict = 0.021, tuning.Inconclusive
			m.reasons = []string{
				"only 2.1% of the host was idle (less than 5%): the figures are the host's, not the topology's"}
			add(m)
			m.attempt, m.idle, m.verdict, m.reasons = 2, 0.31, tuning.OK, nil
		}
		add(m)
	}
	return steps
}

func (m made) step() runstore.Step {
	size := tuning.Figure(m.size)
	if m.queries == 0 {
		size = tuning.Unknown
	}
	return runstore.Step{
		Number: m.number, Kind: runstore.LoadStep, Value: float64(m.queries), Attempt: m.attempt, Launch: 1,
		StartMs: m.startMs, MeasuredFromMs: m.startMs + 20_000, EndMs: m.startMs + 60_000, Queries: m.queries,
		QueriesPerSecond: tuning.Unknown,
		RecordsPerSecond: tuning.Figure(m.perSec), RecordsPerSecondAsked: 1500,
		MiBPerSecond: tuning.Figure(m.perSec) * 1843 / (1 << 20),
		RecordsLag:   int64(1500-m.perSec) * 40, CatchUpRatio: tuning.Unknown,
		CPUCores: tuning.Figure(0.6 + float64(m.queries)/200), Workers: 2,
		Clients: runstore.Clients{Submitted: 2 * m.queries, Returned: 2 * m.queries, AverageResultSize: size,
			LatencyMeanMs: 25_400, LatencyP50Ms: 25_300, LatencyP99Ms: 30_250, LatenessP99Ms: 3},
		HostIdle: tuning.Figure(m.idle), Shares: []runstore.Share{{Process: "worker at port 6700", Pid: 4711, Ratio: 0.2},
			{Process: "worker at port 6701", Pid: 4712, Ratio: 0.15},
			{Process: "load client", Pid: 4000, Ratio: 0.02}, {Process: "everything else on the host", Ratio: 0.05}},
		Figures: []tuning.GoalOutcome{
			{Goal: samplePlan().Goals[0], Measured: tuning.Figure(m.latency), Verdict: m.verdict},
			{Goal: samplePlan().Goals[1], Measured: size, Verdict: m.verdict},
		},
		Verdict: m.verdict, Reasons: append([]string{}, m.reasons...),
	}
}

// sampleFigures returns the trial's series: totals that rise with the queries, and gauges.
func sampleFigures(steps []made) *runstore.Figures {
	first, last := steps[0].startMs, steps[len(steps)-1].startMs+60_000
	run := &runstore.Figures{Topology: "bullet", SubmittedMs: first - 30_000, CollectedMs: last + 20_000,
		StoredSliceMs: slice, SliceMs: slice,
		Query:       "SELECT * FROM STREAM(30000, TIME) WHERE probe = '…' LIMIT 10",
		Calibration: tuning.Calibration{TargetIdle: 0.4, RecordsPerSecond: 1500}}
	at := func(t int64) made {
		return steps[min(max(0, int((t-1-first)/60_000)), len(steps)-1)]
	}
	series := func(value func(t int64) float64) (s runstore.Slices) {
		for t := first - 20_000; t <= last; t += slice {
			s.TimesMs, s.Values = append(s.TimesMs, t), append(s.Values, tuning.Figure(value(t)))
		}
		return s
	}
	total := func(rate func(made) float64) runstore.Slices {
		sum := 0.0
		return series(func(t int64) float64 { sum += rate(at(t)) * float64(slice) / 1000; return sum })
	}
	for i := range 2 {
		run.Workers = append(run.Workers, runstore.Worker{
			Name: fmt.Sprintf("host-a:%d", 6700+i), Pids: []int{4711 + i},
			CPUSeconds:    total(func(m made) float64 { return 0.3 + float64(m.queries)/400 }),
			GCSeconds:     total(func(m made) float64 { return 0.004 + float64(m.queries)/20_000 }),
			HeapUsedBytes: series(func(t int64) float64 { return 150e6 + float64(t/slice%5)*20e6 }),
		})
		run.FilterLatencySeconds = append(run.FilterLatencySeconds, series(func(t int64) float64 {
			return at(t).latency / 1000
		}))
	}
	run.QueriesRunning = series(func(t int64) float64 { return float64(at(t).queries) })
	return run
}

// writeSample writes the run as a runner does.
func writeSample(t *testing.T, dir string) {
	plan := samplePlan()
	w, err := runstore.Create(dir, []byte(sampleExperiment), plan, sampleManifest())
	require.NoError(t, err)
	defer w.Close()
	tell := func(e runstore.Event) { require.NoError(t, w.Record(e)) }
	now := sampleStart
	tell(runstore.Event{AtMs: now, Kind: runstore.RunStarted})
	for _, trial := range plan.Trials[:2] {
		now += 40_000
		require.NoError(t, w.BeginTrial(trial, []byte("bullet.topology.name: bullet\n"),
			runstore.Arguments{Settings: []string{"bullet.topology.filter.bolt.parallelism=" + trial.Point[0].Label}}))
		tell(runstore.Event{AtMs: now, Kind: runstore.TrialStarted, Trial: trial.Number, Launch: 1})
		if trial.Number == 1 {
			rate := 1500.0
			tell(runstore.Event{AtMs: now + 10_000, Kind: runstore.RateCalibrated, RecordsPerSecond: &rate})
		}
		steps := madeSteps(trial.Number, now+20_000)
		for _, m := range steps {
			now = m.startMs + 60_000
			tell(runstore.Event{AtMs: m.startMs, Kind: runstore.StepStarted, Trial: trial.Number, Launch: 1,
				Step: m.number, Attempt: m.attempt})
			require.NoError(t, w.FinishStep(trial, m.step(), now))
		}
		require.NoError(t, w.SaveReportedConfig(trial, sampleReportedConfig(trial)))
		tell(runstore.Event{AtMs: now, Kind: runstore.TrialFinished, Trial: trial.Number})
		require.NoError(t, w.SaveFigures(trial, *sampleFigures(steps)))
		writeOutcomes(t, runstore.TrialDir(dir, trial), steps)
	}
	tell(runstore.Event{AtMs: now, Kind: runstore.TrialStarted, Trial: 3, Launch: 1})
	tell(runstore.Event{AtMs: now, Kind: runstore.TrialFailed, Trial: 3,
		Text: "the topology was not submitted: exit status 1"})
	tell(runstore.Event{AtMs: now, Kind: runstore.RunFinished, Verdict: tuning.Fail})
	run, err := runstore.Read(dir)
	require.NoError(t, err)
	result := run.Judge()
	result.FinishedMs = now
	require.NoError(t, w.SaveResult(result))
}

func writeOutcomes(t *testing.T, dir string, steps []made) {
	var lines []byte
	for _, m := range steps {
		for slot := range m.queries {
			line, err := json.Marshal(load.Outcome{Slot: slot, Probe: load.ProbeValue(slot), IntendedMs: m.startMs,
				SubmittedMs: m.startMs, FinishedMs: m.startMs + 25_400,
				End: load.Returned, Records: 10, Generated: 10})
			require.NoError(t, err)
			lines = append(append(lines, line...), '\n')
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, runstore.OutcomesFile), lines, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, runstore.LogsDir, "collector.log"), []byte("listening\n"), 0o644))
}

// The sample under testdata equals what the code writes, so a change of the format shows as a difference. `go test
// -run Sample -update` writes it again.
func TestTheSampleIsWhatIsWritten(t *testing.T) {
	if *update {
		require.NoError(t, os.RemoveAll(sample))
		writeSample(t, sample)
	}
	fresh := filepath.Join(t.TempDir(), "sample")
	writeSample(t, fresh)
	assert.Equal(t, files(t, sample), files(t, fresh))
}

func files(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(text)
		return err
	}))
	return all
}

func TestTheSampleIsRead(t *testing.T) {
	run, err := runstore.Read(sample)
	require.NoError(t, err)
	assert.Equal(t, sampleExperiment, string(run.Experiment))
	assert.Equal(t, "sample", run.Plan.Experiment)
	assert.Equal(t, []runstore.TrialState{runstore.Finished, runstore.Finished, runstore.Failed},
		[]runstore.TrialState{run.Trials[0].State, run.Trials[1].State, run.Trials[2].State})
	assert.Len(t, run.Trials[0].Steps, 4)
	assert.Len(t, run.Trials[1].Steps, 5, "one was repeated")
	assert.Equal(t, tuning.Fail, run.Trials[0].Steps[3].Verdict)
	assert.Equal(t, 80.0, *run.Result.Rows[0].Capacity.FirstFail)
	figures, err := run.Trials[1].Figures()
	require.NoError(t, err)
	assert.Len(t, figures.Workers, 2)
	assert.Len(t, figures.Steps, len(run.Trials[1].Steps), "of their own files")
}

// A run of version 1, in which run.json contains parts of the steps, is read like a current one.
func TestTheSampleOfVersion1IsRead(t *testing.T) {
	today, err := runstore.Read(sample)
	require.NoError(t, err)
	before, err := runstore.Read("testdata/sample-version1")
	require.NoError(t, err)
	for i := range 2 {
		want, err := today.Trials[i].Figures()
		require.NoError(t, err)
		got, err := before.Trials[i].Figures()
		require.NoError(t, err)
		for s := range want.Steps {
			assert.Equal(t, want.Steps[s].StartMs, got.Steps[s].StartMs)
		}
		wantText, err := json.Marshal(want)
		require.NoError(t, err)
		gotText, err := json.Marshal(got)
		require.NoError(t, err)
		assert.JSONEq(t, string(wantText), string(gotText))
	}
}

// The result of a run of version 2, which has no version in it, is computed again by the function that judges a run
// today. Its end and its notes stay.
func TestAnOlderRunIsJudgedLikeACurrentOne(t *testing.T) {
	today, err := runstore.Read(sample)
	require.NoError(t, err)
	before, err := runstore.Read("testdata/sample-version2")
	require.NoError(t, err)
	before.Plan.FailFails = true // as in the current sample
	want, got := today.Judge(), before.Judge()
	wantText, err := json.Marshal(want)
	require.NoError(t, err)
	gotText, err := json.Marshal(got)
	require.NoError(t, err)
	assert.JSONEq(t, string(wantText), string(gotText))
	assert.Equal(t, tuning.OK, before.Result.Rows[0].Verdict, "the stored FAIL was not by today's rules")
	assert.Equal(t, []string{"cannot tell"}, before.Result.Rows[0].Limiters)
	assert.Equal(t, today.Result.FinishedMs, before.Result.FinishedMs)
}

// A result that does not fit the trials of its run is computed again and not relied on.
func TestAResultOfOtherTrialsIsComputedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	writeSample(t, dir)
	path := filepath.Join(dir, runstore.ResultFile)
	require.NoError(t, os.WriteFile(path, []byte(`{"version": 3, "verdict": "OK", "notes": ["kept"]}`), 0o644))
	run, err := runstore.Read(dir)
	require.NoError(t, err)
	assert.Equal(t, tuning.Fail, run.Result.Verdict)
	assert.Len(t, run.Result.Trials, 3)
	assert.Equal(t, []string{"kept"}, run.Result.Notes)
}

// The directory of a trial is judged by this trial alone. Before the run has ended, there is a capacity so far, and no
// verdict.
func TestOneTrialAndARunThatHasNotEnded(t *testing.T) {
	one, err := runstore.ReadAny(filepath.Join(sample, runstore.TrialsDir, "02-2-filter-bolts"))
	require.NoError(t, err)
	require.Len(t, one.Result.Rows, 1)
	assert.Equal(t, tuning.OK, one.Result.Verdict)
	assert.Equal(t, "at least 80", one.Result.Rows[0].Capacity.Text())

	_, err = damaged(t, func(dir string) {
		require.NoError(t, os.Remove(filepath.Join(dir, runstore.ResultFile)))
		run, err := runstore.Read(dir)
		require.NoError(t, err)
		assert.Nil(t, run.Result)
		so := run.ResultSoFar()
		assert.Equal(t, tuning.Inconclusive, so.Verdict)
		assert.Equal(t, tuning.Inconclusive, so.Rows[0].Verdict)
		assert.Equal(t, "holds 40, fails at 80", so.Rows[0].Capacity.Text())
		assert.Empty(t, run.Capacities(), "the list shows capacities of runs that have ended")
	})
	require.NoError(t, err)
}
