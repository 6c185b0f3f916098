// Package nesting bounds how deep a text of YAML may nest, before a parser that recurses over it sees it: the parser's time grows with the
// square of the depth, and a megabyte of open brackets would hold it for an hour. It knows nothing of what a text means.
package nesting

import (
	"bytes"
	"fmt"
)

// Most is the depth up to which a text is taken. Files that people write have less than ten.
const Most = 500

// Check looks at a text once. What it counts is an upper bound of the depth, for a text in which brackets in quotes and comments are few:
// open brackets, and the indicators of one line, since "- - -" nests as well. Indentation needs no bound, since it takes the square of its
// depth in bytes.
func Check(text []byte) error {
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
			if open+indicators > Most {
				return fmt.Errorf("line %d nests deeper than %d levels", line, Most)
			}
		}
	}
	return nil
}
