package tuning

import (
	"fmt"
	"slices"
	"strings"
)

// Goal is a limit for one figure of a step in one statistic, for example a p99 query latency of at most 500 ms. Exactly
// one of AtMost and AtLeast is known. A bound to both sides is two goals, so that each has a verdict of its own.
type Goal struct {
	Figure    GoalFigure `json:"figure"`
	Statistic Statistic  `json:"statistic"`
	AtMost    Figure     `json:"at_most"`
	AtLeast   Figure     `json:"at_least"`
}

// GoalFigure names a figure that a goal may limit. The values are written in experiment files and in stored runs, so
// they are part of a format.
type GoalFigure string

// The figures. Latencies are ms.
const (
	// FilterLatency is Bullet's own, of a record in a filter bolt.
	FilterLatency GoalFigure = "filter_latency"
	// QueryLatency is what the load client sees, from when a query was meant to start to its answer.
	QueryLatency GoalFigure = "query_latency"
	// ResultSize is the records of a query that returned.
	ResultSize GoalFigure = "result_size"
	// Completeness is the share of the records due to queries that returned which came back, a ratio: each answer is
	// compared with what was generated in its query's life.
	Completeness GoalFigure = "completeness"
	// FailedQueries is the share of the queries due that gave no answer of their class, a ratio: failed, refused, timed
	// out, never finished or never submitted.
	FailedQueries GoalFigure = "failed_queries"
	// SourceLag is records that were due and not emitted at the step's end.
	SourceLag GoalFigure = "source_lag"
	// CatchUp is how many times its record rate the topology takes when it has fallen behind.
	CatchUp GoalFigure = "catch_up"
	// AddedDelay is how long after a record and its query have met Bullet answers.
	AddedDelay GoalFigure = "added_delay"
	// Capacity is the largest value of the steps' axis that held all other goals. It is of a trial, not of a step.
	CapacityFigure GoalFigure = "capacity"
)

// Statistic is how the values of a step become one figure.
type Statistic string

// The statistics.
const (
	Mean  Statistic = "mean"
	P50   Statistic = "p50"
	P95   Statistic = "p95"
	P99   Statistic = "p99"
	Max   Statistic = "max"
	AtEnd Statistic = "end"
)

// statisticsOf lists the statistics in which each figure is measured; the first is the default for a goal
// that names no statistic.
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

// GoalFigures are the names that goals may ask for.
func GoalFigures() []GoalFigure {
	return []GoalFigure{FilterLatency, QueryLatency, ResultSize, Completeness, FailedQueries, SourceLag, CatchUp,
		AddedDelay, CapacityFigure}
}

// Statistics are those that the figure is measured in, the usual one first; none for a figure that there is not.
func (f GoalFigure) Statistics() []Statistic { return slices.Clone(statisticsOf[f]) }

// Unit is the figure's unit as people read it.
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

// String is the goal as a sentence's part: "mean filter latency at most 200 ms".
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

// Texts are names of a kind as plain strings.
func Texts[T ~string](names []T) (all []string) {
	for _, name := range names {
		all = append(all, string(name))
	}
	return all
}
