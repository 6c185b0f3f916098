package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Own is the class of somebody's own query that nobody gave a name.
const Own Class = "own"

// Expectation is what an answer to somebody's own query must have at least. The zero value expects nothing, and judges
// nothing.
type Expectation struct {
	// Records is how many records.
	Records int
	// Fields are names that each record must have, with a value other than null; "a.b" is b in a.
	Fields []string
}

// Validate returns an error that names what makes no sense.
func (e Expectation) Validate() error {
	switch {
	case e.Records < 0:
		return fmt.Errorf("at least 0 records can be expected, not %d", e.Records)
	case slices.Contains(e.Fields, ""):
		return errors.New("a field that is expected must have a name")
	}
	return nil
}

// met compares an answer's records with the expectation: due are as many as are expected, or all that came where only
// fields are.
func (e Expectation) met(answer Answer) (Check, error) {
	check := Check{Records: len(answer.Records), Due: e.Records}
	if len(e.Fields) > 0 {
		check.Due = max(e.Records, len(answer.Records))
	}
	good := 0
	for i, text := range answer.Records {
		var record any
		if err := json.Unmarshal(text, &record); err != nil {
			return Check{}, fmt.Errorf("record %d of the answer, %.200s: %w", i+1, text, err)
		}
		if slices.ContainsFunc(e.Fields, func(name string) bool { return !has(record, name) }) {
			check.Foreign++
			continue
		}
		good++
	}
	check.Missing = max(0, check.Due-good)
	return check, nil
}

// has reports whether a record has a field, by its whole name or part by part.
func has(record any, name string) bool {
	fields, is := record.(map[string]any)
	if !is {
		return false
	}
	if value, there := fields[name]; there {
		return value != nil
	}
	before, after, nested := strings.Cut(name, ".")
	return nested && has(fields[before], after)
}

// TextQuery is somebody's own BQL, about records of which nobody here knows how many match it.
type TextQuery struct {
	// Of is the class that its outcomes are reported under.
	Of Class
	// Text is the BQL; Duration the longest that it lives in the topology.
	Text     string
	Duration time.Duration
	// Expect is what its answers are judged by.
	Expect Expectation
}

// Class implements Query.
func (q TextQuery) Class() Class { return q.Of }

// BQL implements Query: it is the same for every probe.
func (q TextQuery) BQL(string) string { return q.Text }

// Life implements Query.
func (q TextQuery) Life() time.Duration { return q.Duration }

// ProbeRate implements Query: nothing is made for it.
func (TextQuery) ProbeRate() float64 { return 0 }

// Check implements Query: it counts the records, and judges them by what is expected. A record without a field that is
// expected counts as foreign, and as none of those that are due.
func (q TextQuery) Check(answer Answer, _ string, _, _ time.Time) (Check, error) {
	return q.Expect.met(answer)
}

// Validate reports which field makes no sense.
func (q TextQuery) Validate() error {
	if strings.TrimSpace(q.Text) == "" {
		return errors.New("a query must have a text")
	}
	return errors.Join(q.Expect.Validate(), validate(q.Duration, 0))
}

// stream is where BQL states how long a query lives, ms.
var stream = regexp.MustCompile(`(?i)\bSTREAM\s*\(\s*([0-9]{1,12})\s*,\s*TIME\b`)

// LifeOf is how long a text states that its query lives; otherwise where it does not.
func LifeOf(bql string, otherwise time.Duration) time.Duration {
	found := stream.FindStringSubmatch(bql)
	if found == nil {
		return otherwise
	}
	ms, _ := strconv.ParseInt(found[1], 10, 64) // digits, and few enough
	return time.Duration(ms) * time.Millisecond
}
