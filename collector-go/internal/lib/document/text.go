package document

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text is the document for a terminal, without its figures.
func (d *Document) Text() string {
	var out strings.Builder
	fmt.Fprintln(&out, d.heading())
	if d.Lead != "" {
		fmt.Fprintf(&out, "  %s\n", d.Lead)
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
		if text != "" { // of figures alone a terminal has nothing
			fmt.Fprintf(&out, "\n%s\n%s", s.Title, text)
		}
	}
	return out.String()
}

// heading is the title with the verdict behind it.
func (d *Document) heading() string {
	if d.Verdict == "" {
		return d.Title
	}
	return fmt.Sprintf("%s (%s)", d.Title, d.Verdict)
}

// text is the block for a terminal; a figure has none.
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

// Text is the table for a terminal, numbers flush right.
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
