package tuning_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// A step that meets its goals has no limiter, whatever was busy in it.
func TestAStepThatIsOKHasNoLimiter(t *testing.T) {
	e := quiet()
	filterBusy(&e, 0.97, 1.95)
	measured := tuning.StepMeasures{}
	measured.Set(tuning.FilterLatency, tuning.Mean, 12)
	goals := []tuning.Goal{{Figure: tuning.FilterLatency, Statistic: tuning.Mean, AtMost: 200, AtLeast: tuning.Unknown}}
	_, judgement, limitation := tuning.JudgeGoals(goals, tuning.GoalStep{Measured: measured, Evidence: e, HostIdle: 0.4,
		LeastIdle: 0.05})
	assert.Equal(t, tuning.OK, judgement.Verdict, judgement.Reasons)
	assert.Empty(t, limitation.Limiters)
	assert.Contains(t, limitation.Text, "nothing limited it, since its goals were met; busy all the same: filter CPU")
}
