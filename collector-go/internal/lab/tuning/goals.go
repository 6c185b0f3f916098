// Package tuning owns the statistics of the tuning workflow: the verdict of a step, what limited it, the capacity of a
// configuration, the cost of a query, and the sizing for a load. It does no I/O. Figures come in as values and
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

// Goals are the requirements for a topology in each step of an experiment.
type Goals struct {
	// FilterLatencyLimitMs is the largest allowed mean of Bullet's filter latency.
	FilterLatencyLimitMs float64
	// ExpectedResultSize is how many records a query returns if none is lost.
	ExpectedResultSize float64
	// Tolerance is the ratio of ExpectedResultSize that may be missing on average.
	Tolerance float64
	// MinHostIdle is the ratio of the host's CPU that must have been idle for a verdict to be meaningful.
	MinHostIdle float64
}

// DefaultGoals returns the goals of "Tuning and Performance of Bullet in Storm": 200 ms, and RAW queries for 10
// records. The tolerance allows 1 record in 100 to be missing. On a host with less than 5% idle CPU, figures describe
// the host rather than the topology.
func DefaultGoals() Goals {
	return Goals{FilterLatencyLimitMs: 200, ExpectedResultSize: 10, Tolerance: 0.01, MinHostIdle: 0.05}
}

// Validate returns an error that names an invalid goal.
func (g Goals) Validate() error {
	switch {
	case !(g.FilterLatencyLimitMs > 0) || math.IsInf(g.FilterLatencyLimitMs, 0):
		return errors.New("the filter latency limit must be a positive number of milliseconds")
	case !(g.ExpectedResultSize > 0) || math.IsInf(g.ExpectedResultSize, 0):
		return errors.New("the expected result size must be a positive number of records")
	case !(g.Tolerance >= 0 && g.Tolerance < 1):
		return errors.New("the tolerance must be at least 0 and below 1")
	case !(g.MinHostIdle >= 0 && g.MinHostIdle < 1):
		return errors.New("the minimum idle share of the host must be at least 0 and below 1")
	}
	return nil
}

// SmallestResultSize returns the smallest average result size that counts as complete.
func (g Goals) SmallestResultSize() float64 { return g.ExpectedResultSize * (1 - g.Tolerance) }
