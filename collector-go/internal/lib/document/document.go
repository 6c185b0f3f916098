// Package document is the model of a document that people read: a title with a verdict, and sections of paragraphs,
// lists, tables and figures. Three writers turn it into text for a terminal, Markdown and HTML, so that every report
// has the same content in each form. A table alone can also be written as CSV.
//
// It must not know what a document is about, and it must not compute anything: callers pass finished texts and cells.
// Start with Document and Block.
package document

import (
	"fmt"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
)

// Document is a report, or the part of one that can stand alone. Its first screen is the verdict, why, the figure that
// shows it and one table; what Findings and Sections have is below.
type Document struct {
	Title   string
	Verdict string // beside the title; "" for none
	Lead    string // why, in a sentence; "" for none
	Main    *chart.Figure
	Summary Table // of at most 7 columns, without rows for none
	// Findings are the answers, most wanted first.
	Findings []string
	Sections []Section
	// Figures and Notes stand behind the sections.
	Figures []chart.Figure
	Notes   []string
}

// Section is a part of a document under a title.
type Section struct {
	Title  string
	Blocks []Block
}

// Block is one of the things that a section is made of; exactly one is set.
type Block struct {
	Head   string
	Text   string
	List   []string
	Table  *Table
	Code   *Code
	Figure *chart.Figure
}

// Code is text that is shown as it is.
type Code struct {
	Text     string
	Language string // as Markdown names it; "" for none
}

// Heading stands above some of a section's blocks.
func Heading(title string) Block { return Block{Head: title} }

// Paragraph is a sentence or more.
func Paragraph(format string, args ...any) Block { return Block{Text: fmt.Sprintf(format, args...)} }

// List has a line for each of its items.
func List(items []string) Block { return Block{List: items} }

// Verbatim is text that is shown as it is.
func Verbatim(text string) Block { return Block{Code: &Code{Text: text}} }

// Diff is lines that begin with "- " and "+ ".
func Diff(text string) Block { return Block{Code: &Code{Text: text, Language: "diff"}} }

// Tabled is a table.
func Tabled(t Table) Block { return Block{Table: &t} }

// Drawn is a figure.
func Drawn(f chart.Figure) Block { return Block{Figure: &f} }

// empty reports whether there is nothing to show.
func (b Block) empty() bool {
	switch {
	case b.Code != nil:
		return b.Code.Text == ""
	case b.Table != nil:
		return b.Table.Rows() == 0
	}
	return b.Head == "" && b.Text == "" && len(b.List) == 0 && b.Figure == nil
}

// Add appends a section of what is not empty, without a heading that has nothing below it, unless nothing is left.
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

// AddTable adds a section of one table, unless it has no rows.
func (d *Document) AddTable(title string, t Table) { d.Add(title, Tabled(t)) }

// Find adds a finding.
func (d *Document) Find(format string, args ...any) {
	d.Findings = append(d.Findings, fmt.Sprintf(format, args...))
}

// Drawing is a chart of any kind that makes a figure.
type Drawing interface{ Figure() chart.Figure }

// Draw adds figures behind the sections.
func (d *Document) Draw(drawings ...Drawing) {
	for _, drawing := range drawings {
		d.Figures = append(d.Figures, drawing.Figure())
	}
}

// Note adds a note, once.
func (d *Document) Note(text string) {
	if !slices.Contains(d.Notes, text) {
		d.Notes = append(d.Notes, text)
	}
}

// first are the blocks of the first screen below the verdict and why; in HTML the findings are below it.
func (d *Document) first() (all []Block) {
	if d.Main != nil {
		all = append(all, Drawn(*d.Main))
	}
	for _, b := range []Block{Tabled(d.Summary), List(d.Findings)} {
		if !b.empty() {
			all = append(all, b)
		}
	}
	return all
}

// Blocks are the whole document as those of a section of another one.
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

// Drawings are the main figure, those of the sections, then the document's own.
func (d *Document) Drawings() (all []chart.Figure) {
	for _, b := range d.Blocks() {
		if b.Figure != nil {
			all = append(all, *b.Figure)
		}
	}
	return all
}

// complete are the sections, and the figures and notes as sections behind them.
func (d *Document) complete() []Section {
	all := Document{Sections: slices.Clone(d.Sections)}
	all.Add("Figures", (&Document{Figures: d.Figures}).Blocks()...)
	all.Add("Notes", List(d.Notes))
	return all.Sections
}
