package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// ownQueries are the flags by which somebody's own BQL is asked, and what its answers must have.
type ownQueries struct {
	texts   []string // BQL, or NAME=BQL
	records []string // N, or NAME=N
	fields  []string // FIELD, or NAME=FIELD
}

func (o *ownQueries) addFlags(flags *pflag.FlagSet, instead string) {
	flags.StringArrayVar(&o.texts, "query", nil, "your own BQL, or @FILE with BQL; "+instead)
	flags.StringArrayVar(&o.records, "expect-records", nil,
		"minimum number of records in each answer to --query; missing records lower its completeness")
	flags.StringArrayVar(&o.fields, "expect-field", nil,
		"field that must have a value in each record of an answer to --query; a.b is field b of a; may be repeated")
}

// named is a text before which a name may stand.
var named = regexp.MustCompile(`^([a-z][a-z0-9_]{0,40})=((?s:.*))$`)

// nameOf takes the name off a text; "" where there is none.
func nameOf(text string) (name, rest string) {
	if found := named.FindStringSubmatch(text); found != nil {
		return found[1], found[2]
	}
	return "", text
}

// queries are what the flags name. Where BQL does not say how long it lives, otherwise holds.
func (o *ownQueries) queries(otherwise time.Duration) (all []load.TextQuery, err error) {
	index := map[string]int{}
	for _, text := range o.texts {
		name, bql := nameOf(text)
		if path, is := strings.CutPrefix(bql, "@"); is {
			read, err := textfile.Read(path, textfile.Most)
			if err != nil {
				return nil, fmt.Errorf("--query: %w", err)
			}
			bql = string(read)
		}
		if name == "" {
			name = string(load.Own)
		}
		if _, twice := index[name]; twice {
			return nil, fmt.Errorf("--query: two are named %s; write NAME=BQL", name)
		}
		index[name] = len(all)
		all = append(all, load.TextQuery{Of: load.Class(name), Text: strings.TrimSpace(bql),
			Duration: load.LifeOf(bql, otherwise)})
	}
	for flag, values := range map[string][]string{"--expect-records": o.records, "--expect-field": o.fields} {
		for _, value := range values {
			if err := expect(all, index, flag, value); err != nil {
				return nil, fmt.Errorf("%s %q: %w", flag, value, err)
			}
		}
	}
	return all, nil
}

// expect adds an expectation to the query of its name, or to all.
func expect(all []load.TextQuery, index map[string]int, flag, value string) error {
	name, what := nameOf(value)
	of := all
	if name != "" {
		i, known := index[name]
		if !known {
			return fmt.Errorf("no --query is named %s", name)
		}
		of = all[i : i+1]
	}
	if len(of) == 0 {
		return errors.New("it is about the answers to --query: write the query too")
	}
	for i := range of {
		if flag == "--expect-field" {
			of[i].Expect.Fields = append(of[i].Expect.Fields, what)
			continue
		}
		n, err := strconv.Atoi(what)
		if err != nil {
			return errors.New("it is no whole number")
		}
		of[i].Expect.Records = n
	}
	return nil
}
