package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/input"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

var queriesAnalysis = analysis{
	name: "queries", short: "Calculate the capacity and the knee of each configuration, and queries per core",
	example: "--input grid.csv --limit 200ms --figures figures",
	columns: "filter_bolts, queries, average_latency_ms, topology_cpu_cores; optional: topology_memory_mib, used_cpu_cores, records_per_s, verdict",
	prepare: prepareQueries,
}

func prepareQueries(flags *pflag.FlagSet) (func() error, analyze) {
	var q queryFlags
	q.addFlags(flags)
	return func() error { return q.goals().Validate() }, func(path string) (any, *document.Document, error) {
		table, err := input.Queries(path)
		if err != nil {
			return nil, nil, err
		}
		result, err := tuning.AnalyzeQueries(table.Rows, table.Goals(q.goals(), flags.Changed("limit")))
		if err != nil {
			return nil, nil, table.Locate(err)
		}
		result.Notes = append(result.Notes, table.Notes...)
		return result, report.OfQueries(result), nil
	}
}

// queryFlags are what a configuration is to hold.
type queryFlags struct {
	limit      time.Duration
	headroom   float64
	confidence *float64
}

func (q *queryFlags) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&q.limit, "limit", 200*time.Millisecond,
		"maximum mean filter latency; a run's own limit applies unless this flag is set")
	flags.Float64Var(&q.headroom, "headroom", tuning.DefaultHeadroom, "share of the capacity to leave free, as a ratio")
	q.confidence = addConfidence(flags)
}

func (q *queryFlags) goals() tuning.QueryGoals {
	return tuning.QueryGoals{LimitMs: float64(q.limit) / float64(time.Millisecond), Headroom: q.headroom,
		Confidence: *q.confidence}
}
