package optimize

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// certain is a doubt so small that it is ignored when a proof chooses among failed trials.
const certain = 1e-3

// prove chooses failed configurations that together rule out everything cheaper than the best, or everything if nothing
// held. It is a greedy choice: first the practically certain configurations that rule out most, then the least doubtful
// ones. The doubts of the best and of all chosen facts add up to the doubt of the proof.
func (k *knowledge) prove() {
	g := k.grid
	var left []int
	for _, at := range g.byCost {
		if !k.matters(at) {
			break
		}
		if k.ruledOut[at] > 0 {
			left = append(left, at)
		}
	}
	k.proof, k.doubt = nil, 0
	if k.best != nil {
		k.doubt = k.best.doubt()
	}
	fails := k.withVerdict(tuning.Fail)
	for len(left) > 0 {
		var chosen *fact
		for _, e := range fails {
			f := &fact{e, 0}
			for _, at := range left {
				if g.below(at, e.at) {
					f.covers++
				}
			}
			if f.covers > 0 && (chosen == nil || f.better(chosen)) {
				chosen = f
			}
		}
		if chosen == nil {
			return // cannot happen: a failed trial rules out each of left
		}
		left = slices.DeleteFunc(left, func(at int) bool { return g.below(at, chosen.at) })
		k.proof, k.doubt = append(k.proof, chosen), k.doubt+chosen.doubt()
	}
}

// better reports whether a proof should choose f before another fact: certain facts first, then those that rule out
// more, then the less doubtful ones.
func (f *fact) better(other *fact) bool {
	sure, otherSure := f.doubt() <= certain, other.doubt() <= certain
	switch {
	case sure != otherSure:
		return sure
	case sure:
		return f.covers > other.covers
	}
	return f.doubt() < other.doubt()
}
