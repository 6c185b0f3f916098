package document

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text returns the document for a terminal, without its figures.
func (d *Document) Text() string {
	var out strings.Builder
	fmt.Fprintln(&out, d.heading())
	if d.Lead != "" {
		fmt.Fprintf(&out, "  %s\n", d.Lead)
	}
	for _, reason := range d.Reasons {
		fmt.Fprintf(&out, "  - %s\n", reason)
	}
	if d.Summary.Rows() > 0 {
		out.WriteString("\n" + d.Summary.Text() + "\n")
	}
	for _, f := range d.Findings {
		fmt.Fprintf(&out, "  %s\n", f)
	}
	for _, s := range d.complete() {
		text := ""
		for i, b := range s.Blocks {
			if i > 0 && b.Figure == nil {
				text += "\n"
			}
			text += b.text()
		}
		if text != "" { // a section with only figures has no text
			fmt.Fprintf(&out, "\n%s\n%s", s.Title, text)
		}
	}
	return out.String()
}

// heading returns the title, followed by the verdict.
func (d *Document) heading() string {
	if d.Verdict == "" {
		return d.Title
	}
	return fmt.Sprintf("%s (%s)", d.Title, d.Verdict)
}

// text returns the block for a terminal; it is "" for a figure.
func (b Block) text() string {
	switch {
	case b.Head != "":
		return b.Head + "\n"
	case b.Text != "":
		return "  " + b.Text + "\n"
	case len(b.List) > 0:
		return "  - " + strings.Join(b.List, "\n  - ") + "\n"
	case b.Code != nil:
		return "  " + strings.ReplaceAll(strings.TrimRight(b.Code.Text, "\n"), "\n", "\n  ") + "\n"
	case b.Table != nil:
		return b.Table.Text()
	}
	return ""
}

// Text returns the table for a terminal, with numbers right-aligned.
func (t Table) Text() string {
	lines := make([]string, t.Rows()+1)
	for _, c := range t.Columns {
		wide := utf8.RuneCountInString(c.Head)
		for _, cell := range c.Cells {
			wide = max(wide, utf8.RuneCountInString(cell))
		}
		for i, cell := range append([]string{c.Head}, c.Cells...) {
			space := strings.Repeat(" ", wide-utf8.RuneCountInString(cell))
			if c.Numeric {
				cell = space + cell
			} else {
				cell += space
			}
			lines[i] += "  " + cell
		}
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ") + "\n"
	}
	return strings.Join(lines, "")
}
