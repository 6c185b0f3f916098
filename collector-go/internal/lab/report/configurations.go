package report

import (
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// mostCompared bounds how many configurations a run's own report compares with its first one; tune compare takes any
// two trials.
const mostCompared = 8

// compareConfigurations compares the run's first configuration with each of the others, as tune compare compares runs.
// What cannot be compared is noted.
func (r *RunReport) compareConfigurations(dir string, run *runstore.Run) {
	measured := func(t runstore.Trial) bool {
		return slices.ContainsFunc(r.reported(), func(own *TrialReport) bool { return own.Number == t.Number })
	}
	if len(r.Rows) < 2 || !slices.ContainsFunc(run.Trials, measured) {
		return
	}
	s, err := sideOf(dir, run, measured)
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the configurations could not be compared: %v", err))
		return
	}
	first := s.Configurations[0]
	for i, other := range s.Configurations[1:] {
		if i == mostCompared {
			r.Notes = append(r.Notes, fmt.Sprintf("%d more configurations are not compared with %s here: "+
				"name two trials to bullet-metrics tune compare", len(s.Configurations)-1-i, first.Label))
			break
		}
		change, notes := compare.Configurations(first, other, tuning.DefaultConfidence)
		r.Compared = append(r.Compared, ComparedConfiguration{change, append([]string{}, notes...)})
	}
}

// betweenConfigurations are the figures that distinguish one configuration from another: garbage collection and what it
// costs, totals beside means.
var betweenConfigurations = []string{
	compare.TotalCPU, compare.MeanCPU, compare.Workers, compare.TotalGC, compare.MeanGC, compare.GCShare,
	compare.TotalHeap,
	compare.MeanHeap, compare.FilterLatency,
}

// Document is the change as people read it.
func (c *ComparedConfiguration) Document() *document.Document {
	d := &document.Document{Title: fmt.Sprintf("%s against %s", c.After, c.Before), Notes: slices.Clone(c.Notes)}
	d.Findings = append([]string{fmt.Sprintf("Before is %s, after is %s, of the same run.", c.Before, c.After)},
		c.Findings(tuning.DefaultConfidence, "")...)
	if len(c.Steps) == 0 {
		d.Findings = append(d.Findings, "No step was measured in both, so that no figures are compared.")
	}
	addDiff(d, &c.ConfigurationChange, "")
	d.Add("CPU, garbage collection and heap", document.Tabled(c.stepsTable()))
	addCosts(d, &c.ConfigurationChange, tuning.DefaultConfidence, "")
	d.Note(compare.WorkersMean)
	d.Note(tuning.GCIsWallTime + ".")
	d.Note(compare.NotClear + " marks a change whose interval holds 0: it may be none.")
	if slices.ContainsFunc(c.Steps, compare.StepChange.OfOneLaunch) {
		d.Note("One launch against one: how much a launch differs from the next was not measured, so that there are no " +
			"intervals. Repeat the launches (steps.repeats) to have them.")
	}
	d.Figures = changeFigures(&c.ConfigurationChange, ": "+c.After)
	return d
}

// stepsTable puts the figures of all steps together, step by step.
func (c *ComparedConfiguration) stepsTable() document.Table {
	t := figureTable(tuning.DefaultConfidence)
	t.Columns = append([]document.Column{document.Words("Step")}, t.Columns...)
	for _, s := range c.Steps {
		chosen := slices.DeleteFunc(slices.Clone(s.Figures), func(f compare.FigureChange) bool {
			return !slices.Contains(betweenConfigurations, f.Name)
		})
		addFigures(&t, chosen, s.Name)
	}
	return t
}
