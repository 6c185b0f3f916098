package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

const simultaneousQueries = "simultaneous queries"

// axisNames are what steps ascend along, as people call it.
var axisNames = map[runstore.Axis]string{
	runstore.Queries: simultaneousQueries, runstore.QueriesPerSecond: "queries/s", runstore.RecordsPerSecond: "records/s",
}

// unitOf is the axis' short name behind a number.
func unitOf(axis runstore.Axis) string {
	if axis == runstore.Queries {
		return "queries"
	}
	return axisNames[axis]
}

// stepName is what a step of a run's file is called.
func stepName(axis runstore.Axis, s runstore.Step) string {
	name := tuning.Digits(Figure(s.Value)) + " " + unitOf(axis)
	switch {
	case s.Kind == runstore.TimelineStep:
		name = "timeline"
	case s.Value == 1 && axis == runstore.Queries:
		name = "1 query"
	}
	if s.Kind == runstore.CostStep {
		name += ", for the cost"
	}
	if s.Attempt > 1 {
		name += fmt.Sprintf(", attempt %d", s.Attempt)
	}
	return name
}
