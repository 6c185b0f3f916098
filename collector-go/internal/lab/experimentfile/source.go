package experimentfile

import (
	"fmt"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// noSource reports whether the record source is foreign: its data is live, its rate cannot be controlled, and no
// records are made for queries to find.
func (f *File) noSource() bool { return f.Load.Source == runstore.SourceNone }

// needsGateway reports whether the run uses the query gateway, for queries or for records.
func (c *checker) needsGateway() bool {
	return c.file.Load.Submit == SubmitByGateway || !c.file.noSource()
}

// source checks the fields that depend on the kind of record source.
func (c *checker) source() {
	f := c.file
	c.oneOf("load.source", f.Load.Source, SourceByGateway, runstore.SourceNone)
	if f.noSource() {
		c.noSource()
		return
	}
	if f.Load.BQL != "" {
		c.fault("load.bql", "the records that are made are for the queries of load.class; your own BQL is for load.source none")
	}
	byRecords := f.Steps.Axis == string(runstore.RecordsPerSecond)
	if f.Launch.Command != nil && f.Load.RecordsPerSecond.Calibrated && !byRecords {
		c.fault("load.records_per_second",
			"%s needs the host of the workers, and with launch.command only tune run's is measured; give a number of records a second",
			calibrated)
	}
}

// noSource refuses goals and steps that need our own record source. Without it the records that a query must find are
// unknown, and the rate cannot be changed.
func (c *checker) noSource() {
	f := c.file
	if f.Launch.Local != nil {
		c.fault("load.source",
			"the topology of a local launch has a source of ours; leave it out, or launch by a command")
	}
	for i, g := range f.Goals {
		switch tuning.GoalFigure(g.Figure) {
		case tuning.ResultSize, tuning.Completeness:
			c.fault(fmt.Sprintf("goals[%d].figure", i),
				"with load.source none nobody knows how many records a query must find; leave the goal out")
		case tuning.CatchUp:
			c.fault(fmt.Sprintf("goals[%d].figure", i),
				"with load.source none nobody can offer more records; leave the goal out")
		}
	}
	if f.Steps.CatchUp.Factor > 0 {
		c.fault("steps.catch_up", "with load.source none nobody can offer more records; leave it out")
	}
	if f.Steps.Axis == string(runstore.RecordsPerSecond) {
		c.fault("steps.axis",
			"with load.source none nobody sets the records a second; ascend along queries or queries_per_second")
	}
	if f.Steps.Kind == string(runstore.TimelineStep) && f.Steps.TimelineRecords == string(runstore.GeneratedRecords) {
		c.fault("steps.timeline_records",
			"with load.source none no record is made for a query to find; look for %s ones", runstore.FlowingRecords)
	}
	if f.Load.BQL != "" && f.Steps.Kind == string(runstore.TimelineStep) {
		c.fault("load.bql", "a timeline asks queries of its own; leave it out")
	}
	for _, field := range []string{"load.records_per_second", "load.leave_idle", "load.matching_per_second"} {
		if c.file.places.Given(field) {
			c.fault(field, "with load.source none nobody makes records; leave it out (the rate is the collector's figure)")
		}
	}
}
