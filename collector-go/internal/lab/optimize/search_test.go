package optimize

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

func latencyTarget(ms tuning.Figure) Target {
	return Target{tuning.Unknown, tuning.Unknown, tuning.Unknown, ms, tuning.Unknown, tuning.Unknown}
}

func setting(as string, easier Easier, unit float64, values ...float64) Setting {
	s := Setting{Name: "x." + as, As: as, Easier: easier}
	for _, v := range values {
		s.Values, s.Costs = append(s.Values, Value{text(v), v}), append(s.Costs, unit*v)
	}
	return s
}

func text(v float64) string { return fmt.Sprint(v) }

// twoSettings needs 3 filter bolts with much heap and 6 with little heap.
func twoSettings(t *testing.T) *Simulation {
	filter, heap := setting("filter", More, 1, 1, 2, 3, 4, 6, 8), setting("heap", More, 0.001, 256, 512, 1024)
	filter.Relieves, heap.Relieves = []tuning.Limiter{tuning.LimitedByFilterCPU}, []tuning.Limiter{tuning.LimitedByGC}
	return &Simulation{
		Space: Space{Settings: []Setting{filter, heap}, BaseCost: 10}, Target: latencyTarget(200), TrialSeconds: 60,
		Latency: parsed(t, "100 * 3 / filter * (1 + 250 / heap)"),
		Shares: []Share{{tuning.LimitedByFilterCPU, parsed(t, "3/filter")},
			{tuning.LimitedByGC, parsed(t, "400/heap")}},
	}
}

func run(t *testing.T, s *Simulation, o Options) (*Result, []Trial) {
	search, err := New(s.Space, s.Target, o)
	require.NoError(t, err)
	trials, err := Simulate(search, s)
	require.NoError(t, err)
	r, err := search.Result(trials)
	require.NoError(t, err)
	return r, trials
}

func TestTheCheapestIsFoundAndProven(t *testing.T) {
	s := twoSettings(t)
	r, trials := run(t, s, DefaultOptions())
	require.NotNil(t, r.Best)
	assert.Equal(t, map[string]any{"x.filter": 2.0, "x.heap": 1024.0}, r.Best.Settings,
		"187 ms at a cost of 13.024; 3 filters with 256 MiB would cost 13.256")
	assert.InDelta(t, 13.024, r.Best.Cost, 1e-9)
	assert.True(t, r.Proven)
	assert.Empty(t, r.Open)
	assert.Less(t, len(trials), 8, "of 18")
	g, err := newGrid(s.Space)
	require.NoError(t, err)
	for at, p := range g.points {
		if !cheaper(g.costs[at], r.Best.Cost) {
			continue
		}
		ruledOut := false
		for _, trial := range trials {
			ruledOut = ruledOut || trial.Verdict == tuning.Fail && g.below(at, g.number(trial.Point))
		}
		assert.True(t, ruledOut, "%s is cheaper, and no trial rules it out", s.Space.Text(p))
	}
	covers := 0
	for _, f := range r.Proof {
		covers += f.RulesOut
	}
	assert.Equal(t, 5, covers, "all that is cheaper")
}

func TestASearchGoesOnFromItsTrials(t *testing.T) {
	s := twoSettings(t)
	_, trials := run(t, s, DefaultOptions())
	search, err := New(s.Space, s.Target, DefaultOptions())
	require.NoError(t, err)
	for i := range trials {
		next, more, err := search.Next(trials[:i])
		require.NoError(t, err)
		require.True(t, more)
		assert.Equal(t, trials[i].Point, next.Point)
	}
	_, more, err := search.Next(trials)
	require.NoError(t, err)
	assert.False(t, more)
}

func TestWhereNothingHoldsOneTrialProvesIt(t *testing.T) {
	s := twoSettings(t)
	s.Target.LatencyMs = 1
	s.Space.Start = Point{5, 2}
	r, trials := run(t, s, DefaultOptions())
	assert.Nil(t, r.Best)
	assert.True(t, r.Proven)
	assert.Len(t, trials, 1)
	assert.Equal(t, 18, r.Proof[0].RulesOut)
}

func TestWithoutOrderNothingIsRuledOut(t *testing.T) {
	s := twoSettings(t)
	s.Target.LatencyMs = 1
	for i := range s.Space.Settings {
		s.Space.Settings[i].Easier = Neither
	}
	r, trials := run(t, s, DefaultOptions())
	assert.True(t, r.Proven)
	assert.Len(t, trials, 18)
}

func TestLessCanBeEasier(t *testing.T) {
	s := &Simulation{Space: Space{Settings: []Setting{setting("rate", Less, -1, 1, 2, 3, 4, 5, 6, 7, 8)}},
		Target: latencyTarget(200), Latency: parsed(t, "40 * rate")}
	r, trials := run(t, s, DefaultOptions())
	assert.Equal(t, map[string]any{"x.rate": 5.0}, r.Best.Settings)
	assert.True(t, r.Proven)
	assert.LessOrEqual(t, len(trials), 5)
}

func TestTheBudgetEndsASearchAndTheRestIsOpen(t *testing.T) {
	s := twoSettings(t)
	o := DefaultOptions()
	o.Budget.Trials = 2
	r, trials := run(t, s, o)
	assert.Len(t, trials, 2)
	assert.False(t, r.Proven)
	assert.NotEmpty(t, r.Open)
	assert.GreaterOrEqual(t, r.OpenConfigurations, len(r.Open))
	o.Budget = Budget{Seconds: 150}
	_, trials = run(t, s, o)
	assert.Len(t, trials, 2, "a third would end at 180 s")
}

func TestAToleranceSparesTrials(t *testing.T) {
	var values []float64
	for v := range 256 {
		values = append(values, float64(v+1))
	}
	s := &Simulation{Space: Space{Settings: []Setting{setting("filter", More, 1, values...)}},
		Target: latencyTarget(200), Latency: parsed(t, "19900 / filter")}
	exact, all := run(t, s, DefaultOptions())
	assert.InDelta(t, 100, exact.Best.Cost, 0)
	o := DefaultOptions()
	o.Tolerance = 0.2
	r, trials := run(t, s, o)
	assert.True(t, r.Proven)
	assert.Less(t, len(trials), len(all))
	assert.LessOrEqual(t, r.Best.Cost*0.8, 100.0)
	assert.GreaterOrEqual(t, r.Best.Cost, 100.0)
}

func TestConstraintsAndTheStartAreHeeded(t *testing.T) {
	s := twoSettings(t)
	s.Space.Constraints = []*Formula{parsed(t, "heap <= 512 && filter != 3")}
	s.Space.Start = Point{0, 0}
	r, trials := run(t, s, DefaultOptions())
	assert.Equal(t, Point{0, 0}, trials[0].Point)
	assert.Equal(t, map[string]any{"x.filter": 4.0, "x.heap": 256.0}, r.Best.Settings)
	assert.True(t, r.Proven)
	for _, trial := range trials {
		assert.NotEqual(t, 2, trial.Point[0])
		assert.NotEqual(t, 2, trial.Point[1])
	}
}

// The model expects that only a setting that relieves the limiter helps.
func TestTheLimiterMovesTheModel(t *testing.T) {
	s := twoSettings(t)
	search, err := New(s.Space, s.Target, DefaultOptions())
	require.NoError(t, err)
	holds := func(limiter tuning.Limiter, filter, heap int) float64 {
		trial := Trial{Point: Point{2, 0}, Verdict: tuning.Fail, LatencyMs: 400, Completeness: tuning.Unknown,
			CatchUp: tuning.Unknown, Noise: 0, Limiter: limiter}
		g := search.grid
		model := surrogate{observations(g, weigh(g, s.Target, []Trial{trial}))}
		return model.holds(g.places[g.number(Point{filter, heap})])
	}
	for _, limiter := range []tuning.Limiter{tuning.LimitedByFilterCPU, tuning.LimitedByGC} {
		moreFilters, moreHeap := holds(limiter, 5, 0)-holds("", 5, 0), holds(limiter, 2, 2)-holds("", 2, 2)
		assert.Equal(t, limiter == tuning.LimitedByFilterCPU, moreFilters > moreHeap+0.1, "%s: %.2f, %.2f", limiter,
			moreFilters, moreHeap)
		assert.Equal(t, limiter == tuning.LimitedByGC, moreHeap > moreFilters+0.1, "%s: %.2f, %.2f", limiter,
			moreFilters, moreHeap)
	}
	assert.Less(t, holds(tuning.LimitedByHost, 5, 2), holds("", 5, 2), "nothing helps a host")
}

func TestNearTheBorderTrialsAreRepeated(t *testing.T) {
	// 187 ms with 3 filter bolts.
	s := &Simulation{Space: Space{Settings: []Setting{setting("filter", More, 1, 1, 2, 3, 4)}},
		Target: latencyTarget(200), Noise: 0.1, Latency: parsed(t, "560 / filter")}
	counts := map[int]int{}
	o := DefaultOptions()
	o.Repeats = 30
	r, trials := run(t, s, o)
	for _, trial := range trials {
		counts[trial.Point[0]]++
	}
	assert.Greater(t, counts[2], 2, "the one at the border")
	assert.LessOrEqual(t, counts[3], 1, "not those that are far from it")
	assert.True(t, r.Proven)
	assert.Equal(t, map[string]any{"x.filter": 3.0}, r.Best.Settings)
	o.Repeats = 2
	r, _ = run(t, s, o)
	assert.False(t, r.Proven, "two trials do not decide it")
	require.NotEmpty(t, r.Open)
	assert.Equal(t, map[string]any{"x.filter": 3.0}, r.Open[0].Settings)
}

func TestWhatCannotBeJudgedIsTriedAgainAndThenOpen(t *testing.T) {
	s := twoSettings(t)
	search, err := New(s.Space, s.Target, DefaultOptions())
	require.NoError(t, err)
	first, _, err := search.Next(nil)
	require.NoError(t, err)
	trial := Trial{Point: first.Point, Verdict: tuning.Inconclusive, LatencyMs: tuning.Unknown,
		Completeness: tuning.Unknown, CatchUp: tuning.Unknown, Noise: tuning.Unknown}
	again, _, err := search.Next([]Trial{trial})
	require.NoError(t, err)
	assert.Equal(t, Proposal{Point: first.Point, Holds: again.Holds,
		Why: "its last trial could not be judged"}, again)
	third, _, err := search.Next([]Trial{trial, trial})
	require.NoError(t, err)
	assert.NotEqual(t, first.Point, third.Point)
	trial.Verdict, trial.Limiter = tuning.Limited, tuning.LimitedByDRPC
	r, err := search.Result([]Trial{trial})
	require.NoError(t, err)
	assert.Contains(t, r.Open[0].Why, "DRPC")
}

func TestVerdictsThatContradictMonotonicityAreNotBelieved(t *testing.T) {
	space := Space{Settings: []Setting{setting("filter", More, 1, 1, 2, 3)}}
	search, err := New(space, latencyTarget(200), DefaultOptions())
	require.NoError(t, err)
	trial := func(level int, ms, noise tuning.Figure) Trial {
		verdict := map[bool]tuning.Verdict{true: tuning.OK, false: tuning.Fail}[ms <= 200]
		return Trial{Point: Point{level}, Verdict: verdict, LatencyMs: ms, Completeness: tuning.Unknown,
			CatchUp: tuning.Unknown, Noise: noise}
	}
	next, more, err := search.Next([]Trial{trial(0, 190, 0.1), trial(1, 500, 0.1)})
	require.NoError(t, err)
	require.True(t, more)
	assert.Equal(t, Point{0}, next.Point, "the one nearer to the limit is tried again")
	r, err := search.Result([]Trial{trial(0, 50, 0), trial(1, 500, 0), trial(2, 20, 0)})
	require.NoError(t, err)
	assert.False(t, r.Proven, "without noise both are certain, and one is wrong")
	require.NotEmpty(t, r.Open)
	assert.Contains(t, r.Open[0].Why, "contradiction: an easier configuration failed")
}

func TestJudge(t *testing.T) {
	target := Target{tuning.Unknown, tuning.Unknown, tuning.Unknown, 200, 0.99, 5}
	for _, c := range []struct {
		latency, completeness, catchUp tuning.Figure
		want                           tuning.Verdict
	}{
		{200, 0.99, 5, tuning.OK}, {201, 1, 9, tuning.Fail}, {7, 0.98, 9, tuning.Fail}, {7, 1, 4.9, tuning.Fail},
		{tuning.Unknown, 1, 9, tuning.Inconclusive}, {tuning.Unknown, 0.5, 9, tuning.Fail},
		{tuning.Figure(math.Inf(1)), 1, 9, tuning.Fail},
	} {
		assert.Equal(t, c.want,
			target.Judge(Trial{LatencyMs: c.latency, Completeness: c.completeness, CatchUp: c.catchUp}), "%+v", c)
	}
}

func TestSpacesThatMakeNoSenseAreRefused(t *testing.T) {
	good := setting("filter", More, 1, 1, 2)
	for want, space := range map[string]Space{
		"no settings":           {},
		"no values":             {Settings: []Setting{{Name: "a", Easier: More}}},
		"ascending order":       {Settings: []Setting{setting("a", More, 1, 2, 1)}},
		"meets the constrai":    {Settings: []Setting{good}, Constraints: []*Formula{parsed(t, "filter > 5")}},
		"unknown name \"heap\"": {Settings: []Setting{good}, Cost: parsed(t, "heap * 2")},
	} {
		_, err := New(space, latencyTarget(200), DefaultOptions())
		assert.ErrorContains(t, err, want)
	}
	_, err := New(Space{Settings: []Setting{good}}, latencyTarget(tuning.Unknown), DefaultOptions())
	assert.ErrorContains(t, err, "no goal")
}

func TestFormulas(t *testing.T) {
	v := map[string]float64{"a": 2, "b": 3}
	for text, want := range map[string]float64{
		"a + b*2": 8, "-(a-b)/2": 0.5, "max(a, b, 1) - min(a, 9)": 1, "pow(a, b)": 8, "a < b && b == 3": 1,
		"a >= b || a != 2": 0, "exp(log(b))": 3, "1.5e2": 150,
	} {
		got, err := parsed(t, text).Value(v)
		require.NoError(t, err)
		assert.InDelta(t, want, got, 1e-12, text)
	}
	for _, text := range []string{"", "a +", "f(a)", "a.b", "a[0]", "func() {}", "a % b", "!a", "max()",
		"pow(1, 2) = 3", `"x"`} {
		_, err := ParseFormula(text)
		assert.Error(t, err, text)
	}
	_, err := parsed(t, "a + c").Value(v)
	assert.ErrorContains(t, err, `unknown name "c"`)
	_, err = parsed(t, "0/0").Value(v)
	assert.ErrorContains(t, err, "not a number")
	assert.Equal(t, []string{"a", "b"}, parsed(t, "a*b + max(a, 1)").Names())
}

// A verdict may have a reason that no figure shows, such as the restart of a worker or failed queries.
func TestAFailWithoutAFigureThatShowsItCounts(t *testing.T) {
	search, err := New(Space{Settings: []Setting{setting("filter", More, 1, 1, 2, 3)}}, latencyTarget(200),
		DefaultOptions())
	require.NoError(t, err)
	trial := func(verdict tuning.Verdict, ms, noise tuning.Figure) Trial {
		return Trial{Point: Point{1}, Verdict: verdict, LatencyMs: ms, Completeness: tuning.Unknown,
			CatchUp: tuning.Unknown, Noise: noise}
	}
	holds := func(trials ...Trial) float64 { return weigh(search.grid, search.target, trials)[0].holds }
	unknown := tuning.Unknown
	assert.Equal(t, 0.0, holds(trial(tuning.Fail, 20, 0)), "certain, though 20 ms would hold")
	assert.InDelta(t, 0.05, holds(trial(tuning.Fail, 20, 0.02)), 0.01)
	assert.InDelta(t, 0.5, holds(trial(tuning.Fail, 20, 0.02), trial(tuning.OK, 20, 0.02)), 0.01, "one of each")
	assert.Less(t, holds(trial(tuning.Fail, unknown, 0.02), trial(tuning.Fail, unknown, 0.02)), 0.01,
		"two verdicts alone")
	assert.Greater(t, holds(trial(tuning.OK, unknown, 0.02), trial(tuning.OK, unknown, 0.02)), 0.99)
	assert.Equal(t, 1.0, holds(trial(tuning.OK, unknown, 0)))
	assert.Equal(t, 0.5, holds(trial(tuning.OK, unknown, 0), trial(tuning.Fail, unknown, 0)))
}

func FuzzFormula(f *testing.F) {
	for _, text := range []string{"a + b*2", "pow(a, -b) / max(a, 0)", "a < b && b >= 1 || a != b", "((((a))))", "f(",
		"a.b[1](x)", "1e309", "-------a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		formula, err := ParseFormula(text)
		if err != nil {
			return
		}
		variables := map[string]float64{}
		for i, name := range formula.Names() {
			variables[name] = float64(i)
		}
		v, err := formula.Value(variables)
		if err == nil {
			assert.False(t, math.IsNaN(v))
		}
		again, err := ParseFormula(formula.String())
		require.NoError(t, err)
		w, _ := again.Value(variables)
		assert.Equal(t, v, w)
	})
}
