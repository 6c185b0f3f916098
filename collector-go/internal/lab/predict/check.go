package predict

import (
	"fmt"
	"math"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// The goals of a validation.
const (
	CoverageGoal      = 0.90
	CapacityErrorGoal = 0.15
	// WidthGoal is the goal for half the median interval, in median errors. With normal errors a 95% interval is 2.9
	// median errors to either side and a 90% interval 2.4, so a narrower interval has less coverage.
	WidthGoal = 2.0
)

// Check is the result of validating the model on measured steps. Each step is predicted from the other steps and then
// compared with its measurement. Coverage, error and width must be judged together, because very wide intervals would
// cover every measurement and say nothing. It is also the JSON of tune predict --check.
type Check struct {
	Steps      []HeldStep     `json:"steps"`
	Capacities []HeldCapacity `json:"capacities"`
	// Summaries has a summary for each figure and, last, one for all figures. Capacity is the summary of the
	// capacities.
	Summaries  []Summary `json:"summaries"`
	Capacity   Summary   `json:"capacity"`
	Confidence float64   `json:"confidence"`
	Worlds     int       `json:"worlds"`
	Launches   int       `json:"launches"`
	// LeftOut counts the steps that were not used, by reason.
	LeftOut map[string]int `json:"left_out"`
	Notes   []string       `json:"notes"`
}

// HeldStep is a figure of a step that was predicted from all steps except this one and its repeats. Beyond says how far
// the step lies outside the steps from which it was predicted.
type HeldStep struct {
	Step      string          `json:"step"`
	Figure    Figure          `json:"figure"`
	Unit      string          `json:"unit"`
	Measured  float64         `json:"measured"`
	Predicted tuning.Estimate `json:"predicted"`
	Inside    bool            `json:"inside"`
	Beyond    []Reach         `json:"beyond_measured"`
}

// HeldCapacity is the capacity of a configuration, predicted from all other configurations.
type HeldCapacity struct {
	Configuration string          `json:"configuration"`
	Unit          string          `json:"unit"`
	LastOK        float64         `json:"last_ok"`
	FirstFail     tuning.Figure   `json:"first_fail"`
	Predicted     tuning.Estimate `json:"predicted"`
	Inside        bool            `json:"inside"`
}

// Summary says how often the measured value was inside the interval, and how large the errors are. The ratio of width
// to error shows whether intervals are wider than the errors require.
type Summary struct {
	Name string `json:"name"`
	Held int    `json:"held_out"`
	// Inside is a share. Errors and widths are relative to the predicted value.
	Inside      tuning.Figure `json:"inside_ratio"`
	MedianError tuning.Figure `json:"median_error_ratio"`
	// HalfWidth is half the median interval. WidthOverError is HalfWidth divided by the median error.
	HalfWidth      tuning.Figure `json:"median_half_width_ratio"`
	WidthOverError tuning.Figure `json:"half_width_over_error"`
}

// fewSteps is the largest number of observations for which each fit of a validation starts from the prior. With more
// observations it starts from the fit of all.
const fewSteps = 60

// Validate predicts every step of every source from the other steps. It leaves out the step itself and its repeats,
// because a repeat would give the answer away. A repeat has the same configuration and load in the same world. The
// capacity of each configuration is predicted from the other configurations.
func Validate(sources []*Source, confidence float64) (*Check, error) {
	c := &Check{Steps: []HeldStep{}, Capacities: []HeldCapacity{}, Confidence: confidence, LeftOut: map[string]int{},
		Notes: []string{}}
	for _, s := range sources {
		for why, n := range s.LeftOut {
			c.LeftOut[why] += n
		}
	}
	worlds := Worlds(sources)
	for _, w := range worlds {
		if err := c.world(w.Observations, w.LimitMs); err != nil {
			c.Notes = append(c.Notes, fmt.Sprintf("%s: %v", strings.Join(w.From, ", "), err))
		}
	}
	if len(c.Steps) == 0 {
		return nil, fmt.Errorf("nothing to check: %w%s", ErrTooFew, LeftOut(sources))
	}
	c.Worlds = len(worlds)
	c.summarize()
	return c, nil
}

// world validates one world. It leaves out each step together with its repeats. With few steps each fit starts from the
// prior. With many it starts from the chains of the fit of all steps, which takes a third of the rounds.
func (c *Check) world(all []Observation, limitMs float64) error {
	full, err := Fit(all, c.Confidence)
	if err != nil {
		return err
	}
	c.Launches += len(launchesOf(all))
	begin := full
	if len(all) <= fewSteps {
		begin = nil
	}
	done := make([]bool, len(all))
	for i, o := range all {
		if done[i] {
			continue
		}
		var rest, held []Observation
		for j, other := range all {
			switch {
			case !o.repeats(other):
				rest = append(rest, other)
			case !done[j]:
				held, done[j] = append(held, other), true
			}
		}
		m, err := fit(rest, c.Confidence, begin)
		if err != nil {
			continue
		}
		for _, h := range held {
			c.step(m, h)
		}
	}
	c.capacities(all, limitMs)
	return nil
}

// step compares every figure of a step with the prediction of a model that was fitted without the step.
func (c *Check) step(m *Model, o Observation) {
	beyond := reach(m.observed, o.Load, o.Setup)
	for _, figure := range figures([]Observation{o}) {
		e, known := m.at(figure, o.Load, o.Setup, scatter(beyond))
		if v := o.Measured[figure]; known {
			c.Steps = append(c.Steps, HeldStep{o.Step, figure, figure.Unit(), v, e, tuning.Figure(v) >= e.Low &&
				tuning.Figure(v) <= e.High, beyond})
		}
	}
}

// capacities leaves out one configuration after the other and predicts its capacity. A predicted interval is right if
// it overlaps the measured bracket, because the true capacity lies somewhere in the bracket.
func (c *Check) capacities(all []Observation, limitMs float64) {
	names := tuning.Union(nil, tuning.Each(all, func(o Observation) string { return o.Configuration })...)
	if limitMs <= 0 || len(names) < 2 {
		return
	}
	for _, name := range names {
		var rest, held []Observation
		for _, o := range all {
			if o.Configuration == name {
				held = append(held, o)
			} else {
				rest = append(rest, o)
			}
		}
		axis, of := axisOf(held)
		interval := tuning.IntervalOf(verdicts(held, of, limitMs))
		latency := fitLatency(rest, nil, seed)
		if axis.name == "" || interval.LastOK == nil || latency == nil {
			continue
		}
		at := held[0]
		m := &Model{observed: rest, latency: latency, confidence: c.Confidence}
		middle := axis.along(at.Load, *interval.LastOK)
		draws := latency.capacities(func(v float64) Load { return axis.along(at.Load, v) }, at.Setup, limitMs,
			scatter(reach(rest, middle, at.Setup)), random(name))
		h := HeldCapacity{Configuration: name, Unit: axis.name, LastOK: *interval.LastOK, FirstFail: tuning.Unknown,
			Predicted: m.estimate(draws)}
		if interval.FirstFail != nil {
			h.FirstFail = tuning.Figure(*interval.FirstFail)
		}
		h.Inside = h.Predicted.High >= tuning.Figure(h.LastOK) && !(h.Predicted.Low >= h.FirstFail)
		if at.Setup.filterBolts() > 0 {
			h.Configuration = tuning.Digits(tuning.Figure(at.Setup.filterBolts())) + " filter bolts"
		}
		c.Capacities = append(c.Capacities, h)
	}
}

// loadAxis is the quantity that increases over a configuration's steps.
type loadAxis struct {
	name  string
	along func(Load, float64) Load
}

// axisOf returns the quantity (queries or records/s) that increases over a configuration's steps, and a function that
// reads it. The largest load must exceed the smallest by more than 5 times beside (10%). Otherwise there is no axis and
// no capacity.
func axisOf(of []Observation) (loadAxis, func(Load) float64) {
	queries, records := func(l Load) float64 { return l.Queries }, func(l Load) float64 {
		return float64(l.RecordsPerSecond)
	}
	least := func(value func(Load) float64) (ratio float64) {
		low, high := math.Inf(1), 0.0
		for _, o := range of {
			low, high = min(low, value(o.Load)), max(high, value(o.Load))
		}
		return high / max(low, 1)
	}
	switch {
	case least(queries) > 1+5*beside:
		return loadAxis{"queries", func(l Load, v float64) Load { return Load{v, l.RecordsPerSecond} }}, queries
	case least(records) > 1+5*beside:
		return loadAxis{"records/s", func(l Load, v float64) Load { return Load{l.Queries, tuning.Figure(v)} }}, records
	}
	return loadAxis{}, queries
}

// verdicts judges each load by the latency alone, because the predicted capacity is defined by the latency.
func verdicts(of []Observation, value func(Load) float64, limitMs float64) (all []tuning.Measured) {
	goal := tuning.Goal{AtMost: tuning.Figure(limitMs), AtLeast: tuning.Unknown}
	for _, o := range of {
		if v, has := o.Measured[Latency]; has {
			all = append(all, tuning.Measured{Value: value(o.Load), Verdict: goal.Judge(tuning.Figure(v))})
		}
	}
	return all
}

// summarize computes the summaries of each figure, of all figures and of the capacities.
func (c *Check) summarize() {
	figures := tuning.Union(nil, tuning.Each(c.Steps, func(s HeldStep) Figure { return s.Figure })...)
	of := func(name string, takes func(HeldStep) bool) Summary {
		var t tally
		for _, s := range c.Steps {
			if takes(s) {
				t.add(s.Inside, math.Abs(s.Measured/float64(s.Predicted.Value)-1), s.Predicted)
			}
		}
		return t.summary(name)
	}
	for _, f := range figures {
		c.Summaries = append(c.Summaries, of(string(f), func(s HeldStep) bool { return s.Figure == f }))
	}
	c.Summaries = append(c.Summaries, of("all figures", func(HeldStep) bool { return true }))
	var t tally
	for _, h := range c.Capacities {
		t.add(h.Inside, math.Abs(float64(h.Predicted.Value)/((h.LastOK+float64(h.FirstFail))/2)-1), h.Predicted)
	}
	c.Capacity = t.summary("capacity")
}

// tally collects the values of a Summary.
type tally struct {
	held, inside   int
	errors, widths []float64
}

func (t *tally) add(inside bool, off float64, e tuning.Estimate) {
	t.held++
	if inside {
		t.inside++
	}
	if !math.IsNaN(off) {
		t.errors = append(t.errors, off)
	}
	t.widths = append(t.widths, float64((e.High-e.Low)/2/e.Value))
}

func (t *tally) summary(name string) Summary {
	s := Summary{Name: name, Held: t.held, Inside: tuning.Figure(float64(t.inside) / float64(t.held)),
		MedianError: median(t.errors), HalfWidth: median(t.widths)}
	s.WidthOverError = s.HalfWidth / s.MedianError
	return s
}

func median(of []float64) tuning.Figure {
	if len(of) == 0 {
		return tuning.Unknown
	}
	return tuning.Figure(quantiles(of, 0.5)[0])
}
