package experimentfile

import (
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
)

// checker collects the faults of a file whose fields could all be parsed. It checks the meaning of fields and the
// relations between them. It continues after a fault, so that one attempt reports every problem.
type checker struct {
	file   *File
	faults []error
}

// fault adds an error at a field. If the file omits the field, the error points to the parent, because the field
// belongs there.
func (c *checker) fault(field, format string, args ...any) {
	c.faults = append(c.faults, c.file.places.Fault(field, format, args...))
}

func (c *checker) oneOf(field, value string, known ...string) {
	if !slices.Contains(known, value) {
		c.fault(field, "%q is none of %s; did you mean %q?", value, strings.Join(known, ", "),
			yamlfile.Nearest(value, known...))
	}
}

func (c *checker) atLeast(field string, value, least float64) {
	if !(value >= least) {
		c.fault(field, "%v is not at least %v", value, least)
	}
}

var experimentName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// Check reports every contradiction in the file, each with its line. Parse has already called it. Callers need it
// again only after they changed fields, as the search runner does. File.Plan relies on a file that passed.
func (f *File) Check() error {
	c := checker{file: f}
	if !experimentName.MatchString(f.Experiment) {
		c.fault("experiment", "%q is not a name of small letters, digits and hyphens, at most 40", f.Experiment)
	}
	if f.Title == "" {
		c.fault("title", "it is missing; say in a line what the experiment finds out")
	}
	if f.Test < 0 || f.Test > 7 {
		c.fault("test", "%d is none of the document's tests, 1 to 7; leave it out if it is none", f.Test)
	}
	c.oneOf("analysis", f.Analysis, string(runstore.OfTimeline), string(runstore.OfConcurrency), string(runstore.OfData),
		string(runstore.OfQueries))
	c.oneOf("on_fail", f.OnFail, FailFails, FailBrackets)
	c.goals()
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
	if len(c.file.Goals) == 0 {
		c.fault("goals", "there is none; say what each step is to hold, with its statistic")
	}
	for i, g := range c.file.Goals {
		field := fmt.Sprintf("goals[%d]", i)
		c.oneOf(field+".figure", g.Figure, tuning.Texts(tuning.GoalFigures())...)
		known := tuning.GoalFigure(g.Figure).Statistics()
		if len(known) == 0 {
			continue
		}
		if g.Statistic == "" && len(known) > 1 {
			c.fault(field, "the statistic of %s must be named: %s", g.Figure, strings.Join(tuning.Texts(known), ", "))
		} else if g.Statistic != "" {
			c.oneOf(field+".statistic", g.Statistic, tuning.Texts(known)...)
		}
		if g.AtMost.Given == g.AtLeast.Given {
			c.fault(field, "give one of at_most and at_least")
		} else if limit, err := g.limit(); err != nil {
			c.fault(field, "%s", err)
		} else if limit < 0 {
			c.fault(field, "%v is below 0, where no %s is", limit, g.Figure)
		} else if g.Figure == string(tuning.Completeness) && limit > 1 {
			c.fault(field, "completeness is a share: give at most 1, such as 99.9%% or 0.999")
		}
	}
}

// limit returns the limit in the unit of the goal's figure. It returns an error if the text does not fit the figure,
// such as 200 for a time.
func (g Goal) limit() (float64, error) {
	limit := g.AtMost
	if g.AtLeast.Given {
		limit = g.AtLeast
	}
	return limit.value(tuning.GoalFigure(g.Figure).Unit())
}

func (c *checker) topology() {
	if c.file.Topology.Conf == "" {
		c.fault("topology.conf", "it is missing; name the Bullet YAML, relative to this file")
	}
	if name := c.file.Topology.Name; name != "" && !experimentName.MatchString(name) {
		c.fault("topology.name", "%q is not a name of small letters, digits and hyphens, at most 40", name)
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
			c.fault(field+".axis", "it is missing; name the axis")
		}
		if seen[axis.Axis] {
			c.fault(field+".axis", "%q is there twice", axis.Axis)
		}
		seen[axis.Axis] = true
		switch {
		case axis.Setting != "" && len(axis.Configurations) > 0, axis.Setting == "" && len(axis.Values) > 0:
			c.fault(field, "an axis has either a setting with its values, or configurations")
		case len(axis.Values)+len(axis.Configurations) == 0:
			c.fault(field, "there is nothing on the axis; give a setting with values, or configurations")
		}
		c.configurations(field, axis.Configurations)
		trials *= max(1, len(axis.Values)+len(axis.Configurations))
	}
	if trials > maxTrials {
		c.fault("grid", "%d trials are more than the %d that a run may have", trials, maxTrials)
	}
}

// configurations requires a label for each configuration, because trials and their directories are named after it.
func (c *checker) configurations(field string, all []Configuration) {
	for i, each := range all {
		within := fmt.Sprintf("%s.configurations[%d]", field, i)
		if each.Label == "" {
			c.fault(within+".label", "it is missing; name the configuration")
		}
		c.values(within+".steps", each.Steps, false)
	}
}

// values checks the loads of a trial's steps. A repeated load is refused, because repeats have their own field.
// Numbers of queries must be whole; rates need not be.
func (c *checker) values(field string, values []float64, needed bool) {
	if needed && len(values) == 0 {
		c.fault(field, "it is missing; list where on the axis the steps are")
	}
	if len(values) > maxStepsATrial {
		c.fault(field, "%d steps are more than the %d that a trial may have", len(values), maxStepsATrial)
	}
	byQueries := c.file.Steps.Axis == string(runstore.Queries)
	for i, v := range values {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case v < 0:
			c.fault(at, "%v is below 0", v)
		case slices.Contains(values[:i], v):
			c.fault(at, "%v is there twice; repeats are for steps.repeats", v)
		case byQueries && (v != float64(int(v)) || v > maxQueries):
			c.fault(at, "%v is not a whole number of queries up to %d", v, maxQueries)
		}
	}
}

// steps checks the durations against the slice width, because only whole slices can be read back from the collector.
func (c *checker) steps() {
	s := c.file.Steps
	c.oneOf("steps.kind", s.Kind, string(runstore.LoadStep), string(runstore.TimelineStep))
	c.oneOf("steps.timeline_records", s.TimelineRecords, string(runstore.FlowingRecords), string(runstore.GeneratedRecords))
	if s.Kind == string(runstore.TimelineStep) {
		c.atLeast("steps.timeline_queries", float64(s.TimelineQueries), 1)
		if c.file.Load.Class != "raw" {
			c.fault("load.class", "%s queries return no record to follow; a timeline asks raw ones", c.file.Load.Class)
		}
		if s.TimelineRecords == string(runstore.GeneratedRecords) && !(c.file.Load.MatchingPerSecond > 0) {
			c.fault("load.matching_per_second",
				"it is 0, and steps.timeline_records is generated: no record would be made for a query to find")
		}
	}
	c.oneOf("steps.axis", s.Axis, string(runstore.Queries), string(runstore.QueriesPerSecond),
		string(runstore.RecordsPerSecond))
	c.oneOf("steps.search", s.Search, tuning.Texts(tuning.SearchKinds())...)
	c.values("steps.values", s.Values, !c.everyConfigurationHasSteps())
	width := c.file.Launch.SliceWidth
	for _, d := range []struct {
		field string
		value Duration
		least Duration
	}{{"steps.warm_up", s.WarmUp, 0}, {"steps.sustain", s.Sustain, width}} {
		if d.value < d.least || width > 0 && d.value%width != 0 {
			c.fault(d.field, "%s is not a number of whole slices of %s", time.Duration(d.value), time.Duration(width))
		}
	}
	if s.Repeats < 1 || s.Repeats > maxRepeats {
		c.fault("steps.repeats", "%d is not between 1 and %d", s.Repeats, maxRepeats)
	}
	if s.InconclusiveRepeats < 0 || s.InconclusiveRepeats > maxRepeats {
		c.fault("steps.inconclusive_repeats", "%d is not between 0 and %d", s.InconclusiveRepeats, maxRepeats)
	}
	c.atLeast("steps.start_up", time.Duration(s.StartUp).Seconds(), 0)
	if n := s.StartUpQueries.Value; n != math.Trunc(n) || n < 0 || n > maxQueries {
		c.fault("steps.start_up_queries", "%v is not a whole number of queries up to %d", n, maxQueries)
	}
	c.expectedCapacity(s)
	c.catchUp(s.CatchUp)
}

// expectedCapacity accepts an expected capacity only for load steps along queries. The loads of the cost steps are
// derived from it.
func (c *checker) expectedCapacity(s Steps) {
	switch {
	case s.ExpectedCapacity == 0:
	case s.Axis != string(runstore.Queries) || s.Kind != string(runstore.LoadStep):
		c.fault("steps.expected_capacity",
			"it is for load steps along queries: it says at which loads it is measured what a query costs")
	case len(tuning.MirroredLoads(s.ExpectedCapacity)) == 0 || s.ExpectedCapacity > maxQueries:
		c.fault("steps.expected_capacity", "%v is not between 4 and %d queries", s.ExpectedCapacity, maxQueries)
	}
}

// catchUp requires a factor above 1, because at the step's own rate nothing would be caught up.
func (c *checker) catchUp(u CatchUp) {
	asked := slices.ContainsFunc(c.file.Goals, func(g Goal) bool { return g.Figure == string(tuning.CatchUp) })
	if u.Factor != 0 && !(u.Factor > 1) {
		c.fault("steps.catch_up.factor", "%v is not above 1: nothing would be caught up", u.Factor)
	}
	if (u.Factor > 0) != (u.Sustain > 0) {
		c.fault("steps.catch_up", "give both, factor and sustain")
	}
	if asked && u.Factor == 0 {
		c.fault("steps.catch_up",
			"a goal asks for the catch-up ratio: say how many times the rate is offered, and for how long")
	}
}

// everyConfigurationHasSteps reports whether every configuration of an axis has its own steps. steps.values may then
// be left out.
func (c *checker) everyConfigurationHasSteps() bool {
	for _, axis := range c.file.Grid {
		if len(axis.Configurations) > 0 && !slices.ContainsFunc(axis.Configurations,
			func(each Configuration) bool { return len(each.Steps) == 0 }) {
			return true
		}
	}
	return false
}

// leastDRPCThreads is the minimum for the local cluster's DRPC server. It needs some threads itself, and each running
// query blocks one more.
const leastDRPCThreads = 8

// load checks the load that all steps share, and the requirements of its way of submitting queries.
func (c *checker) load() {
	l := c.file.Load
	c.oneOf("load.submit", l.Submit, SubmitByGateway, SubmitByDRPC)
	c.oneOf("load.class", l.Class, queryClasses...)
	switch {
	case c.file.Launch.Local != nil:
		if len(l.DRPC) > 0 {
			c.fault("load.drpc", "a local launch starts a DRPC server of its own; leave it out")
		}
		if l.Submit == SubmitByDRPC && c.file.Launch.Local.Kafka != nil {
			c.fault("load.submit",
				"the producer of launch.local.kafka starts when the topology asks the gateway for queries; use gateway, or leave kafka out")
		}
		if l.Submit == SubmitByDRPC && l.DRPCThreads > 0 {
			c.atLeast("load.drpc_threads", float64(l.DRPCThreads), leastDRPCThreads)
		}
	case l.Submit == SubmitByDRPC && len(l.DRPC) == 0:
		c.fault("load.drpc", "it is missing; list the DRPC servers' HTTP ports as host:port")
	}
	c.source()
	c.atLeast("load.drpc_threads", float64(l.DRPCThreads), 0)
	if l.Queries < 0 || l.Queries > maxQueries {
		c.fault("load.queries", "%d is not between 0 and %d", l.Queries, maxQueries)
	}
	c.atLeast("load.queries_per_second", l.QueriesPerSecond, 0)
	c.atLeast("load.records", float64(l.Records), 1)
	c.atLeast("load.matching_per_second", l.MatchingPerSecond, 0)
	if l.Duration < Duration(time.Second) {
		c.fault("load.duration", "%s is less than 1s", time.Duration(l.Duration))
	}
	if !(l.LeaveIdle > 0 && l.LeaveIdle < 1) {
		c.fault("load.leave_idle", "%v is not between 0 and 1", float64(l.LeaveIdle))
	}
}

// queryClasses are the query classes of the tuning workflow, which internal/lab/load implements.
var queryClasses = []string{"raw", "group", "count_distinct", "distribution", "top_k"}

// launch checks that exactly one way to launch is given, and the fields of that way.
func (c *checker) launch() {
	l := c.file.Launch
	if l.SliceWidth < Duration(time.Second) || l.SliceWidth%Duration(time.Second) != 0 {
		c.fault("launch.slice_width", "%s is not a number of whole seconds", time.Duration(l.SliceWidth))
	}
	switch {
	case (l.Local == nil) == (l.Command == nil):
		c.fault("launch", "give one of local and command")
	case l.Local != nil:
		c.atLeast("launch.local.workers", float64(l.Local.Workers), 1)
		if l.Local.WorkerHeap.MiB() < 64 {
			c.fault("launch.local.worker_heap", "%d MiB is less than the 64 MiB that a worker needs",
				l.Local.WorkerHeap.MiB())
		}
		if k := l.Local.Kafka; k != nil {
			least := 1.0
			if k.Bootstrap != "" {
				least = 0 // the number may be unknown
			}
			c.atLeast("launch.local.kafka.partitions", float64(k.Partitions), least)
		}
	default:
		c.command(*l.Command)
	}
	if l.Load != nil {
		c.loadHosts(*l.Load)
	}
}

// placeholders are the placeholders of the commands that launch and end a topology.
var placeholders = []string{"{name}", "{conf}", "{settings}", "{workers}"}

var placeholder = regexp.MustCompile(`\{[a-z_]*\}`)

// placeholders reports unknown placeholders in a command. The shell would otherwise receive them literally.
func (c *checker) placeholders(field string, words []string, known ...string) {
	for i, word := range words {
		for _, found := range placeholder.FindAllString(word, -1) {
			if !slices.Contains(known, found) {
				c.fault(fmt.Sprintf("%s[%d]", field, i), "unknown placeholder %s; there are %s", found,
					strings.Join(known, ", "))
			}
		}
	}
}

// command checks a command launch. It requires {name} in the submit command, because the collector's figures of a
// trial are found by that name.
func (c *checker) command(l Command) {
	for _, part := range []struct {
		field string
		words []string
	}{{"launch.command.submit", l.Submit}, {"launch.command.kill", l.Kill}} {
		if len(part.words) == 0 {
			c.fault(part.field, "it is missing; write the command as a list of its words")
		}
		c.placeholders(part.field, part.words, placeholders...)
	}
	if !slices.ContainsFunc(l.Submit, func(word string) bool { return strings.Contains(word, "{name}") }) &&
		len(l.Submit) > 0 {
		c.fault("launch.command.submit",
			"it does not say {name}: each trial has a name of its own, by which its figures are found")
	}
	if l.Collector == "" {
		c.fault("launch.command.collector",
			"it is missing; give the address of the collector's HTTP, host:port or https://host:port")
	}
	if l.Gateway == "" && c.needsGateway() {
		c.fault("launch.command.gateway", "it is missing; give the address of the query gateway, host:port")
	}
	c.url("launch.command.collector", l.Collector, address.Form{Example: "127.0.0.1:9320",
		Secrets: "launch.command.token_file", HostPort: true})
	c.url("launch.command.gateway", l.Gateway, address.Form{Example: "127.0.0.1:9901", HostPort: true})
	c.atLeast("launch.command.gateway_capacity", float64(l.GatewayCapacity), 0)
	if l.GatewayCapacity > 0 && c.file.Load.Submit == SubmitByDRPC {
		c.fault("launch.command.gateway_capacity",
			"queries do not go through the gateway; say in load.drpc_threads how many DRPC holds")
	}
	c.atLeast("launch.command.workers", float64(l.Workers), 1)
	c.atLeast("launch.command.partitions", float64(l.Partitions), 0)
}

// Conf returns the path of the Bullet YAML.
func (f *File) Conf() string { return f.Topology.Conf.In(f.path) }

// CA returns the path of the collector's CA certificate for a command launch, Token that of its token; "" if not set.
func (f *File) CA() string    { return f.Launch.Command.TLSCA.In(f.path) }
func (f *File) Token() string { return f.Launch.Command.TokenFile.In(f.path) }

// url checks an address that is set. A required address that is missing is reported elsewhere.
func (c *checker) url(key, given string, form address.Form) {
	if given == "" {
		return
	}
	if _, err := address.URL(given).Parse(form); err != nil {
		c.fault(key, "%s", err)
	}
}
