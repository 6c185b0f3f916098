package yamlfile

import (
	"bytes"
	"fmt"
)

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
