package tuning

import (
	"fmt"
	"maps"
	"slices"
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
