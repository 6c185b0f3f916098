package experimentfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

const goodFile = `experiment: sample
title: x
search:
  target: {queries: 100, latency: 200ms, completeness: 99%}
  budget: {trials: 20, time: 2h}
  confidence: 90%
`

const goodSpace = `space: made-up
settings:
  - {name: bullet.topology.filter.bolt.parallelism, as: filter, from: 1, to: 8, step: 1, cost: 1, easier: more}
  - {name: topology.worker.max.heap.size.mb, as: heap, from: 128, to: 1024, factor: 2, cost: 0.001, easier: more}
  - {name: topology.worker.gc, as: gc, values: [G1, Parallel], costs: [0, 0.5]}
base_cost: 2
constraints: ["filter * heap <= 4096"]
start: ["1", "128.0", G1]
formula:
  latency_ms: 2 * queries / filter * (1 + gc)
  completeness: 1 - 0.1 * max(0, 200 / heap - 1)
  limiters:
    - {limiter: filter CPU, used: queries / 100 / filter}
noise: 5%
seed: 7
trial_time: 6m
`

func written(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "it.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func simulated(t *testing.T, file, space string) (*optimize.Simulation, error) {
	f, _, err := ReadSearch(written(t, file), false)
	if err != nil {
		return nil, err
	}
	from, err := ReadSpace(written(t, space))
	if err != nil {
		return nil, err
	}
	s, _, err := f.Simulation(from)
	return s, err
}

func TestASpaceIsRead(t *testing.T) {
	s, err := simulated(t, goodFile, goodSpace)
	require.NoError(t, err)
	assert.Equal(t, 360.0, s.TrialSeconds)
	assert.Equal(t, uint64(7), s.Seed)
	assert.InDelta(t, 0.05, s.Noise, 1e-12)
	assert.Equal(t, optimize.Point{0, 0, 0}, s.Space.Start)
	assert.Equal(t, "filter=8 heap=1024 gc=Parallel", s.Space.Text(optimize.Point{7, 3, 1}))
	cost, err := s.Space.CostOf(optimize.Point{7, 3, 1})
	require.NoError(t, err)
	assert.InDelta(t, 2+8+1.024+0.5, cost, 1e-12)
	assert.Equal(t, []tuning.Limiter{tuning.LimitedByFilterCPU}, s.Space.Settings[0].Relieves, "by its name")
	assert.Equal(t, []tuning.Limiter{tuning.LimitedByGC, tuning.LimitedByRestart}, s.Space.Settings[1].Relieves)
	s.Noise = 0
	trial, err := s.Run(optimize.Point{0, 0, 1}, 1)
	require.NoError(t, err)
	assert.False(t, trial.CatchUp.Known())
	trial.CatchUp = 0
	assert.Equal(t, optimize.Trial{Point: optimize.Point{0, 0, 1}, Verdict: tuning.Fail, LatencyMs: 400,
		Completeness: 1 - 0.1*(200.0/128-1),
		Limiter:      tuning.LimitedByFilterCPU, Seconds: 360}, trial)
	f, _, err := ReadSearch(written(t, goodFile), false)
	require.NoError(t, err)
	assert.Equal(t, optimize.Options{Confidence: 0.9, Repeats: 12,
		Budget: optimize.Budget{Trials: 20, Seconds: 7200}}, f.Options())
}

// The search uses the settings of the file.
func TestAFileMayNarrowASpace(t *testing.T) {
	narrow := goodFile + `  settings:
  - {name: bullet.topology.filter.bolt.parallelism, as: filter, values: [2, 4], cost: 3, easier: more}
  - {name: h, as: heap, values: [512], easier: more}
  - {name: g, as: gc, values: [G1]}
`
	s, err := simulated(t, narrow, goodSpace)
	require.NoError(t, err)
	cost, err := s.Space.CostOf(optimize.Point{1, 0, 0})
	require.NoError(t, err)
	assert.InDelta(t, 12, cost, 1e-12)
	_, err = simulated(t, strings.Replace(narrow, "as: heap", "as: heep", 1), goodSpace)
	assert.ErrorContains(t, err, `has no setting "heep"; did you mean "heap"?`)
}

const table = `space: rows
settings: [{name: f, as: filter, values: [4, 8], cost: 1, easier: more}]
table:
  columns: [filter, queries, latency_ms, verdict, limiter]
  rows:
    - [4, 50, 10, OK, ""]
    - [4, 100, 900, FAIL, filter CPU]
    - [8, 100, 12, "", ""]
    - [8, 100, 14, "", ""]
    - [8, 200, 15, FAIL, a worker's restart]
`

func TestRowsGiveTrials(t *testing.T) {
	const target = "experiment: x\ntitle: x\nsearch:\n  target: {queries: 100, latency: 200ms}\n"
	s, err := simulated(t, target, table)
	require.NoError(t, err)
	require.Len(t, s.Rows, 5)
	narrowed, err := simulated(t, target+"  settings: [{name: f, as: filter, values: [8]}]\n", table)
	require.NoError(t, err)
	require.Len(t, narrowed.Rows, 3, "the search has only 8 filters")
	run := func(level, attempt int) optimize.Trial {
		trial, err := s.Run(optimize.Point{level}, attempt)
		require.NoError(t, err)
		return trial
	}
	failed := run(0, 1)
	assert.Equal(t, tuning.Fail, failed.Verdict)
	assert.Equal(t, tuning.LimitedByFilterCPU, failed.Limiter)
	assert.Equal(t, tuning.Figure(12), run(1, 1).LatencyMs)
	assert.Equal(t, tuning.Figure(14), run(1, 2).LatencyMs, "repeats take the rows in turn")
	s.Target.Queries = 200
	assert.Equal(t, tuning.Fail, run(1, 1).Verdict, "the row's own verdict, for a reason that its figures do not show")
	for queries, want := range map[tuning.Figure]tuning.Verdict{20: tuning.OK, 70: tuning.Inconclusive,
		120: tuning.Fail} {
		s.Target.Queries = queries
		assert.Equal(t, want, run(0, 1).Verdict, "%v queries: more is never easier", queries)
	}
}

// Several settings may have the same Storm name: heap and collector are both JVM options of the workers.
func TestSettingsMayShareAName(t *testing.T) {
	f, _, err := ReadSearch(written(t, goodFile+`  settings:
  - {name: topology.worker.childopts, as: gc, written: "-XX:+Use{}GC", values: [G1, Parallel]}
  - {name: topology.worker.childopts, as: heap, written: "-Xmx{}m", values: [64, 128], easier: more}
`), false)
	require.NoError(t, err)
	space := f.Space()
	assert.Equal(t, map[string]any{"topology.worker.childopts": "-XX:+UseParallelGC -Xmx64m"},
		space.Configured(optimize.Point{1, 0}))
	assert.Equal(t, []tuning.Limiter{tuning.LimitedByGC, tuning.LimitedByRestart}, space.Settings[1].Relieves,
		"by what it writes")
	p, found := f.SearchPoint(runstore.PlannedTrial{Point: []runstore.Coordinate{{Axis: "gc", Label: "Parallel"},
		{Axis: "heap", Label: "64"}}})
	assert.True(t, found)
	assert.Equal(t, optimize.Point{1, 0}, p)
	_, found = space.At(map[string]string{"gc": "G1", "heap": "65"})
	assert.False(t, found)
}

// Trials are recorded as a space file, from which a simulation returns the same trials.
func TestTrialsAreRecordedAsASpace(t *testing.T) {
	f, _, err := ReadSearch(written(t, goodFile+`  settings:
  - {name: f, as: filter, values: [1, 2], cost: 1, easier: more}
  - {name: g, as: gc, values: [G1, "off: 1"]}
`), false)
	require.NoError(t, err)
	tried := []optimize.Trial{
		{Point: optimize.Point{0, 0}, Verdict: tuning.Fail, LatencyMs: 412.5, Completeness: 0.93,
			CatchUp: tuning.Unknown, Noise: 0, Limiter: tuning.LimitedByFilterCPU, Seconds: 118.25},
		{Point: optimize.Point{1, 1}, Verdict: tuning.OK, LatencyMs: 5, Completeness: 1, CatchUp: tuning.Unknown,
			Noise: 0, Seconds: 121},
		{Point: optimize.Point{1, 0}, Verdict: tuning.Fail, LatencyMs: 5, Completeness: 1, CatchUp: tuning.Unknown,
			Noise: 0.01, Limiter: tuning.LimitedByPending, Seconds: 90},
	}
	space, err := parseSpace("space.yaml", f.Recorded("a \"test\"", tried))
	require.NoError(t, err)
	s, _, err := f.Simulation(space)
	require.NoError(t, err)
	for _, want := range tried {
		got, err := s.Run(want.Point, 1)
		require.NoError(t, err)
		assert.False(t, got.CatchUp.Known())
		got.CatchUp, want.CatchUp = 0, 0
		assert.Equal(t, want, got, "as it was measured")
		again, err := s.Run(want.Point, 2)
		require.NoError(t, err)
		assert.Equal(t, want.Verdict, again.Verdict, "a verdict for a reason that no figure shows stands")
		assert.Equal(t, want.Noise > 0, again.LatencyMs != want.LatencyMs,
			"a repeat that nobody ran differs by the noise")
	}
}

func TestEachFaultHasItsPlaceAndTheNearestName(t *testing.T) {
	swap := func(text, old, with string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, with, 1)
	}
	for _, c := range []struct{ file, space, want string }{
		{swap(goodFile, "target:", "targets:"), goodSpace,
			`it.yaml:4:3: unknown field "search.targets"; did you mean "search.target"?`},
		{goodFile + "launch: {}\n", goodSpace, "launch: set either `local` or `command`"},
		{swap(goodFile, "200ms", "fast"), goodSpace, `it.yaml:4:35: search.target.latency: "fast" is not a limit`},
		{swap(goodFile, "200ms", "200"), goodSpace,
			"it.yaml:4:35: search.target.latency: 200 has no unit, but filter_latency is a time; write 200ms"},
		{swap(goodFile, "99%", "99"), goodSpace,
			"it.yaml:4:56: search.target.completeness: completeness is a share and cannot exceed 1"},
		{swap(goodFile, ", latency: 200ms, completeness: 99%", ""), goodSpace, "it.yaml:4:11: search.target: no goal"},
		{swap(goodFile, "90%", "40%"), goodSpace, "it.yaml:6:15: search.confidence: must be above 50%"},
		{swap(goodFile, "sample", `""`), goodSpace, `experiment: "" is not a valid name`},
		{swap(goodFile, "title: x", "title: x\ngrid: []"), goodSpace, "it.yaml:3:7: grid: cannot be combined with search"},
		{"experiment: sample\ntitle: x\nanalysis: data\n", goodSpace, "launch: set either"},
		{goodFile, swap(goodSpace, "seed: 7", "sed: 7"), `it.yaml:15:1: unknown field "sed"; did you mean "seed"?`},
		{goodFile, swap(goodSpace, "easier: more", "easier: mor"),
			`easier: "mor" is not one of more, less, neither; did you mean "more"?`},
		{goodFile, swap(goodSpace, "filter CPU", "filter cpu"),
			`unknown limiter "filter cpu"; did you mean "filter CPU"?`},
		{goodFile, swap(goodSpace, "(1 + gc)", "(1 + gcc)"),
			`it.yaml:10:15: formula.latency_ms: unknown name "gcc"; did you mean "gc"?`},
		{goodFile, swap(goodSpace, "filter * heap", "fliter * heap"),
			`constraints[0]: unknown name "fliter"; did you mean "filter"?`},
		{goodFile, swap(goodSpace, "max(0,", "most(0,"), "calls an unknown function"},
		{goodFile, swap(goodSpace, `"128.0"`, `"100"`), "start: 100 is not a value of heap (128, 256, 512, 1024)"},
		{goodFile, swap(goodSpace, "as: heap", "as: filter"), `settings[1].as: "filter" is taken`},
		{goodFile, swap(goodSpace, "as: heap", "as: queries"), `"queries" is taken`},
		{goodFile, swap(goodSpace, "name: topology.worker.gc", "name: topology.worker.max.heap.size.mb"),
			"settings[2].name: topology.worker.max.heap.size.mb is listed twice; set `written` on both"},
		{goodFile, swap(goodSpace, "as: gc,", "as: gc, written: Use,"), `written: "Use" needs {}`},
		{goodFile, swap(goodSpace, "[0, 0.5]", "[0]"), "it.yaml:5:5: settings[2]: 1 costs for 2 values"},
		{goodFile, swap(goodSpace, "costs: [0, 0.5]", "easier: more"), "`easier: more` needs values that are numbers"},
		{goodFile, swap(goodSpace, ", step: 1", ""), "a range needs `from`, `to` and one of"},
		{goodFile, swap(goodSpace, "  completeness: 1 - 0.1 * max(0, 200 / heap - 1)\n", ""),
			"formula.completeness: missing; the target has a goal"},
		{goodFile, swap(goodSpace, "formula:", "table: {columns: [], rows: []}\nformula:"),
			"set either `formula` or `table`"},
		{goodFile, swap(table, "queries,", "querys,"),
			`unknown or repeated column "querys"; did you mean "queries"?`},
		{goodFile, swap(table, "50, 10, OK", "50, 10, ok"), `table.rows[0][3]: "ok" is not one of OK, FAIL`},
		{goodFile, swap(table, "[4, 50, 10,", "[4, 50, fast,"), `table.rows[0][2]: latency_ms: "fast" is not a number`},
		{goodFile, swap(table, `"", ""]`, `""]`), "table.rows[2]: 4 cells for 5 columns"},
		{goodFile, swap(table, "[8, 200, 15", "[5, 200, 15"),
			":10:8: table.rows[4][0]: 5 is not a value of filter (4, 8); correct the row"},
		{goodFile, "space: x\nformula: {latency_ms: 1, completeness: 1}\n", "settings: missing"},
	} {
		_, err := simulated(t, c.file, c.space)
		assert.ErrorContains(t, err, c.want)
	}
}

const searchExperiment = `experiment: trial
title: A trial
goals:
  - {figure: filter_latency, statistic: max, at_most: 500ms}
  - {figure: source_lag, at_most: 1000}
topology: {conf: conf.yaml, settings: {bullet.topology.custom.topology.worker.childopts: -Xmx9m, topology.workers: 3}}
steps: {warm_up: 10s, sustain: 1m}
load: {duration: 10s}
launch:
  local: {workers: 2, worker_heap: 384MiB}
  slice_width: 5s
search:
  target: {queries: 300, records_per_second: 500, latency: 200ms, completeness: 99%}
  settings:
    - {name: bullet.topology.filter.bolt.parallelism, as: filter, from: 1, to: 6, step: 1, cost: 1, easier: more}
    - {name: topology.worker.childopts, as: heap, written: "-Xmx{}m", values: [64, 128, 256], cost: 0.001, easier: more}
  start: [1, 64]
`

// readSearch reads the experiment with a Bullet YAML beside it.
func readSearch(t *testing.T, text string) (*File, error) {
	path := written(t, text)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "conf.yaml"),
		[]byte("bullet.topology.name: x\nbullet.topology.custom.topology.acker.executors: 2\n"), 0o644))
	f, _, err := ReadSearch(path, true)
	return f, err
}

func TestATrialIsOneStepAtTheTarget(t *testing.T) {
	f, err := readSearch(t, searchExperiment)
	require.NoError(t, err)
	plan, trial := f.SearchPlan(), f.SearchTrial(optimize.Point{3, 1})
	assert.True(t, plan.EndEarly)
	assert.True(t, plan.FailFails)
	assert.Equal(t, runstore.Queries, plan.Axis)
	assert.Equal(t, tuning.Figure(500), plan.Load.RecordsPerSecond)
	assert.Equal(t, []runstore.PlannedTrial{}, plan.Trials)
	assert.Equal(t, 300, plan.MostQueries(), "although there is no trial yet")
	assert.Equal(t, []runstore.PlannedStep{{Kind: runstore.LoadStep, Value: 300}}, trial.Steps)
	assert.Equal(t, "filter=4 heap=128", trial.Label)
	assert.Equal(t, []runstore.Coordinate{{Axis: "filter", Label: "4", Value: 4},
		{Axis: "heap", Label: "128", Value: 128}}, trial.Point)
	assert.Equal(t, []runstore.Entry{{Key: "topology.workers", Value: "3"},
		{Key: "bullet.topology.filter.bolt.parallelism", Value: "4"},
		{Key: "topology.worker.childopts", Value: "-Xmx128m"}}, trial.Settings,
		"in place of the experiment's own setting, under either of its two names")
	assert.Equal(t, 3, trial.Workers)
	p, found := f.SearchPoint(trial)
	assert.True(t, found)
	assert.Equal(t, optimize.Point{3, 1}, p)
	var goals []string
	for _, g := range plan.Goals {
		goals = append(goals, g.String())
	}
	assert.Equal(t, []string{"end source lag at most 1,000 records", "max filter latency at most 200 ms",
		"completeness at least 99%", "share of failed queries at most 0%"}, goals,
		"the experiment's other goals hold too, and the target's latency replaces its first latency goal")
	assert.Empty(t, plan.CostLoads)
	assert.Greater(t, f.TrialSeconds(), 100.0)
	assert.Equal(t, 3, f.LaunchPlan().Trials[0].Workers)
	assert.NotEqual(t, trial.Settings, f.SearchTrial(optimize.Point{0, 0}).Settings,
		"one configuration leaves no trace in another")
}

func TestAClusterHasRoomForTheMostWorkers(t *testing.T) {
	f, err := readSearch(t, strings.NewReplacer(
		`name: topology.worker.childopts, as: heap, written: "-Xmx{}m", values: [64, 128, 256]`,
		"name: topology.workers, as: heap, values: [1, 64, 5]", "cost: 0.001, easier: more}", "cost: 1}").
		Replace(searchExperiment))
	require.NoError(t, err)
	assert.Equal(t, 64, f.LaunchPlan().Trials[0].Workers)
	assert.Equal(t, 1, f.SearchTrial(optimize.Point{0, 0}).Workers)
}

func TestASearchThatCannotRunTrialsIsRefused(t *testing.T) {
	for _, c := range []struct{ old, with, want string }{
		{"launch:\n  local: {workers: 2, worker_heap: 384MiB}\n  slice_width: 5s\n", "", "launch: missing; without it, only"},
		{searchExperiment[strings.Index(searchExperiment, "search:"):], "analysis: data\n", ""},
		{"filter.bolt.parallelism", "filter.bolt.paralelism",
			`it.yaml:15:14: search.settings[0].name: unknown setting "bullet.topology.filter.bolt.paralelism"; did you mean "bullet.topology.filter.bolt.parallelism"?`},
		{"name: topology.worker.childopts", "name: bullet.topology.custom.topology.acker.executor",
			`did you mean "bullet.topology.custom.topology.acker.executors"?`},
		{", records_per_second: 500", "", "search.target.records_per_second: missing; set a rate"},
		{"completeness: 99%", "catch_up: 2", "steps.catch_up: missing, but there is a goal for the catch-up ratio"},
		{"queries: 300", "queries: 300.5", "300.5 is not a whole number of queries"},
		{"steps: {", "steps: {values: [1], ", "it.yaml:7:17: steps.values: cannot be combined with search"},
		{"figure: source_lag, at_most: 1000", "figure: capacity, at_least: 10", "goals[0].figure: a search measures no capacity"},
	} {
		text := strings.Replace(searchExperiment, c.old, c.with, 1)
		require.NotEqual(t, searchExperiment, text)
		_, err := readSearch(t, text)
		assert.ErrorContains(t, err, c.want)
	}
	_, err := readSearch(t, strings.Replace(searchExperiment, "name: topology.worker.childopts",
		"name: topology.some.setting.of.yours", 1))
	assert.NoError(t, err, "any setting may vary")
	f, err := readSearch(t, strings.Replace(searchExperiment, "records_per_second: 500", "mib_per_second: 1", 1))
	require.NoError(t, err)
	assert.InDelta(t, (1<<20)/1843.0, float64(f.Plan().Load.RecordsPerSecond), 1e-6)
}

// The plan of a search's file has the one configuration of topology.settings, so that tune run can measure it.
func TestASearchCanBePlannedLikeAnExperiment(t *testing.T) {
	path := written(t, searchExperiment)
	f, _, err := Read(path)
	require.NoError(t, err)
	plan := f.Plan()
	require.Len(t, plan.Trials, 1)
	assert.Equal(t, "3", plan.Trials[0].Settings[1].Value)
	assert.False(t, plan.EndEarly)
	_, _, err = Read(written(t, goodFile))
	assert.ErrorContains(t, err, "it.yaml:1:1: launch: missing; without it, only tune optimize --simulate can use the file")
}

func TestTrialsAreComparableOnTheSameTerms(t *testing.T) {
	f, err := readSearch(t, searchExperiment)
	require.NoError(t, err)
	for old, with := range map[string]string{"queries: 300": "queries: 301", "warm_up: 10s": "warm_up: 15s",
		"topology.workers: 3": "topology.workers: 2", "latency: 200ms": "latency: 201ms"} {
		other, err := readSearch(t, strings.Replace(searchExperiment, old, with, 1))
		require.NoError(t, err)
		assert.False(t, f.SameTerms(other), with)
	}
	wider, err := readSearch(t, strings.Replace(searchExperiment, "to: 6", "to: 8", 1))
	require.NoError(t, err)
	assert.True(t, f.SameTerms(wider), "the settings to vary, and their costs, may change")
}

func FuzzSearch(f *testing.F) {
	f.Add([]byte(goodFile), []byte(goodSpace))
	f.Add([]byte("experiment: x\ntitle: x\nsearch:\n  target: {queries: 100, latency: 200ms}\n  budget: {trials: 3}\n"), []byte(table))
	f.Fuzz(func(t *testing.T, file, space []byte) {
		read, err := Parse("file.yaml", file)
		if err != nil || read.Search == nil {
			return
		}
		data, err := parseSpace("space.yaml", space)
		if err != nil {
			return
		}
		simulation, _, err := read.Simulation(data)
		if err != nil {
			return
		}
		options := read.Options()
		options.Budget.Trials = 5
		search, err := optimize.New(simulation.Space, simulation.Target, options)
		if err != nil || search.Configurations() > 1000 {
			return
		}
		trials, err := optimize.Simulate(search, simulation)
		if err != nil {
			return
		}
		result, err := search.Result(trials)
		require.NoError(t, err)
		assert.LessOrEqual(t, len(result.Trials), 5)
		assert.NotEmpty(t, result.Document(read.Experiment, nil, "").Text())
	})
}
