package tuning

import "slices"

// RunRules are the parts of a plan that decide the verdict of a run, beside the verdicts of its steps.
type RunRules struct {
	Goals []Goal
	// FailFails means that a missed goal makes the run fail. A search for the capacity succeeds by finding a miss.
	FailFails bool
	// Searches means that the run looks for the load at which goals are missed. Such a search has no answer if it ends
	// at its last value without a miss.
	Searches bool
}

// RunStep is one attempt at a step, with the verdict that JudgeGoals gave it when it was measured.
type RunStep struct {
	Value float64
	// ForCost marks a step that was measured only for the cost of a query. It says nothing about the capacity.
	ForCost bool
	Verdict Verdict
	// HostIdle is the idle ratio of the measured host.
	HostIdle Figure
	// Limitation is nil if no evidence was gathered.
	Limitation *Limitation
}

// RunJudgement is the verdict, the capacity and the limiters of one configuration, or of one trial of it. Every command
// that shows one of these figures takes it from here, so that they cannot contradict each other.
type RunJudgement struct {
	Verdict Verdict `json:"verdict"`
	// Capacity is in the unit of the plan's axis.
	Capacity Interval `json:"capacity"`
	// Limiters are the names of what limited the steps that were FAIL or LIMITED, in the order of the steps
	// (Limitation.Names).
	Limiters []string `json:"limiters"`
	// LeastHostIdle is the idle ratio of the host in the step in which it was busiest.
	LeastHostIdle Figure `json:"least_host_idle"`
}

// Judge returns the judgement of one configuration from its trials. A trial alone is judged as a configuration with one
// trial. A goal for the capacity decides the verdict if there is one; otherwise the steps do.
func (r RunRules) Judge(trials ...[]RunStep) RunJudgement {
	j := RunJudgement{Limiters: []string{}, LeastHostIdle: Unknown}
	var all []Measured
	for _, steps := range trials {
		all = append(all, MeasuredOf(steps)...)
		for _, s := range steps {
			if s.HostIdle.Known() && !(s.HostIdle >= j.LeastHostIdle) {
				j.LeastHostIdle = s.HostIdle
			}
		}
		for _, i := range Explained(steps) {
			j.Limiters = Union(j.Limiters, steps[i].limiters()...)
		}
	}
	if j.Capacity = IntervalOf(all); len(all) == 0 {
		j.Capacity.Note = "not measured"
	}
	j.Verdict = r.verdict(len(all), j.Capacity)
	return j
}

func MeasuredOf(steps []RunStep) []Measured {
	searched := Those(steps, func(s RunStep) bool { return !s.ForCost })
	return Each(searched, func(s RunStep) Measured { return Measured{s.Value, s.Verdict} })
}

func (r RunRules) verdict(steps int, capacity Interval) Verdict {
	if g, found := First(r.Goals, func(g Goal) bool { return g.Figure == CapacityFigure }); found {
		return g.capacityVerdict(capacity)
	}
	switch {
	case r.FailFails && capacity.FirstFail != nil:
		return Fail
	case steps == 0, len(capacity.Inconclusive) > 0 &&
		(r.FailFails || capacity.LastOK == nil && capacity.FirstFail == nil):
		return Inconclusive
	case len(capacity.Limited) > 0:
		return Limited
	case capacity.FirstFail != nil && capacity.LastOK == nil:
		return Fail
	case capacity.Censored && r.Searches:
		return Inconclusive
	}
	return OK
}

// capacityVerdict judges a goal for the capacity. If the goal lies between the two bounds of the capacity, the verdict
// is inconclusive.
func (g Goal) capacityVerdict(capacity Interval) Verdict {
	switch least := float64(g.AtLeast); {
	case capacity.LastOK != nil && *capacity.LastOK >= least:
		return OK
	case capacity.FirstFail != nil && *capacity.FirstFail <= least:
		return Fail
	}
	return Inconclusive
}

// limiters returns the names of the limiters of a step. An OK step has none. An inconclusive step has some only if its
// limiter was examined.
func (s RunStep) limiters() []string {
	switch {
	case s.Verdict == OK, s.Limitation == nil && s.Verdict == Inconclusive:
		return nil
	case s.Limitation == nil:
		return []string{UnknownLimiter}
	}
	return s.Limitation.Names()
}

// LastAttempts returns the indices of the steps that were not measured again later, in their order.
func LastAttempts(steps []RunStep) (last []int) {
	for i, s := range steps {
		if !slices.ContainsFunc(steps[i+1:], s.repeats) {
			last = append(last, i)
		}
	}
	return last
}

// repeats reports whether both are attempts at the same step.
func (s RunStep) repeats(other RunStep) bool {
	return s.ForCost == other.ForCost && s.Value == other.Value
}

// Explained returns the indices of the attempts whose reasons a report states: the last one of each step. If the last
// one was OK and an earlier one failed, it is the failed one, because the report must explain what it missed.
func Explained(steps []RunStep) []int {
	explained := LastAttempts(steps)
	for n, last := range explained {
		for i, s := range steps {
			if s.Verdict == Fail && steps[last].Verdict == OK && s.repeats(steps[last]) {
				explained[n] = i
			}
		}
	}
	return explained
}

// Combined returns the verdict of several attempts at the same load, in one launch or in several. Inconclusive attempts
// are ignored if there are others. Attempts that contradict each other make the result inconclusive, because no attempt
// outranks another. Without an attempt the result is inconclusive.
func Combined(attempts []Verdict) Verdict {
	verdict := Inconclusive
	for _, v := range attempts {
		switch {
		case v == Inconclusive || v == verdict:
		case verdict == Inconclusive:
			verdict = v
		default:
			return Inconclusive
		}
	}
	return verdict
}
