package document

import (
	"bytes"
	_ "embed"
	"html/template"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
)

//go:embed document.html.tmpl
var pageText string

// pageTemplate is parsed when the program starts, because an invalid template is a mistake in the program.
var pageTemplate = template.Must(template.New("document").
	Funcs(template.FuncMap{"class": class, "inline": inline}).Parse(pageText))

// classes are the CSS classes of cells that contain a verdict or the state of a collection.
var classes = map[string]string{
	"OK": "ok", "FAIL": "fail", "inconclusive": "inconclusive", "limited": "limited",
	"complete": "ok", "gaps": "inconclusive",
	"better": "ok", "worse": "fail", "better and worse": "inconclusive", "cannot tell": "inconclusive",
}

// class returns the CSS class of a cell, or "" if it is not a verdict.
func class(cell string) string { return classes[cell] }

func inline(f *chart.Figure) (template.HTML, error) {
	svg, err := f.Inline()
	return template.HTML(svg), err // safe: we draw the SVG ourselves, and the canvas escapes its texts
}

// HTML returns the document as one self-contained file without scripts.
func (d *Document) HTML() ([]byte, error) {
	var out bytes.Buffer
	err := pageTemplate.Execute(&out, map[string]any{"Document": d, "Sections": d.complete()})
	return out.Bytes(), err
}
