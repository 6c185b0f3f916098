package searchfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

const goodFile = `optimize: sample
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
	f, err := ReadFile(written(t, file))
	if err != nil {
		return nil, err
	}
	s, err := ReadSpace(written(t, space))
	if err != nil {
		return nil, err
	}
	return f.Simulation(s)
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
	f, err := ReadFile(written(t, goodFile))
	require.NoError(t, err)
	assert.Equal(t, optimize.Options{Confidence: 0.9, Repeats: 12, InconclusiveRepeats: 1,
		Budget: optimize.Budget{Trials: 20, Seconds: 7200}}, f.Options())
}

// The search uses the settings of the file.
func TestAFileMayNarrowASpace(t *testing.T) {
	narrow := goodFile + `settings:
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
	target := "optimize: x\ntarget: {queries: 100, latency: 200ms}\n"
	s, err := simulated(t, target, table)
	require.NoError(t, err)
	require.Len(t, s.Rows, 5)
	narrowed, err := simulated(t, target+"settings: [{name: f, as: filter, values: [8]}]\n", table)
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
	f, err := ReadFile(written(t, goodFile+`settings:
  - {name: topology.worker.childopts, as: gc, written: "-XX:+Use{}GC", values: [G1, Parallel]}
  - {name: topology.worker.childopts, as: heap, written: "-Xmx{}m", values: [64, 128], easier: more}
`))
	require.NoError(t, err)
	space, err := f.Space()
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"topology.worker.childopts": "-XX:+UseParallelGC -Xmx64m"},
		space.Configured(optimize.Point{1, 0}))
	assert.Equal(t, []tuning.Limiter{tuning.LimitedByGC, tuning.LimitedByRestart}, space.Settings[1].Relieves,
		"by what it writes")
	p, found := space.At(space.Texts(optimize.Point{1, 0}))
	assert.True(t, found)
	assert.Equal(t, optimize.Point{1, 0}, p)
	_, found = space.At(map[string]string{"gc": "G1", "heap": "65"})
	assert.False(t, found)
}

// Trials are recorded as a space file, from which a simulation returns the same trials.
func TestTrialsAreRecordedAsASpace(t *testing.T) {
	f, err := ReadFile(written(t, goodFile+`settings:
  - {name: f, as: filter, values: [1, 2], cost: 1, easier: more}
  - {name: g, as: gc, values: [G1, "off: 1"]}
`))
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
	s, err := f.Simulation(space)
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
			`it.yaml:2:1: unknown field "targets"; did you mean "target"?`},
		{goodFile + "experiment: \"\"\n", goodSpace, "experiment: the path is empty; write a path"},
		{swap(goodFile, "200ms", "fast"), goodSpace, `target.latency: "fast" is not a time`},
		{swap(goodFile, ", latency: 200ms, completeness: 99%", ""), goodSpace,
			"it.yaml:2:9: target: the target has no goal"},
		{swap(goodFile, "90%", "40%"), goodSpace, "it.yaml:4:13: confidence: the confidence must be above 0.5"},
		{swap(goodFile, "sample", `""`), goodSpace, "optimize: is missing"},
		{goodFile, swap(goodSpace, "seed: 7", "sed: 7"), `it.yaml:15:1: unknown field "sed"; did you mean "seed"?`},
		{goodFile, swap(goodSpace, "easier: more", "easier: mor"),
			`easier: "mor" is none of more, less, neither; did you mean "more"?`},
		{goodFile, swap(goodSpace, "filter CPU", "filter cpu"),
			`there is no limiter "filter cpu"; did you mean "filter CPU"?`},
		{goodFile, swap(goodSpace, "(1 + gc)", "(1 + gcc)"),
			`it.yaml:10:15: formula.latency_ms: there is no "gcc"; did you mean "gc"?`},
		{goodFile, swap(goodSpace, "filter * heap", "fliter * heap"),
			`constraints[0]: there is no "fliter"; did you mean "filter"?`},
		{goodFile, swap(goodSpace, "max(0,", "most(0,"), "calls what is no function"},
		{goodFile, swap(goodSpace, `"128.0"`, `"100"`),
			"start: 100 is no value of heap; there are 128, 256, 512, 1024"},
		{goodFile, swap(goodSpace, "as: heap", "as: filter"), `settings[1].as: "filter" is taken`},
		{goodFile, swap(goodSpace, "as: heap", "as: queries"), `"queries" is taken`},
		{goodFile, swap(goodSpace, "name: topology.worker.gc", "name: topology.worker.max.heap.size.mb"),
			"settings[2].name: topology.worker.max.heap.size.mb is there twice; give both a written"},
		{goodFile, swap(goodSpace, "as: gc,", "as: gc, written: Use,"), `written: "Use" has no {}`},
		{goodFile, swap(goodSpace, "[0, 0.5]", "[0]"), "costs has 1 numbers for 2 values"},
		{goodFile, swap(goodSpace, ", step: 1", ""), "belong together"},
		{goodFile, swap(goodSpace, "  completeness: 1 - 0.1 * max(0, 200 / heap - 1)\n", ""),
			"formula.completeness: is missing, and the target has a goal"},
		{goodFile, swap(goodSpace, "formula:", "table: {columns: [], rows: []}\nformula:"),
			"either a formula or a table"},
		{goodFile, swap(table, "queries,", "querys,"),
			`unknown column "querys", or one that is there twice; did you mean "queries"?`},
		{goodFile, swap(table, "50, 10, OK", "50, 10, ok"), `table.rows[0][3]: "ok" is none of OK, FAIL`},
		{goodFile, swap(table, "[4, 50, 10,", "[4, 50, fast,"), `table.rows[0][2]: latency_ms: "fast" is not a number`},
		{goodFile, swap(table, `"", ""]`, `""]`), "table.rows[2]: 4 cells for 5 columns"},
		{goodFile, swap(table, "[8, 200, 15", "[5, 200, 15"),
			":10:8: table.rows[4][0]: 5 is no value of filter, which has 4, 8: correct the row, or leave it out"},
		{goodFile, "space: x\nformula: {latency_ms: 1, completeness: 1}\n", "settings: are missing"},
	} {
		_, err := simulated(t, c.file, c.space)
		assert.ErrorContains(t, err, c.want)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add([]byte(goodFile), []byte(goodSpace))
	f.Add([]byte("optimize: x\ntarget: {queries: 100, latency: 200ms}\nbudget: {trials: 3}\n"), []byte(table))
	f.Fuzz(func(t *testing.T, file, space []byte) {
		read, err := parseFile("file.yaml", file)
		if err != nil {
			return
		}
		data, err := parseSpace("space.yaml", space)
		if err != nil {
			return
		}
		simulation, err := read.Simulation(data)
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
		assert.NotEmpty(t, read.Account(result, nil, "").Text())
	})
}
