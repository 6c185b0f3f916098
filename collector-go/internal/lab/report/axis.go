package report

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

const simultaneousQueries = "simultaneous queries"

// axisNames are what steps ascend along, as people call it.
var axisNames = map[rundir.Axis]string{
	rundir.Queries: simultaneousQueries, rundir.QueriesPerSecond: "queries/s", rundir.RecordsPerSecond: "records/s",
}

// unitOf is the axis' short name behind a number.
func unitOf(axis rundir.Axis) string {
	if axis == rundir.Queries {
		return "queries"
	}
	return axisNames[axis]
}

// stepName is what a step of a run's file is called.
func stepName(axis rundir.Axis, s rundir.Step) string {
	name := tuning.Digits(Figure(s.Value)) + " " + unitOf(axis)
	switch {
	case s.Kind == rundir.TimelineStep:
		name = "timeline"
	case s.Value == 1 && axis == rundir.Queries:
		name = "1 query"
	}
	if s.Kind == rundir.CostStep {
		name += ", for the cost"
	}
	if s.Attempt > 1 {
		name += fmt.Sprintf(", attempt %d", s.Attempt)
	}
	return name
}
