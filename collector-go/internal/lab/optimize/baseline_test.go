package optimize

import (
	"math/rand/v2"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// baselines are simpler searches for comparison. They trust every verdict.
var baselines = []struct {
	name   string
	search func(*world, *rand.Rand) ([]Trial, Point)
}{
	{"full grid", func(w *world, _ *rand.Rand) ([]Trial, Point) { return w.inOrder(w.grid.byCost, false, false) }},
	{"grid, the cheapest first", func(w *world, _ *rand.Rand) ([]Trial, Point) {
		return w.inOrder(w.grid.byCost, true, false)
	}},
	{"random", func(w *world, random *rand.Rand) ([]Trial, Point) {
		return w.inOrder(random.Perm(len(w.grid.points)), false, false)
	}},
	{"random, with dominance", func(w *world, random *rand.Rand) ([]Trial, Point) {
		return w.inOrder(random.Perm(len(w.grid.points)), false, true)
	}},
	{"one at a time", func(w *world, _ *rand.Rand) ([]Trial, Point) { return w.oneAtATime() }},
}

func (w *world) try(at int) Trial {
	t, err := w.Run(w.grid.points[at], 1)
	if err != nil {
		panic(err)
	}
	return t
}

// inOrder tries points in order. It ends at the first one that holds, or at the last. With dominance it skips points
// that an earlier trial has ruled out.
func (w *world) inOrder(order []int, first, dominance bool) (trials []Trial, best Point) {
	g := w.grid
	var failed []int
	for _, at := range order {
		if dominance {
			ruledOut := slices.ContainsFunc(failed, func(f int) bool { return g.below(at, f) })
			if ruledOut || best != nil && !cheaper(g.costs[at], g.costs[g.number(best)]) {
				continue
			}
		}
		t := w.try(at)
		trials = append(trials, t)
		if t.Verdict != tuning.OK {
			failed = append(failed, at)
			continue
		}
		if best == nil || cheaper(g.costs[at], g.costs[g.number(best)]) {
			best = t.Point
		}
		if first {
			break
		}
	}
	return trials, best
}

// oneAtATime starts with the easiest value of every setting. It then moves each setting in turn step by step towards
// the hardest value as long as the target holds.
func (w *world) oneAtATime() (trials []Trial, best Point) {
	g := w.grid
	at := g.easiest(make(Point, len(w.Space.Settings)), func(int) bool { return false })
	trials = append(trials, w.try(g.number(at)))
	if trials[0].Verdict != tuning.OK {
		return trials, nil
	}
	tried := map[int]bool{g.number(at): true}
	for changed := true; changed; {
		changed = false
		for i, s := range w.Space.Settings {
			for _, level := range around(at[i], s) {
				next := slices.Clone(at)
				next[i] = level
				n := g.number(next)
				if tried[n] || !cheaper(g.costs[n], g.costs[g.number(at)]) {
					continue
				}
				tried[n] = true
				t := w.try(n)
				trials = append(trials, t)
				if t.Verdict == tuning.OK {
					at, changed = next, true
				}
			}
		}
	}
	return trials, at
}

// around returns the neighbouring levels of a level, or all other levels if the setting has no order.
func around(level int, s Setting) (out []int) {
	for other := range s.Values {
		if other != level && (s.Easier == Neither || other == level-1) {
			out = append(out, other)
		}
	}
	return out
}
