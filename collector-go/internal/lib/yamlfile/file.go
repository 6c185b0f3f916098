// Package yamlfile reads the YAML that people write. A file is one document of bounded depth, because the parser
// recurses. Unknown keys are refused with the nearest known name, since a misspelled setting that is ignored is the
// hardest to find. Every error has the file and the line.
//
// It must not know what a file means: callers pass the names and the types. Start with Document and Decode.
package yamlfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Document parses a text and returns its only document; nil if the text has none. Errors begin with the path.
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

// Decode reads a text into a value, as yaml.Unmarshal does.
func Decode(text []byte, into any, options ...yaml.DecodeOption) error {
	if err := checkDepth(text); err != nil {
		return err
	}
	if second, is := errors.AsType[SecondDocument](OneDocument(text)); is {
		return fmt.Errorf("[%d:1] %w", second.Line, second) // as the library writes a place
	}
	return yaml.UnmarshalWithOptions(text, into, options...)
}

// FirstLine of an error of the YAML library is "[line:column] what"; the rest draws the source.
func FirstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// Entries are the lines of a mapping.
func Entries(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// Key is an entry's name.
func Key(entry *ast.MappingValueNode) string { return strings.TrimSpace(entry.Key.GetToken().Value) }

// Scalar is the text of a value that is one, and neither several nor a reference to another.
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

// Nearest is the known name with the fewest edits, the first of several.
func Nearest(name string, known ...string) string {
	return slices.MinFunc(known, func(a, b string) int {
		return levenshtein.ComputeDistance(name, a) - levenshtein.ComputeDistance(name, b)
	})
}
