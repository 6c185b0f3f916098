package compare_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// side has one configuration of a launch in which each step had so much CPU, in slices that scatter by a hundredth.
func side(label string, unit string, cpu ...float64) compare.Side {
	launch := compare.Launch{}
	for i, mean := range cpu {
		step := compare.Step{Value: float64(100 * i), Name: []string{"0 queries", "100 queries"}[i], Verdict: tuning.OK,
			TotalCPU: tuning.Figure(mean), AverageCPU: tuning.Unknown, Figures: map[string][]tuning.Figure{}}
		for n := range 40 {
			value := tuning.Figure(mean * (1 + 0.01*float64(n*7%5-2)))
			step.Figures[compare.TotalCPU] = append(step.Figures[compare.TotalCPU], value)
		}
		launch.Steps = append(launch.Steps, step)
		launch.Judged = append(launch.Judged, tuning.Measured{Value: step.Value, Verdict: step.Verdict})
	}
	return compare.Side{Directory: "runs/" + label, ID: label, Configurations: []compare.Configuration{
		{Label: label, Unit: unit, Values: map[string]string{"heap": label}, Launches: []compare.Launch{launch}, Queries: true}}}
}

func TestTwoSidesOfOneConfigurationEach(t *testing.T) {
	c, err := compare.Sides(side("little", "queries", 100, 200), side("much", "queries", 80), 0.95)
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
	assert.Empty(t, c.Regressions(0.05), "it fell")

	back, err := compare.Sides(side("much", "queries", 80), side("little", "queries", 100), 0.95)
	require.NoError(t, err)
	assert.Len(t, back.Regressions(0.05), 1)
	assert.Empty(t, back.Regressions(0.5))
}

func TestASideAgainstItselfHasNoClearChange(t *testing.T) {
	c, err := compare.Sides(side("little", "", 100), side("little", "", 100), 0.95)
	require.NoError(t, err)
	change := c.Configurations[0]
	assert.Nil(t, change.Capacity, "no unit, no capacity")
	assert.Equal(t, compare.NotClear, change.Steps[0].Figures[0].Mark())
	assert.Contains(t, change.Findings(0.95, ""), "0 queries: no clear change.")
}

func TestSidesWithNothingInCommon(t *testing.T) {
	a, b := side("little", "queries", 100), side("much", "queries", 80)
	a.Configurations = append(a.Configurations, side("third", "queries", 1).Configurations...)
	_, err := compare.Sides(a, b, 0.95)
	require.ErrorContains(t, err, `no configuration in common ("little", "third" against "much")`)
}
