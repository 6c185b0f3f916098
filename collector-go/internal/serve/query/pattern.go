package query

import (
	"strings"

	"github.com/prometheus/prometheus/util/strutil"
)

// maxPatterns bounds what compiling the patterns of one text may cost: an alternative for each of thousands of workers
// fits, and the dearest that does takes a few tenths of a second.
const maxPatterns = 1 << 18

// What parts of a pattern cost, in units of a plain character: a wildcard has every character before and after it
// looked at again, and a class of Unicode is hundreds of ranges.
const (
	costOfRepetition = 32
	costOfClass      = 1000
	maxRepeat        = 1000 // regexp refuses more
)

// patternCost estimates what a string costs if it is a pattern. It is an upper bound of what compiling it makes:
// whatever is repeated is taken to be all of it.
func patternCost(quoted string) int {
	text, err := strutil.Unquote(quoted)
	if err != nil {
		return 0 // nor does the parser take it
	}
	cost, repeat := len(text), 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*', '+', '?':
			cost += costOfRepetition
		case '{', ',':
			repeat = max(repeat, number(text[i+1:]))
		case '\\':
			if rest := text[i+1:]; strings.HasPrefix(rest, "p") || strings.HasPrefix(rest, "P") {
				cost += costOfClass
			}
		}
	}
	return cost * repeat
}

// number reads the digits that text begins with; at most maxRepeat.
func number(text string) (n int) {
	for i := 0; i < len(text) && text[i] >= '0' && text[i] <= '9' && n < maxRepeat; i++ {
		n = n*10 + int(text[i]-'0')
	}
	return min(n, maxRepeat)
}
