package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// mostCompared bounds how many configurations a run's own report compares with its first one; tune compare takes any two trials.
const mostCompared = 8

// ConfigurationChange is one configuration of a run against its first one.
type ConfigurationChange struct {
	ComparedConfiguration
	Notes []string `json:"notes"`
}

// compareConfigurations compares the run's first configuration with each of the others, as tune compare compares runs. What cannot be
// compared is noted.
func (r *RunReport) compareConfigurations(dir string, run *rundir.Run) {
	measured := func(t rundir.Trial) bool {
		return slices.ContainsFunc(r.Trials, func(own TrialReport) bool { return own.Number == t.Number && own.Report != nil })
	}
	if len(r.Rows) < 2 || !slices.ContainsFunc(run.Trials, measured) {
		return
	}
	s, err := sideOf(dir, run, measured)
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the configurations could not be compared: %v", err))
		return
	}
	for i, other := range s.configurations[1:] {
		if i == mostCompared {
			r.Notes = append(r.Notes, fmt.Sprintf("%d more configurations are not compared with %s here: name two trials to bullet-metrics tune compare", len(s.configurations)-1-i, s.configurations[0].label))
			break
		}
		c := Comparison{Confidence: tuning.DefaultConfidence, Notes: []string{}}
		change := c.compare(s.configurations[0], other)
		r.Compared = append(r.Compared, ConfigurationChange{change, c.Notes})
	}
}

// inConfigurations are the figures that tell one configuration from another: garbage collection and what it costs, totals beside means.
var inConfigurations = []string{"CPU of all workers", "CPU, mean of a worker", "workers", "GC of all workers", "GC, mean of a worker", "GC's share of CPU", "heap used, all workers",
	"heap used, mean of a worker", "filter latency, mean"}

// Analysis is the change as people read it.
func (c *ConfigurationChange) Analysis() *Analysis {
	a := &Analysis{Title: fmt.Sprintf("%s against %s", c.After, c.Before), notes: slices.Clone(c.Notes)}
	a.Findings = append([]string{fmt.Sprintf("Before is %s, after is %s, of the same run.", c.Before, c.After)}, c.findings(tuning.DefaultConfidence, "")...)
	if len(c.Steps) == 0 {
		a.Findings = append(a.Findings, "No step was measured in both, so that no figures are compared.")
	}
	c.addDiff(a, "")
	a.add("CPU, garbage collection and heap", c.stepsTable())
	a.add("What a query costs", figureTable(c.Marginal, tuning.DefaultConfidence))
	a.add("Garbage collectors before and after", c.gcTable(tuning.DefaultConfidence))
	a.note(workersMean)
	a.note(tuning.GCIsWallTime + ".")
	a.note(notClear + " marks a change whose interval holds 0: it may be none.")
	if slices.ContainsFunc(c.Steps, ComparedStep.ofOneLaunch) {
		a.note("Intervals are of one launch against one: how much a launch differs from the next is not in them. Repeat the launches (steps.repeats) to have it.")
	}
	a.Charts = c.changeCharts(": " + c.After)
	return a
}

// workersMean says why totals stand beside means.
const workersMean = "A worker's mean falls when the worker gets smaller, without the topology costing less: compare the figures of all workers, beside the number of workers."

func (s ComparedStep) ofOneLaunch() bool {
	return slices.ContainsFunc(s.Figures, func(f ComparedFigure) bool { return strings.Contains(f.Note, oneLaunch) })
}

// stepsTable puts the figures of all steps together, step by step.
func (c *ConfigurationChange) stepsTable() table {
	all := figureTable(nil, tuning.DefaultConfidence)
	t := table{Heads: append([]string{"Step"}, all.Heads...), Numeric: append([]bool{false}, all.Numeric...)}
	for _, s := range c.Steps {
		var chosen []ComparedFigure
		for _, f := range s.Figures {
			if slices.Contains(inConfigurations, f.Name) {
				chosen = append(chosen, f)
			}
		}
		name := s.Name
		for _, row := range figureTable(chosen, tuning.DefaultConfidence).Rows {
			t.Rows = append(t.Rows, append([]string{name}, row...))
			name = ""
		}
	}
	return t
}
