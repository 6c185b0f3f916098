package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// Analysis is the judgement of a table of measurements as people read it: sentences, tables, figures. The analyses of files and
// the reports of runs show the same.
type Analysis struct {
	Title string
	// Findings are the answers, most wanted first.
	Findings []string
	// Charts are its figures.
	Charts []Chart

	tables []section
	notes  []string
}

// section is a table, or lines that are shown as they are, with its heading.
type section struct {
	title string
	table table
	lines []string
}

// text is the section for a terminal.
func (s section) text() string {
	if len(s.lines) > 0 {
		return "  " + strings.Join(s.lines, "\n  ") + "\n"
	}
	return s.table.text()
}

// diffFence is Markdown's for lines that begin with - and +.
const diffFence = "```diff\n"

func (s section) markdown() string {
	if len(s.lines) > 0 {
		return diffFence + strings.Join(s.lines, "\n") + "\n```\n"
	}
	return s.table.markdown()
}

// Text is the analysis for a terminal.
func (a *Analysis) Text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", a.Title)
	for _, f := range a.Findings {
		fmt.Fprintf(&out, "  %s\n", f)
	}
	for _, s := range a.tables {
		fmt.Fprintf(&out, "\n%s\n%s", s.title, s.text())
	}
	if len(a.notes) > 0 {
		out.WriteString("\nNotes\n")
		for _, n := range a.notes {
			fmt.Fprintf(&out, "  - %s\n", n)
		}
	}
	return out.String()
}

// Markdown is the analysis for a page; figures is where its pictures are, "" for none.
func (a *Analysis) Markdown(figures string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n\n", a.Title)
	for _, f := range a.Findings {
		fmt.Fprintf(&out, "- %s\n", f)
	}
	for _, s := range a.tables {
		fmt.Fprintf(&out, "\n## %s\n\n%s", s.title, s.markdown())
	}
	if figures != "" {
		out.WriteString("\n## Figures\n")
		for _, c := range a.Charts {
			fmt.Fprintf(&out, "\n![%s](%s/%s.svg)\n", c.Title, figures, c.Name)
		}
	}
	if len(a.notes) > 0 {
		out.WriteString("\n## Notes\n\n")
		for _, n := range a.notes {
			fmt.Fprintf(&out, "- %s\n", n)
		}
	}
	return out.String()
}

// text is the table in columns, numbers flush right.
func (t table) text() string {
	widths := make([]int, len(t.Heads))
	for _, row := range append([][]string{t.Heads}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var padded strings.Builder
	for _, row := range append([][]string{t.Heads}, t.Rows...) {
		line := " "
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.Numeric[i] {
				cell = space + cell
			} else {
				cell += space
			}
			line += " " + cell + " "
		}
		padded.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return padded.String()
}

// between is an interval; what it is missing is said.
func between(low, high Figure) string {
	if !low.Known() || !high.Known() {
		return "unknown"
	}
	return tuning.Digits(low) + " to " + tuning.Digits(high)
}

// estimate is a value with its interval.
func estimate(e tuning.Estimate, confidence float64, unit string) string {
	if !e.Value.Known() {
		return "unknown: " + e.Note
	}
	text := strings.TrimRight(tuning.Digits(e.Value)+" "+unit, " ")
	var about []string
	if e.Low.Known() && e.High.Known() {
		about = append(about, fmt.Sprintf("%s%%: %s", tuning.Digits(Figure(100*confidence)), between(e.Low, e.High)))
	}
	if e.Note != "" {
		about = append(about, e.Note)
	}
	return text + sentence(strings.Join(about, "; "))
}

// count is a whole number that may be missing.
func count(n *int) string {
	if n == nil {
		return "–"
	}
	return tuning.Grouped(strconv.Itoa(*n))
}

// capacity is an interval of queries, "[200, 300)".
func capacity(c tuning.Capacity) string {
	switch {
	case c.LastOK == nil && c.FirstFail == nil:
		return "unknown"
	case c.Censored:
		return "at least " + count(c.LastOK)
	case c.LastOK == nil:
		return "below " + count(c.FirstFail)
	}
	return fmt.Sprintf("[%s, %s)", count(c.LastOK), count(c.FirstFail))
}

// auditFinding is a finding of the audit as a sentence.
func auditFindings(findings []tuning.Finding, audited int) (out []string) {
	if audited > 0 && len(findings) == 0 {
		return []string{fmt.Sprintf("Audit: all %d stated totals follow from their rows.", audited)}
	}
	counts := map[tuning.Verdict]int{}
	for _, f := range findings {
		counts[f.Verdict]++
	}
	if audited > 0 {
		out = append(out, fmt.Sprintf("Audit: of %d stated totals %d are wrong and %d partial.", audited, counts[tuning.Wrong], counts[tuning.Partial]))
	}
	return out
}

func auditTable(findings []tuning.Finding) table {
	t := table{Heads: []string{"Total", "Line", "Stated", "Rows add up to", "Audit", "Reason"}, Numeric: []bool{false, true, true, true, false, false}}
	for _, f := range findings {
		line := "–"
		if f.Line > 0 {
			line = strconv.Itoa(f.Line)
		}
		t.Rows = append(t.Rows, []string{f.What, line, tuning.Digits(f.Stated), tuning.Digits(f.Computed), string(f.Verdict), f.Reason})
	}
	return t
}

// verbatim adds lines that are shown as they are.
func (a *Analysis) verbatim(title string, lines []string) {
	if len(lines) > 0 {
		a.tables = append(a.tables, section{title: title, lines: lines})
	}
}

func (a *Analysis) add(title string, t table) {
	if len(t.Rows) > 0 {
		a.tables = append(a.tables, section{title: title, table: t})
	}
}

// floats are figures as a chart takes them.
func floats[T any](rows []T, figure func(T) Figure) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = float64(figure(r))
	}
	return out
}

// straight is a line over [from, to].
func straight(name string, colour int, from, to float64, at func(float64) Figure, dashed bool) marks {
	m := marks{name: name, colour: workerColour(colour), joined: true, dashed: dashed}
	const parts = 64
	for i := range parts + 1 {
		x := from + (to-from)*float64(i)/parts
		m.x, m.y = append(m.x, x), append(m.y, float64(at(x)))
	}
	return m
}
