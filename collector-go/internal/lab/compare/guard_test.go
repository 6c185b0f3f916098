package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// drawn returns launches of a configuration with a mean CPU, which differ by a relative standard deviation.
func drawn(random *rand.Rand, launches int, mean, scatter float64) compare.Operand {
	c := compare.Configuration{Label: "one", Unit: "queries"}
	for range launches {
		own := mean * math.Exp(scatter*random.NormFloat64())
		step := compare.Step{Name: "100 queries", Value: 100, Verdicts: []tuning.Verdict{tuning.OK},
			Figures: map[string][]tuning.Figure{}}
		for range 30 {
			step.Figures[compare.TotalCPU] = append(step.Figures[compare.TotalCPU],
				tuning.Figure(own*(1+0.02*random.NormFloat64())))
		}
		c.Launches = append(c.Launches, compare.Launch{Steps: []compare.Step{step}})
	}
	c.Capacity = tuning.IntervalOf([]tuning.Measured{{Value: 100, Verdict: tuning.OK}})
	return compare.Operand{Directory: "runs/one", ID: "one", Configurations: []compare.Configuration{c}}
}

// held sets the verdicts at two loads.
func held(s compare.Operand, verdicts ...tuning.Verdict) compare.Operand {
	var measured []tuning.Measured
	for n, v := range verdicts {
		measured = append(measured, tuning.Measured{Value: float64(100 * (n + 1)), Verdict: v})
	}
	s.Configurations[0].Capacity = tuning.IntervalOf(measured)
	return s
}

func guarded(t *testing.T, before, after compare.Operand, allowed float64) compare.Guard {
	t.Helper()
	c, err := compare.Operands(before, after, 0.95)
	require.NoError(t, err)
	return c.Guard(allowed)
}

// A change of the allowed size is proven in at most one of 40 pairs (one end of a 95% interval). A larger change is
// proven in most pairs.
func TestTheGuardIsAsSureAsItsInterval(t *testing.T) {
	const pairs = 1000
	for _, c := range []struct {
		before, after int
		worse         float64
		least, most   int
	}{
		{3, 1, 1.10, 5, 45}, {3, 3, 1.10, 5, 45}, {5, 5, 1.10, 5, 45}, {3, 3, 1, 0, 3}, {3, 3, 1.3, 900, pairs},
		{3, 1, 1.6, 900, pairs},
		{2, 3, 2, 0, 0}, {1, 5, 2, 0, 0},
	} {
		t.Run(fmt.Sprintf("%d launches against %d, %.2f times", c.before, c.after, c.worse), func(t *testing.T) {
			random, proven := rand.New(rand.NewPCG(18, 5)), 0
			for range pairs {
				g := guarded(t, drawn(random, c.before, 100, 0.03), drawn(random, c.after, 100*c.worse, 0.03), 0.10)
				if g.Verdict == compare.Regressed {
					proven++
				}
				assert.Equal(t, c.before < compare.LeastLaunches, g.Verdict == compare.NotProvable)
			}
			assert.True(t, c.least <= proven && proven <= c.most, "proven in %d of %d", proven, pairs)
		})
	}
}

func TestACapacityThatFellIsARegression(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	of := func(launches int, verdicts ...tuning.Verdict) compare.Operand {
		return held(drawn(random, launches, 100, 0), verdicts...)
	}
	fell := guarded(t, of(3, tuning.OK, tuning.OK), of(1, tuning.OK, tuning.Fail), 0)
	require.Equal(t, compare.Regressed, fell.Verdict)
	assert.Contains(t, fell.Regressions[0], "capacity: ")
	assert.Equal(t, compare.NoneProven, guarded(t, of(3, tuning.OK, tuning.OK), of(1, tuning.OK, tuning.Fail),
		0.1).Verdict, "200 is above 0.9 x 200")
	assert.Equal(t, compare.Regressed, guarded(t, of(3, tuning.OK, tuning.OK), of(1, tuning.Fail, tuning.Fail),
		0.1).Verdict)
	assert.Equal(t, compare.NoneProven, guarded(t, of(3, tuning.OK, tuning.Fail), of(1, tuning.OK, tuning.Fail),
		0).Verdict)
	assert.Equal(t, compare.NotProvable,
		guarded(t, of(2, tuning.OK, tuning.OK), of(3, tuning.OK, tuning.Fail), 0).Verdict)
}

func TestAGuardThatComparesNothingPassesNothingAsProven(t *testing.T) {
	before, after := drawn(rand.New(rand.NewPCG(1, 2)), 3, 100, 0.1), drawn(rand.New(rand.NewPCG(1, 3)), 3, 100, 0.1)
	for i := range after.Configurations[0].Launches {
		after.Configurations[0].Launches[i].Steps[0].Value = 200
	}
	g := guarded(t, before, after, 0.1)
	assert.Equal(t, compare.NotProvable, g.Verdict)
	assert.Equal(t, []string{"no figure that can get worse was measured in both runs; run both with the same steps"},
		g.NotProvable)
}
