package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Comparison is what changed between two runs, configuration by configuration and step by step.
type Comparison struct {
	Before Side `json:"before"`
	After  Side `json:"after"`
	// Configurations are those that both have; of two that have one each, these.
	Configurations []ComparedConfiguration `json:"configurations"`
	Confidence     float64                 `json:"confidence"`
	Notes          []string                `json:"notes"`
}

// Side is one of the two.
type Side struct {
	Directory string `json:"directory"`
	ID        string `json:"id"`
	StartedMs int64  `json:"started_ms"`
}

// ComparedConfiguration is one configuration before and after.
type ComparedConfiguration struct {
	Before string `json:"before"`
	After  string `json:"after"`
	// Changes are the settings, versions, machine and load that differ; Moved are the controlled variables that they move.
	Changes []tuning.Change   `json:"changes"`
	Moved   []tuning.Variable `json:"moved"`
	// Lines are the changes as a configuration diff, "- key: before", "+ key: after". Untold are the controlled variables of which
	// nobody can say whether they moved.
	Lines  []string          `json:"lines"`
	Untold []tuning.Variable `json:"untold"`
	// Capacity is nil where there is none to compare, such as of timelines.
	Capacity *ComparedCapacity `json:"capacity,omitempty"`
	Steps    []ComparedStep    `json:"steps"`
	GC       []ComparedGC      `json:"gc"`
	// Marginal is what a query costs, where the steps ascend along queries and tell it on both sides.
	Marginal []ComparedFigure `json:"marginal,omitempty"`
	// GCBefore and GCAfter are how GC time went along with CPU and with the filter latency.
	GCBefore *GCReport `json:"gc_before,omitempty"`
	GCAfter  *GCReport `json:"gc_after,omitempty"`

	before, after configuration
}

// ComparedStep is one place on the axis.
type ComparedStep struct {
	Value         float64          `json:"value"`
	Name          string           `json:"name"`
	VerdictBefore tuning.Verdict   `json:"verdict_before"`
	VerdictAfter  tuning.Verdict   `json:"verdict_after"`
	Figures       []ComparedFigure `json:"figures"`
}

// ComparedFigure is one figure in one step.
type ComparedFigure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Worse is "up" or "down": which way it changes for the worse; "" for neither.
	Worse string `json:"worse,omitempty"`
	tuning.Difference
}

// ComparedGC is one collector in one step; nil where a side has no such collector.
type ComparedGC struct {
	Step      string            `json:"step"`
	Collector string            `json:"collector"`
	Before    *GCStep           `json:"before"`
	After     *GCStep           `json:"after"`
	Change    tuning.Difference `json:"total_ms_per_minute"`
}

// Compare compares two runs' directories, or two trials' of one run.
func Compare(before, after string, confidence float64) (*Comparison, error) {
	a, err := openSide(before)
	if err != nil {
		return nil, err
	}
	b, err := openSide(after)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Before: Side{a.dir, a.id, a.startedMs}, After: Side{b.dir, b.id, b.startedMs}, Confidence: confidence, Configurations: []ComparedConfiguration{}, Notes: []string{}}
	for _, pair := range c.pairs(a, b) {
		c.Configurations = append(c.Configurations, c.compare(pair[0], pair[1]))
	}
	if len(c.Configurations) == 0 {
		return nil, fmt.Errorf("%s and %s have no configuration in common (%s against %s); name a trial of each, a directory below %s",
			before, after, a.labels(), b.labels(), filepath.Join(before, rundir.TrialsDir))
	}
	return c, nil
}

func (s *side) labels() string {
	var all []string
	for _, c := range s.configurations {
		all = append(all, fmt.Sprintf("%q", c.label))
	}
	return strings.Join(all, ", ")
}

// pairs matches configurations by their labels; two that stand alone are a pair whatever they are called.
func (c *Comparison) pairs(a, b *side) (pairs [][2]configuration) {
	if len(a.configurations) == 1 && len(b.configurations) == 1 {
		return [][2]configuration{{a.configurations[0], b.configurations[0]}}
	}
	for _, before := range a.configurations {
		i := slices.IndexFunc(b.configurations, func(after configuration) bool { return after.label == before.label })
		if i < 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("configuration %q is only in %s", before.label, a.dir))
			continue
		}
		pairs = append(pairs, [2]configuration{before, b.configurations[i]})
	}
	for _, after := range b.configurations {
		if !slices.ContainsFunc(a.configurations, func(before configuration) bool { return before.label == after.label }) {
			c.Notes = append(c.Notes, fmt.Sprintf("configuration %q is only in %s", after.label, b.dir))
		}
	}
	return pairs
}

func (c *Comparison) compare(a, b configuration) ComparedConfiguration {
	out := ComparedConfiguration{Before: a.label, After: b.label, before: a, after: b, Changes: tuning.DiffSettings(a.values, b.values), Lines: []string{}, Untold: tuning.Untold(a.values, b.values), Steps: []ComparedStep{}, GC: []ComparedGC{},
		GCBefore: a.gc(), GCAfter: b.gc()}
	out.Moved, out.Marginal, out.Capacity = tuning.Moved(out.Changes), marginal(a, b, c.Confidence), compareCapacities(a, b)
	for _, change := range out.Changes {
		out.Lines = append(out.Lines, change.Lines()...)
	}
	for _, place := range a.places() {
		before, after := a.at(place.value), b.at(place.value)
		if len(after) == 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("%s was measured only before", place.name))
			continue
		}
		step := ComparedStep{Value: place.value, Name: place.name, VerdictBefore: agreed(before), VerdictAfter: agreed(after)}
		for _, f := range comparedFigures {
			difference := tuning.Compare(repeated(before, f.of), repeated(after, f.of), c.Confidence)
			if difference.Before.Known() || difference.After.Known() {
				step.Figures = append(step.Figures, ComparedFigure{f.name, f.unit, f.worse, difference})
			}
		}
		out.Steps = append(out.Steps, step)
		out.GC = append(out.GC, c.compareGC(place.name, before, after)...)
	}
	for _, place := range b.places() {
		if len(a.at(place.value)) == 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("%s was measured only after", place.name))
		}
	}
	return out
}

// places are the steps of a configuration by their value.
func (c configuration) places() (all []placed) {
	for _, l := range c.launches {
		for _, p := range l.steps {
			if !slices.ContainsFunc(all, func(known placed) bool { return known.value == p.value }) {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return int(a.value*1000 - b.value*1000) })
	return all
}

// stepOf is a step of one launch.
type stepOf struct {
	launch
	placed
}

// at are the steps at a value, one a launch.
func (c configuration) at(value float64) (all []stepOf) {
	for _, l := range c.launches {
		for _, p := range l.steps {
			if p.value == value {
				all = append(all, stepOf{l, p})
			}
		}
	}
	return all
}

func agreed(steps []stepOf) tuning.Verdict {
	m := measured{}
	for _, s := range steps {
		m.verdicts = append(m.verdicts, s.verdict)
	}
	return m.verdict()
}

func repeated(steps []stepOf, figure func(stepOf) []Figure) (r tuning.Repeated) {
	for _, s := range steps {
		r = append(r, figure(s))
	}
	return r
}

func (c *Comparison) compareGC(step string, before, after []stepOf) (all []ComparedGC) {
	names := collectorsOf(append(slices.Clone(before[0].run.Workers), after[0].run.Workers...))
	for _, name := range names {
		total := func(s stepOf) []Figure {
			return s.slices(func(w Worker) Slices { return w.collector(name).Seconds }, totalOrUnknown)
		}
		all = append(all, ComparedGC{Step: step, Collector: name, Before: gcOf(before[0], name), After: gcOf(after[0], name),
			Change: tuning.Compare(repeated(before, total), repeated(after, total), c.Confidence)})
	}
	return all
}

func gcOf(s stepOf, name string) *GCStep {
	step := gcStep(s.run, s.step, name)
	if step.Workers == 0 {
		return nil
	}
	return &step
}

// collector is one of the worker's collectors; one that it does not have is empty.
func (w Worker) collector(name string) Collector {
	for _, c := range w.Collectors {
		if c.Name == name {
			return c
		}
	}
	return Collector{}
}

// Regressions are the figures that clearly changed for the worse by more than a ratio, as sentences.
func (c *Comparison) Regressions(ratio float64) (all []string) {
	for _, configuration := range c.Configurations {
		for _, s := range configuration.Steps {
			for _, f := range s.Figures {
				worse := f.Worse == "up" && f.Ratio.Value > Figure(ratio) || f.Worse == "down" && f.Ratio.Value < Figure(-ratio)
				if f.Clear && worse {
					all = append(all, fmt.Sprintf("%s: %s %s", s.Name, f.Name, f.changeText(c.Confidence)))
				}
			}
		}
	}
	return all
}
