package runstore

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Reading is one measurement of the host during the calibration of the record rate.
type Reading struct {
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	HostIdle         tuning.Figure `json:"host_idle"`
}

// Calibration states how the record rate was found.
type Calibration struct {
	TargetIdle       tuning.Figure `json:"target_idle"`
	Readings         []Reading     `json:"readings"`
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
}

// IdleTolerance is how far the idle ratio at a calibrated rate may differ from the target.
const IdleTolerance = 0.1

// Missed returns why the calibration found no rate that leaves the target idle, "" if it found one. A rate counts as
// found only if the host was seen to be about as idle as the target (IdleTolerance). The last reading at that rate
// decides; without one, the idle ratio of the step with 0 queries does. idleOfStep is that ratio, or unknown if there
// is no such step.
func (c Calibration) Missed(idleOfStep tuning.Figure) string {
	if !c.TargetIdle.Known() || len(c.Readings) == 0 {
		return ""
	}
	seen, low, high := idleOfStep, c.Readings[0], c.Readings[0]
	for _, r := range c.Readings {
		if r.RecordsPerSecond == c.RecordsPerSecond {
			seen = r.HostIdle
		}
		if r.RecordsPerSecond < low.RecordsPerSecond {
			low = r
		}
		if r.RecordsPerSecond > high.RecordsPerSecond {
			high = r
		}
	}
	if math.Abs(float64(seen-c.TargetIdle)) <= IdleTolerance {
		return ""
	}
	text := fmt.Sprintf("no record rate was found that leaves %s of the host idle: ", tuning.Percent(c.TargetIdle))
	switch {
	case !seen.Known():
		text += fmt.Sprintf("%s records/s are an estimate that was not tried", tuning.Digits(c.RecordsPerSecond))
	case low.RecordsPerSecond == high.RecordsPerSecond:
		text += fmt.Sprintf("%s records/s left %s", tuning.Digits(c.RecordsPerSecond), tuning.Percent(seen))
	default:
		text += fmt.Sprintf("%s records/s left %s, %s records/s %s", tuning.Digits(low.RecordsPerSecond),
			tuning.Percent(low.HostIdle), tuning.Digits(high.RecordsPerSecond), tuning.Percent(high.HostIdle))
	}
	return text
}

// Unanswered returns why the run's record rate is not the requested one, "" if it is. The steps of such a run say
// nothing about the requested load.
func (r *Run) Unanswered() string {
	var c Calibration
	for _, e := range r.Events {
		if e.Kind == RateCalibrated {
			c = Calibration{TargetIdle: tuning.Unknown}
			_ = json.Unmarshal([]byte(e.Text), &c) // an older run's event has only the rate
		}
	}
	idle := tuning.Unknown
	for _, t := range r.Trials {
		for _, s := range t.Steps {
			if s.Queries == 0 && !(s.QueriesPerSecond > 0) && !idle.Known() {
				idle = s.HostIdle
			}
		}
	}
	return c.Missed(idle)
}

// Doubt makes all verdicts of a result inconclusive if why is not empty. why is the answer of Run.Unanswered.
func (r *Result) Doubt(why string) {
	if why == "" {
		return
	}
	r.Verdict = tuning.Inconclusive
	for i := range r.Trials {
		r.Trials[i].Result = tuning.Inconclusive
	}
	for i := range r.Rows {
		r.Rows[i].Verdict = tuning.Inconclusive
	}
}
