package load

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
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

// named matches a text after a name.
var named = regexp.MustCompile(`^([a-z][a-z0-9_]{0,40})=((?s:.*))$`)

// nameOf splits a text into its name, or "", and the rest.
func nameOf(text string) (name, rest string) {
	if found := named.FindStringSubmatch(text); found != nil {
		return found[1], found[2]
	}
	return "", text
}

// ParseOwn reads a user's own queries from the values of --query (BQL or @FILE), --expect-records and --expect-field,
// each with an optional NAME= before it. otherwise is the duration of a query whose text has none.
func ParseOwn(texts, records, fields []string, otherwise time.Duration) (all []TextQuery, err error) {
	index := map[string]int{}
	for _, text := range texts {
		name, bql := nameOf(text)
		if path, is := strings.CutPrefix(bql, "@"); is {
			read, err := textfile.Read(path, textfile.Most)
			if err != nil {
				return nil, fmt.Errorf("--query: %w", err)
			}
			bql = string(read)
		}
		name = cmp.Or(name, string(Own))
		if _, twice := index[name]; twice {
			return nil, fmt.Errorf("--query: two queries have the name %s; give them names, as in NAME=BQL", name)
		}
		index[name] = len(all)
		all = append(all, TextQuery{Of: Class(name), Text: strings.TrimSpace(bql), Duration: LifeOf(bql, otherwise)})
	}
	for flag, values := range map[string][]string{"--expect-records": records, "--expect-field": fields} {
		for _, value := range values {
			if err := expect(all, index, flag, value); err != nil {
				return nil, fmt.Errorf("%s %q: %w", flag, value, err)
			}
		}
	}
	return all, nil
}

// expect adds an expectation to the query with its name, or to all queries.
func expect(all []TextQuery, index map[string]int, flag, value string) error {
	name, what := nameOf(value)
	of := all
	if name != "" {
		i, known := index[name]
		if !known {
			return fmt.Errorf("no --query has the name %s", name)
		}
		of = all[i : i+1]
	}
	if len(of) == 0 {
		return errors.New("there is no --query whose answers it could check; add one")
	}
	for i := range of {
		if flag == "--expect-field" {
			of[i].Expect.Fields = append(of[i].Expect.Fields, what)
			continue
		}
		n, err := strconv.Atoi(what)
		if err != nil {
			return errors.New("not a whole number")
		}
		of[i].Expect.Records = n
	}
	return nil
}
