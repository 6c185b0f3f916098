package document

import (
	"fmt"
	"strings"
)

// Markdown returns the document as Markdown. figures is the directory of its figures, or "" to omit them.
func (d *Document) Markdown(figures string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# %s\n", d.heading())
	if d.Lead != "" {
		fmt.Fprintf(&out, "\n%s\n", d.Lead)
	}
	blocks := func(all []Block) {
		for _, b := range all {
			if b.Figure == nil || figures != "" {
				out.WriteString("\n" + b.markdown(figures))
			}
		}
	}
	if len(d.Reasons) > 0 {
		blocks([]Block{{List: d.Reasons}})
	}
	blocks(d.first())
	for _, s := range d.complete() {
		if figures != "" || s.Title != "Figures" {
			fmt.Fprintf(&out, "\n## %s\n", s.Title)
			blocks(s.Blocks)
		}
	}
	return out.String()
}

// markdown returns the block as Markdown with a final line break. Figures are links to files, because Markdown cannot
// contain a drawing.
func (b Block) markdown(figures string) string {
	switch {
	case b.Head != "":
		return "### " + b.Head + "\n"
	case b.Text != "":
		return b.Text + "\n"
	case len(b.List) > 0:
		return "- " + strings.Join(b.List, "\n- ") + "\n"
	case b.Code != nil:
		return "```" + b.Code.Language + "\n" + strings.TrimRight(b.Code.Text, "\n") + "\n```\n"
	case b.Figure != nil:
		return fmt.Sprintf("![%s](%s/%s.svg)\n", b.Figure.Shows(), figures, b.Figure.Name)
	}
	return b.Table.Markdown()
}

// inCell escapes characters that would end a cell or a row.
var inCell = strings.NewReplacer("|", `\|`, "\n", " ")

// Markdown returns the table as Markdown, with "|" escaped in cells.
func (t Table) Markdown() string {
	var out strings.Builder
	row := func(cells []string) {
		out.WriteString("|")
		for _, cell := range cells {
			out.WriteString(" " + inCell.Replace(cell) + " |")
		}
		out.WriteString("\n")
	}
	row(t.row(-1))
	out.WriteString("|")
	for _, c := range t.Columns {
		out.WriteString(map[bool]string{true: "---:|", false: "---|"}[c.Numeric])
	}
	out.WriteString("\n")
	for i := range t.Rows() {
		row(t.row(i))
	}
	return out.String()
}
