package optimize

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Budget bounds a search; 0 is no bound.
type Budget struct {
	Trials  int
	Seconds float64
}

// Options are how sure and how patient a search is.
type Options struct {
	// Confidence is how often a best that is called proven is to be the true one, a ratio.
	Confidence float64
	// Repeats is how many judged trials of one configuration there are at most: what noise still hides then is open.
	Repeats int
	// InconclusiveRepeats is how often a configuration that could not be judged is tried again.
	InconclusiveRepeats int
	// Tolerance is by how much of its cost a best may be dearer than the true one and be called proven, a ratio.
	Tolerance float64
	Budget    Budget
}

// DefaultOptions are 95% confidence, 12 trials of a configuration (they separate a margin of 0.7 standard deviations
// from none) and one more where one was inconclusive.
func DefaultOptions() Options { return Options{Confidence: 0.95, Repeats: 12, InconclusiveRepeats: 1} }

// Validate returns an error that names what makes no sense.
func (o Options) Validate() error {
	switch {
	case !(o.Confidence > 0.5 && o.Confidence < 1):
		return errors.New("the confidence must be above 0.5 and below 1")
	case o.Repeats < 1 || o.InconclusiveRepeats < 0:
		return errors.New("a configuration needs at least one trial")
	case !(o.Tolerance >= 0 && o.Tolerance < 1):
		return errors.New("the tolerance must be at least 0 and below 1")
	case o.Budget.Trials < 0 || o.Budget.Seconds < 0:
		return errors.New("the budget must be at least 0; 0 is no bound")
	}
	return nil
}

// Search finds the cheapest configuration of a space that holds a target. It is immutable: every answer follows from
// the trials that the caller passes, so a search resumes after an interrupt when it receives the same trials again.
type Search struct {
	grid    *grid
	target  Target
	options Options
}

// New is a search; an error names what makes no sense of the space, the target or the options.
func New(space Space, target Target, options Options) (*Search, error) {
	if err := errors.Join(space.Validate(), target.Validate(), options.Validate()); err != nil {
		return nil, err
	}
	g, err := newGrid(space)
	if err != nil {
		return nil, err
	}
	if len(g.byCost) == 0 {
		return nil, errors.New("no configuration of the space meets its constraints")
	}
	return &Search{g, target, options}, nil
}

// Configurations is how many configurations meet the constraints.
func (s *Search) Configurations() int { return len(s.grid.byCost) }

// Points are the configurations that meet the constraints, the cheapest first.
func (s *Search) Points() (all []Point) {
	for _, at := range s.grid.byCost {
		all = append(all, slices.Clone(s.grid.points[at]))
	}
	return all
}

// Proposal is the next trial.
type Proposal struct {
	Point Point
	// Attempt is the how-manieth trial of this configuration it is, from 1.
	Attempt int
	// Holds is the probability that it holds the target, by the model.
	Holds float64
	// Why is a sentence without its full stop.
	Why string
}

// Next is the trial to run after those so far; false where the search is at its end: the best is proven, the budget is
// used up, or no trial would show more. An error is of a trial that is not of the space.
func (s *Search) Next(trials []Trial) (Proposal, bool, error) {
	if err := s.check(trials); err != nil {
		return Proposal{}, false, err
	}
	if s.spent(trials) {
		return Proposal{}, false, nil
	}
	k := s.look(trials)
	return k.next, k.more, nil
}

func (s *Search) check(trials []Trial) error {
	for i, t := range trials {
		if !s.grid.has(t.Point) {
			return fmt.Errorf("trial %d is of no configuration of the space", i+1)
		}
	}
	return nil
}

// spent reports whether another trial, as long as the mean of those so far, would exceed the budget.
func (s *Search) spent(trials []Trial) bool {
	seconds := 0.0
	for _, t := range trials {
		seconds += t.Seconds
	}
	n := len(trials)
	b := s.options.Budget
	return b.Trials > 0 && n >= b.Trials || b.Seconds > 0 && n > 0 && seconds+seconds/float64(n) > b.Seconds
}

// knowledge is the state of a search after some trials: the evidence for each configuration, what is ruled out, what is
// still open, the proof so far, and the next proposal. It is computed from scratch for each call.
type knowledge struct {
	*Search
	all []*evidence
	// tried is the evidence by point.
	tried map[int]*evidence
	// undecided are points that more trials would not judge, with why.
	undecided map[int]string
	// best is the cheapest that held; nil without any.
	best *evidence
	// open are the allowed points that could be cheaper and hold, for all that failed, the cheapest first; without the
	// undecided.
	open []int
	// ruledOut holds for what failed, and all that is no easier.
	ruledOut []float64
	proof    []*fact
	// doubt is the probability that the best is wrong.
	doubt float64
	next  Proposal
	more  bool
}

// fact is a trial that a proof rests on, and how many cheaper configurations it rules out.
type fact struct {
	*evidence
	covers int
}

// look computes the knowledge that the trials give. A configuration that further trials would not decide is put aside
// as undecided, and the rest is evaluated again without it. The loop ends because each round puts one more aside.
func (s *Search) look(trials []Trial) *knowledge {
	k := &knowledge{Search: s, all: weigh(s.grid, s.target, trials), tried: map[int]*evidence{},
		undecided: map[int]string{}}
	for _, e := range k.all {
		k.tried[e.at] = e
		if e.trials == 0 && e.unjudged > s.options.InconclusiveRepeats {
			k.undecided[e.at] = "its trials could not be judged"
		}
		if e.trials == 0 && e.last.Verdict == tuning.Limited {
			k.undecided[e.at] = "something around the topology was at its limit: " + orUnknown(e.last.Limiter)
		}
	}
	for !k.decide() {
	}
	return k
}

func orUnknown(l tuning.Limiter) string {
	if l == "" {
		return "what, is not known"
	}
	return string(l)
}

// decide chooses the next trial, or finds that none is needed. It returns false if it had to put a configuration aside
// first. The order matters: contradictions are resolved before anything is concluded from them, then trials that could
// not be judged are repeated, then the space is explored, and finally doubtful verdicts are confirmed.
func (k *knowledge) decide() bool {
	if weaker, stronger := k.contradicted(); weaker != nil {
		const why = "an easier configuration failed where a harder one held: one of the verdicts is wrong, or the setting between them is not monotone"
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
			k.propose(e.at, "the last trial could not be judged")
			return true
		}
	}
	if len(k.all) == 0 && k.grid.space.Start != nil && k.grid.allowed[k.grid.number(k.grid.space.Start)] {
		k.propose(k.grid.number(k.grid.space.Start), "the space's start")
		return true
	}
	if len(k.open) > 0 {
		k.explore()
		return true
	}
	return k.confirm()
}

// withVerdict are the points with a verdict that counts.
func (k *knowledge) withVerdict(verdict tuning.Verdict) (all []*evidence) {
	for _, e := range k.all {
		if e.verdict() == verdict && k.undecided[e.at] == "" {
			all = append(all, e)
		}
	}
	return all
}

// contradicted are a configuration that held and an easier one that failed, the less certain one first; nil where there
// are none.
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

// repeat proposes a point that was tried; one that was tried often enough is put aside, and false returned.
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
	k.next = Proposal{Point: slices.Clone(k.grid.points[at]), Attempt: 1, Why: why}
	if e := k.tried[at]; e != nil {
		k.next.Attempt = e.trials + e.unjudged + 1
	}
	k.next.Holds = surrogate{observations(k.grid, k.all)}.holds(k.grid.places[at])
}

// survey finds the best, what is ruled out and what is open.
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
	g.toHarder(k.ruledOut, func(own, easier float64) float64 { return max(own, easier) })
	for _, at := range g.byCost {
		if !k.matters(at) {
			break
		}
		if k.ruledOut[at] == 0 && k.undecided[at] == "" {
			k.open = append(k.open, at)
		}
	}
}

// matters reports whether a point would be the best if it held, by more than the tolerance.
func (k *knowledge) matters(at int) bool {
	if k.best == nil {
		return true
	}
	best := k.grid.costs[k.best.at]
	return cheaper(k.grid.costs[at], best-k.options.Tolerance*math.Abs(best))
}

// explore proposes the trial that is expected to decide the most open configurations. If the trial holds, all that cost
// no less are settled; if it fails, all that are no easier are ruled out. The model's probability weights the two
// cases. Among equals it takes the cheapest.
func (k *knowledge) explore() {
	g := k.grid
	ruled := make([]float64, len(g.points)) // by a FAIL at each point
	for _, at := range k.open {
		ruled[at] = 1
	}
	g.toEasier(ruled, func(own, harder float64) float64 { return own + harder })
	model := surrogate{observations(g, k.all)}
	held := k.heldOrEasier()
	next, highest, holds, settles := -1, 0.0, 0.0, 0.0
	atLeast := 0 // the first of the open ones that costs no less
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
	if next < 0 { // all that is open is certain to hold, by what is harder
		next, holds = k.open[0], 1
	}
	k.propose(next, "")
	k.next.Holds = holds
	k.next.Why = k.reason(next, int(settles), int(ruled[next]))
}

// heldOrEasier is 1 for what held and all that is no harder.
func (k *knowledge) heldOrEasier() []float64 {
	held := make([]float64, len(k.grid.points))
	for _, e := range k.withVerdict(tuning.OK) {
		held[e.at] = 1
	}
	k.grid.toEasier(held, func(own, harder float64) float64 { return max(own, harder) })
	return held
}

// reason states why a point comes next: how many of the open ones it settles if it holds, and if it fails.
func (k *knowledge) reason(at, settles, ruled int) string {
	g := k.grid
	why := fmt.Sprintf("of %s it settles %d if it holds, %d if it fails", tuning.Counted(len(k.open), "open configuration"),
		settles, ruled)
	if len(k.all) == 0 {
		return why
	}
	last := k.all[len(k.all)-1]
	if last.verdict() != tuning.Fail || last.last.Limiter == "" {
		return why
	}
	for i, s := range g.space.Settings {
		if slices.Contains(s.Relieves, last.last.Limiter) && g.points[at][i] != g.points[last.at][i] {
			return fmt.Sprintf("the last was limited by %s, which %s relieves; %s", last.last.Limiter, s.As, why)
		}
	}
	return why
}

// confirm computes the proof and repeats its most doubtful configuration until the doubt of the whole proof is within
// the confidence. It returns false if that configuration has had all its repeats and was put aside.
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
	return k.repeat(worst, "noise could have turned its verdict, and the proof rests on it")
}
