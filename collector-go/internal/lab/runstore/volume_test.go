package runstore_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// A step's weight is its measured time. Warm-ups and steps without a known rate do not count.
func TestTheVolumeIsAveragedOverMeasuredTime(t *testing.T) {
	step := func(records, mib tuning.Figure, seconds int64) runstore.Step {
		return runstore.Step{StartMs: 1, MeasuredFromMs: 20_000, EndMs: 20_000 + 1000*seconds,
			RecordsPerSecond: records, MiBPerSecond: mib}
	}
	got := runstore.AverageVolume([]runstore.Step{step(1000, 2, 30), step(2000, tuning.Unknown, 10),
		step(tuning.Unknown, 9, 0), step(tuning.Unknown, tuning.Unknown, 50)})
	assert.InDelta(t, 1250, float64(got.RecordsPerSecond), 1e-9)
	assert.InDelta(t, 2, float64(got.MiBPerSecond), 1e-9)
	none := runstore.AverageVolume(nil)
	assert.False(t, none.RecordsPerSecond.Known())
	assert.False(t, none.MiBPerSecond.Known())
}

func TestThePlansVolume(t *testing.T) {
	steps := func(values ...float64) (all []runstore.PlannedTrial) {
		var trial runstore.PlannedTrial
		for _, v := range values {
			trial.Steps = append(trial.Steps, runstore.PlannedStep{Kind: runstore.LoadStep, Value: v})
		}
		return []runstore.PlannedTrial{trial}
	}
	for name, c := range map[string]struct {
		plan runstore.Plan
		want string
	}{
		"given": {runstore.Plan{Axis: runstore.Queries,
			Load: runstore.Load{RecordsPerSecond: 68_400, MeanRecordBytes: 1843}, Trials: steps(1, 10)},
			"68,400 records/s, 120.2 MiB/s (1,843 bytes a record)"},
		"calibrated": {runstore.Plan{Axis: runstore.Queries, Load: runstore.Load{RecordsPerSecond: tuning.Unknown,
			MeanRecordBytes: 1843}, Trials: steps(1, 10)}, ""},
		"the axis": {runstore.Plan{Axis: runstore.RecordsPerSecond, Load: runstore.Load{RecordsPerSecond: tuning.Unknown,
			MeanRecordBytes: 1 << 20}, Trials: steps(500, 4000, 1500)},
			"500 to 4,000 records/s, 500 to 4,000 MiB/s (1,048,576 bytes a record)"},
		"no size": {runstore.Plan{Axis: runstore.Queries,
			Load: runstore.Load{RecordsPerSecond: 5000, MeanRecordBytes: tuning.Unknown}}, "5,000 records/s"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, c.plan.Volume()) })
	}
}
