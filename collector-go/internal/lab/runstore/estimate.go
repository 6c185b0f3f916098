package runstore

import (
	"math/bits"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Durations of the phases around the steps, as measured on two cores with a local cluster. Another cluster may take
// longer.
const (
	firstLaunch = 55 * time.Second // including the start of the cluster
	nextLaunch  = 45 * time.Second // another topology after the previous one has ended
	calibration = 30 * time.Second
	stepTail    = 12 * time.Second // the longest wait for the last slices; those of less than 5 s arrive earlier
	warmedUp    = 45 * time.Second // until the CPU cost of a record is steady
)

// Estimate returns the expected duration of a run, and the maximum duration if every step is inconclusive and
// repeated.
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
			launch += time.Duration(p.Load.QueryDurationMs) * time.Millisecond // time for the queries to end
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

// CostTime returns the expected duration of the cost steps. Each of them begins after all earlier queries have ended.
func (p Plan) CostTime() time.Duration {
	return time.Duration(len(p.CostLoads)) * (p.StepTime() + time.Duration(p.Load.QueryDurationMs)*time.Millisecond)
}

func (p Plan) confirmations() int {
	if p.Confirm && p.Search == tuning.StepSearch {
		return 1
	}
	return 0
}

// StepTime returns the expected duration of one step.
func (p Plan) StepTime() time.Duration {
	ms := time.Millisecond
	return time.Duration(p.WarmUpMs+p.SustainMs+p.Load.CatchUpMs)*ms +
		max(min(stepTail, time.Duration(2*p.SliceMs)*ms+2*time.Second),
			min(time.Duration(p.Load.QueryDurationMs)*ms, time.Duration(p.SustainMs)*ms))
}

// Needs returns how many of n steps the search takes if none is inconclusive, and how many of them it measures again.
// A step search may take all steps, because it ends at the first that fails, and it confirms one bound.
func (p Plan) Needs(n int) (steps, again int) {
	if p.Search == tuning.BinarySearch {
		return bits.Len(uint(n)), 0
	}
	return n, p.confirmations()
}
