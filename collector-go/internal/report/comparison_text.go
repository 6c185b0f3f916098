package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// notClear stands for a change that may be none, as benchstat has it.
const notClear = "~"

// changeText is the change with its interval: "-26.1% (95%: -30.2% to -21.7%)".
func (f ComparedFigure) changeText(confidence float64) string {
	if !f.Ratio.Value.Known() {
		return "unknown"
	}
	text := signedPercent(f.Ratio.Value)
	if f.Ratio.Low.Known() && f.Ratio.High.Known() {
		text += fmt.Sprintf(" (%s%%: %s to %s)", tuning.Digits(Figure(100*confidence)), signedPercent(f.Ratio.Low), signedPercent(f.Ratio.High))
	}
	return text
}

func signedPercent(f Figure) string {
	if !f.Known() {
		return "–"
	}
	return fmt.Sprintf("%+.1f%%", math.Round(1000*float64(f))/10+0)
}

// oneLaunch begins the note of intervals that hold what scatters within a launch only.
const oneLaunch = "one launch against one"

// differ says how many values do.
func differ(n int) string {
	if n == 1 {
		return "one value differs"
	}
	return fmt.Sprintf("%d values differ", n)
}

// Analysis is the comparison as people read it.
func (c *Comparison) Analysis() *Analysis {
	a := &Analysis{Title: fmt.Sprintf("%s against %s", c.After.Directory, c.Before.Directory), notes: append([]string{}, c.Notes...)}
	a.Findings = append(a.Findings, fmt.Sprintf("Before: %s, %s. After: %s, %s.", c.Before.ID, moment(c.Before.StartedMs), c.After.ID, moment(c.After.StartedMs)))
	a.add("Capacity", c.capacityTable())
	for i := range c.Configurations {
		c.Configurations[i].add(a, c.Confidence, len(c.Configurations) > 1)
	}
	a.note("A change is after less before. " + notClear + " marks one whose interval of " + tuning.Digits(Figure(100*c.Confidence)) +
		"% holds 0: it may be none; the relative change has an interval of its own, of the logarithms. Where a figure has no interval it was measured once a side.")
	a.note(workersMean)
	a.note(tuning.GCIsWallTime + ".")
	return a
}

func (a *Analysis) note(text string) {
	for _, n := range a.notes {
		if n == text {
			return
		}
	}
	a.notes = append(a.notes, text)
}

func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC") }

func (p *ComparedConfiguration) add(a *Analysis, confidence float64, several bool) {
	suffix := ""
	if several {
		suffix = ": " + p.After
	}
	a.Findings = append(a.Findings, p.findings(confidence, suffix)...)
	p.addDiff(a, suffix)
	for _, s := range p.Steps {
		a.add(s.Name+suffix, s.table(confidence))
		for i, verdict := range []tuning.Verdict{s.VerdictBefore, s.VerdictAfter} {
			when := []string{"before", "after"}[i]
			if verdict == tuning.Inconclusive || verdict == tuning.Limited {
				a.note(fmt.Sprintf("%s was %s %s: what changed there may be the host's or the load's rather than the topology's.", s.Name+suffix, verdict, when))
			}
		}
		for _, f := range s.Figures {
			if strings.HasPrefix(f.Note, oneLaunch) {
				a.note("Intervals: " + f.Note + ".")
			}
		}
	}
	a.add("What a query costs"+suffix, figureTable(p.Marginal, confidence))
	a.add("Garbage collectors before and after"+suffix, p.gcTable(confidence))
	a.Charts = append(append(a.Charts, p.changeCharts(suffix)...), p.overlay(suffix))
}

// addDiff adds what differs as lines, and which controlled variables that moves.
func (p *ComparedConfiguration) addDiff(a *Analysis, suffix string) {
	a.verbatim("Configuration diff"+suffix, p.Lines)
	a.add("What differs, by controlled variable"+suffix, p.changeTable())
	if len(p.Untold) > 0 {
		a.note("Not known of both sides, so that nobody can tell whether they moved: " + names(p.Untold) + ".")
	}
}

func names(variables []tuning.Variable) string {
	var all []string
	for _, v := range variables {
		all = append(all, string(v))
	}
	return strings.Join(all, ", ")
}

// findings are what moved, and the clear changes of what matters most.
func (p *ComparedConfiguration) findings(confidence float64, suffix string) (out []string) {
	switch {
	case len(p.Changes) == 0:
		out = append(out, fmt.Sprintf("Configuration%s: nothing that is known of it differs.", suffix))
	case len(p.Moved) == 0:
		out = append(out, fmt.Sprintf("Configuration%s: %s, none of them one of the document's eight controlled variables.", suffix, differ(len(p.Changes))))
	case len(p.Moved) == 1:
		out = append(out, fmt.Sprintf("Configuration%s: %s; of the eight controlled variables one moved: %s.", suffix, differ(len(p.Changes)), p.Moved[0]))
	default:
		out = append(out, fmt.Sprintf("Configuration%s: %s; of the eight controlled variables %d moved (%s), so that no change can be put down to one of them.",
			suffix, differ(len(p.Changes)), len(p.Moved), names(p.Moved)))
	}
	if p.Capacity != nil {
		out = append(out, fmt.Sprintf("Capacity%s: %s.", suffix, p.Capacity.text()))
	}
	for _, s := range p.Steps {
		var clear []string
		for _, f := range s.Figures {
			if f.Clear && f.Worse != "" {
				clear = append(clear, f.Name+" "+f.changeText(confidence))
			}
		}
		text := "no clear change"
		if len(clear) > 0 {
			text = strings.Join(clear, "; ")
		}
		out = append(out, fmt.Sprintf("%s%s: %s.", s.Name, suffix, text))
	}
	for _, f := range p.Marginal {
		out = append(out, p.marginalText(f, suffix, confidence))
	}
	for _, when := range []struct {
		name string
		gc   *GCReport
	}{{"Before", p.GCBefore}, {"After", p.GCAfter}} {
		if when.gc != nil {
			out = append(out, fmt.Sprintf("%s%s, GC time went along with CPU by %s and with the filter latency by %s.", when.name, suffix,
				estimate(when.gc.WithCPU, when.gc.Confidence, ""), estimate(when.gc.WithLatency, when.gc.Confidence, "")))
		}
	}
	return out
}

func (p *ComparedConfiguration) changeTable() table {
	t := table{Heads: []string{"Value", "Before", "After", "Controlled variable"}, Numeric: []bool{false, false, false, false}}
	cell := func(v *string) string {
		if v == nil {
			return "–"
		}
		return *v
	}
	for _, c := range p.Changes {
		variable := string(c.Variable)
		if variable == "" {
			variable = "–"
		}
		t.Rows = append(t.Rows, []string{c.Key, cell(c.Before), cell(c.After), variable})
	}
	return t
}

func (s ComparedStep) table(confidence float64) table {
	t := figureTable(s.Figures, confidence)
	t.Rows = append([][]string{{"verdict", "", string(s.VerdictBefore), string(s.VerdictAfter), "", "", ""}}, t.Rows...)
	return t
}

// figureTable is each figure before and after, with its change.
func figureTable(figures []ComparedFigure, confidence float64) table {
	t := table{Heads: []string{"Figure", "Unit", "Before", "After", within("Change", confidence), within("Relative", confidence), ""},
		Numeric: []bool{false, false, true, true, true, true, false}}
	for _, f := range figures {
		mark := ""
		if f.Change.Low.Known() && !f.Clear {
			mark = notClear
		}
		t.Rows = append(t.Rows, []string{f.Name, f.Unit, tuning.Digits(f.Before), tuning.Digits(f.After), f.absoluteText(), f.relativeText(), mark})
		if strings.HasPrefix(f.Name, "CPU") { // GC time is no CPU
			cores := func(f Figure) string { return tuning.Digits(f / Figure(minuteMs)) }
			t.Rows = append(t.Rows, []string{"  the same", "cores", cores(f.Before), cores(f.After), signedDigits(f.Change.Value / Figure(minuteMs)), "", ""})
		}
	}
	return t
}

// within heads a column whose cells hold intervals.
func within(name string, confidence float64) string {
	return fmt.Sprintf("%s (%s%%)", name, tuning.Digits(Figure(100*confidence)))
}

// absoluteText is the change with its interval: "-1,320 (-5,600 to +2,960)".
func (f ComparedFigure) absoluteText() string {
	text := signedDigits(f.Change.Value)
	if f.Change.Low.Known() && f.Change.High.Known() {
		text += fmt.Sprintf(" (%s to %s)", signedDigits(f.Change.Low), signedDigits(f.Change.High))
	}
	return text
}

func (f ComparedFigure) relativeText() string {
	text := signedPercent(f.Ratio.Value)
	if f.Ratio.Low.Known() && f.Ratio.High.Known() {
		text += fmt.Sprintf(" (%s to %s)", signedPercent(f.Ratio.Low), signedPercent(f.Ratio.High))
	}
	return text
}

func signedDigits(f Figure) string {
	if f > 0 {
		return "+" + tuning.Digits(f)
	}
	return tuning.Digits(f)
}

func (p *ComparedConfiguration) gcTable(confidence float64) table {
	t := table{Heads: []string{"Step", "Collector", "Total ms/min before", "after", "Relative", "of CPU before", "after", "of time before", "after", "Collections/min before", "after"},
		Numeric: []bool{false, false, true, true, true, true, true, true, true, true, true}}
	for _, g := range p.GC {
		pair := func(figure func(GCStep) Figure, text func(Figure) string) []string {
			cells := []string{"–", "–"}
			for i, s := range []*GCStep{g.Before, g.After} {
				if s != nil {
					cells[i] = text(figure(*s))
				}
			}
			return cells
		}
		change := ComparedFigure{Difference: g.Change}
		relative := change.changeText(confidence)
		if g.Before == nil || g.After == nil {
			relative = "only on one side"
		}
		row := append([]string{g.Step, g.Collector}, pair(func(s GCStep) Figure { return s.TotalMsPerMinute }, func(f Figure) string { return number(f, 0) })...)
		row = append(row, relative)
		row = append(row, pair(func(s GCStep) Figure { return s.ShareOfCPU }, percent)...)
		row = append(row, pair(func(s GCStep) Figure { return s.ShareOfTime }, percent)...)
		t.Rows = append(t.Rows, append(row, pair(func(s GCStep) Figure { return s.CollectionsPerMin }, func(f Figure) string { return number(f, 1) })...))
	}
	return t
}

// JSON is the comparison as data; what is not known is null.
func (c *Comparison) JSON() ([]byte, error) {
	text, err := json.MarshalIndent(c, "", "  ")
	return append(text, '\n'), err
}
