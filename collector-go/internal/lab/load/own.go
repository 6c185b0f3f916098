package load

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

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
