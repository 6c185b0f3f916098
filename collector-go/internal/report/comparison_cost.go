package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// marginal compares what a query costs in two configurations: the slopes of CPU over queries, a point a launch. Nothing where either has
// another axis, or too few steps to tell.
func marginal(a, b configuration, confidence float64) (all []ComparedFigure) {
	if !a.queries || !b.queries {
		return nil
	}
	for _, f := range []struct {
		name, worse string
		of          func(*StepReport) Figure
	}{
		{"CPU that a query adds, all workers", "up", func(s *StepReport) Figure { return s.TotalCPUMsPerMinute }},
		{"CPU that a query adds, mean of a worker", "", func(s *StepReport) Figure { return s.AverageCPUMsPerMinute }},
	} {
		d := tuning.CompareSlopes(a.costLine(f.of, confidence), b.costLine(f.of, confidence), confidence)
		if d.Before.Known() && d.After.Known() {
			all = append(all, ComparedFigure{f.name, perQuery, f.worse, d})
		}
	}
	return all
}

const perQuery = "ms/min"

// costLine is CPU over queries, of the steps that were complete.
func (c configuration) costLine(cpu func(*StepReport) Figure, confidence float64) tuning.Line {
	var x, y []float64
	for _, l := range c.launches {
		for _, p := range l.steps {
			step := l.report.stepAt(p.step.StartMs)
			if p.verdict != tuning.OK || step == nil {
				continue
			}
			if used := cpu(step); used.Known() {
				x, y = append(x, p.value), append(y, float64(used))
			}
		}
	}
	return tuning.FitLine(x, y, confidence)
}

// marginalText is the change as a sentence.
func (p *ComparedConfiguration) marginalText(f ComparedFigure, suffix string, confidence float64) string {
	text := fmt.Sprintf("%s%s, over the steps that were OK: %s ms/min before, %s after, %s", f.Name, suffix, tuning.Digits(f.Before), tuning.Digits(f.After), f.changeText(confidence))
	if f.Note != "" {
		text += sentence(f.Note)
	} else if !f.Clear {
		text += ", which may be none"
	}
	return text + "."
}

// gc is how GC time went along with CPU and latency over all launches; nil where no worker told of its collectors.
func (c configuration) gc() *GCReport {
	var all []*Report
	for _, l := range c.launches {
		all = append(all, l.report)
	}
	return gcOverLaunches(all)
}
