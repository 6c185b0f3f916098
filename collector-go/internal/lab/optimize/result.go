package optimize

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Result is the outcome of a search at any point of it: the best configuration so far, whether it is proven to be the
// cheapest, the proof, and everything that is still open. It is the JSON that tune optimize writes.
type Result struct {
	Target Target `json:"target"`
	// Configurations is how many there are in the space.
	Configurations int `json:"configurations"`
	// Best is the cheapest configuration that held; nil where none did.
	Best *Best `json:"best"`
	// Tolerance is the search's: what is cheaper by no more than this share is not looked for.
	Tolerance float64 `json:"tolerance"`
	// Proven states that nothing is open: Best is the cheapest of the space but for the tolerance, or, where it is nil,
	// none of the space holds the target. It is wrong at most as often as Doubt, which the search's confidence bounds.
	Proven bool `json:"proven"`
	// Doubt is the probability that noise turned a verdict that the proof rests on, a ratio.
	Doubt  float64  `json:"doubt"`
	Trials []Record `json:"trials"`
	// Proof are the configurations that failed and rule out all that is cheaper than Best.
	Proof []Fact `json:"proof"`
	// Open is what could still be cheaper and hold, at most MaxOpen of them.
	Open []Open `json:"open"`
	// OpenConfigurations is how many configurations could, all in all.
	OpenConfigurations int `json:"open_configurations"`
	// Pareto are the configurations that held of which none was both cheaper and quicker, the cheapest first.
	Pareto []Best `json:"pareto"`
	// Resources are the best configuration's settings with what each costs; BaseCost is what any configuration costs
	// beside them, 0 where a formula gives the whole cost.
	Resources []Resource `json:"resources"`
	BaseCost  float64    `json:"base_cost"`
	// TwiceTheLoad is what would have to change for it.
	TwiceTheLoad []Requirement `json:"twice_the_load"`
}

// MaxOpen bounds what a result lists as open.
const MaxOpen = 10

// Best is a configuration that held the target, its figures the means of its trials.
type Best struct {
	Settings  map[string]any `json:"settings"`
	Cost      float64        `json:"cost"`
	LatencyMs tuning.Figure  `json:"latency_ms"`
	Trials    int            `json:"trials"`
	Text      string         `json:"-"`
	Point     Point          `json:"-"`
}

// Record is a trial as a result shows it.
type Record struct {
	Number       int            `json:"number"`
	Settings     map[string]any `json:"settings"`
	Cost         float64        `json:"cost"`
	Attempt      int            `json:"attempt"`
	Verdict      tuning.Verdict `json:"verdict"`
	LatencyMs    tuning.Figure  `json:"latency_ms"`
	Completeness tuning.Figure  `json:"completeness"`
	CatchUp      tuning.Figure  `json:"catch_up"`
	Limiter      tuning.Limiter `json:"limiter,omitempty"`
	Seconds      float64        `json:"seconds"`
	// Why is why it was tried.
	Why  string `json:"why"`
	Text string `json:"-"`
}

// Fact is one element of a proof: a configuration that failed, and the number of cheaper configurations that it rules
// out. That number includes itself, and leaves out those that earlier facts rule out already.
type Fact struct {
	Settings map[string]any `json:"settings"`
	Cost     float64        `json:"cost"`
	Verdict  tuning.Verdict `json:"verdict"`
	RulesOut int            `json:"rules_out"`
	Trials   int            `json:"trials"`
	// Doubt is the probability that noise turned the verdict, a ratio.
	Doubt float64 `json:"doubt"`
	Text  string  `json:"-"`
}

// Open is a configuration that could be cheaper and hold, and why it is not known.
type Open struct {
	Settings map[string]any `json:"settings"`
	Cost     float64        `json:"cost"`
	// Holds is the probability that it holds the target: of its trials, or by the model.
	Holds float64 `json:"holds"`
	Why   string  `json:"why"`
	Text  string  `json:"-"`
}

// Result is what trials show, those before the search's end too. An error is of a trial that is not of the space.
func (s *Search) Result(trials []Trial) (*Result, error) {
	if err := s.check(trials); err != nil {
		return nil, err
	}
	k := s.look(trials)
	if k.more { // stopped before its end
		k.survey()
		k.prove()
	}
	r := &Result{Target: s.target, Configurations: s.Configurations(), Tolerance: s.options.Tolerance, Doubt: k.doubt,
		Trials: []Record{}, Proof: []Fact{}, Open: k.stillOpen(), Pareto: []Best{}}
	r.OpenConfigurations = len(r.Open)
	if n := k.countOpen(); n > 0 {
		r.OpenConfigurations = n
	}
	r.Proven = len(trials) > 0 && len(r.Open) == 0 && k.doubt <= 1-s.options.Confidence
	if k.best != nil {
		best := k.found(k.best)
		r.Best = &best
	}
	for _, f := range k.proof {
		p := s.grid.points[f.at]
		r.Proof = append(r.Proof, Fact{s.grid.space.Configured(p), s.grid.costs[f.at], f.verdict(), f.covers, f.trials,
			f.doubt(), s.grid.space.Text(p)})
	}
	r.Resources, r.TwiceTheLoad = k.resources(), k.requirements()
	if s.grid.space.Cost == nil {
		r.BaseCost = s.grid.space.BaseCost
	}
	r.Trials = s.records(trials)
	r.Pareto = k.pareto()
	return r, nil
}

// records are the trials, each with why it was tried: as was kept of it, else what was proposed after those before it.
func (s *Search) records(trials []Trial) []Record {
	out, attempts := []Record{}, map[int]int{}
	for i, t := range trials {
		at := s.grid.number(t.Point)
		attempts[at]++
		why := t.Why
		if why == "" {
			why = s.reasonOf(trials[:i], at)
		}
		out = append(out, Record{i + 1, s.grid.space.Configured(t.Point), s.grid.costs[at], attempts[at], t.Verdict,
			t.LatencyMs, t.Completeness, t.CatchUp,
			t.Limiter, t.Seconds, why, s.grid.space.Text(t.Point)})
	}
	return out
}

// reasonOf is why a point is tried after some trials.
func (s *Search) reasonOf(trials []Trial, at int) string {
	if k := s.look(trials); k.more && s.grid.number(k.next.Point) == at {
		return k.next.Why
	}
	return "not proposed by the search"
}

func (k *knowledge) found(e *evidence) Best {
	p := k.grid.points[e.at]
	latency, n := tuning.Figure(0), tuning.Figure(0)
	for _, t := range e.decided {
		if t.LatencyMs.Known() {
			latency, n = latency+t.LatencyMs, n+1
		}
	}
	return Best{k.grid.space.Configured(p), k.grid.costs[e.at], latency / n, e.trials, k.grid.space.Text(p), p}
}

// countOpen is how many configurations could be cheaper and hold, those put aside included.
func (k *knowledge) countOpen() int {
	n := len(k.open)
	for at := range k.undecided {
		if k.couldBeBest(at) {
			n++
		}
	}
	return n
}

// couldBeBest reports whether an undecided point matters: it would be the best if it held.
func (k *knowledge) couldBeBest(at int) bool {
	return k.grid.allowed[at] && k.ruledOut[at] == 0 && k.matters(at)
}

// stillOpen lists what could be the best: what was put aside, the easiest of what was not tried, and what the proof is
// not sure of.
func (k *knowledge) stillOpen() []Open {
	out := []Open{}
	add := func(at int, holds float64, why string) {
		p := k.grid.points[at]
		out = append(out, Open{k.grid.space.Configured(p), k.grid.costs[at], holds, why, k.grid.space.Text(p)})
	}
	for _, e := range k.all {
		if why := k.undecided[e.at]; why != "" && k.couldBeBest(e.at) {
			add(e.at, e.holds, why)
		}
	}
	model := surrogate{observations(k.grid, k.all)}
	for _, at := range k.easiestOpen() {
		add(at, model.holds(k.grid.places[at]), "not tried, and no easier one failed")
	}
	if len(out) == 0 && k.doubt > 1-k.options.Confidence {
		facts := slices.Clone(k.proof)
		if k.best != nil {
			facts = append(facts, &fact{k.best, 0})
		}
		slices.SortStableFunc(facts, func(a, b *fact) int { return cmp.Compare(b.doubt(), a.doubt()) })
		for _, f := range facts {
			if f.doubt() > certain {
				add(f.at, f.holds, fmt.Sprintf("noise could have turned its verdict, %s: repeat it", f.verdict()))
			}
		}
	}
	return out[:min(len(out), MaxOpen)]
}

// easiestOpen are the open points than which no other open one is easier, at most MaxOpen.
func (k *knowledge) easiestOpen() (out []int) {
	for i := len(k.open) - 1; i >= 0 && len(out) < MaxOpen; i-- {
		at := k.open[i]
		if !slices.ContainsFunc(k.open, func(other int) bool { return other != at && k.grid.below(at, other) }) {
			out = append(out, at)
		}
	}
	return out
}

func (k *knowledge) pareto() []Best {
	held := []Best{}
	for _, e := range k.withVerdict(tuning.OK) {
		if k.grid.allowed[e.at] {
			held = append(held, k.found(e))
		}
	}
	slices.SortStableFunc(held, func(a, b Best) int {
		return cmp.Or(cmp.Compare(a.Cost, b.Cost), cmp.Compare(a.LatencyMs, b.LatencyMs))
	})
	front, quickest := held[:0], math.Inf(1)
	for i, b := range held {
		if i == 0 || float64(b.LatencyMs) < quickest {
			front = append(front, b)
			if b.LatencyMs.Known() {
				quickest = float64(b.LatencyMs)
			}
		}
	}
	return front
}
