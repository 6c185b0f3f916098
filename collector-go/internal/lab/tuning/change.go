package tuning

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Change is one named value that differs between two runs.
type Change struct {
	Key string `json:"key"`
	// Before and After are nil if the value is missing on that side.
	Before   *string  `json:"before"`
	After    *string  `json:"after"`
	Variable Variable `json:"variable,omitempty"`
}

// Lines returns the change in the form of a diff: "- key: before", "+ key: after".
func (c Change) Lines() (lines []string) {
	if c.Before != nil {
		lines = append(lines, fmt.Sprintf("- %s: %s", c.Key, *c.Before))
	}
	if c.After != nil {
		lines = append(lines, fmt.Sprintf("+ %s: %s", c.Key, *c.After))
	}
	return lines
}

// DiffSettings returns the differences between two sets of named values, sorted by key. The values are settings of
// Bullet and Storm, and those in the namespaces that VariableOf knows. Measured values differ only if the difference
// exceeds their scatter (scatters).
//
// A missing setting has its default, so it differs from a setting that is present. A version, machine or cluster that
// only one side states may be the same on the other, so it moves no variable (see Undetermined).
func DiffSettings(before, after map[string]string) []Change {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(keys)
	changes := []Change{}
	for _, key := range slices.Compact(keys) {
		was, had := before[key]
		is, has := after[key]
		if had == has && sameValue(key, was, is) {
			continue
		}
		c := Change{Key: key, Variable: VariableOf(key)}
		if had != has && isFact(key) {
			c.Variable = ""
		}
		if had {
			c.Before = &was
		}
		if has {
			c.After = &is
		}
		changes = append(changes, c)
	}
	return changes
}

// Variable is one of the eight variables that "Tuning and Performance of Bullet in Storm" names as having an effect. A
// comparison should change only one of them. Other settings, such as a heap, have the variable "".
type Variable string

// The eight variables, in the document's order.
const (
	DataVolume      Variable = "amount of data"
	QueryCount      Variable = "simultaneous queries"
	QueryKind       Variable = "kind of queries"
	Parallelism     Variable = "parallelism of components"
	Hardware        Variable = "hardware"
	SoftwareVersion Variable = "versions"
	ClusterLoad     Variable = "how free the cluster is"
	DataSource      Variable = "source of the data"
)

// Variables returns the eight variables in the document's order.
func Variables() []Variable {
	return []Variable{DataVolume, QueryCount, QueryKind, Parallelism, Hardware, SoftwareVersion,
		ClusterLoad, DataSource}
}

// Namespaces of values that are not settings. Values outside of them and of the known settings belong to no variable.
const (
	OfData     = "data."     // data.records_per_second
	OfLoad     = "load."     // load.queries, load.class, load.query
	OfMachine  = "machine."  // machine.cpu_model, of the machines that the topology runs on
	OfVersions = "versions." // versions.storm
	OfCluster  = "cluster."  // cluster.busy_by_others
	OfRecords  = "records."  // records.schema
	OfSource   = "source."   // source.kafka_partitions
)

// Measured values.
const (
	// CalibratedRate is the calibrated record rate, a number.
	CalibratedRate = OfData + "calibrated_records_per_second"
	// BusyByOthers is the share of the topology's machines that others used, in percent, "12%".
	BusyByOthers = OfCluster + "busy_by_others"
	// MeanRecord is the mean size of a record.
	MeanRecord = OfRecords + "mean_size"
)

// places maps keys to variables; the first match counts. A part that ends in a point is a prefix, one that begins with
// a point is a suffix, and any other is a whole key.
var places = []struct {
	part     string
	variable Variable
}{
	{OfData, DataVolume}, {MeanRecord, DataVolume}, {"bullet.topology.generator.records.per.second", DataVolume},
	{"bullet.topology.source.sampling.percentage", DataVolume},
	{"load.queries", QueryCount}, {"load.queries_per_second", QueryCount}, {OfLoad, QueryKind},
	{OfMachine, Hardware}, {OfVersions, SoftwareVersion}, {OfCluster, ClusterLoad}, {OfRecords, DataSource},
	{OfSource, DataSource},
	{".parallelism", Parallelism}, {"topology.workers", Parallelism}, {"topology.acker.executors", Parallelism},
	{"bullet.dsl.", DataSource}, {"bullet.topology.dsl.", DataSource}, {"bullet.topology.source.", DataSource},
	{"bullet.topology.generator.", DataSource},
	{"bullet.topology.bullet.spout.class.name", DataSource}, {"bullet.topology.bullet.spout.args", DataSource},
	{"topology.max.spout.pending", DataSource},
}

// custom is the prefix of Storm's own settings in Bullet's file.
const custom = "bullet.topology.custom."

// VariableOf returns the variable that a setting belongs to.
func VariableOf(key string) Variable {
	key = strings.TrimPrefix(key, custom)
	if strings.HasSuffix(key, ".load") { // a component's resource request belongs to no variable
		return ""
	}
	for _, p := range places {
		switch {
		case strings.HasSuffix(p.part, ".") && strings.HasPrefix(key, p.part),
			strings.HasPrefix(p.part, ".") && strings.HasSuffix(key, p.part), key == p.part:
			return p.variable
		}
	}
	return ""
}

// Moved returns the variables that the changes belong to, in the document's order.
func Moved(changes []Change) []Variable {
	return slices.DeleteFunc(Variables(), func(v Variable) bool {
		return !slices.ContainsFunc(changes, func(c Change) bool { return c.Variable == v })
	})
}

// scatter is the allowed difference between two measurements of the same quantity.
type scatter struct {
	relative float64 // relative to the larger value
	points   float64 // percentage points
}

// scatters holds the scatter of measured values. All other values are equal only if their texts are.
var scatters = map[string]scatter{
	CalibratedRate: {relative: 0.05},
	BusyByOthers:   {points: 5},
}

// sameValue reports whether two values of a key are the same within their scatter.
func sameValue(key, a, b string) bool {
	s, measured := scatters[key]
	if a == b || !measured {
		return a == b
	}
	x, failed := strconv.ParseFloat(strings.TrimSuffix(a, "%"), 64)
	y, failedToo := strconv.ParseFloat(strings.TrimSuffix(b, "%"), 64)
	if failed != nil || failedToo != nil {
		return false
	}
	apart := math.Abs(x - y)
	return apart <= s.points || apart <= s.relative*math.Max(math.Abs(x), math.Abs(y))
}

// facts are the variables that a run knows only if they were stated, with the namespaces of their values.
var facts = []fact{{Hardware, OfMachine}, {SoftwareVersion, OfVersions}, {ClusterLoad, OfCluster}}

type fact struct {
	variable  Variable
	namespace string
}

func isFact(key string) bool {
	return slices.ContainsFunc(facts, func(f fact) bool { return strings.HasPrefix(key, f.namespace) })
}

// Undetermined returns the variables for which the two sides have no value in common, in the document's order. Whether
// they changed is unknown.
func Undetermined(before, after map[string]string) []Variable {
	undetermined := []Variable{}
	for _, f := range facts {
		common := false
		for key := range before {
			_, both := after[key]
			common = common || both && strings.HasPrefix(key, f.namespace)
		}
		if !common {
			undetermined = append(undetermined, f.variable)
		}
	}
	return undetermined
}

// settingOf maps components of the document's tables, and of today's Bullet, to Bullet's settings. Names are compared
// without case and spaces. DataSource is missing, because its meaning depends on the other components. It is the DSL's
// bolt if there is a DataSpout, the DSL's spout if there is a DataSource bolt, and otherwise Bullet's spout.
var settingOf = map[string]string{
	"filterbolt": "bullet.topology.filter.bolt", "joinbolt": "bullet.topology.join.bolt",
	"queryspout": "bullet.topology.query.spout", "drpcspout": "bullet.topology.query.spout",
	"resultbolt": "bullet.topology.result.bolt", "returnresults": "bullet.topology.result.bolt",
	"returnresultsbolt": "bullet.topology.result.bolt",
	"loopbolt":          "bullet.topology.loop.bolt", "replaybolt": "bullet.topology.replay.bolt",
	"datasourcebolt": "bullet.topology.dsl.bolt", "dslbolt": "bullet.topology.dsl.bolt",
	"dslspout":    "bullet.topology.dsl.spout",
	"bulletspout": "bullet.topology.bullet.spout", "dataspout": "bullet.topology.dsl.spout", "tickspout": tickSpout,
	"__acker": ackers, "ackers": ackers,
}

// tickSpout always has one instance, so Bullet has no parallelism setting for it. ackers is Storm's setting, which
// Bullet passes on.
const (
	tickSpout = "bullet.topology.tick.spout"
	ackers    = "bullet.topology.custom.topology.acker"
)

// parallelismOf returns the setting for a component's number of instances; "" if there is none.
func parallelismOf(prefix string) string {
	switch prefix {
	case tickSpout:
		return ""
	case ackers:
		return prefix + ".executors"
	}
	return prefix + ".parallelism"
}

func plainName(component string) string {
	return strings.ToLower(strings.Join(strings.Fields(component), ""))
}

// prefixOf returns the prefix of a component's settings; false if Bullet has none for it.
func prefixOf(component string, all []Component) (string, bool) {
	name := plainName(component)
	if name == "datasourcespout" || name == "datasource" {
		if _, before := componentNamed("dataspout", all); before {
			return "bullet.topology.dsl.bolt", true
		}
		if _, brokered := componentNamed("datasourcebolt", all); brokered {
			return "bullet.topology.dsl.spout", true
		}
		return "bullet.topology.bullet.spout", true
	}
	prefix, found := settingOf[name]
	return prefix, found
}

// filterBolt is the plain name of the component whose cost depends on the queries.
const filterBolt = "filterbolt"

// componentNamed returns the component with a plain name.
func componentNamed(name string, all []Component) (Component, bool) {
	return First(all, func(c Component) bool { return plainName(c.Name) == name })
}
