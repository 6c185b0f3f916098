package query

import (
	"strings"

	"github.com/prometheus/prometheus/util/strutil"
)

// maxPatterns bounds the cost of compiling the regular expressions of one text. It allows an alternation of thousands
// of workers. The most expensive allowed text takes a few tenths of a second.
const maxPatterns = 1 << 18

// The costs of parts of a regular expression, in units of a plain character. A repetition multiplies the work per
// character, and a Unicode class consists of hundreds of ranges.
const (
	costOfRepetition = 32
	costOfClass      = 1000
	maxRepeat        = 1000 // the regexp package refuses more
)

// patternCost estimates the cost of a string in case it is a regular expression. The estimate is an upper bound of the
// size of the compiled program, because the largest repetition count is applied to the whole string.
func patternCost(quoted string) int {
	text, err := strutil.Unquote(quoted)
	if err != nil {
		return 0 // the parser refuses it too
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

// number returns the number with which text begins, at most maxRepeat.
func number(text string) (n int) {
	for i := 0; i < len(text) && text[i] >= '0' && text[i] <= '9' && n < maxRepeat; i++ {
		n = n*10 + int(text[i]-'0')
	}
	return min(n, maxRepeat)
}
