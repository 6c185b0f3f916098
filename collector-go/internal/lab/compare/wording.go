package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// NotClear marks a change that may be mere variation. benchstat uses the same mark.
const NotClear = "~"

// WorkersMean explains why totals are shown beside means.
const WorkersMean = "The mean of a worker is lower for a smaller worker, although the topology costs the same. Compare the totals of all workers, and the number of workers."

// Text returns the relative change with its interval: "-26.1% (95%: -30.2% to -21.7%)". It returns the absolute change
// if there is no ratio.
func (f FigureChange) Text(confidence float64) string {
	switch {
	case !f.Change.Value.Known():
		return "unknown"
	case !f.Ratio.Value.Known():
		return tuning.SignedDigits(f.Change.Value) + " " + f.Unit +
			interval(f.Change, tuning.ConfidencePercent(confidence)+": ", tuning.SignedDigits)
	}
	return tuning.SignedPercent(f.Ratio.Value) +
		interval(f.Ratio, tuning.ConfidencePercent(confidence)+": ", tuning.SignedPercent)
}

// Relative returns the relative change with its interval, but without the confidence, which the caller states
// elsewhere.
func (f FigureChange) Relative() string {
	return tuning.SignedPercent(f.Ratio.Value) + interval(f.Ratio, "", tuning.SignedPercent)
}

// Absolute returns the absolute change with its interval: "-1,320 (-5,600 to +2,960)".
func (f FigureChange) Absolute() string {
	return tuning.SignedDigits(f.Change.Value) + interval(f.Change, "", tuning.SignedDigits)
}

func interval(e tuning.Estimate, prefix string, text func(tuning.Figure) string) string {
	if !e.Low.Known() || !e.High.Known() {
		return ""
	}
	return fmt.Sprintf(" (%s%s to %s)", prefix, text(e.Low), text(e.High))
}

// Mark returns NotClear for a change that may be mere variation. It returns "" for a clear change and for a change
// without an interval.
func (f FigureChange) Mark() string {
	if f.Change.Low.Known() && !f.Clear {
		return NotClear
	}
	return ""
}

// OfOneLaunch reports whether some figures of the step have no interval because an operand has only one launch.
func (s StepChange) OfOneLaunch() bool {
	return slices.ContainsFunc(s.Figures, func(f FigureChange) bool {
		return strings.HasPrefix(f.Note, tuning.OneLaunch)
	})
}

// Text returns both capacities and whether they overlap, as a sentence without its full stop.
func (c CapacityChange) Text() string {
	text := fmt.Sprintf("%s before, %s after (%s)", c.Before.Text(), c.After.Text(), c.Unit)
	switch {
	case c.Overlap == nil:
		return text + "; they cannot be compared, because one of them is unknown"
	case *c.Overlap:
		return text + "; the intervals overlap, so the capacity may be the same"
	}
	return text + "; the intervals do not overlap, so the capacity changed"
}

// OverlapText returns Overlap as the text of a table cell.
func (c CapacityChange) OverlapText() string {
	if c.Overlap == nil {
		return "unknown"
	}
	return tuning.YesNo(*c.Overlap)
}

// Findings returns the sentences of the summary: the variables that moved, the capacity, and the clear changes. The
// suffix names the configuration if there are several.
func (c *ConfigurationChange) Findings(confidence float64, suffix string) []string {
	out := append([]string{c.movedText(suffix)}, c.betweenLaunches(suffix)...)
	if c.Capacity != nil {
		out = append(out, fmt.Sprintf("Capacity%s: %s.", suffix, c.Capacity.Text()))
	}
	for _, s := range c.Steps {
		out = append(out, fmt.Sprintf("%s%s: %s.", s.Name, suffix, s.clearChanges(confidence)))
	}
	for _, f := range c.Marginal {
		out = append(out, f.marginalText(suffix, confidence))
	}
	for i, gc := range []*tuning.GCReport{c.GCBefore, c.GCAfter} {
		if gc != nil {
			out = append(out, fmt.Sprintf("%s%s: correlation of GC time with CPU %s, with the filter latency %s.",
				[]string{"Before", "After"}[i], suffix, gc.WithCPU.Text(gc.Confidence, ""),
				gc.WithLatency.Text(gc.Confidence, "")))
		}
	}
	return out
}

// movedText says how many values differ and which of the controlled variables moved.
func (c *ConfigurationChange) movedText(suffix string) string {
	if len(c.Changes) == 0 {
		return fmt.Sprintf("Configuration%s: no known difference.", suffix)
	}
	text := fmt.Sprintf("Configuration%s: %d values differ", suffix, len(c.Changes))
	if len(c.Changes) == 1 {
		text = fmt.Sprintf("Configuration%s: one value differs", suffix)
	}
	switch len(c.Moved) {
	case 0:
		return text + ", but none of the eight controlled variables."
	case 1:
		return text + fmt.Sprintf(". One of the eight controlled variables changed: %s.", c.Moved[0])
	}
	return text + fmt.Sprintf(". %d of the eight controlled variables changed (%s), so no change of a figure can be attributed to one "+
		"of them.", len(c.Moved), strings.Join(tuning.Texts(c.Moved), ", "))
}

// betweenLaunches returns a sentence only if no setting differs. The comparison then shows how much one launch differs
// from the next, and the sentence states the largest difference.
func (c *ConfigurationChange) betweenLaunches(suffix string) []string {
	if len(c.Changes) > 0 {
		return nil
	}
	most, at, clear := FigureChange{}, "", false
	for _, s := range c.Steps {
		for _, f := range s.Figures {
			clear = clear || f.Clear
			if size := f.Ratio.Value; size.Known() && size*size > most.Ratio.Value*most.Ratio.Value {
				most, at = f, s.Name
			}
		}
	}
	if at == "" {
		return nil
	}
	text := fmt.Sprintf("Before and after%s have the same configuration, as far as known, so the differences are the variation between launches. The largest is %s %s at %s: a smaller change between configurations may be no change.",
		suffix, most.Name, tuning.SignedPercent(most.Ratio.Value), at)
	if clear {
		text += " There are clear changes nevertheless, so something other than the configuration changed, such as the machine, its load or the data."
	}
	return []string{text}
}

// clearChanges lists the clear changes of figures that can get worse.
func (s StepChange) clearChanges(confidence float64) string {
	clear := tuning.Those(s.Figures, func(f FigureChange) bool { return f.Clear && f.Worse != "" })
	texts := tuning.Each(clear, func(f FigureChange) string { return f.Name + " " + f.Text(confidence) })
	return cmp.Or(strings.Join(texts, "; "), "no clear change")
}

// marginalText describes the change of the cost per query in a sentence.
func (f FigureChange) marginalText(suffix string, confidence float64) string {
	text := fmt.Sprintf("%s%s: before %s, after %s; change %s", f.Name, suffix, f.EstimateBefore.CostText(tuning.DefaultConfidence, f.Unit),
		f.EstimateAfter.CostText(tuning.DefaultConfidence, f.Unit), f.Text(confidence))
	if f.Note != "" {
		text += tuning.InBrackets(f.Note)
	} else if !f.Clear {
		text += ", not a clear change"
	}
	return text + "."
}

// UnknownMoves names the controlled variables for which it is unknown whether they moved. It returns "" if there are
// none.
func (c *ConfigurationChange) UnknownMoves() string {
	if len(c.Undetermined) == 0 {
		return ""
	}
	return "It is unknown whether these variables changed, because one of the runs does not state them: " +
		strings.Join(tuning.Texts(c.Undetermined), ", ") + "."
}

// Doubts returns the reasons not to trust the changes of the steps: a step was inconclusive or limited, or an operand
// was launched only once.
func (c *ConfigurationChange) Doubts(suffix string) (all []string) {
	for _, s := range c.Steps {
		for i, verdict := range []tuning.Verdict{s.VerdictBefore, s.VerdictAfter} {
			if verdict == tuning.Inconclusive || verdict == tuning.Limited {
				when := []string{"before", "after"}[i]
				all = append(all, fmt.Sprintf(
					"%s was %s %s, so its changes may come from the host or the load and not from the topology.",
					s.Name+suffix, verdict, when))
			}
		}
		for _, f := range s.Figures {
			if strings.HasPrefix(f.Note, tuning.OneLaunch) {
				all = append(all, strings.ToUpper(f.Note[:1])+f.Note[1:]+". Launch each configuration more than once (steps.repeats).")
			}
		}
	}
	return all
}
