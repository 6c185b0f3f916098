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

// Own is the class of a user's own query without a name.
const Own Class = "own"

// Expectation is the minimum that an answer to a user's own query must contain. The zero value expects nothing, so
// completeness is not checked.
type Expectation struct {
	// Records is the minimum number of records.
	Records int
	// Fields are names of fields that each record must have, with a value other than null; "a.b" is field b in a.
	Fields []string
}

// Validate returns an error that names an invalid value.
func (e Expectation) Validate() error {
	switch {
	case e.Records < 0:
		return fmt.Errorf("the number of expected records must not be negative, not %d", e.Records)
	case slices.Contains(e.Fields, ""):
		return errors.New("an expected field must have a name")
	}
	return nil
}

// met compares an answer's records with the expectation. Expected is the expected number of records. If fields are
// expected, it is at least the number of records that came.
func (e Expectation) met(answer Answer) (Check, error) {
	check := Check{Records: len(answer.Records), Expected: e.Records}
	if len(e.Fields) > 0 {
		check.Expected = max(e.Records, len(answer.Records))
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
	check.Missing = max(0, check.Expected-good)
	return check, nil
}

// has reports whether a record has a field, by its whole name or by following its dots.
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

// TextQuery is a user's own BQL. The number of records that match it is unknown.
type TextQuery struct {
	// Of is the class under which its outcomes are reported.
	Of Class
	// Text is the BQL; Duration is the longest time that it lives in the topology.
	Text     string
	Duration time.Duration
	// Expect is what its answers are checked against.
	Expect Expectation
}

// Class implements Query.
func (q TextQuery) Class() Class { return q.Of }

// BQL implements Query. The text is the same for every probe.
func (q TextQuery) BQL(string) string { return q.Text }

// Life implements Query.
func (q TextQuery) Life() time.Duration { return q.Duration }

// ProbeRate implements Query. It returns 0, because no records are made for the query.
func (TextQuery) ProbeRate() float64 { return 0 }

// Check implements Query. It counts the records and compares them with the expectation. A record without an expected
// field counts as foreign and not as an expected one.
func (q TextQuery) Check(answer Answer, _ string, _, _ time.Time) (Check, error) {
	return q.Expect.met(answer)
}

// Validate returns an error that names an invalid field.
func (q TextQuery) Validate() error {
	if strings.TrimSpace(q.Text) == "" {
		return errors.New("the text of a query is empty")
	}
	return errors.Join(q.Expect.Validate(), validate(q.Duration, 0))
}

// stream matches the duration of a query in BQL, in ms.
var stream = regexp.MustCompile(`(?i)\bSTREAM\s*\(\s*([0-9]{1,12})\s*,\s*TIME\b`)

// LifeOf returns the duration that a query's text states, or otherwise if it states none.
func LifeOf(bql string, otherwise time.Duration) time.Duration {
	found := stream.FindStringSubmatch(bql)
	if found == nil {
		return otherwise
	}
	ms, _ := strconv.ParseInt(found[1], 10, 64) // at most 12 digits, so it cannot fail
	return time.Duration(ms) * time.Millisecond
}
