// Package goal judges what was measured: limits, medians, the table of goals, and the file that keeps all of it. It is
// pure but for that file; it starts nothing and measures nothing.
package goal

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limit is what a figure is held against: a number, or a multiple of what a peer has.
type Limit struct {
	AtLeast bool
	Number  float64
	OfPeer  bool
}

// AtLeast and AtMost are limits that are numbers, TimesPeer and OfPeer such as are multiples of the peer's figure, at
// least and at most.
func AtLeast(n float64) Limit   { return Limit{AtLeast: true, Number: n} }
func AtMost(n float64) Limit    { return Limit{Number: n} }
func TimesPeer(n float64) Limit { return Limit{AtLeast: true, Number: n, OfPeer: true} }
func OfPeer(n float64) Limit    { return Limit{Number: n, OfPeer: true} }

// String is "<= 0.8 x peer", or ">= 1000000".
func (l Limit) String() string {
	text := "<= "
	if l.AtLeast {
		text = ">= "
	}
	text += strconv.FormatFloat(l.Number, 'f', -1, 64)
	if l.OfPeer {
		text += " x peer"
	}
	return text
}

// ParseLimit reads what String writes.
func ParseLimit(text string) (l Limit, err error) {
	rest, atLeast := strings.CutPrefix(text, ">= ")
	if !atLeast {
		var atMost bool
		if rest, atMost = strings.CutPrefix(text, "<= "); !atMost {
			return l, fmt.Errorf("%q is no limit", text)
		}
	}
	l.AtLeast = atLeast
	rest, l.OfPeer = strings.CutSuffix(rest, " x peer")
	if l.Number, err = strconv.ParseFloat(rest, 64); err != nil {
		return l, fmt.Errorf("%q is no limit: %w", text, err)
	}
	return l, nil
}

// Margin is how far a limit is held, as a ratio: 1 and more where it is. It follows from the limit, ours and the peer's
// figure alone; what is missing is NaN and holds no limit.
func (l Limit) Margin(ours, peer float64) float64 {
	bound := l.Number
	if l.OfPeer {
		bound *= peer
	}
	margin := bound / ours
	if l.AtLeast {
		margin = ours / bound
	}
	if math.IsNaN(margin) {
		return 0
	}
	return margin
}

// Met reports whether a limit is held.
func (l Limit) Met(ours, peer float64) bool { return l.Margin(ours, peer) >= 1 }
