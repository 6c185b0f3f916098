// Package runbook serves the runbooks of docs/runbooks: what each alert means, how to check it, and what to do. They
// are embedded in the program, so that the link in a notification works even if nobody has the repository at hand.
// They are served as Markdown and as HTML pages.
//
// The package does not know which alerts exist. The tests of package alertrules compare the alerts with docs/runbooks.
package runbook

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

//go:embed pages/*.md
var pages embed.FS

// index is the name of the page that lists the others.
const index = "README"

// Names returns the names of all pages except the index, sorted.
func Names() (all []string) {
	entries, err := pages.ReadDir("pages")
	if err != nil {
		panic(err) // cannot happen: the pages are embedded
	}
	for _, entry := range entries {
		if name := strings.TrimSuffix(entry.Name(), ".md"); name != index {
			all = append(all, name)
		}
	}
	return all
}

// Text returns a page as Markdown. ok is false if there is no page with this name.
func Text(name string) (markdown string, ok bool) {
	if strings.ContainsAny(name, "/\\") {
		return "", false
	}
	found, err := pages.ReadFile("pages/" + name + ".md")
	return string(found), err == nil
}

// Index returns the page that lists the others, as Markdown.
func Index() string {
	markdown, _ := Text(index)
	return markdown
}

// documents is the URL of the runbooks in the repository. Links to files that are not embedded are resolved relative
// to it.
const documents = "https://github.com/bullet-metrics/bullet-metrics/blob/main/docs/runbooks/"

// relinked rewrites the links of a page. Links to other runbooks become links within this handler, and all other
// relative links lead to the repository.
type relinked struct{}

// Transform implements parser.ASTTransformer.
func (relinked) Transform(document *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, is := node.(*ast.Link); is && entering {
			link.Destination = []byte(destination(string(link.Destination)))
		}
		return ast.WalkContinue, nil
	})
}

func destination(link string) string {
	file, anchor, _ := strings.Cut(link, "#")
	if anchor != "" {
		anchor = "#" + anchor
	}
	name, isPage := strings.CutSuffix(file, ".md")
	_, known := Text(name)
	switch {
	case file == "" || strings.Contains(link, "://"):
		return link
	case isPage && name == index:
		return "./" + anchor
	case isPage && known:
		return name + anchor
	}
	host, below, _ := strings.Cut(strings.TrimPrefix(documents, "https://"), "/")
	return "https://" + host + path.Join("/", below, file) + anchor
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID(),
		parser.WithASTTransformers(util.Prioritized(relinked{}, 100))))

var page = template.Must(template.New("runbook").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<link rel="stylesheet" href="runbook.css">
</head>
<body>
<nav><a href="../../">Collector</a> <a href="./">Runbooks</a></nav>
<main>
{{.Body}}
</main>
</body>
</html>
`))

// style is the CSS of these pages. It makes them readable on a phone at night.
const style = `:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 52rem; padding: 1rem; }
nav a { margin-right: 1rem; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid GrayText; border-radius: 4px; }
code { font-size: .9em; overflow-wrap: anywhere; }
pre code { overflow-wrap: normal; }
main { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { border: 1px solid GrayText; padding: .4rem .6rem; text-align: left; vertical-align: top; }
`

// Handler serves the index at "/", a page at "/NAME", and their CSS.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "runbook.css" {
			w.Header().Set("Content-Type", "text/css; charset=utf-8")
			fmt.Fprint(w, style)
			return
		}
		name = strings.TrimSuffix(name, ".md")
		name = cmp.Or(name, index)
		source, ok := Text(name)
		if !ok {
			http.Error(w, fmt.Sprintf("there is no runbook %.80q", name), http.StatusNotFound)
			return
		}
		rendered, err := html(source)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'")
		_, _ = w.Write(rendered)
	})
}

// html renders a page from Markdown. The title is the first heading of the text.
func html(source string) ([]byte, error) {
	var body, document bytes.Buffer
	if err := markdown.Convert([]byte(source), &body); err != nil {
		return nil, err
	}
	title, _, _ := strings.Cut(strings.TrimPrefix(source, "# "), "\n")
	err := page.Execute(&document, struct {
		Title string
		Body  template.HTML
	}{title, template.HTML(body.String())}) // goldmark omits raw HTML
	return document.Bytes(), err
}
