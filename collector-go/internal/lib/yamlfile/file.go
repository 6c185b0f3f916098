// Package yamlfile reads YAML that people write. A file is one document of bounded depth, because the parser is
// recursive. Unknown keys are refused with a suggestion of the nearest known name, because an ignored misspelt setting
// is hard to find. Every error has the file and the line.
//
// The package must not know what a file means: callers pass the names and the types. Start with Document and Decode.
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

// Nearest returns the known name with the smallest edit distance, and the first one of several.
func Nearest(name string, known ...string) string {
	return slices.MinFunc(known, func(a, b string) int {
		return levenshtein.ComputeDistance(name, a) - levenshtein.ComputeDistance(name, b)
	})
}
