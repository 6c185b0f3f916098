package catalog

import "strings"

// pattern is a name with placeholders: "{label}" matches any text that is not empty. A placeholder matches the shortest
// text that lets the rest match; the last one matches all that is left. It is simpler than a regular expression and
// much faster. That matters because every new name is compared with all patterns.
type pattern struct {
	literals []string // one more than labels
	labels   []string
}

func parsePattern(text string) pattern {
	var p pattern
	for {
		before, rest, found := strings.Cut(text, "{")
		p.literals = append(p.literals, before)
		if !found {
			return p
		}
		label, after, _ := strings.Cut(rest, "}")
		p.labels = append(p.labels, label)
		text = after
	}
}

// match returns the texts that the placeholders matched, in the order of the pattern. It returns false if the text does
// not match. The results are substrings of the text, not copies.
func (p pattern) match(text string) ([]string, bool) {
	if len(p.labels) == 0 {
		return nil, text == p.literals[0]
	}
	text, ok := strings.CutPrefix(text, p.literals[0])
	if !ok {
		return nil, false
	}
	last := len(p.labels) - 1
	text, ok = strings.CutSuffix(text, p.literals[last+1])
	if !ok {
		return nil, false
	}
	values := make([]string, 0, len(p.labels))
	for _, literal := range p.literals[1 : last+1] {
		at := strings.Index(text, literal)
		if at <= 0 {
			return nil, false
		}
		values = append(values, text[:at])
		text = text[at+len(literal):]
	}
	return append(values, text), text != ""
}

// plain reports whether a pattern matches only the empty text. A row with a plain key is for a number, not for a map.
func (p pattern) plain() bool { return len(p.labels) == 0 && p.literals[0] == "" }
