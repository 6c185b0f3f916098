// Package tuning owns the statistics of the tuning workflow: the verdict of a step, what limited it, the capacity of a
// configuration, the cost of a query, and the sizing for a load. All of it is pure. Figures come in as values and
// verdicts go out; the package knows no file, no clock and no network. The same run therefore always gives the same
// report, and every rule can be tested with a table of numbers.
//
// A figure that was not measured is NaN (Unknown), never 0. An unknown figure never makes a verdict OK. A statistic
// that the data do not support stays unknown, and its Note says what is missing.
//
// Start reading here:
//   - goal_judge.go: JudgeGoals computes the verdict of a step.
//   - limit.go and limit_rules.go: Limit finds what limited a step; judge.go changes the verdict accordingly.
//   - verdict.go: how the verdicts of several steps or launches become one.
//   - marginal.go: the CPU that a query adds, a straight line fitted over all measurements.
//   - censored.go and usl.go: capacity over resources; the former takes capacities that are only bracketed.
//   - sizing.go: Size turns these fits into settings for Bullet.
package tuning

import (
	"errors"
	"math"
)

// Goals are what a topology is asked to hold in each step of an experiment.
type Goals struct {
	// FilterLatencyLimitMs is the most that the mean of Bullet's filter latency may be.
	FilterLatencyLimitMs float64
	// ExpectedResultSize is how many records a query returns when none is lost.
	ExpectedResultSize float64
	// Tolerance is how much of ExpectedResultSize may be missing on average, as a ratio.
	Tolerance float64
	// MinHostIdle is the ratio of the host that must have been idle for a verdict to mean anything.
	MinHostIdle float64
}

// DefaultGoals are those of "Tuning and Performance of Bullet in Storm": 200 ms, and RAW queries for 10 records. The
// tolerance lets 1 record in 100 be missing; on a host with less than 5% idle any figure is the host's rather than the
// topology's.
func DefaultGoals() Goals {
	return Goals{FilterLatencyLimitMs: 200, ExpectedResultSize: 10, Tolerance: 0.01, MinHostIdle: 0.05}
}

// Validate returns an error that names the goal that makes no sense.
func (g Goals) Validate() error {
	switch {
	case !(g.FilterLatencyLimitMs > 0) || math.IsInf(g.FilterLatencyLimitMs, 0):
		return errors.New("the limit of the filter latency must be a positive number of milliseconds")
	case !(g.ExpectedResultSize > 0) || math.IsInf(g.ExpectedResultSize, 0):
		return errors.New("the expected result size must be a positive number of records")
	case !(g.Tolerance >= 0 && g.Tolerance < 1):
		return errors.New("the tolerance must be at least 0 and below 1")
	case !(g.MinHostIdle >= 0 && g.MinHostIdle < 1):
		return errors.New("the least host idle must be at least 0 and below 1")
	}
	return nil
}

// SmallestResultSize is the least average result size that is still complete.
func (g Goals) SmallestResultSize() float64 { return g.ExpectedResultSize * (1 - g.Tolerance) }
