// Package yamlfile reads YAML that people write. A file is one document of bounded depth, because the parser is
// recursive. Unknown keys are refused with a suggestion of the nearest known name, because an ignored misspelt setting
// is hard to find. Every error has the file and the line.
//
// The package must not know what a file means: callers pass the names and the types. Start with Document and Decode.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	yamlv3 "go.yaml.in/yaml/v3"
)

// Document parses a text and returns its only document, or nil if the text has none. Errors begin with the path.
func Document(path string, text []byte) (ast.Node, error) {
	if err := checkDepth(text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if second, is := errors.AsType[SecondDocument](OneDocument(text)); is {
		return nil, fmt.Errorf("%s:%d: %w", path, second.Line, second)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, FirstLine(err))
	}
	if len(file.Docs) == 0 {
		return nil, nil
	}
	return file.Docs[0].Body, nil
}

// Decode decodes a text into a value, as yaml.Unmarshal does.
func Decode(text []byte, into any, options ...yaml.DecodeOption) error {
	if err := checkDepth(text); err != nil {
		return err
	}
	if second, is := errors.AsType[SecondDocument](OneDocument(text)); is {
		return fmt.Errorf("[%d:1] %w", second.Line, second) // in the library's form of a position
	}
	return yaml.UnmarshalWithOptions(text, into, options...)
}

// FirstLine returns the first line of an error of the YAML library, which is "[line:column] message". The other lines
// show the source.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Entries returns the entries of a mapping. It returns false if the node is not a mapping.
func Entries(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// Key returns an entry's name.
func Key(entry *ast.MappingValueNode) string { return strings.TrimSpace(entry.Key.GetToken().Value) }

// Scalar returns the text of a scalar. It returns false for lists, mappings, aliases, tags and null.
func Scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return strings.TrimSpace(n.Value.Value), true
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode, *ast.AnchorNode, *ast.AliasNode, *ast.TagNode,
		*ast.MergeKeyNode, *ast.NullNode:
		return "", false
	}
	return node.GetToken().Value, true
}

// mostEdits is the largest edit distance at which a name counts as a misspelling of a known one.
const mostEdits = 2

// Meant returns the known name of which name is a misspelling, or "" if there is none.
func Meant(name string, known ...string) string {
	if len(known) > 0 {
		if nearest := Nearest(name, known...); levenshtein.ComputeDistance(name, nearest) <= mostEdits {
			return nearest
		}
	}
	return ""
}

// Nearest returns the known name with the smallest edit distance, and the first one of several.
func Nearest(name string, known ...string) string {
	return slices.MinFunc(known, func(a, b string) int {
		return levenshtein.ComputeDistance(name, a) - levenshtein.ComputeDistance(name, b)
	})
}

// SecondDocument is the error for a file with a second, non-empty YAML document. Line is where it begins. The
// libraries that read rules and http_config files silently ignore all documents except the first, so that the others
// would have no effect.
type SecondDocument struct{ Line int }

func (SecondDocument) Error() string {
	return "more than one YAML document; put the second one into its own file, or remove the line \"---\" before it"
}

// OneDocument returns a SecondDocument if a text has more than one document. It ignores faults in the first document,
// because the reader of the file reports them.
func OneDocument(text []byte) error {
	documents := yamlv3.NewDecoder(bytes.NewReader(text))
	for first := true; ; first = false {
		var node yamlv3.Node
		err := documents.Decode(&node)
		switch {
		case errors.Is(err, io.EOF), err != nil && first:
			return nil
		case err != nil:
			return SecondDocument{separator(text)}
		case !first && len(node.Content) > 0 && node.Content[0].Tag != "!!null":
			return SecondDocument{node.Content[0].Line}
		}
	}
}

// separator returns the line after the last "---" that is not in the first line. It is used because the parser does
// not say where an unreadable document begins.
func separator(text []byte) int {
	last := bytes.LastIndex(text, []byte("\n---"))
	return 2 + bytes.Count(text[:max(last, 0)], []byte("\n"))
}

// most is the maximum nesting depth of a text. The parser's time grows with the square of the depth, and a megabyte of
// open brackets would take an hour. Files that people write have a depth below ten.
const most = 500

// checkDepth estimates the depth in one pass. It counts open brackets, and the indicators in one line, because "- - -"
// nests too. The result is an upper bound if quotes and comments contain few closing brackets. Indentation needs no
// limit, because nesting by indentation takes a number of bytes that grows with the square of the depth.
func checkDepth(text []byte) error {
	open, line := 0, 1
	for rest := text; len(rest) > 0; line++ {
		var this []byte
		this, rest, _ = bytes.Cut(rest, []byte("\n"))
		indicators := bytes.Count(this, []byte("- ")) + bytes.Count(this, []byte("? "))
		for _, c := range this {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(open-1, 0)
			}
			if open+indicators > most {
				return fmt.Errorf("line %d nests deeper than %d levels", line, most)
			}
		}
	}
	return nil
}
