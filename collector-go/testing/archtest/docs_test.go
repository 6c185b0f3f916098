package archtest

import (
	"bytes"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// document is a page of the repository: what it links to, and the anchors of its headings.
type document struct {
	links   []string
	anchors map[string]bool
}

// notPages are directories whose pages are not ours, or not for readers; "pages" are the runbooks of the binary, which
// are those of docs/runbooks.
var notPages = map[string]bool{".git": true, "build": true, "dist": true, "out": true, "node_modules": true,
	"target": true, "testdata": true, "vendor": true, "pages": true}

// documents are all pages below the repository's root, by their path from there.
func documents(t *testing.T, root string) map[string]*document {
	found := map[string]*document{}
	require.NoError(t, filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && notPages[entry.Name()]:
			return filepath.SkipDir
		case filepath.Ext(file) != ".md":
			return nil
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		found[name] = read(source)
		return err
	}))
	return found
}

// read parses a page. An anchor is what GitHub makes of a heading: lower case, a hyphen for a space, punctuation left
// out.
func read(source []byte) *document {
	page := &document{anchors: map[string]bool{}}
	tree := goldmark.New(goldmark.WithExtensions(extension.Table)).
		Parser().Parse(text.NewReader(source))
	_ = ast.Walk(tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Link:
			page.links = append(page.links, string(node.Destination))
		case *ast.Image:
			page.links = append(page.links, string(node.Destination))
		case *ast.Heading:
			page.anchors[anchor(words(node, source))] = true
		}
		return ast.WalkContinue, nil
	})
	return page
}

func words(node ast.Node, source []byte) string {
	var b bytes.Buffer
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if part, is := n.(*ast.Text); is && entering {
			b.Write(part.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r > 127 || '0' <= r && r <= '9' || 'a' <= r && r <= 'z':
			return r
		}
		return -1
	}, strings.ToLower(heading))
}

// Every link of a page leads to something, in the repository: a file, a directory, a heading.
func TestLinksLeadSomewhere(t *testing.T) {
	const root = "../../.."
	pages := documents(t, root)
	require.Contains(t, pages, "README.md")
	git := exec.Command("git", "-C", root, "ls-files", "--others", "--exclude-standard")
	listed, _ := git.Output() // nothing where this is no clone
	untracked := strings.Split(string(listed), "\n")
	checked := 0
	for name, page := range pages {
		for _, link := range page.links {
			target, err := url.Parse(link)
			if assert.NoError(t, err, "%s: %s", name, link); err != nil || target.Scheme != "" {
				continue
			}
			checked++
			to := name
			if target.Path != "" {
				to = filepath.Join(filepath.Dir(name), target.Path)
			}
			_, err = os.Stat(filepath.Join(root, to))
			assert.NoError(t, err, "%s links to %s", name, link)
			assert.NotContains(t, untracked, to, "%s links to it, and git does not track it", name)
			if linked := pages[to]; linked != nil && target.Fragment != "" {
				assert.True(t, linked.anchors[target.Fragment], "%s links to %s, but %s has no such heading",
					name, link, to)
			}
		}
	}
	assert.Greater(t, checked, 100, "the pages have links")
}

// Every page of docs/ can be reached by links from the README.
func TestEveryPageIsReached(t *testing.T) {
	pages := documents(t, "../../..")
	reached := map[string]bool{}
	var follow func(name string)
	follow = func(name string) {
		if reached[name] || pages[name] == nil {
			return
		}
		reached[name] = true
		for _, link := range pages[name].links {
			if target, err := url.Parse(link); err == nil && target.Scheme == "" && target.Path != "" {
				to := filepath.Join(filepath.Dir(name), target.Path)
				follow(to)
				follow(filepath.Join(to, "README.md"))
			}
		}
	}
	follow("README.md")
	for name := range pages {
		if strings.HasPrefix(name, "docs/") {
			assert.True(t, reached[name], "no link leads from README.md to %s", name)
		}
	}
}
