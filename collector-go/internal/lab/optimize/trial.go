package optimize

import (
	"errors"
	"math"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Target is the load to hold and the goals that define holding it. A goal that is not set is tuning.Unknown.
type Target struct {
	// RecordsPerSecond, MiBPerSecond and Queries (simultaneous) are the load.
	RecordsPerSecond tuning.Figure `json:"records_per_second"`
	MiBPerSecond     tuning.Figure `json:"mib_per_second"`
	Queries          tuning.Figure `json:"queries"`
	// LatencyMs is the most that the latency may be, ms, above 0.
	LatencyMs tuning.Figure `json:"latency_ms"`
	// Completeness is the least share of the records due that must come back, a ratio.
	Completeness tuning.Figure `json:"completeness"`
	// CatchUp is the least number of times its record rate that the topology must take when it has fallen behind.
	CatchUp tuning.Figure `json:"catch_up"`
}

// Validate returns an error that names what makes no sense of it.
func (t Target) Validate() error {
	switch {
	case !t.LatencyMs.Known() && !t.Completeness.Known() && !t.CatchUp.Known():
		return errors.New("the target has no goal; give at least one of latency, completeness and catch_up")
	case t.LatencyMs <= 0:
		return errors.New("the latency must be more than 0 ms")
	case t.Completeness < 0 || t.Completeness > 1:
		return errors.New("the completeness must be a share from 0 to 1")
	case t.CatchUp <= 0:
		return errors.New("the catch-up must be more than 0")
	}
	return nil
}

// Trial is the outcome of one measurement of a configuration. Figures that were not measured are tuning.Unknown.
type Trial struct {
	Point   Point
	Verdict tuning.Verdict
	// LatencyMs may be infinite, where nothing came back.
	LatencyMs, Completeness, CatchUp tuning.Figure
	// Noise is by how much the latency, the share that is lost and the catch-up differ from one trial of a
	// configuration to the next: a relative standard deviation; 0 where a repeat would give the same.
	Noise tuning.Figure
	// Limiter is what the trial ran against, "" where that is not known.
	Limiter tuning.Limiter
	// Seconds is how long the trial took.
	Seconds float64
	// Why is why it was tried, where whoever ran it kept that; "" for what the search says of it.
	Why string
}

// marginBound bounds margins: a latency of twenty times the limit misses it as surely as an endless one.
const marginBound = 3

// margins returns, for each goal with a measured figure, the logarithm of the ratio by which the trial meets it: 0 at
// the limit, negative for a missed goal. Logarithms make a latency of half the limit as far from it as one of twice.
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

// leastLoss is a share of records that counts as none: it keeps the ratio of two losses finite.
const leastLoss = 1e-4

// Judge is the verdict that a trial's figures have: FAIL where one misses its goal, inconclusive where one that the
// target has a goal for is unknown.
func (t Target) Judge(trial Trial) tuning.Verdict {
	verdict := tuning.OK
	for _, goal := range []struct {
		has   bool
		known bool
		holds bool
	}{
		{t.LatencyMs.Known(), !math.IsNaN(float64(trial.LatencyMs)), trial.LatencyMs <= t.LatencyMs},
		{t.Completeness.Known(), trial.Completeness.Known(), trial.Completeness >= t.Completeness},
		{t.CatchUp.Known(), trial.CatchUp.Known(), trial.CatchUp >= t.CatchUp},
	} {
		switch {
		case goal.has && goal.known && !goal.holds:
			return tuning.Fail
		case goal.has && !goal.known:
			verdict = tuning.Inconclusive
		}
	}
	return verdict
}
