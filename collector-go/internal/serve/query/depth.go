package query

import (
	"strings"

	"github.com/prometheus/prometheus/util/strutil"
)

// cost is the measured size of one or several texts.
type cost struct {
	length   int
	depth    int // the maximum over the texts
	patterns int // see patternCost
}

// check measures texts in one pass, without recursion, and returns an error if they exceed a limit. The measured depth
// is an upper bound of the depth of the expression. Each open bracket counts one. Each operator in it since its last
// comma also counts one, because operators of the same level can be nested (1+1+1, --1, x[1m:][1m:]).
func (l textLimits) check(texts ...string) (c cost, err error) {
	for _, text := range texts {
		c.length += len(text)
		if c.length > l.length {
			return c, &TextError{What: "bytes long", Limit: l.length, Setting: "query.max_length"}
		}
		d := depth{levels: []level{{}}}
		for at := 0; at < len(text); {
			at = d.token(text, at)
			if c.depth = max(c.depth, d.found()); c.depth > l.depth {
				return c, &TextError{What: "levels deep", Limit: l.depth, Setting: "query.max_depth"}
			}
			if c.patterns+d.patterns > maxPatterns {
				return c, errPatterns
			}
		}
		c.patterns += d.patterns
	}
	return c, nil
}

// level is the state of an open bracket. The first level of a text has no bracket.
type level struct {
	operators int  // since the last comma
	within    int  // the depth of the deepest bracket that was closed since the last comma
	before    int  // the depth of the deepest part before the last comma
	braces    bool // in braces, = and the like separate a label from its value and do not count
}

// height returns an upper bound of the depth inside this level so far.
func (l *level) height() int { return max(l.before, l.operators+l.within) }

type depth struct {
	levels   []level
	around   int // the depth at which the last level is nested in the others
	patterns int
}

func (d *depth) found() int { return d.around + d.levels[len(d.levels)-1].height() }

// token processes the token at text[at] and returns the index of the next one.
func (d *depth) token(text string, at int) int {
	c := text[at]
	top := &d.levels[len(d.levels)-1]
	switch {
	case c == '"' || c == '\'' || c == '`':
		end := afterString(text, at)
		d.patterns += patternCost(text[at:end])
		return end
	case c == '#':
		return afterComment(text, at)
	case c == '(' || c == '[' || c == '{':
		d.around += 1 + top.operators
		d.levels = append(d.levels, level{braces: c == '{'})
	case c == ')' || c == ']' || c == '}':
		d.close(c == ']')
	case c == ',':
		top.before, top.operators, top.within = top.height(), 0, 0
	case isWord(c):
		return d.word(text, at)
	case !top.braces && strings.IndexByte("+-*/%^", c) >= 0:
		d.operator()
	case !top.braces && strings.IndexByte("=!<>~", c) >= 0:
		d.operator()
		for at+1 < len(text) && strings.IndexByte("=~", text[at+1]) >= 0 {
			at++
		}
	}
	return at + 1
}

func (d *depth) operator() {
	d.levels[len(d.levels)-1].operators++
}

// close ends a level. A range or subquery bracket applies to the expression before it, so that it also counts as an
// operator.
func (d *depth) close(isRange bool) {
	if last := len(d.levels) - 1; last > 0 {
		height := 1 + d.levels[last].height()
		d.levels = d.levels[:last]
		top := &d.levels[last-1]
		top.within = max(top.within, height)
		d.around -= 1 + top.operators
	}
	if isRange {
		d.operator()
	}
}

func (d *depth) word(text string, at int) int {
	end := at + 1
	for end < len(text) && isWord(text[end]) {
		end++
	}
	if end-at <= len("unless") {
		switch strings.ToLower(text[at:end]) {
		case "and", "or", "unless", "atan2":
			d.operator()
		}
	}
	return end
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == ':'
}

// afterString returns the index after the quoted string at text[at]. An unclosed string ends with its line, because
// the parser stops there.
func afterString(text string, at int) int {
	quote := text[at]
	for at++; at < len(text); at++ {
		switch {
		case text[at] == quote:
			return at + 1
		case quote == '`':
		case text[at] == '\n':
			return at
		case text[at] == '\\':
			at++
		}
	}
	return len(text)
}

func afterComment(text string, at int) int {
	if line := strings.IndexAny(text[at:], "\r\n"); line >= 0 {
		return at + line
	}
	return len(text)
}

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
