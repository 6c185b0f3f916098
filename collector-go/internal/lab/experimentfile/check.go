package experimentfile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/yamlfile"
)

// Bounds of an experiment.
const (
	maxQueries     = 1000 // the number of probes of the record source
	maxTrials      = 200
	maxStepsATrial = 100
	maxRepeats     = 20
	maxLoadHosts   = 100
)

// checker collects the faults of a file whose fields could all be parsed. It checks the meaning of fields and the
// relations between them. It continues after a fault, so that one attempt reports every problem.
type checker struct {
	file   *File // nil for a space file
	places *yamlfile.Places
	faults []error
}

// fault adds an error at a field. If the file omits the field, the error points to the parent, because the field
// belongs there.
func (c *checker) fault(field, format string, args ...any) {
	c.faults = append(c.faults, c.places.Fault(field, format, args...))
}

// when adds an error at a field if a condition holds.
func (c *checker) when(is bool, field, format string, args ...any) {
	if is {
		c.fault(field, format, args...)
	}
}

func (c *checker) oneOf(field, value string, known ...string) {
	c.when(!slices.Contains(known, value), field, "%s", oneOf("", value, known...))
}

// oneOf returns the error for a value that is not a known one. It suggests the nearest.
func oneOf(prefix, value string, known ...string) error {
	return fmt.Errorf("%s%q is not one of %s; did you mean %q?", prefix, value, strings.Join(known, ", "),
		yamlfile.Nearest(value, known...))
}

func (c *checker) atLeast(field string, value, least float64) {
	c.when(!(value >= least), field, "%v is below the minimum of %v", value, least)
}

func (c *checker) between(field string, value, least, most float64) {
	c.when(!(value >= least && value <= most), field, "%v is not between %v and %v", value, least, most)
}

// wholeQueries requires a number of queries that the load client can run.
func (c *checker) wholeQueries(field string, n float64) {
	c.when(n != math.Trunc(n) || n < 0 || n > maxQueries, field,
		"%v is not a whole number of queries from 0 to %d", n, maxQueries)
}

var experimentName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

func (c *checker) name(field, name string) {
	c.when(!experimentName.MatchString(name), field,
		"%q is not a valid name; use at most 40 lower-case letters, digits and hyphens", name)
}

// Check reports every contradiction in the file, each with its line. Parse has already called it. Callers need it
// again only after they changed fields, as the demo does. File.Plan relies on a file that passed. The parts that
// describe the cluster are not checked in a file that can only be simulated.
func (f *File) Check() error {
	c := checker{file: f, places: f.places}
	c.name("experiment", f.Experiment)
	c.when(f.Title == "", "title", "missing; state in one line what the experiment finds out")
	c.when(f.Test < 0 || f.Test > 7, "test",
		"%d is not a test of the document (1 to 7); remove the field if the experiment repeats none", f.Test)
	c.oneOf("analysis", f.Analysis, string(runstore.OfTimeline), string(runstore.OfConcurrency), string(runstore.OfData),
		string(runstore.OfQueries))
	c.oneOf("on_fail", f.OnFail, FailFails, FailBrackets)
	c.goals()
	c.search()
	if f.simulated() {
		return errors.Join(c.faults...)
	}
	c.topology()
	c.grid()
	c.steps()
	c.load()
	c.launch()
	c.cluster()
	return errors.Join(c.faults...)
}

// goals requires at least one goal, because a step without goals would always be OK.
func (c *checker) goals() {
	c.when(len(c.file.Goals) == 0 && c.file.Search == nil, "goals",
		"missing; list at least one goal with its figure, statistic and limit")
	for i, g := range c.file.Goals {
		field := cmp.Or(g.field, fmt.Sprintf("goals[%d]", i)) // the target of a search sets g.field
		c.oneOf(field+".figure", g.Figure, tuning.Texts(tuning.GoalFigures())...)
		figure := tuning.GoalFigure(g.Figure)
		known := figure.Statistics()
		if len(known) == 0 {
			continue
		}
		if g.Statistic == "" && len(known) > 1 {
			c.fault(field, "missing statistic of %s; set one of %s", g.Figure, strings.Join(tuning.Texts(known), ", "))
		} else if g.Statistic != "" {
			c.oneOf(field+".statistic", g.Statistic, tuning.Texts(known)...)
		}
		limit := g.limit()
		switch {
		case g.AtMost.Given == g.AtLeast.Given:
			c.fault(field, "set one of at_most and at_least")
		case limit.isTime != (figure.Unit() == "ms") && limit.isTime:
			c.fault(field, "%s is not a time; write the limit as a number or a share", g.Figure)
		case limit.isTime != (figure.Unit() == "ms"):
			c.fault(field, "%v has no unit, but %s is a time; write 200ms, for example", limit.Value, g.Figure)
		case limit.Value < 0:
			c.fault(field, "the limit of %s, %v, is below 0", g.Figure, limit.Value)
		case figure == tuning.Completeness && limit.Value > 1:
			c.fault(field, "completeness is a share and cannot exceed 1; write 99.9%% or 0.999, for example")
		}
	}
}

func (c *checker) topology() {
	c.when(c.file.Topology.Conf == "", "topology.conf",
		"missing; set the path of the Bullet YAML, relative to this file")
	if name := c.file.Topology.Name; name != "" {
		c.name("topology.name", name)
	}
	if c.file.places.Given("records.mean_size") {
		c.atLeast("records.mean_size", float64(c.file.Records.MeanSize), 1)
	}
}

// grid bounds the number of trials and refuses a repeated axis name, because a trial's position on the grid is looked
// up by that name.
func (c *checker) grid() {
	trials := max(1, c.file.Steps.Repeats)
	seen := map[string]bool{}
	for i, axis := range c.file.Grid {
		field := fmt.Sprintf("grid[%d]", i)
		if axis.Axis == "" {
			c.fault(field+".axis", "missing; name the axis")
		} else if seen[axis.Axis] {
			c.fault(field+".axis", "%q is listed twice", axis.Axis)
		}
		seen[axis.Axis] = true
		n := len(axis.Values) + len(axis.Configurations)
		c.when((axis.Setting != "") != (len(axis.Values) > 0) || (len(axis.Values) > 0) == (len(axis.Configurations) > 0),
			field, "set either `setting` and `values`, or `configurations`")
		for j, each := range axis.Configurations {
			within := fmt.Sprintf("%s.configurations[%d]", field, j)
			if each.Label == "" { // trials and their directories are named after it
				c.fault(within+".label", "missing; name the configuration")
			}
			c.values(within+".steps", each.Steps, false)
		}
		trials *= max(1, n)
	}
	c.when(trials > maxTrials, "grid", "%d trials exceed the maximum of %d", trials, maxTrials)
}

// values checks the loads of a trial's steps. A repeated load is refused, because repeats have their own field.
// Numbers of queries must be whole; rates need not be.
func (c *checker) values(field string, values []float64, needed bool) {
	c.when(needed && len(values) == 0, field, "missing; list the positions of the steps on the axis")
	c.when(len(values) > maxStepsATrial, field,
		"%d steps exceed the maximum of %d per trial", len(values), maxStepsATrial)
	for i, v := range values {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case slices.Contains(values[:i], v):
			c.fault(at, "%v is listed twice; use steps.repeats to repeat steps", v)
		case c.file.Steps.Axis == string(runstore.Queries):
			c.wholeQueries(at, v)
		default:
			c.atLeast(at, v, 0)
		}
	}
}

// steps checks the durations against the slice width, because only whole slices can be read back from the collector.
func (c *checker) steps() {
	s := c.file.Steps
	c.oneOf("steps.kind", s.Kind, string(runstore.LoadStep), string(runstore.TimelineStep))
	c.oneOf("steps.timeline_records", s.TimelineRecords, string(runstore.FlowingRecords), string(runstore.GeneratedRecords))
	c.oneOf("steps.axis", s.Axis, string(runstore.Queries), string(runstore.QueriesPerSecond),
		string(runstore.RecordsPerSecond))
	c.oneOf("steps.search", s.Search, tuning.Texts(tuning.SearchKinds())...)
	if c.file.isTimeline() {
		c.atLeast("steps.timeline_queries", float64(s.TimelineQueries), 1)
		c.when(c.file.Load.Class != "raw", "load.class",
			"%s queries return no record that a timeline could follow; use raw", c.file.Load.Class)
		c.when(s.TimelineRecords == string(runstore.GeneratedRecords) && !(c.file.Load.MatchingPerSecond > 0),
			"load.matching_per_second", "must be above 0 with steps.timeline_records: generated")
	}
	c.values("steps.values", s.Values, !c.everyConfigurationHasSteps())
	width := c.file.Launch.SliceWidth
	for _, d := range []struct {
		field        string
		value, least Duration
	}{{"steps.warm_up", s.WarmUp, 0}, {"steps.sustain", s.Sustain, width}} {
		c.when(d.value < d.least || width > 0 && d.value%width != 0, d.field,
			"%s is not a multiple of the slice width, %s", time.Duration(d.value), time.Duration(width))
	}
	c.between("steps.repeats", float64(s.Repeats), 1, maxRepeats)
	c.between("steps.inconclusive_repeats", float64(s.InconclusiveRepeats), 0, maxRepeats)
	c.wholeQueries("steps.start_up_queries", s.StartUpQueries.Value)
	switch capacity := s.ExpectedCapacity; {
	case capacity == 0:
	case s.Axis != string(runstore.Queries) || s.Kind != string(runstore.LoadStep):
		c.fault("steps.expected_capacity", "needs steps.axis: queries and steps.kind: load")
	case len(tuning.MirroredLoads(capacity)) == 0 || capacity > maxQueries:
		c.fault("steps.expected_capacity", "%v is not between 4 and %d queries", s.ExpectedCapacity, maxQueries)
	}
	c.catchUp(s.CatchUp)
}

// catchUp requires a factor above 1, because at the step's own rate nothing would be caught up.
func (c *checker) catchUp(u CatchUp) {
	isGoal := slices.ContainsFunc(c.file.Goals, func(g Goal) bool { return g.Figure == string(tuning.CatchUp) })
	switch {
	case (u.Factor != 0) != (u.Sustain > 0):
		c.fault("steps.catch_up", "set both `factor` and `sustain`")
	case u.Factor != 0 && !(u.Factor > 1):
		c.fault("steps.catch_up.factor", "%v is not above 1", u.Factor)
	case isGoal && u.Factor == 0:
		c.fault("steps.catch_up", "missing, but there is a goal for the catch-up ratio; set `factor` and `sustain`")
	}
}

func (f *File) isTimeline() bool { return f.Steps.Kind == string(runstore.TimelineStep) }

// everyConfigurationHasSteps reports whether every configuration of an axis has its own steps. steps.values may then
// be left out.
func (c *checker) everyConfigurationHasSteps() bool {
	return slices.ContainsFunc(c.file.Grid, func(axis Axis) bool {
		return len(axis.Configurations) > 0 && !slices.ContainsFunc(axis.Configurations,
			func(each Configuration) bool { return len(each.Steps) == 0 })
	})
}

// leastDRPCThreads is the minimum for the local cluster's DRPC server. It needs some threads itself, and each running
// query blocks one more.
const leastDRPCThreads = 8

// queryClasses are the query classes of the tuning workflow, which internal/lab/load implements.
var queryClasses = []string{"raw", "group", "count_distinct", "distribution", "top_k"}

// load checks the load that all steps share, and the requirements of its way of submitting queries.
func (c *checker) load() {
	l := c.file.Load
	c.oneOf("load.submit", l.Submit, SubmitByGateway, SubmitByDRPC)
	c.oneOf("load.class", l.Class, queryClasses...)
	c.oneOf("load.source", l.Source, SourceByGateway, runstore.SourceNone)
	leastThreads := 0
	switch {
	case c.file.Launch.Local != nil:
		c.when(len(l.DRPC) > 0, "load.drpc",
			"cannot be combined with launch.local, which starts its own DRPC server; remove it")
		c.when(l.Submit == SubmitByDRPC && c.file.Launch.Local.Kafka != nil, "load.submit", "drpc cannot be combined with launch.local.kafka, whose producer waits for the gateway; use gateway, or remove kafka")
		if l.Submit == SubmitByDRPC && l.DRPCThreads > 0 {
			leastThreads = leastDRPCThreads
		}
	case l.Submit == SubmitByDRPC && len(l.DRPC) == 0:
		c.fault("load.drpc", "missing; list the HTTP ports of the DRPC servers as HOST:PORT")
	}
	c.atLeast("load.drpc_threads", float64(l.DRPCThreads), float64(leastThreads))
	if c.file.noSource() {
		c.noSource()
	} else {
		c.when(l.BQL != "", "load.bql",
			"needs load.source: none, because the generated records match only the queries of load.class")
		byRecords := c.file.Steps.Axis == string(runstore.RecordsPerSecond)
		c.when(c.file.Launch.Command != nil && l.RecordsPerSecond.Calibrated && !byRecords && c.file.Search == nil,
			"load.records_per_second", "%s is not possible with launch.command, because the CPU of the workers' "+
				"hosts is not measured; set a number of records per second", calibrated)
	}
	c.between("load.queries", float64(l.Queries), 0, maxQueries)
	c.atLeast("load.queries_per_second", l.QueriesPerSecond, 0)
	c.atLeast("load.records", float64(l.Records), 1)
	c.atLeast("load.matching_per_second", l.MatchingPerSecond, 0)
	c.when(l.Duration < Duration(time.Second), "load.duration",
		"%s is below the minimum of 1s", time.Duration(l.Duration))
	c.when(!(l.LeaveIdle > 0 && l.LeaveIdle < 1), "load.leave_idle", "%v is not between 0 and 1", float64(l.LeaveIdle))
}

// noSource reports whether the record source is foreign: its data is live, its rate cannot be controlled, and no
// records are made for queries to find.
func (f *File) noSource() bool { return f.Load.Source == runstore.SourceNone }

// noSource refuses goals and steps that need our own record source. Without it the records that a query must find are
// unknown, and the rate cannot be changed.
func (c *checker) noSource() {
	f := c.file
	refuse := func(field string, is bool, why string) {
		c.when(is, field, "cannot be combined with load.source: none, because %s", why)
	}
	const fixedRate, noRecords = "the record rate cannot be changed", "no records are generated"
	c.when(f.Launch.Local != nil, "load.source",
		"none cannot be combined with launch.local, whose topology generates records; use launch.command")
	for i, g := range f.Goals {
		figure, field := tuning.GoalFigure(g.Figure), fmt.Sprintf("goals[%d].figure", i)
		refuse(field, figure == tuning.ResultSize || figure == tuning.Completeness,
			"the number of records that a query must find is unknown")
		refuse(field, figure == tuning.CatchUp, fixedRate)
	}
	timeline := f.isTimeline()
	refuse("steps.catch_up", f.Steps.CatchUp.Factor > 0, fixedRate)
	refuse("steps.axis", f.Steps.Axis == string(runstore.RecordsPerSecond), fixedRate)
	refuse("steps.timeline_records", timeline && f.Steps.TimelineRecords == string(runstore.GeneratedRecords), noRecords)
	for _, field := range []string{"load.records_per_second", "load.leave_idle", "load.matching_per_second",
		"search.target.records_per_second", "search.target.mib_per_second"} {
		refuse(field, f.places.Given(field), noRecords)
	}
	c.when(f.Load.BQL != "" && timeline, "load.bql",
		"cannot be combined with steps.kind: timeline, which has its own queries")
}

// launch checks that exactly one way to launch is given, and the fields of that way.
func (c *checker) launch() {
	l := c.file.Launch
	c.when(l.SliceWidth < Duration(time.Second) || l.SliceWidth%Duration(time.Second) != 0, "launch.slice_width",
		"%s is not a whole number of seconds above 0", time.Duration(l.SliceWidth))
	switch {
	case (l.Local == nil) == (l.Command == nil):
		c.fault("launch", "set either `local` or `command`")
	case l.Local != nil:
		c.atLeast("launch.local.workers", float64(l.Local.Workers), 1)
		c.when(l.Local.WorkerHeap.MiB() < 64, "launch.local.worker_heap",
			"%d MiB is below the minimum of 64 MiB", l.Local.WorkerHeap.MiB())
		if k := l.Local.Kafka; k != nil && k.Bootstrap != "" {
			c.atLeast("launch.local.kafka.partitions", float64(k.Partitions), 0) // the number may be unknown
		} else if k != nil {
			c.atLeast("launch.local.kafka.partitions", float64(k.Partitions), 1)
		}
	default:
		c.command(*l.Command)
	}
	if l.Load != nil {
		c.loadHosts(*l.Load)
	}
}

var placeholder = regexp.MustCompile(`\{[a-z_]*\}`)

// words checks the words of a command: there must be some, with the required placeholder and no unknown one. The shell
// would otherwise receive it literally.
func (c *checker) words(field string, words []string, required, why string, known ...string) {
	if len(words) == 0 {
		c.fault(field, "missing; write the command as a list of words, for example [ssh, \"{host}\", COMMAND]")
	} else if !strings.Contains(strings.Join(words, " "), required) {
		c.fault(field, "missing placeholder %s: %s", required, why)
	}
	for i, word := range words {
		for _, found := range placeholder.FindAllString(word, -1) {
			c.when(!slices.Contains(known, found), fmt.Sprintf("%s[%d]", field, i),
				"unknown placeholder %s; use %s", found, strings.Join(known, ", "))
		}
	}
}

// command checks a command launch. It requires {name} in the submit command, because the collector's figures of a
// trial are found by that name.
func (c *checker) command(l Command) {
	placeholders := []string{"{name}", "{conf}", "{settings}", "{workers}"}
	c.words("launch.command.submit", l.Submit, "{name}", "each trial has its own topology name", placeholders...)
	c.words("launch.command.kill", l.Kill, "", "", placeholders...)
	c.when(l.Collector == "", "launch.command.collector",
		"missing; set the HTTP address of the collector, HOST:PORT or https://HOST:PORT")
	c.when(l.Gateway == "" && (c.file.Load.Submit == SubmitByGateway || !c.file.noSource()), "launch.command.gateway",
		"missing; set the address of the query gateway, HOST:PORT")
	c.url("launch.command.collector", l.Collector, address.Form{Example: "127.0.0.1:9320",
		Secrets: "launch.command.token_file", HostPort: true})
	c.url("launch.command.gateway", l.Gateway, address.Form{Example: "127.0.0.1:9901", HostPort: true})
	c.atLeast("launch.command.gateway_capacity", float64(l.GatewayCapacity), 0)
	c.when(l.GatewayCapacity > 0 && c.file.Load.Submit == SubmitByDRPC, "launch.command.gateway_capacity",
		"cannot be combined with load.submit: drpc; set load.drpc_threads instead")
	c.atLeast("launch.command.workers", float64(l.Workers), 1)
	c.atLeast("launch.command.partitions", float64(l.Partitions), 0)
}

// loadHosts checks the hosts of the load clients. A host that begins with a hyphen is refused, because ssh would take
// it for an option.
func (c *checker) loadHosts(l LoadHosts) {
	const host = "{host}"
	c.when(c.file.Launch.Local != nil, "launch.load",
		"cannot be combined with launch.local, whose gateway serves only this machine; remove it")
	c.when(c.file.isTimeline(), "launch.load",
		"cannot be combined with steps.kind: timeline, which runs one query after the other; remove it")
	c.words("launch.load.command", l.Command, host, "all clients would run on the same host", host)
	c.when(len(l.Hosts) == 0 || len(l.Hosts) > maxLoadHosts, "launch.load.hosts",
		"%d hosts; list 1 to %d", len(l.Hosts), maxLoadHosts)
	for i, host := range l.Hosts {
		field := fmt.Sprintf("launch.load.hosts[%d]", i)
		if host == "" || strings.HasPrefix(host, "-") {
			c.fault(field, "%q is not a host name", host)
		} else if slices.Contains(l.Hosts[:i], host) {
			c.fault(field, "%q is listed twice; a host runs one load client", host)
		}
	}
}

// url checks an address that is set. A required address that is missing is reported elsewhere.
func (c *checker) url(key, given string, form address.Form) {
	if given == "" {
		return
	}
	if _, err := address.URL(given).Parse(form); err != nil {
		c.fault(key, "%s", err)
	}
}

// cluster refuses facts that a run measures itself, because a report would then have two answers.
func (c *checker) cluster() {
	l, m := c.file.Cluster, c.file.Cluster.Machines
	if local := c.file.Launch.Local; local != nil {
		if m != (Machines{}) || l.BusyByOthers.Given {
			c.fault("cluster", "`machines` and `busy_by_others` cannot be combined with launch.local, which measures this machine")
		} else if l.KafkaVersion != "" && (local.Kafka == nil || local.Kafka.Bootstrap == "") {
			c.fault("cluster", "`kafka_version` needs launch.local.kafka.bootstrap; the version of the run's own broker is known")
		}
	}
	c.atLeast("cluster.machines.count", float64(m.Count), 0)
	c.atLeast("cluster.machines.cores", float64(m.Cores), 0)
	c.atLeast("cluster.machines.usable_cores", m.UsableCores, 0)
	c.when(m != (Machines{}) && m.Cores == 0, "cluster.machines.cores",
		"missing; set the number of cores of one machine")
	c.when(m.Cores > 0 && m.UsableCores > float64(m.Cores), "cluster.machines.usable_cores",
		"%v exceeds the %d cores of a machine", m.UsableCores, m.Cores)
}
