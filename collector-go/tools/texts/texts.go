// Package texts extracts the sentences that a person reads from the sources of the program, the plugin and the page:
// errors, log messages, help, reports, alerts. `make check` runs Vale over them, with the rules of the documentation.
// A sentence in the source is the only place where its file and line are known, so nothing is run to collect them.
package texts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Text is a literal of a source that has at least three words, on the line on which it begins. A value that the program
// puts in is written N.
type Text struct {
	Line int
	Text string
}

var (
	verb       = regexp.MustCompile(`%%|%[-+#0]*(?:\[\d+\])?[\d*]*(?:\.[\d*]+)?[a-zA-Z]|\{\}|\$\{[^}]*\}`)
	template   = regexp.MustCompile(`\{\{.*?\}\}`) // of Go, in alerts: what else or end begins is another sentence
	threeWords = regexp.MustCompile(`\pL{2,}[,;:]? (?:\S+ )*?\pL{2,}[,;:]? (?:\S+ )*?\pL{2,}`)
	// code is no sentence: expressions of PromQL and SQL, command lines, styles.
	code = regexp.MustCompile(`^[a-z_:]+\(|\) by \(|[=!]~?"|\w\(\w|^\s*(?:SELECT|INSERT|storm |bullet-metrics )|[{};]\s*$`)
	tag  = regexp.MustCompile(`(?s:<(?:script|style).*?</(?:script|style)>|<[^>]*>)`)

	// literal is a text of Java or JavaScript, or what must not be taken for one.
	literal = regexp.MustCompile("//[^\n]*|(?s:/\\*.*?\\*/)|\"\"\"(?s:.*?)\"\"\"|" +
		"\"(?:\\\\.|[^\"\\\\\n])*\"|'(?:\\\\.|[^'\\\\\n])*'|`(?:\\\\.|\\$\\{[^}]*\\}|[^`\\\\])*`")
	joined = regexp.MustCompile(`^\s*\+\s*$`)
)

// Of returns the texts of a source, by its file's extension: .go, .java, .js, .mjs or .html.
func Of(file string, source []byte) ([]Text, error) {
	var found []Text
	switch filepath.Ext(file) {
	case ".go":
		files := token.NewFileSet()
		tree, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		found = ofGo(files, tree)
	case ".html":
		found = ofHTML(string(source))
	default:
		found = ofScript(string(source))
	}
	return slices.DeleteFunc(found, func(t Text) bool {
		return !threeWords.MatchString(t.Text) || code.MatchString(t.Text)
	}), nil
}

func ofGo(files *token.FileSet, tree *ast.File) (found []Text) {
	ast.Inspect(tree, func(node ast.Node) bool {
		if _, is := node.(*ast.ImportSpec); is {
			return false
		}
		if field, is := node.(*ast.Field); is && field.Tag != nil {
			field.Tag = nil
		}
		if expression, is := node.(ast.Expr); is {
			if text, ok := constant(expression); ok {
				found = append(found, Text{files.Position(node.Pos()).Line, plain(text)})
				return false
			}
		}
		return true
	})
	return found
}

// constant is the text of a literal, or of literals that are joined.
func constant(expression ast.Expr) (string, bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, is := constant(e.X)
		right, too := constant(e.Y)
		return left + right, is && too && e.Op == token.ADD
	case *ast.ParenExpr:
		return constant(e.X)
	}
	return "", false
}

func ofScript(source string) (found []Text) {
	end := -1 // of the literal before
	for _, at := range literal.FindAllStringIndex(source, -1) {
		text := source[at[0]:at[1]]
		if text[0] == '/' {
			continue
		}
		if unquoted, err := strconv.Unquote(text); err == nil {
			text = unquoted
		} else {
			text = strings.ReplaceAll(strings.Trim(text, "\"'`"), `\n`, "\n")
		}
		if end >= 0 && joined.MatchString(source[end:at[0]]) {
			found[len(found)-1].Text += plain(text)
		} else {
			found = append(found, Text{1 + strings.Count(source[:at[0]], "\n"), plain(text)})
		}
		end = at[1]
	}
	return found
}

func ofHTML(source string) (found []Text) {
	source = tag.ReplaceAllStringFunc(source, func(tag string) string {
		return "\x00" + strings.Repeat("\n", strings.Count(tag, "\n"))
	})
	line := 1
	for _, text := range strings.Split(source, "\x00") {
		before := text[:len(text)-len(strings.TrimLeft(text, " \n"))]
		found = append(found, Text{line + strings.Count(before, "\n"), strings.TrimSpace(text)})
		line += strings.Count(text, "\n")
	}
	return found
}

// plain writes N for each value and % for %%, makes a paragraph of each element of a list, and leaves out the lines of
// examples, which are indented.
func plain(text string) string {
	text = verb.ReplaceAllStringFunc(text, func(verb string) string {
		if verb == "%%" {
			return "%"
		}
		return "N"
	})
	lines := strings.Split(template.ReplaceAllString(text, " "), "\n")
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t"):
			lines[i] = ""
		case strings.HasPrefix(line, "- "):
			lines[i] = "\n" + line[2:]
		}
	}
	return strings.Join(lines, "\n")
}
