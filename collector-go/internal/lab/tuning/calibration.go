package tuning

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Reading is one measurement of the host during the calibration of the record rate.
type Reading struct {
	RecordsPerSecond Figure `json:"records_per_second"`
	HostIdle         Figure `json:"host_idle"`
}

// Calibration states how the record rate was found.
type Calibration struct {
	TargetIdle       Figure    `json:"target_idle"`
	Readings         []Reading `json:"readings"`
	RecordsPerSecond Figure    `json:"records_per_second"`
}

// IdleTolerance is how far the idle ratio at a calibrated rate may differ from the target.
const IdleTolerance = 0.1

// Missed returns why the calibration found no rate that leaves the target idle, "" if it found one. A rate counts as
// found only if the host was seen to be about as idle as the target (IdleTolerance). The last reading at that rate
// decides; without one, the idle ratio of the step with 0 queries does. idleOfStep is that ratio, or unknown if there
// is no such step.
func (c Calibration) Missed(idleOfStep Figure) string {
	if !c.TargetIdle.Known() || len(c.Readings) == 0 {
		return ""
	}
	seen := idleOfStep
	for _, r := range c.Readings {
		if r.RecordsPerSecond == c.RecordsPerSecond {
			seen = r.HostIdle
		}
	}
	byRate := func(a, b Reading) int { return cmp.Compare(a.RecordsPerSecond, b.RecordsPerSecond) }
	low, high := slices.MinFunc(c.Readings, byRate), slices.MaxFunc(c.Readings, byRate)
	if math.Abs(float64(seen-c.TargetIdle)) <= IdleTolerance {
		return ""
	}
	text := fmt.Sprintf("no record rate leaves %s of the host idle: ", Percent(c.TargetIdle))
	switch {
	case !seen.Known():
		text += fmt.Sprintf("%s records/s is an estimate that was not measured", Digits(c.RecordsPerSecond))
	case low.RecordsPerSecond == high.RecordsPerSecond:
		text += fmt.Sprintf("%s records/s left %s", Digits(c.RecordsPerSecond), Percent(seen))
	default:
		text += fmt.Sprintf("%s records/s left %s, %s records/s %s", Digits(low.RecordsPerSecond),
			Percent(low.HostIdle), Digits(high.RecordsPerSecond), Percent(high.HostIdle))
	}
	return text
}
