package tuning_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// A step that meets its goals has no limiter, whatever was busy.
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
	assert.Contains(t, limitation.Text, "nothing limited it, because its goals were met; still busy: filter CPU")
}

// How busy a bolt with few tuples is cannot be known. If no tuples wait for it, it still limits nothing.
func TestABoltWithoutWaitingTuplesLimitsNothing(t *testing.T) {
	e := quiet()
	e.Bolts[1].BusyMean, e.Bolts[1].BusyMost = tuning.Unknown, tuning.Unknown
	e.Bolts[1].BusyUnknown = "of task 9: it executed 40 tuples"
	l := tuning.Limit(e)
	assert.Contains(t, l.Text, "nothing was at its limit")
	assert.Contains(t, l.Text, "no other bolt had waiting tuples: the fullest receive queue was 0% full")
	e.Bolts[1].QueueMost = 0.01
	assert.Contains(t, tuning.Limit(e).Text,
		"cannot tell: the busy share of any other bolt is unknown: JoinBolt: of task 9: it executed 40 tuples")
}
