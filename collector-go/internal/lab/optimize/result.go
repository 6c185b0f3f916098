package optimize

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Result is the outcome of a search at any point: the best configuration so far, whether it is proven to be the
// cheapest, the proof, and everything that is still open. It is the JSON that tune optimize writes.
type Result struct {
	Target Target `json:"target"`
	// Configurations is the number of configurations that meet the constraints.
	Configurations int `json:"configurations"`
	// Best is the cheapest configuration that held, or nil if none held.
	Best *Best `json:"best"`
	// Tolerance is the tolerance of the search. Configurations that are cheaper by no more than this share are not
	// searched.
	Tolerance float64 `json:"tolerance"`
	// Proven means that nothing is open. Best is then the cheapest configuration of the space, apart from the
	// tolerance. If Best is nil, no configuration of the space holds the target. The probability that this is wrong is
	// at most Doubt, which the search's confidence limits.
	Proven bool `json:"proven"`
	// Doubt is the probability that noise changed a verdict that the proof relies on, as a ratio.
	Doubt  float64  `json:"doubt"`
	Trials []Record `json:"trials"`
	// Proof are the configurations that failed and together rule out everything cheaper than Best.
	Proof []Fact `json:"proof"`
	// Open are configurations that could be cheaper than Best and hold, at most MaxOpen of them.
	Open []Open `json:"open"`
	// OpenConfigurations is the number of all such configurations.
	OpenConfigurations int `json:"open_configurations"`
	// Pareto are the configurations that held for which no other was both cheaper and faster, the cheapest first.
	Pareto []Best `json:"pareto"`
	// Resources are the settings of the best configuration with their costs. BaseCost is the cost of any configuration
	// without its settings. It is 0 if a formula gives the whole cost.
	Resources []Resource `json:"resources"`
	BaseCost  float64    `json:"base_cost"`
	// TwiceTheLoad says what each setting would have to be for twice the load.
	TwiceTheLoad []Requirement `json:"twice_the_load"`
}

// MaxOpen is the largest number of configurations that a result lists as open.
const MaxOpen = 10

// Configuration is a configuration in a result.
type Configuration struct {
	Settings map[string]any `json:"settings"`
	Cost     float64        `json:"cost"`
	Text     string         `json:"-"`
	Point    Point          `json:"-"`
}

// configuration returns the configuration of a point.
func (g *grid) configuration(at int) Configuration {
	p := g.points[at]
	return Configuration{g.space.Configured(p), g.costs[at], g.space.Text(p), p}
}

// Best is a configuration that held the target. Its latency is the mean of its trials.
type Best struct {
	Configuration
	LatencyMs tuning.Figure `json:"latency_ms"`
	Trials    int           `json:"trials"`
}

// Record is one trial in a result. Why is the reason for the trial.
type Record struct {
	Number int `json:"number"`
	Configuration
	Attempt int `json:"attempt"`
	Trial
}

// Fact is one element of a proof: a configuration that failed, and the number of cheaper configurations that it rules
// out. The number includes itself and excludes those that earlier facts rule out already. Doubt is the probability that
// noise changed the verdict, as a ratio.
type Fact struct {
	Configuration
	Verdict  tuning.Verdict `json:"verdict"`
	RulesOut int            `json:"rules_out"`
	Trials   int            `json:"trials"`
	Doubt    float64        `json:"doubt"`
}

// Open is a configuration that could be cheaper than the best and hold, with the reason why this is not known. Holds is
// the probability that it holds the target, from its trials or from the model.
type Open struct {
	Configuration
	Holds float64 `json:"holds"`
	Why   string  `json:"why"`
}

// Result evaluates the trials; the search need not have ended. It returns an error if a trial is not in the space.
func (s *Search) Result(trials []Trial) (*Result, error) {
	if err := s.check(trials); err != nil {
		return nil, err
	}
	k := s.look(trials)
	if k.more { // the search was stopped before its end
		k.survey()
		k.prove()
	}
	r := &Result{Target: s.target, Configurations: s.Configurations(), Tolerance: s.options.Tolerance, Doubt: k.doubt,
		Trials: s.records(trials), Proof: []Fact{}, Open: k.stillOpen(), Pareto: k.pareto(), Resources: k.resources(),
		TwiceTheLoad: k.requirements()}
	r.OpenConfigurations = cmp.Or(k.countOpen(), len(r.Open))
	r.Proven = len(trials) > 0 && len(r.Open) == 0 && k.doubt <= 1-s.options.Confidence
	if k.best != nil {
		best := k.found(k.best)
		r.Best = &best
	}
	for _, f := range k.proof {
		r.Proof = append(r.Proof, Fact{s.grid.configuration(f.at), f.verdict(), f.covers, f.trials, f.doubt()})
	}
	if s.grid.space.Cost == nil {
		r.BaseCost = s.grid.space.BaseCost
	}
	return r, nil
}

// records returns the trials with their reasons. A trial without a stored reason gets the one that the search had for
// it after the earlier trials.
func (s *Search) records(trials []Trial) []Record {
	out, attempts := []Record{}, map[int]int{}
	for i, t := range trials {
		at := s.grid.number(t.Point)
		attempts[at]++
		if t.Why == "" {
			t.Why = s.reasonOf(trials[:i], at)
		}
		out = append(out, Record{i + 1, s.grid.configuration(at), attempts[at], t})
	}
	return out
}

// reasonOf returns the reason for which the search would try a point after the given trials.
func (s *Search) reasonOf(trials []Trial, at int) string {
	if k := s.look(trials); k.more && s.grid.number(k.next.Point) == at {
		return k.next.Why
	}
	return "not proposed by the search"
}

// found returns a configuration that held, with the mean latency of its judged trials.
func (k *knowledge) found(e *evidence) Best {
	latency, n := tuning.Figure(0), tuning.Figure(0)
	for _, t := range e.decided {
		if t.LatencyMs.Known() {
			latency, n = latency+t.LatencyMs, n+1
		}
	}
	return Best{k.grid.configuration(e.at), latency / n, e.trials}
}

// countOpen returns the number of configurations that could be cheaper and hold, including those set aside as
// undecided.
func (k *knowledge) countOpen() int {
	n := len(k.open)
	for at := range k.undecided {
		if k.couldBeBest(at) {
			n++
		}
	}
	return n
}

// couldBeBest reports whether an undecided point would become the best if it held.
func (k *knowledge) couldBeBest(at int) bool {
	return k.grid.allowed[at] && k.ruledOut[at] == 0 && k.matters(at)
}

// stillOpen lists the configurations that could be the best: those set aside, the easiest of those not tried, and, if
// there are none, those whose verdicts the proof is not sure of.
func (k *knowledge) stillOpen() []Open {
	out := []Open{}
	add := func(at int, holds float64, why string) {
		out = append(out, Open{k.grid.configuration(at), holds, why})
	}
	for _, e := range k.all {
		if why := k.undecided[e.at]; why != "" && k.couldBeBest(e.at) {
			add(e.at, e.holds, why)
		}
	}
	model := surrogate{observations(k.grid, k.all)}
	for _, at := range k.easiestOpen() {
		add(at, model.holds(k.grid.places[at]), "not tried, and no easier configuration failed")
	}
	if len(out) == 0 && k.doubt > 1-k.options.Confidence {
		facts := slices.Clone(k.proof)
		if k.best != nil {
			facts = append(facts, &fact{k.best, 0})
		}
		slices.SortStableFunc(facts, func(a, b *fact) int { return cmp.Compare(b.doubt(), a.doubt()) })
		for _, f := range facts {
			if f.doubt() > certain {
				add(f.at, f.holds, fmt.Sprintf("noise may have changed its verdict (%s); repeat it", f.verdict()))
			}
		}
	}
	return out[:min(len(out), MaxOpen)]
}

// easiestOpen returns the open points for which no other open point is easier, at most MaxOpen of them.
func (k *knowledge) easiestOpen() (out []int) {
	for i := len(k.open) - 1; i >= 0 && len(out) < MaxOpen; i-- {
		at := k.open[i]
		if !slices.ContainsFunc(k.open, func(other int) bool { return other != at && k.grid.below(at, other) }) {
			out = append(out, at)
		}
	}
	return out
}

// pareto returns the configurations that held for which no cheaper one was as fast, the cheapest first.
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

// Resource is a setting of the best configuration and its cost.
type Resource struct {
	Setting string `json:"setting"`
	As      string `json:"as"`
	Value   string `json:"value"`
	// Cost is the cost of the value in the unit of the space's costs. It is unknown if a formula gives the whole cost.
	Cost tuning.Figure `json:"cost"`
}

// Requirement estimates a setting for twice the load. It assumes that the required value is proportional to the load,
// without a fixed part. The bounds are therefore twice the bounds that the trials show for the load itself. For a
// setting with easier: less, read "at most" for "at least" and "half" for "twice".
type Requirement struct {
	Setting string `json:"setting"`
	As      string `json:"as"`
	Value   string `json:"value"`
	// Failed is the next harder value that is ruled out, with all other settings unchanged. It is "" if none is.
	Failed string `json:"failed"`
	// Beyond is not enough for twice the load, and Enough is enough. Beyond is unknown if no value is ruled out.
	Beyond tuning.Figure `json:"beyond"`
	Enough tuning.Figure `json:"enough"`
	// Tried is the easiest value of the space.
	Tried string `json:"tried_to"`
	// Covered says whether the space has a value that is enough.
	Covered bool `json:"covered"`
}

// resources returns the settings of the best configuration with their costs.
func (k *knowledge) resources() []Resource {
	all := []Resource{}
	if k.best == nil {
		return all
	}
	space := k.grid.space
	for i, level := range k.grid.points[k.best.at] {
		r := Resource{space.Settings[i].Name, space.Settings[i].As, space.Settings[i].Values[level].Text,
			tuning.Unknown}
		if space.Cost == nil {
			r.Cost = tuning.Figure(space.Settings[i].Costs[level])
		}
		all = append(all, r)
	}
	return all
}

// requirements returns what twice the load would need of each ordered setting of the best configuration.
func (k *knowledge) requirements() []Requirement {
	all := []Requirement{}
	if k.best == nil {
		return all
	}
	best := k.grid.points[k.best.at]
	for i, s := range k.grid.space.Settings {
		if s.Easier == Neither || s.Values[best[i]].Number <= 0 {
			continue
		}
		times, harder, easiest := tuning.Figure(2), -1, len(s.Values)-1
		if s.Easier == Less {
			times, harder, easiest = 0.5, 1, 0
		}
		n := Requirement{Setting: s.Name, As: s.As, Value: s.Values[best[i]].Text, Beyond: tuning.Unknown,
			Enough: times * tuning.Figure(s.Values[best[i]].Number), Tried: s.Values[easiest].Text}
		for level := best[i] + harder; level >= 0 && level < len(s.Values); level += harder {
			if at := k.best.at + (level-best[i])*k.grid.stride[i]; k.ruledOut[at] > 0 {
				n.Failed, n.Beyond = s.Values[level].Text, times*tuning.Figure(s.Values[level].Number)
				break
			}
		}
		last := tuning.Figure(s.Values[easiest].Number)
		n.Covered = s.Easier == More && last >= n.Enough || s.Easier == Less && last <= n.Enough
		all = append(all, n)
	}
	return all
}
