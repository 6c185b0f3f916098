package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// page is a report as people read it, whatever it is about: HTML, Markdown and its pictures are made of the same parts.
type page struct {
	title   string
	verdict tuning.Verdict // "" for none
	lead    string
	parts   []part
}

// part is a section of a page.
type part struct {
	title  string
	folded bool // closed in HTML until it is asked for
	blocks []block
}

// block is one of the things that a section is made of; exactly one is set.
type block struct {
	Head   string
	Text   string
	List   []string
	Table  *table
	Code   string
	Figure *drawing
}

func paragraph(format string, args ...any) block { return block{Text: fmt.Sprintf(format, args...)} }
func heading4(title string) block                { return block{Head: title} }
func list(lines []string) block                  { return block{List: lines} }
func tabled(t table) block                       { return block{Table: &t} }
func verbatim(text string) block                 { return block{Code: text} }
func drawn(d drawing) block                      { return block{Figure: &d} }

// drawing is a picture by the name of its files.
type drawing struct {
	name string
	// alt is what the picture shows, for who does not see it.
	alt string
	svg func() ([]byte, error)
	png func() ([]byte, error)
}

// empty tells whether there is nothing to show.
func (b block) empty() bool {
	return b.Head == "" && b.Text == "" && len(b.List) == 0 && b.Code == "" && b.Figure == nil && (b.Table == nil || len(b.Table.Rows) == 0)
}

// add appends a section of what is not empty, with no heading that nothing stands below, unless nothing is left.
func (p *page) add(title string, blocks ...block) *part {
	blocks = slices.DeleteFunc(slices.Clone(blocks), block.empty)
	var full []block
	for i, b := range blocks {
		if b.Head == "" || i+1 < len(blocks) && blocks[i+1].Head == "" {
			full = append(full, b)
		}
	}
	if len(full) == 0 {
		return &part{}
	}
	p.parts = append(p.parts, part{title: title, blocks: full})
	return &p.parts[len(p.parts)-1]
}

// figuresDir is where a report's pictures are, beside it.
const figuresDir = "figures"

// Markdown is the page as text; its pictures are in the directory "figures" beside it.
func (p *page) Markdown() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s", p.title)
	if p.verdict != "" {
		fmt.Fprintf(&out, " (%s)", p.verdict)
	}
	fmt.Fprintf(&out, "\n\n%s\n", p.lead)
	for _, s := range p.parts {
		fmt.Fprintf(&out, "\n## %s\n", s.title)
		for _, b := range s.blocks {
			out.WriteString("\n" + b.markdown())
		}
	}
	return out.Bytes()
}

func (b block) markdown() string {
	switch {
	case b.Head != "":
		return "### " + b.Head + "\n"
	case b.Text != "":
		return b.Text + "\n"
	case len(b.List) > 0:
		return "- " + strings.Join(b.List, "\n- ") + "\n"
	case b.Code != "":
		return "```\n" + strings.TrimRight(b.Code, "\n") + "\n```\n"
	case b.Figure != nil:
		return fmt.Sprintf("![%s](%s/%s.svg)\n", b.Figure.alt, figuresDir, b.Figure.name)
	}
	return b.Table.markdown()
}

//go:embed report.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"numeric": func(t *table, column int) bool { return t.Numeric[column] },
	"class":   verdictClass,
	"inline":  (*drawing).inline,
}).Parse(pageText))

// verdictClass is how a cell that holds a verdict is coloured.
func verdictClass(cell string) string {
	switch tuning.Verdict(cell) {
	case tuning.OK:
		return "ok"
	case tuning.Fail:
		return "fail"
	case tuning.Inconclusive:
		return "inconclusive"
	case tuning.Limited:
		return "limited"
	}
	switch cell {
	case markComplete:
		return "ok"
	case markGaps:
		return "inconclusive"
	}
	return ""
}

// shown is a section as the template sees it.
type shown struct {
	Title  string
	Folded bool
	Blocks []block
}

// HTML is the page as one file that needs nothing beside it and runs no script.
func (p *page) HTML() ([]byte, error) {
	var parts []shown
	for _, s := range p.parts {
		parts = append(parts, shown{s.title, s.folded, s.blocks})
	}
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, map[string]any{"Title": p.title, "Verdict": string(p.verdict), "Lead": p.lead, "Parts": parts})
	return out.Bytes(), err
}

// inline is the picture for a page: without a size of its own, and in the page's colours.
func (d *drawing) inline() (template.HTML, error) {
	svg, err := d.svg()
	if err != nil {
		return "", err
	}
	start := bytes.Index(svg, []byte("viewBox="))
	if start < 0 {
		return "", fmt.Errorf("draw %s: the SVG has no viewBox", d.name)
	}
	picture := `<svg role="img" aria-label="` + template.HTMLEscapeString(d.alt) + `" ` + string(svg[start:])
	for colour, variable := range variables {
		picture = strings.ReplaceAll(picture, hex(colour), variable)
	}
	return template.HTML(picture), nil // our own drawing; its texts are escaped by the canvas
}

// drawings are the page's pictures.
func (p *page) drawings() (all []*drawing) {
	for _, s := range p.parts {
		for _, b := range s.blocks {
			if b.Figure != nil {
				all = append(all, b.Figure)
			}
		}
	}
	return all
}

// writeDrawings writes pictures as SVG and PNG into dir.
func writeDrawings(all []*drawing, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range all {
		for suffix, form := range map[string]func() ([]byte, error){".svg": d.svg, ".png": d.png} {
			picture, err := form()
			if err != nil {
				return fmt.Errorf("draw %s%s: %w", d.name, suffix, err)
			}
			if err := os.WriteFile(filepath.Join(dir, d.name+suffix), picture, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeFiles writes a report's three forms into dir.
func writeFiles(dir string, forms map[string][]byte) error {
	for name, text := range forms {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
