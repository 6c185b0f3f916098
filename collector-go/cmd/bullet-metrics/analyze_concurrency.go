package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/input"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

var concurrencyAnalysis = analysis{
	name: "concurrency", short: "Calculate the completeness of each step, the capacity, and the cost of a query",
	example: "--input steps.csv --expected 10 --tolerance 0.01",
	columns: "simultaneous_queries, average_cpu_ms_per_minute, average_result_size; optional: workers, total_cpu_ms_per_minute, average_gc_ms_per_minute, verdict",
	prepare: prepareConcurrency,
}

func prepareConcurrency(flags *pflag.FlagSet) (func() error, analyze) {
	goals, confidence := tuning.DefaultGoals(), addConfidence(flags)
	flags.Float64Var(&goals.ExpectedResultSize, "expected", goals.ExpectedResultSize,
		"records in the answer to a query if none is lost")
	flags.Float64Var(&goals.Tolerance, "tolerance", goals.Tolerance,
		"share of these records that may be missing on average, as a ratio")
	check := func() error { return errors.Join(goals.Validate(), tuning.CheckConfidence(*confidence)) }
	return check, func(path string) (any, *document.Document, error) {
		table, own, err := input.Concurrency(path)
		if err != nil {
			return nil, nil, err
		}
		if own != nil && !flags.Changed("expected") {
			goals.ExpectedResultSize = own.ExpectedResultSize
		}
		if own != nil && !flags.Changed("tolerance") {
			goals.Tolerance = own.Tolerance
		}
		result, err := tuning.AnalyzeConcurrency(table.Rows, goals, *confidence)
		if err != nil {
			return nil, nil, table.Locate(err)
		}
		result.Notes = append(result.Notes, table.Notes...)
		return result, report.OfConcurrency(result), nil
	}
}
