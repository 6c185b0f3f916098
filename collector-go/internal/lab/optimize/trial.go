package optimize

import (
	"errors"
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Target is the load and the goals that a configuration must meet under it. A goal that is not set is tuning.Unknown.
type Target struct {
	// RecordsPerSecond, MiBPerSecond and Queries (simultaneous) are the load.
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	MiBPerSecond     tuning.Figure `json:"mib_per_second"`
	Queries          tuning.Figure `json:"queries"`
	// LatencyMs is the upper limit of the latency in ms. It must be above 0.
	LatencyMs tuning.Figure `json:"latency_ms"`
	// Completeness is the share of the due records that must be returned at least, as a ratio.
	Completeness tuning.Figure `json:"completeness"`
	// CatchUp is a multiple of the record rate. The topology must process at least this rate while it works off a
	// backlog.
	CatchUp tuning.Figure `json:"catch_up"`
}

// Validate returns an error that names what is wrong with the target.
func (t Target) Validate() error {
	switch {
	case !t.LatencyMs.Known() && !t.Completeness.Known() && !t.CatchUp.Known():
		return errors.New("no goal; set at least one of latency, completeness and catch_up")
	case t.LatencyMs <= 0:
		return errors.New("latency must be above 0")
	case t.Completeness < 0 || t.Completeness > 1:
		return errors.New("completeness must be a share from 0 to 1")
	case t.CatchUp <= 0:
		return errors.New("catch_up must be above 0")
	}
	return nil
}

// Trial is the outcome of one measurement of a configuration. Figures that were not measured are tuning.Unknown.
type Trial struct {
	Point   Point          `json:"-"`
	Verdict tuning.Verdict `json:"verdict"`
	// LatencyMs is infinite if nothing was returned.
	LatencyMs    tuning.Figure `json:"latency_ms"`
	Completeness tuning.Figure `json:"completeness"`
	CatchUp      tuning.Figure `json:"catch_up"`
	// Noise is the relative standard deviation of the latency, the lost share and the catch-up between trials of one
	// configuration. It is 0 if a repeat would give the same figures.
	Noise tuning.Figure `json:"-"`
	// Limiter is what limited the trial, or "" if that is not known.
	Limiter tuning.Limiter `json:"limiter,omitempty"`
	// Seconds is the duration of the trial.
	Seconds float64 `json:"seconds"`
	// Why is the stored reason for the trial. If it is "", the search computes the reason.
	Why string `json:"why"`
}

// Unmeasured returns a trial of a configuration without any figure. Its noise is 0.
func Unmeasured(p Point) Trial {
	return Trial{Point: p, LatencyMs: tuning.Unknown, Completeness: tuning.Unknown, CatchUp: tuning.Unknown}
}

// marginBound limits margins to ±3, so that an infinite latency counts no more than a latency of 20 times the limit.
const marginBound = 3

// margins returns, for each goal with a measured figure, the logarithm of the ratio by which the trial meets it. It is
// 0 at the limit and negative if the goal is missed. With logarithms, half the limit and twice the limit are equally
// far from it.
func (t Target) margins(trial Trial) (all []float64) {
	add := func(ratio float64) {
		if !math.IsNaN(ratio) {
			all = append(all, min(max(math.Log(ratio), -marginBound), marginBound))
		}
	}
	if t.LatencyMs.Known() {
		add(float64(t.LatencyMs / trial.LatencyMs))
	}
	if t.Completeness.Known() && trial.Completeness.Known() {
		add((1 - float64(t.Completeness) + leastLoss) / (1 - float64(trial.Completeness) + leastLoss))
	}
	if t.CatchUp.Known() {
		add(float64(trial.CatchUp / t.CatchUp))
	}
	return all
}

// leastLoss is a loss that counts as none. It keeps the ratio of two losses finite.
const leastLoss = 1e-4

// Judge returns the verdict of a trial's figures. It is FAIL if a figure misses its goal. Otherwise it is inconclusive
// if a figure with a goal is unknown, and OK if all goals are met. Comparisons with an unknown figure are false. An
// infinite latency is a miss, unlike in tuning.Goal.
func (t Target) Judge(trial Trial) tuning.Verdict {
	switch {
	case trial.LatencyMs > t.LatencyMs, trial.Completeness < t.Completeness, trial.CatchUp < t.CatchUp:
		return tuning.Fail
	case t.LatencyMs.Known() && math.IsNaN(float64(trial.LatencyMs)),
		t.Completeness.Known() && !trial.Completeness.Known(), t.CatchUp.Known() && !trial.CatchUp.Known():
		return tuning.Inconclusive
	}
	return tuning.OK
}
