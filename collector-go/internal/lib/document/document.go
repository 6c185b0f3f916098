// Package document is the model of a document for people: a title with a verdict, and sections of paragraphs, lists,
// tables and figures. Three writers convert it to text for a terminal, Markdown and HTML, so that every report has the
// same content in each form. A table can also be written as CSV.
//
// The package must not know what a document is about, and it must not compute anything: callers pass finished texts
// and cells. Start with Document and Block.
package document

import (
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
)

// Document is a report, or a part of one that can stand alone. Its first screen has the verdict, the reason, the main
// figure and one table. Findings and Sections follow.
type Document struct {
	Title   string
	Verdict string   // next to the title; "" for none
	Lead    string   // the reason in one sentence; "" for none
	Reasons []string // for the lead, most important first
	Main    *chart.Figure
	Summary Table // at most 7 columns; no rows means no table
	// Findings are the main results, most important first.
	Findings []string
	Sections []Section
	// Figures and Notes follow the sections.
	Figures []chart.Figure
	Notes   []string
}

// Section is a part of a document with a title.
type Section struct {
	Title  string
	Blocks []Block
}

// Block is one element of a section. Exactly one field is set.
type Block struct {
	Head   string
	Text   string
	List   []string
	Table  *Table
	Code   *Code
	Figure *chart.Figure
}

// Code is preformatted text.
type Code struct {
	Text     string
	Language string // name of the language in Markdown; "" for none
}

// Heading returns a heading for the blocks that follow it in a section.
func Heading(title string) Block { return Block{Head: title} }

// Paragraph returns a paragraph.
func Paragraph(format string, args ...any) Block { return Block{Text: fmt.Sprintf(format, args...)} }

// List returns a list with one line per item.
func List(items []string) Block { return Block{List: items} }

// Verbatim returns preformatted text.
func Verbatim(text string) Block { return Block{Code: &Code{Text: text}} }

// Diff returns preformatted lines that begin with "- " and "+ ".
func Diff(text string) Block { return Block{Code: &Code{Text: text, Language: "diff"}} }

// Tabled returns a block with a table.
func Tabled(t Table) Block { return Block{Table: &t} }

// Drawn returns a block with a figure.
func Drawn(f chart.Figure) Block { return Block{Figure: &f} }

// empty reports whether the block has nothing to show.
func (b Block) empty() bool {
	switch {
	case b.Code != nil:
		return b.Code.Text == ""
	case b.Table != nil:
		return b.Table.Rows() == 0
	}
	return b.Head == "" && b.Text == "" && len(b.List) == 0 && b.Figure == nil
}

// Add appends a section with all blocks that are not empty. It omits headings without a following block. If no block
// remains, it adds no section.
func (d *Document) Add(title string, blocks ...Block) {
	blocks = slices.DeleteFunc(slices.Clone(blocks), Block.empty)
	var full []Block
	for i, b := range blocks {
		if b.Head == "" || i+1 < len(blocks) && blocks[i+1].Head == "" {
			full = append(full, b)
		}
	}
	if len(full) > 0 {
		d.Sections = append(d.Sections, Section{Title: title, Blocks: full})
	}
}

// AddTable adds a section with one table, unless the table has no rows.
func (d *Document) AddTable(title string, t Table) { d.Add(title, Tabled(t)) }

// Find adds a finding.
func (d *Document) Find(format string, args ...any) {
	d.Findings = append(d.Findings, fmt.Sprintf(format, args...))
}

// Drawing is a chart of any kind that can be drawn as a figure.
type Drawing interface{ Figure() chart.Figure }

// Draw adds figures after the sections.
func (d *Document) Draw(drawings ...Drawing) {
	for _, drawing := range drawings {
		d.Figures = append(d.Figures, drawing.Figure())
	}
}

// Note adds a note, unless the document already has it.
func (d *Document) Note(texts ...string) {
	for _, text := range texts {
		if !slices.Contains(d.Notes, text) {
			d.Notes = append(d.Notes, text)
		}
	}
}

// first returns the blocks of the first screen below the verdict and the reason. In HTML the findings are below the
// first screen.
func (d *Document) first() (all []Block) {
	if d.Main != nil {
		all = append(all, Drawn(*d.Main))
	}
	return append(all, slices.DeleteFunc([]Block{Tabled(d.Summary), List(d.Findings)}, Block.empty)...)
}

// Blocks returns the whole document as blocks for a section of another document.
func (d *Document) Blocks() []Block {
	out := d.first()
	for _, s := range d.Sections {
		out = append(append(out, Heading(s.Title)), s.Blocks...)
	}
	for _, f := range d.Figures {
		out = append(out, Drawn(f))
	}
	return append(out, List(d.Notes))
}

// Drawings returns all figures: the main figure, those of the sections, and the document's own.
func (d *Document) Drawings() (all []chart.Figure) {
	for _, b := range d.Blocks() {
		if b.Figure != nil {
			all = append(all, *b.Figure)
		}
	}
	return all
}

// complete returns the sections, followed by the figures and the notes as sections.
func (d *Document) complete() []Section {
	all := Document{Sections: slices.Clone(d.Sections)}
	all.Add("Figures", (&Document{Figures: d.Figures}).Blocks()...)
	all.Add("Notes", List(d.Notes))
	return all.Sections
}
