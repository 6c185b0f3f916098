package load

import (
	"fmt"
	"strconv"
	"strings"
)

// Part is the share of a run's queries that one of several clients submits. With N parts, part K has queries K-1,
// K-1+N, K-1+2N, and so on of an open loop, and the slots with these numbers of a ClosedLoop. Together the parts
// submit each query exactly once, without any communication between the clients. The zero value is the whole.
type Part struct {
	Number int `json:"number"` // from 1 on
	Of     int `json:"of"`
}

// maxParts is the number of probes, because each part needs at least one.
const maxParts = maxProbes

// ParsePart parses a part such as "2/5".
func ParsePart(text string) (_ Part, err error) {
	number, of, _ := strings.Cut(text, "/")
	var p Part
	if p.Number, err = strconv.Atoi(number); err == nil {
		p.Of, err = strconv.Atoi(of)
	}
	if err != nil || p.Number < 1 || p.Number > p.Of || p.Of > maxParts {
		return Part{}, fmt.Errorf("%[2]q: use K/N with N up to %[1]d, for example 2/5 for the second of five", maxParts,
			text)
	}
	return p, nil
}

func (p Part) String() string { return fmt.Sprintf("%d/%d", max(1, p.Number), p.parts()) }

// Whole reports whether this is the only part.
func (p Part) Whole() bool { return p.Of <= 1 }

// Share returns how many of n items belong to the part.
func (p Part) Share(n int) int { return (n + p.parts() - 1 - p.first()) / p.parts() }

// query returns the number within the run of the part's query i.
func (p Part) query(i int) int { return p.first() + i*p.parts() }

// has reports whether query or slot k belongs to the part.
func (p Part) has(k int) bool { return k%p.parts() == p.first() }

func (p Part) parts() int { return max(1, p.Of) }
func (p Part) first() int { return max(0, p.Number-1) }
