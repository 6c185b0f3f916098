package tuning

import (
	"fmt"
	"slices"
	"strings"
)

// Goal is a limit for one figure of a step in one statistic, for example a p99 query latency of at most 500 ms.
// Exactly one of AtMost and AtLeast is known. Limits on both sides are two goals, so that each has its own verdict.
type Goal struct {
	Figure    GoalFigure `json:"figure"`
	Statistic Statistic  `json:"statistic"`
	AtMost    Figure     `json:"at_most"`
	AtLeast   Figure     `json:"at_least"`
}

// GoalFigure names a figure that a goal may limit. The values are written in experiment files and in stored runs, so
// they are part of a format.
type GoalFigure string

// Figures that a goal may limit. Latencies are in ms.
const (
	// FilterLatency is Bullet's own latency of a record in a filter bolt.
	FilterLatency GoalFigure = "filter_latency"
	// QueryLatency is measured by the load client, from the scheduled start of a query to its answer.
	QueryLatency GoalFigure = "query_latency"
	// ResultSize is the number of records of a query that returned.
	ResultSize GoalFigure = "result_size"
	// Completeness is the ratio of due records that came back, over the queries that returned. Each answer is compared
	// with the records generated during its query's life.
	Completeness GoalFigure = "completeness"
	// FailedQueries is the ratio of scheduled queries without a valid answer: failed, refused, timed out, never
	// finished or never submitted.
	FailedQueries GoalFigure = "failed_queries"
	// SourceLag is the number of records that were scheduled and not emitted at the step's end.
	SourceLag GoalFigure = "source_lag"
	// CatchUp is the multiple of its record rate that the topology takes after it has fallen behind.
	CatchUp GoalFigure = "catch_up"
	// AddedDelay is the time from when a record and its query have met until Bullet answers.
	AddedDelay GoalFigure = "added_delay"
	// CapacityFigure is the largest value on the steps' axis at which all other goals hold. It belongs to a trial, not
	// to a step.
	CapacityFigure GoalFigure = "capacity"
)

// Statistic is how the values of a step become one figure.
type Statistic string

// Statistics of a goal.
const (
	Mean  Statistic = "mean"
	P50   Statistic = "p50"
	P95   Statistic = "p95"
	P99   Statistic = "p99"
	Max   Statistic = "max"
	AtEnd Statistic = "end"
)

// statisticsOf lists the statistics in which each figure is measured. The first is the default for a goal that names
// no statistic.
var statisticsOf = map[GoalFigure][]Statistic{
	FilterLatency:  {Mean, P50, P95, P99, Max},
	QueryLatency:   {P99, P95, P50, Mean, Max},
	ResultSize:     {Mean},
	Completeness:   {Mean},
	FailedQueries:  {Mean},
	SourceLag:      {AtEnd},
	CatchUp:        {Mean},
	AddedDelay:     {Mean},
	CapacityFigure: {AtEnd},
}

// GoalFigures returns all figures that a goal may limit.
func GoalFigures() []GoalFigure {
	return []GoalFigure{FilterLatency, QueryLatency, ResultSize, Completeness, FailedQueries, SourceLag, CatchUp,
		AddedDelay, CapacityFigure}
}

// Statistics returns the statistics of a figure, the default first; none for an unknown figure.
func (f GoalFigure) Statistics() []Statistic { return slices.Clone(statisticsOf[f]) }

// Unit returns the figure's unit for display; "" if it has none.
func (f GoalFigure) Unit() string {
	switch f {
	case FilterLatency, QueryLatency, AddedDelay:
		return "ms"
	case ResultSize, SourceLag:
		return "records"
	}
	return ""
}

func (g Goal) limit() Figure {
	if g.AtMost.Known() {
		return g.AtMost
	}
	return g.AtLeast
}

// String returns the goal as part of a sentence: "mean filter latency at most 200 ms".
func (g Goal) String() string {
	word := "at least"
	if g.AtMost.Known() {
		word = "at most"
	}
	return fmt.Sprintf("%s %s %s", g.name(), word, g.written(g.limit()))
}

func (g Goal) name() string {
	name := strings.ReplaceAll(string(g.Figure), "_", " ")
	switch g.Figure {
	case CapacityFigure, Completeness:
		return name
	case FailedQueries:
		return "share of failed queries"
	}
	return string(g.Statistic) + " " + name
}

// Texts converts names of any string type to plain strings.
func Texts[T ~string](names []T) []string {
	return Each(names, func(name T) string { return string(name) })
}
