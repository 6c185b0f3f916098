package yamlfile

import (
	"bytes"
	"fmt"
)

// most is the depth up to which a text is taken: a parser's time grows with the square of the depth, and a megabyte of
// open brackets would hold it for an hour. Files that people write have less than ten.
const most = 500

// checkDepth looks at a text once. What it counts is an upper bound of the depth, for a text in which brackets in
// quotes and comments are few: open brackets, and the indicators of one line, since "- - -" nests as well. Indentation
// needs no bound, since it takes the square of its depth in bytes.
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
