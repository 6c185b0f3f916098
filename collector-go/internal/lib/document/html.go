package document

import (
	"bytes"
	_ "embed"
	"html/template"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
)

//go:embed document.html.tmpl
var pageText string

// pageTemplate is parsed once, when the program starts: a template that does not parse is a mistake in the program.
var pageTemplate = template.Must(template.New("document").
	Funcs(template.FuncMap{"class": class, "inline": inline}).Parse(pageText))

// classes colour the cells that are a verdict, or the state of a collection.
var classes = map[string]string{
	"OK": "ok", "FAIL": "fail", "inconclusive": "inconclusive", "limited": "limited",
	"complete": "ok", "gaps": "inconclusive",
	"better": "ok", "worse": "fail", "better and worse": "inconclusive", "cannot tell": "inconclusive",
}

// class is the colour of a cell, "" for a cell that is no verdict.
func class(cell string) string { return classes[cell] }

func inline(f *chart.Figure) (template.HTML, error) {
	svg, err := f.Inline()
	return template.HTML(svg), err // our own drawing; its texts are escaped by the canvas
}

// HTML is the document as one file that needs nothing beside it and runs no script.
func (d *Document) HTML() ([]byte, error) {
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, map[string]any{"Document": d, "Sections": d.complete()})
	return out.Bytes(), err
}
