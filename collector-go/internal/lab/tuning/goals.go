// Package tuning judges what was measured of a topology. It is pure: figures come in as values, verdicts go out; it
// knows no file, no clock and no network.
//
// A figure that was not measured is NaN. It never makes a verdict OK.
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
