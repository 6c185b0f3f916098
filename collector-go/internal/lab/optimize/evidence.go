package optimize

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// UnstatedNoise is the noise that is assumed for trials that state none, a relative standard deviation.
const UnstatedNoise = 0.15

// These weights say how much an assumed noise counts before repeats show the true one.
const (
	statedWeight    = 8 // degrees of freedom of a stated noise
	unstatedWeight  = 2
	ownWeight       = 8    // largest weight of the pooled noise beside a configuration's own repeats
	unmeasuredDoubt = 0.05 // probability that a verdict that no figure shows is wrong
)

// evidence combines all trials of one configuration. A single trial is noisy, so the verdict of a configuration is a
// probability. The configuration counts as OK if it holds the target with a probability of at least 50%, and doubt says
// how uncertain that verdict is.
type evidence struct {
	at int // the number of the point in the grid
	// trials counts the judged trials. unjudged counts the trials since the last judged one that could not be judged.
	trials, unjudged int
	// margin is the mean margin of the goal that is met worst. deviation is its standard error.
	margin, deviation float64
	// holds is the probability that the configuration holds the target.
	holds float64
	// decided are the judged trials. last is the latest trial, with any verdict.
	decided []Trial
	last    Trial
}

func (e *evidence) verdict() tuning.Verdict {
	switch {
	case e.trials == 0:
		return tuning.Inconclusive
	case e.holds >= 0.5:
		return tuning.OK
	}
	return tuning.Fail
}

// doubt returns the probability that the verdict is wrong.
func (e *evidence) doubt() float64 { return min(e.holds, 1-e.holds) }

// weigh groups the trials by configuration, in the order of their first trials. It pools the noise over all
// configurations, from stated noises and from repeats, because few configurations are repeated often enough to know
// their own.
func weigh(g *grid, target Target, trials []Trial) (all []*evidence) {
	by := map[int]*evidence{}
	for _, t := range trials {
		n := g.number(t.Point)
		e := by[n]
		if e == nil {
			e = &evidence{at: n}
			by[n], all = e, append(all, e)
		}
		e.last = t
		if t.Verdict != tuning.OK && t.Verdict != tuning.Fail {
			e.unjudged++
			continue
		}
		e.trials, e.unjudged, e.decided = e.trials+1, 0, append(e.decided, t)
	}
	pooled := pooledNoise(target, all)
	for _, e := range all {
		e.weigh(target, pooled)
	}
	return all
}

// noise is the variance of a margin from trial to trial, and its degrees of freedom.
type noise struct{ variance, freedom float64 }

// pooledNoise returns the noise of all trials: the stated or assumed noise, corrected by what repeats show.
func pooledNoise(target Target, all []*evidence) noise {
	stated, n, sum, freedom := 0.0, 0.0, 0.0, 0.0
	for _, e := range all {
		for _, t := range e.decided {
			if t.Noise.Known() {
				stated, n = stated+float64(t.Noise*t.Noise), n+1
			}
		}
		for _, goal := range e.margins(target) {
			s, f := squares(goal)
			sum, freedom = sum+s, freedom+f
		}
	}
	prior, weight := UnstatedNoise*UnstatedNoise, float64(unstatedWeight)
	if n > 0 {
		prior, weight = stated/n, statedWeight
	}
	return noise{(weight*prior + sum) / (weight + freedom), weight + freedom}
}

// margins returns the margins of each goal over the judged trials. It returns nil if the trials do not have the same
// number of figures.
func (e *evidence) margins(target Target) (goals [][]float64) {
	for i, t := range e.decided {
		margins := target.margins(t)
		if i == 0 {
			goals = make([][]float64, len(margins))
		}
		if len(margins) != len(goals) {
			return nil
		}
		for goal, m := range margins {
			goals[goal] = append(goals[goal], m)
		}
	}
	return goals
}

// squares returns the sum of squares about the mean and its degrees of freedom. It ignores values at the bound of
// margins, because they were cut off there.
func squares(values []float64) (sum, freedom float64) {
	within := slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !(math.Abs(v) < marginBound) })
	if len(within) < 2 {
		return 0, 0
	}
	freedom = float64(len(within) - 1)
	return freedom * stat.Variance(within, nil), freedom
}

// weigh computes the probability that the configuration holds the target. For each goal it takes the probability that
// the true margin is at least 0, by Student's t with a flat prior. The result is the product of these and of unshown.
func (e *evidence) weigh(target Target, pooled noise) {
	if e.trials == 0 {
		e.holds = 0.5
		return
	}
	n := float64(e.trials)
	e.holds, e.margin = 1, marginBound
	goals := e.margins(target)
	for _, goal := range goals {
		sum, freedom := squares(goal)
		weight := min(ownWeight, pooled.freedom)
		freedom += weight
		deviation := math.Sqrt((weight*pooled.variance + sum) / freedom / n)
		mean := stat.Mean(goal, nil)
		if mean <= e.margin {
			e.margin, e.deviation = mean, deviation
		}
		switch {
		case deviation > 0:
			e.holds *= distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.CDF(mean / deviation)
		case mean < 0:
			e.holds = 0
		}
	}
	e.holds *= e.unshown(target, len(goals) > 0)
	if len(goals) == 0 { // verdicts without figures
		e.margin = math.Copysign(0.5, e.holds-0.5)
	} else if e.holds < 0.5 && e.margin > 0 { // it failed for a reason that no figure shows
		e.margin = -0.5
	}
}

// unshown returns the probability that the configuration also holds where no figure shows it. It uses the trials
// without figures, and the trials that failed although all their figures met the goals.
func (e *evidence) unshown(target Target, measured bool) float64 {
	fails, holds, doubt := 0.0, 0.0, 0.0
	for _, t := range e.decided {
		shown := measured && target.Judge(t) == tuning.Fail
		switch {
		case t.Verdict == tuning.Fail && !shown:
			fails++
		case t.Verdict == tuning.OK:
			holds++
		}
		if t.Noise != 0 {
			doubt = unmeasuredDoubt
		}
	}
	switch {
	case fails == 0 && measured:
		return 1
	case doubt == 0 && fails == holds:
		return 0.5
	case doubt == 0:
		return map[bool]float64{true: 1}[holds > fails]
	}
	return 1 / (1 + math.Pow((1-doubt)/doubt, fails-holds))
}
