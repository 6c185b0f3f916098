package optimize

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Budget limits the trials and the time of a search. 0 means no limit.
type Budget struct {
	Trials  int
	Seconds float64
}

// Options say how sure a proof must be and how many trials it may take.
type Options struct {
	// Confidence is the required probability that a best configuration called proven is the true one, as a ratio.
	Confidence float64
	// Repeats is the largest number of judged trials of one configuration. A verdict that noise still hides after that
	// stays open.
	Repeats int
	// Tolerance is the share of its cost by which a proven best may be more expensive than the true one, as a ratio.
	Tolerance float64
	Budget    Budget
}

// DefaultOptions returns 95% confidence and 12 trials of a configuration. With 12 trials a margin of 0.7 standard
// deviations can be distinguished from 0.
func DefaultOptions() Options { return Options{Confidence: 0.95, Repeats: 12} }

// inconclusiveRepeats is how often a configuration is tried again after a trial that could not be judged.
const inconclusiveRepeats = 1

// Search finds the cheapest configuration of a space that holds a target. It is immutable: every answer follows from
// the trials that the caller passes. A search therefore resumes after an interrupt when it gets the same trials again.
type Search struct {
	grid    *grid
	target  Target
	options Options
}

// New returns a search. It returns an error that names what is wrong with the space or the target.
func New(space Space, target Target, options Options) (*Search, error) {
	if err := errors.Join(space.Validate(), target.Validate()); err != nil {
		return nil, err
	}
	g, err := newGrid(space)
	if err != nil {
		return nil, err
	}
	if len(g.byCost) == 0 {
		return nil, errors.New("no configuration meets the constraints")
	}
	if space.Start != nil && !g.has(space.Start) {
		return nil, errors.New("the start is not a configuration of the space")
	}
	return &Search{g, target, options}, nil
}

// Configurations returns the number of configurations that meet the constraints.
func (s *Search) Configurations() int { return len(s.grid.byCost) }

// Points returns the configurations that meet the constraints, the cheapest first.
func (s *Search) Points() []Point {
	return tuning.Each(s.grid.byCost, func(at int) Point { return slices.Clone(s.grid.points[at]) })
}

// Proposal is the next trial.
type Proposal struct {
	Point Point
	// Holds is the probability, by the model or by earlier trials, that the configuration holds the target.
	Holds float64
	// Why is the reason for the trial, a sentence without its full stop.
	Why string
}

// Next returns the trial to run after the given ones. It returns false if the search has ended: the best is proven, the
// budget is used up, or no trial would show more. It returns an error if a trial is not in the space.
func (s *Search) Next(trials []Trial) (Proposal, bool, error) {
	if err := s.check(trials); err != nil {
		return Proposal{}, false, err
	}
	if s.Spent(trials) {
		return Proposal{}, false, nil
	}
	k := s.look(trials)
	return k.next, k.more, nil
}

func (s *Search) check(trials []Trial) error {
	for i, t := range trials {
		if !s.grid.has(t.Point) {
			return fmt.Errorf("trial %d has a configuration that is not in the space", i+1)
		}
	}
	return nil
}

// Spent reports whether another trial would exceed the budget. It assumes that a trial takes the mean time of those so
// far.
func (s *Search) Spent(trials []Trial) bool {
	seconds := 0.0
	for _, t := range trials {
		seconds += t.Seconds
	}
	n := len(trials)
	b := s.options.Budget
	return b.Trials > 0 && n >= b.Trials || b.Seconds > 0 && n > 0 && seconds+seconds/float64(n) > b.Seconds
}

// knowledge is the state of a search after some trials: the evidence for each configuration, what is ruled out and what
// is open, the proof so far, and the next proposal. It is computed from scratch in each call.
type knowledge struct {
	*Search
	all []*evidence
	// tried maps the number of a point to its evidence.
	tried map[int]*evidence
	// undecided are the points that further trials would not decide, with the reason.
	undecided map[int]string
	// best is the evidence of the cheapest configuration that held, or nil if none held.
	best *evidence
	// open are the allowed points that could still be cheaper and hold, the cheapest first. Undecided points are not
	// included.
	open []int
	// ruledOut is 1 for each point that failed and for each point that is not easier than one that failed.
	ruledOut []float64
	proof    []*fact
	// doubt is the probability that noise changed the verdict of the best or of a fact of the proof.
	doubt float64
	next  Proposal
	more  bool
}

// fact is a failed configuration that a proof relies on, and the number of cheaper configurations that it rules out.
type fact struct {
	*evidence
	covers int
}

// look computes the knowledge after the given trials. If a configuration cannot be decided by further trials, look sets
// it aside as undecided and evaluates the rest again. The loop ends because each round sets one more aside.
func (s *Search) look(trials []Trial) *knowledge {
	k := &knowledge{Search: s, all: weigh(s.grid, s.target, trials), tried: map[int]*evidence{},
		undecided: map[int]string{}}
	for _, e := range k.all {
		k.tried[e.at] = e
		if e.trials == 0 && e.unjudged > inconclusiveRepeats {
			k.undecided[e.at] = "its trials could not be judged"
		}
		if e.trials == 0 && e.last.Verdict == tuning.Limited {
			k.undecided[e.at] = "limited by something outside the topology: " + cmp.Or(string(e.last.Limiter), "unknown")
		}
	}
	for !k.decide() {
	}
	return k
}

// decide chooses the next trial, or finds that none is needed. It returns false if it first had to set a configuration
// aside. The order matters. Contradictions are resolved before anything is concluded from them. Then trials that could
// not be judged are repeated, then the space is explored, and finally doubtful verdicts are confirmed.
func (k *knowledge) decide() bool {
	if weaker, stronger := k.contradicted(); weaker != nil {
		const why = "contradiction: an easier configuration failed and a harder one held, so a verdict or an `easier` direction is wrong"
		if !k.canRepeat(weaker) && k.canRepeat(stronger) {
			weaker = stronger
		}
		if k.repeat(weaker, why) {
			return true
		}
		k.putAside(stronger, why)
		return false
	}
	k.survey()
	for _, e := range k.all {
		if e.trials == 0 && k.undecided[e.at] == "" && slices.Contains(k.open, e.at) {
			k.propose(e.at, "its last trial could not be judged")
			return true
		}
	}
	if len(k.all) == 0 && k.grid.space.Start != nil && k.grid.allowed[k.grid.number(k.grid.space.Start)] {
		k.propose(k.grid.number(k.grid.space.Start), "start of the search")
		return true
	}
	if len(k.open) > 0 {
		k.explore()
		return true
	}
	return k.confirm()
}

// withVerdict returns the evidence of the decided points with a verdict.
func (k *knowledge) withVerdict(verdict tuning.Verdict) (all []*evidence) {
	for _, e := range k.all {
		if e.verdict() == verdict && k.undecided[e.at] == "" {
			all = append(all, e)
		}
	}
	return all
}

// contradicted returns a configuration that held and an easier one that failed, the more doubtful one first. It returns
// nil if there is no such pair.
func (k *knowledge) contradicted() (weaker, stronger *evidence) {
	fails := k.withVerdict(tuning.Fail)
	for _, held := range k.withVerdict(tuning.OK) {
		for _, failed := range fails {
			if !k.grid.below(held.at, failed.at) {
				continue
			}
			if failed.doubt() > held.doubt() {
				return failed, held
			}
			return held, failed
		}
	}
	return nil, nil
}

func (k *knowledge) canRepeat(e *evidence) bool {
	return e.trials < k.options.Repeats && e.doubt() > 0
}

// repeat proposes another trial of a point. If the point was tried often enough, repeat sets it aside and returns
// false.
func (k *knowledge) repeat(e *evidence, why string) bool {
	if !k.canRepeat(e) {
		k.putAside(e, why)
		return false
	}
	k.propose(e.at, why)
	k.next.Holds = e.holds
	return true
}

func (k *knowledge) putAside(e *evidence, why string) {
	k.undecided[e.at] = fmt.Sprintf("%.0f%% likely to hold after %s; %s", 100*e.holds, tuning.Counted(e.trials, "trial"), why)
}

func (k *knowledge) propose(at int, why string) {
	k.more = true
	k.next = Proposal{Point: slices.Clone(k.grid.points[at]), Why: why}
	k.next.Holds = surrogate{observations(k.grid, k.all)}.holds(k.grid.places[at])
}

// survey computes the best configuration, what is ruled out and what is open.
func (k *knowledge) survey() {
	g := k.grid
	k.best, k.open = nil, nil
	for _, e := range k.withVerdict(tuning.OK) {
		if g.allowed[e.at] && (k.best == nil || cheaper(g.costs[e.at], g.costs[k.best.at])) {
			k.best = e
		}
	}
	k.ruledOut = make([]float64, len(g.points))
	for _, e := range k.withVerdict(tuning.Fail) {
		k.ruledOut[e.at] = 1
	}
	g.sweep(k.ruledOut, func(own, easier float64) float64 { return max(own, easier) }, More, Less)
	for _, at := range g.byCost {
		if !k.matters(at) {
			break
		}
		if k.ruledOut[at] == 0 && k.undecided[at] == "" {
			k.open = append(k.open, at)
		}
	}
}

// matters reports whether a point would become the best if it held. It must be cheaper by more than the tolerance.
func (k *knowledge) matters(at int) bool {
	if k.best == nil {
		return true
	}
	best := k.grid.costs[k.best.at]
	return cheaper(k.grid.costs[at], best-k.options.Tolerance*math.Abs(best))
}

// explore proposes the trial that is expected to decide the most open configurations. If the trial holds, all open
// configurations that are not cheaper are settled; if it fails, all that are not easier are ruled out. The two cases
// are weighted by the model's probability. Among equal scores the cheapest wins.
func (k *knowledge) explore() {
	g := k.grid
	ruled := make([]float64, len(g.points)) // by a FAIL at each point
	for _, at := range k.open {
		ruled[at] = 1
	}
	g.toEasier(ruled, func(own, harder float64) float64 { return own + harder })
	model := surrogate{observations(g, k.all)}
	held := make([]float64, len(g.points)) // by an OK at each point or a harder one
	for _, e := range k.withVerdict(tuning.OK) {
		held[e.at] = 1
	}
	g.toEasier(held, func(own, harder float64) float64 { return max(own, harder) })
	next, highest, holds, settles := -1, 0.0, 0.0, 0.0
	atLeast := 0 // index of the first open point that is not cheaper
	for _, at := range g.byCost {
		for atLeast < len(k.open) && cheaper(g.costs[k.open[atLeast]], g.costs[at]) {
			atLeast++
		}
		if k.tried[at] != nil || k.ruledOut[at] > 0 || ruled[at] == 0 {
			continue
		}
		p := 1.0
		if held[at] == 0 {
			p = model.holds(g.places[at])
		}
		saves := 0.0
		if k.best == nil || cheaper(g.costs[at], g.costs[k.best.at]) {
			saves = float64(len(k.open) - atLeast)
		}
		if score := p*saves + (1-p)*ruled[at]; score > highest*(1+sameCost) {
			next, highest, holds, settles = at, score, p, saves
		}
	}
	if next < 0 { // every open point is easier than one that held
		next, holds = k.open[0], 1
	}
	k.propose(next, "")
	k.next.Holds = holds
	k.next.Why = k.reason(next, int(settles), int(ruled[next]))
}

// reason says why a point comes next: how many open configurations it settles if it holds and if it fails. If the last
// trial failed by a limiter that the point relieves, reason names the limiter.
func (k *knowledge) reason(at, settles, ruled int) string {
	g := k.grid
	why := fmt.Sprintf("decides %d of %s if OK, %d if FAIL", settles,
		tuning.Counted(len(k.open), "open configuration"), ruled)
	if len(k.all) == 0 {
		return why
	}
	last := k.all[len(k.all)-1]
	if last.verdict() != tuning.Fail || last.last.Limiter == "" {
		return why
	}
	for i, s := range g.space.Settings {
		if slices.Contains(s.Relieves, last.last.Limiter) && g.points[at][i] != g.points[last.at][i] {
			return fmt.Sprintf("the last trial was limited by %s, which %s relieves; %s", last.last.Limiter, s.As, why)
		}
	}
	return why
}

// confirm computes the proof. It repeats the most doubtful configuration until the doubt of the whole proof is within
// the confidence. It returns false if it had to set that configuration aside because it had no repeats left.
func (k *knowledge) confirm() bool {
	k.prove()
	if k.doubt <= 1-k.options.Confidence {
		return true
	}
	worst := k.best
	for _, f := range k.proof {
		if worst == nil || f.doubt() > worst.doubt() {
			worst = f.evidence
		}
	}
	return k.repeat(worst, "the proof depends on its verdict, which noise may have changed")
}
