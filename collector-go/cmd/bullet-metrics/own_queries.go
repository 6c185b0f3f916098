package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
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

// queries are the queries of the flags. otherwise is the duration of a query whose text has none.
func (o *ownQueries) queries(otherwise time.Duration) ([]load.TextQuery, error) {
	return load.ParseOwn(o.texts, o.records, o.fields, otherwise)
}
