package compare_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// operand returns an operand with one configuration and one launch. The steps have the given mean CPU, in slices that
// vary by about 1%.
func operand(label string, unit string, cpu ...float64) compare.Operand {
	launch, measured := compare.Launch{}, []tuning.Measured{}
	for i, mean := range cpu {
		step := compare.Step{Value: float64(100 * i), Name: []string{"0 queries", "100 queries"}[i], Verdicts: []tuning.Verdict{tuning.OK},
			Figures: map[string][]tuning.Figure{}}
		for n := range 40 {
			value := tuning.Figure(mean * (1 + 0.01*float64(n*7%5-2)))
			step.Figures[compare.TotalCPU] = append(step.Figures[compare.TotalCPU], value)
		}
		launch.Steps = append(launch.Steps, step)
		measured = append(measured, tuning.Measured{Value: step.Value, Verdict: tuning.OK})
	}
	return compare.Operand{Directory: "runs/" + label, ID: label, Configurations: []compare.Configuration{
		{Label: label, Unit: unit, Capacity: tuning.IntervalOf(measured), Values: map[string]string{"heap": label},
			Launches: []compare.Launch{launch},
			Costs:    costs(cpu...)}}}
}

// costs returns the cost of a query from steps of 0 and 100 queries that were measured twice.
func costs(cpu ...float64) []compare.Cost {
	var x, y []float64
	for i, mean := range cpu {
		x, y = append(x, float64(100*i), float64(100*i)), append(y, 0.99*mean, 1.01*mean)
	}
	l := tuning.FitLine(x, y, 0.95)
	return []compare.Cost{{Name: "CPU that a query adds, all workers", Worse: "up", Line: l,
		Estimate: tuning.Estimate{Value: l.Slope, Low: l.Low, High: l.High}}}
}

// launched adds two launches to the operand, each 1% above the one before.
func launched(s compare.Operand) compare.Operand {
	c := &s.Configurations[0]
	for range 2 {
		last := c.Launches[len(c.Launches)-1]
		next := compare.Launch{}
		for _, step := range last.Steps {
			values := []tuning.Figure{}
			for _, v := range step.Figures[compare.TotalCPU] {
				values = append(values, 1.01*v)
			}
			step.Figures = map[string][]tuning.Figure{compare.TotalCPU: values}
			next.Steps = append(next.Steps, step)
		}
		c.Launches = append(c.Launches, next)
	}
	return s
}

func TestTwoSidesOfOneConfigurationEach(t *testing.T) {
	c, err := compare.Operands(launched(operand("little", "queries", 100, 200)), launched(operand("much", "queries", 80)), 0.95)
	require.NoError(t, err)
	require.Len(t, c.Configurations, 1)
	change := c.Configurations[0]
	assert.Equal(t, []string{"- heap: little", "+ heap: much"}, change.Lines)
	assert.Equal(t, []string{"100 queries was measured only before"}, c.Notes)
	require.Len(t, change.Steps, 1)
	require.Len(t, change.Steps[0].Figures, 1, "only what was measured")
	cpu := change.Steps[0].Figures[0]
	assert.True(t, cpu.Clear)
	assert.InDelta(t, -0.2, float64(cpu.Ratio.Value), 1e-9)
	assert.Empty(t, cpu.Mark())
	findings := change.Findings(c.Confidence, "")
	assert.Contains(t, findings[0], "Configuration: one value differs")
	assert.Contains(t, findings[2], "0 queries: CPU of all workers -20.0% (95%: -")
	assert.Equal(t, compare.NoneProven, c.Guard(0.05).Verdict, "it fell")
	verdict, why := c.Verdict()
	assert.Equal(t, "better", verdict)
	assert.Contains(t, why, "Clearly better: 0 queries: CPU of all workers -20.0% (95%: -")

	back, err := compare.Operands(launched(operand("much", "queries", 80)), launched(operand("little", "queries", 100)), 0.95)
	require.NoError(t, err)
	assert.Len(t, back.Guard(0.05).Regressions, 1)
	assert.Equal(t, compare.Regressed, back.Guard(0.05).Verdict)
	verdict, _ = back.Verdict()
	assert.Equal(t, "worse", verdict)
	assert.Equal(t, compare.NoneProven, back.Guard(0.5).Verdict)
}

// With one launch, the variation between launches is unknown: no change is clear, and the guard says that nothing is
// provable.
func TestOneLaunchASideShowsNoClearChange(t *testing.T) {
	c, err := compare.Operands(operand("much", "queries", 80, 120), operand("little", "queries", 100, 150), 0.95)
	require.NoError(t, err)
	cpu := c.Configurations[0].Steps[0].Figures[0]
	assert.False(t, cpu.Clear || cpu.Change.Low.Known())
	guard := c.Guard(0.05)
	assert.Equal(t, compare.NotProvable, guard.Verdict)
	assert.Empty(t, guard.Regressions)
	assert.Equal(t, []string{"0 queries: the baseline was launched once, but a proof needs 3 launches (steps.repeats: 3)",
		"100 queries: the baseline was launched once, but a proof needs 3 launches (steps.repeats: 3)"},
		guard.NotProvable)
	verdict, _ := c.Verdict()
	assert.Equal(t, "cannot tell", verdict)
	for _, cost := range c.Configurations[0].Marginal {
		assert.False(t, cost.Clear || cost.Change.Low.Known(), "%v", cost)
	}
	assert.Contains(t, strings.Join(c.Configurations[0].Doubts(""), "\n"), "Only one launch each")
}

// Regression: two launches of one configuration gave a "clear" change of +104%.
func TestTwoLaunchesOfOneConfigurationSaySo(t *testing.T) {
	c, err := compare.Operands(operand("same", "", 100), operand("same", "", 204), 0.95)
	require.NoError(t, err)
	assert.Contains(t, c.Configurations[0].Findings(0.95, ""),
		"Before and after have the same configuration, as far as known, so the differences are the variation between "+
			"launches. The largest is CPU of all workers +104.0% at 0 queries: a smaller change between configurations may be no change.")

	c, err = compare.Operands(launched(operand("same", "", 100)), launched(operand("same", "", 204)), 0.95)
	require.NoError(t, err)
	require.True(t, c.Configurations[0].Steps[0].Figures[0].Clear)
	assert.Contains(t, strings.Join(c.Configurations[0].Findings(0.95, ""), "\n"),
		"There are clear changes nevertheless, so something other than the configuration changed, "+
			"such as the machine, its load or the data.")
	other, err := compare.Operands(operand("one", "", 100), operand("other", "", 204), 0.95)
	require.NoError(t, err)
	assert.NotContains(t, strings.Join(other.Configurations[0].Findings(0.95, ""), "\n"),
		"have the same configuration")
}

func TestASideAgainstItselfHasNoClearChange(t *testing.T) {
	c, err := compare.Operands(launched(operand("little", "", 100)), launched(operand("little", "", 100)), 0.95)
	require.NoError(t, err)
	change := c.Configurations[0]
	assert.Nil(t, change.Capacity, "no unit, no capacity")
	assert.Equal(t, compare.NotClear, change.Steps[0].Figures[0].Mark())
	assert.Contains(t, change.Findings(0.95, ""), "0 queries: no clear change.")
	verdict, _ := c.Verdict()
	assert.Equal(t, "no clear change", verdict)
}

// Queries that run for 30 s take 30 s plus the delay of the topology. Only the delay is compared, if both sides have
// such queries.
func TestTimesToResultAreWhatIsBeyondTheQuerysOwn(t *testing.T) {
	of := func(own tuning.Figure, ms ...tuning.Figure) compare.Operand {
		s := operand("one", "queries", 100)
		c := &s.Configurations[0]
		c.OwnMs, c.Launches[0].Steps[0].Figures = own, map[string][]tuning.Figure{compare.TimeToResult: ms}
		return s
	}
	for name, c := range map[string]struct {
		before, after compare.Operand
		unit, text    string
		was, is       float64
	}{
		"late":                   {of(30_000, 30_400, 30_600), of(30_000, 31_000), "s late", "+100.0%", 0.5, 1},
		"before its time":        {of(30_000, 29_900), of(30_000, 30_500), "s late", "+0.6 s late", -0.1, 0.5},
		"of different queries":   {of(30_000, 30_500), of(10_000, 10_500), "ms", "-65.6%", 30_500, 10_500},
		"that end by themselves": {of(0, 500), of(0, 1_000), "ms", "+100.0%", 500, 1_000},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := compare.Operands(c.before, c.after, 0.95)
			require.NoError(t, err)
			require.Len(t, got.Configurations[0].Steps[0].Figures, 1)
			f := got.Configurations[0].Steps[0].Figures[0]
			assert.Equal(t, c.unit, f.Unit)
			assert.InDelta(t, c.was, float64(f.Before), 1e-9)
			assert.InDelta(t, c.is, float64(f.After), 1e-9)
			assert.Equal(t, c.text, f.Text(0.95))
			assert.Equal(t, c.unit == "s late", f.Name == compare.Lateness)
		})
	}
}

func TestSidesWithNothingInCommon(t *testing.T) {
	a, b := operand("little", "queries", 100), operand("much", "queries", 80)
	a.Configurations = append(a.Configurations, operand("third", "queries", 1).Configurations...)
	_, err := compare.Operands(a, b, 0.95)
	require.ErrorContains(t, err, `no configuration in common ("little", "third" and "much")`)
}
