package load

import (
	"errors"
	"strings"
	"time"
)

// TextQuery is somebody's own BQL, about records of which nobody here knows how many match it.
type TextQuery struct {
	// Of is the class that its outcomes are told under.
	Of Class
	// Text is the BQL; Duration the longest that it lives in the topology.
	Text     string
	Duration time.Duration
}

// Class implements Query.
func (q TextQuery) Class() Class { return q.Of }

// BQL implements Query: it is the same for every probe.
func (q TextQuery) BQL(string) string { return q.Text }

// Life implements Query.
func (q TextQuery) Life() time.Duration { return q.Duration }

// ProbeRate implements Query: nothing is made for it.
func (TextQuery) ProbeRate() float64 { return 0 }

// Check implements Query: it counts the records, and nothing is due.
func (TextQuery) Check(answer Answer, _ string, _, _ time.Time) (Check, error) {
	return Check{Records: len(answer.Records)}, nil
}

// Validate tells which field makes no sense.
func (q TextQuery) Validate() error {
	if strings.TrimSpace(q.Text) == "" {
		return errors.New("a query must have a text")
	}
	return validate(q.Duration, 0)
}
