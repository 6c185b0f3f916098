package experimentfile

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Plan expands the file into the plan of a run. It must be called only on a file that passed Check, because values
// without a meaning are ignored here. The plan is stored in the run directory, and a resumed run follows the
// stored plan and not the file.
//
// Repeats are the outer loop: each configuration is launched once before any is launched again. If the deadline ends a
// run early, every configuration therefore comes before any repeat. A goal of no failed queries is always added.
func (f *File) Plan() runstore.Plan {
	ms := func(d Duration) int64 { return time.Duration(d).Milliseconds() }
	plan := runstore.Plan{
		Experiment: f.Experiment,
		Title:      f.Title, About: f.About, Test: f.Test, Analysis: runstore.Analysis(f.Analysis),
		MinHostIdle: tuning.Figure(f.MinHostIdle), Search: tuning.SearchKind(f.Steps.Search),
		InconclusiveRepeats: f.Steps.InconclusiveRepeats, Confirm: f.Steps.Confirm,
		CostLoads: tuning.MirroredLoads(f.Steps.ExpectedCapacity), StartUpMs: ms(f.Steps.StartUp),
		FailFails: f.OnFail == FailFails, Axis: runstore.Axis(f.Steps.Axis), Load: f.asked(),
		WarmUpMs: ms(f.Steps.WarmUp), SustainMs: ms(f.Steps.Sustain), SliceMs: ms(f.Launch.SliceWidth),
		ReportSliceMs: ms(cmp.Or(f.ReportSlice, Duration(time.Minute))), Launch: runstore.CommandLaunch,
		KafkaPartitions: f.kafkaPartitions(), Topology: cmp.Or(f.Topology.Name, f.Experiment),
		Record: f.Record, Caveats: append([]string{}, f.Caveats...),
	}
	if f.Launch.Local != nil {
		plan.Launch = runstore.LocalLaunch
	}
	if f.Launch.Load != nil {
		plan.LoadHosts = f.Launch.Load.Hosts
	}
	plan.Goals = tuning.Each(f.Goals, Goal.goal)
	if !slices.ContainsFunc(plan.Goals, func(g tuning.Goal) bool { return g.Figure == tuning.FailedQueries }) {
		plan.Goals = append(plan.Goals, tuning.Goal{Figure: tuning.FailedQueries, Statistic: tuning.Mean, AtMost: 0,
			AtLeast: tuning.Unknown})
	}
	configurations := f.configurations()
	for repeat := range f.Steps.Repeats {
		for i, configuration := range configurations {
			configuration.Number, configuration.Configuration, configuration.Repeat = len(plan.Trials)+1, i+1, repeat+1
			plan.Trials = append(plan.Trials, configuration)
		}
	}
	plan.StartUpQueries = f.startUpQueries(plan)
	return plan
}

// startUpQueries returns the number of queries that are held while a launch warms up. Unless the file gives a number,
// it is the smallest query load of the plan that is not 0. For queries that are started at a rate it is the number in
// flight at that rate.
func (f *File) startUpQueries(plan runstore.Plan) int {
	if given := f.Steps.StartUpQueries; given.Given {
		return int(given.Value)
	}
	loads := slices.Concat(plan.CostLoads, plan.StepValues())
	loads = slices.DeleteFunc(loads, func(load float64) bool { return load == 0 })
	life := time.Duration(f.Load.Duration).Seconds()
	switch {
	case plan.Axis == runstore.RecordsPerSecond && f.Load.QueriesPerSecond > 0:
		loads = []float64{f.Load.QueriesPerSecond * life}
	case plan.Axis == runstore.RecordsPerSecond || len(loads) == 0:
		loads = []float64{float64(f.Load.Queries)}
	case plan.Axis == runstore.QueriesPerSecond:
		loads = []float64{slices.Min(loads) * life}
	}
	return int(min(math.Ceil(slices.Min(loads)), maxQueries))
}

// asked translates the load. Figures that do not apply stay Unknown: with source none there is neither a rate nor a
// target, and with a rate there is no target for idle CPU.
func (f *File) asked() runstore.Load {
	l, unknown := f.Load, tuning.Unknown
	asked := runstore.Load{
		Submit: l.Submit, Class: l.Class, Queries: l.Queries, QueriesPerSecond: stated(l.QueriesPerSecond),
		RecordsPerSecond: unknown, TargetIdle: unknown, CatchUpFactor: unknown,
		QueryLimit: l.Records, QueryDurationMs: time.Duration(l.Duration).Milliseconds(),
		MatchingPerSecond: tuning.Figure(l.MatchingPerSecond),
		MeanRecordBytes:   stated(float64(f.Records.MeanSize)),
	}
	if f.noSource() {
		asked.Source, asked.BQL, asked.MatchingPerSecond = runstore.SourceNone, f.Load.BQL, 0
	} else if l.RecordsPerSecond.Calibrated {
		asked.TargetIdle = tuning.Figure(l.LeaveIdle)
	} else {
		asked.RecordsPerSecond = tuning.Figure(l.RecordsPerSecond.PerSecond)
	}
	if f.Steps.CatchUp.Factor > 0 {
		asked.CatchUpFactor, asked.CatchUpMs = tuning.Figure(f.Steps.CatchUp.Factor),
			time.Duration(f.Steps.CatchUp.Sustain).Milliseconds()
	}
	if f.Steps.Kind == string(runstore.TimelineStep) {
		asked.TimelineQueries, asked.TimelineRecords = f.Steps.TimelineQueries,
			runstore.TimelineRecords(f.Steps.TimelineRecords)
	}
	return asked
}

// limit returns the limit that is set.
func (g Goal) limit() Limit {
	if g.AtLeast.Given {
		return g.AtLeast
	}
	return g.AtMost
}

// goal translates a goal. Check has ensured that an omitted statistic is the only one of the figure.
func (g Goal) goal() tuning.Goal {
	figure := tuning.GoalFigure(g.Figure)
	statistic := tuning.Statistic(g.Statistic)
	if known := figure.Statistics(); statistic == "" && len(known) > 0 {
		statistic = known[0]
	}
	return tuning.Goal{Figure: figure, Statistic: statistic, AtMost: g.AtMost.figure(), AtLeast: g.AtLeast.figure()}
}

// configurations returns the points of the grid as trials without numbers; the last axis varies fastest. The settings
// of the topology come first, then those of each axis in the order of the file.
func (f *File) configurations() []runstore.PlannedTrial {
	base := runstore.PlannedTrial{Label: f.Experiment, Point: []runstore.Coordinate{},
		Settings: append([]runstore.Entry{}, f.Topology.Settings...)} // never nil: the plan's JSON has []
	if f.Launch.Local != nil {
		base.Workers, base.WorkerHeapMiB = cmp.Or(workers(f.Topology.Settings), f.Launch.Local.Workers),
			f.Launch.Local.WorkerHeap.MiB()
	} else if f.Launch.Command != nil {
		base.Workers = f.Launch.Command.Workers
	}
	base.Steps = f.steps(f.Steps.Values)
	points := []runstore.PlannedTrial{base}
	for _, axis := range f.Grid {
		var next []runstore.PlannedTrial
		for _, point := range points {
			for _, configuration := range axis.configurations() {
				next = append(next, f.at(point, axis.Axis, configuration))
			}
		}
		points = next
	}
	for i := range points {
		if len(points[i].Point) > 0 {
			points[i].Label = label(points[i].Point)
		}
	}
	return points
}

// label names a point, such as "filter bolts 4, heap small". Directories and reports name a trial after it.
func label(point []runstore.Coordinate) string {
	return strings.Join(tuning.Each(point, func(c runstore.Coordinate) string { return c.Axis + " " + c.Label }), ", ")
}

// configurations returns the positions on the axis. Each value of a setting becomes a configuration.
func (a Axis) configurations() []Configuration {
	all := append([]Configuration{}, a.Configurations...)
	for _, value := range a.Values {
		c := Configuration{Label: value, Settings: Settings{{Key: a.Setting, Value: value}}}
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			c.Value = Number{Value: n, Given: true}
		}
		all = append(all, c)
	}
	return all
}

// at returns a copy of a point that is extended by one more axis. It copies the lists of the point, because the points
// of a grid share their beginnings.
func (f *File) at(point runstore.PlannedTrial, axis string, c Configuration) runstore.PlannedTrial {
	point.Point = append(append([]runstore.Coordinate{}, point.Point...),
		runstore.Coordinate{Axis: axis, Label: c.Label, Value: c.Value.figure()})
	point.Settings = append(append([]runstore.Entry{}, point.Settings...), c.Settings...)
	point.Workers = cmp.Or(workers(c.Settings), point.Workers)
	if len(c.Steps) > 0 {
		point.Steps = f.steps(c.Steps)
	}
	return point
}

// workers returns topology.workers from the settings, 0 if they do not set it. The trial must know the number, because
// a step starts only after that many workers report.
func workers(settings Settings) (n int) {
	for _, s := range settings {
		if strings.TrimPrefix(s.Key, "bullet.topology.custom.") == "topology.workers" {
			n, _ = strconv.Atoi(s.Value)
		}
	}
	return n
}

// steps returns the planned steps at the given loads. All steps of an experiment have the same kind.
func (f *File) steps(values []float64) []runstore.PlannedStep {
	return tuning.Each(values, func(value float64) runstore.PlannedStep {
		return runstore.PlannedStep{Kind: runstore.StepKind(f.Steps.Kind), Value: value}
	})
}
