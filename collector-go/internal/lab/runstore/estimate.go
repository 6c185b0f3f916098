package runstore

import (
	"math/bits"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// How long what surrounds the steps takes, as measured on two cores with a local cluster; another cluster may take
// longer.
const (
	firstLaunch = 55 * time.Second // with the cluster itself
	nextLaunch  = 45 * time.Second // another topology on it, the one before ended
	calibration = 30 * time.Second
	stepTail    = 12 * time.Second // beyond a query's life: the last slices
	warmedUp    = 45 * time.Second // until a record's cost has come to rest
)

// Estimate is about how long a run takes, and the longest that it may take by its own bounds when every step is
// inconclusive.
func (p Plan) Estimate() (about, most time.Duration) {
	for i, t := range p.Trials {
		launch := nextLaunch
		if i == 0 {
			launch = firstLaunch
			if !p.Load.RecordsPerSecond.Known() && !p.Load.NoSource() && p.Axis != RecordsPerSecond {
				launch += calibration
			}
		}
		if p.StartUpQueries > 0 {
			launch += time.Duration(p.Load.QueryDurationMs) * time.Millisecond // to their end
		}
		launch += p.CostTime()
		startUp := time.Duration(p.StartUpMs) * time.Millisecond
		values, again := p.Needs(len(t.Steps))
		about += launch + min(startUp, warmedUp) + time.Duration(values+again)*p.StepTime()
		most += launch + startUp +
			time.Duration(len(t.Steps)*(1+max(p.InconclusiveRepeats, p.confirmations())))*p.StepTime()
	}
	return about, most
}

// CostTime is about how long the loads of a query's cost take, each begun with no query under way.
func (p Plan) CostTime() time.Duration {
	return time.Duration(len(p.CostLoads)) * (p.StepTime() + time.Duration(p.Load.QueryDurationMs)*time.Millisecond)
}

func (p Plan) confirmations() int {
	if p.Confirm && p.Search == tuning.StepSearch {
		return 1
	}
	return 0
}

// StepTime is about how long one step takes.
func (p Plan) StepTime() time.Duration {
	ms := time.Millisecond
	return time.Duration(p.WarmUpMs+p.SustainMs+p.Load.CatchUpMs)*ms +
		max(stepTail, min(time.Duration(p.Load.QueryDurationMs)*ms, time.Duration(p.SustainMs)*ms))
}

// Needs is how many of n steps the search takes when none is inconclusive, and how many of these it measures again; a
// step search, which ends at the first that fails, may take all, and confirms one bound.
func (p Plan) Needs(n int) (steps, again int) {
	if p.Search == tuning.BinarySearch {
		return bits.Len(uint(n)), 0
	}
	return n, p.confirmations()
}
