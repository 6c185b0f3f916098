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
	// Before and After are nil where the value is not there.
	Before   *string  `json:"before"`
	After    *string  `json:"after"`
	Variable Variable `json:"variable,omitempty"`
}

// Lines are the change as a configuration diff has it: "- key: before", "+ key: after".
func (c Change) Lines() (lines []string) {
	if c.Before != nil {
		lines = append(lines, fmt.Sprintf("- %s: %s", c.Key, *c.Before))
	}
	if c.After != nil {
		lines = append(lines, fmt.Sprintf("+ %s: %s", c.Key, *c.After))
	}
	return lines
}

// DiffSettings lists what differs between two sets of named values, by key. Beside Bullet's and Storm's settings the
// values may be of the namespaces that VariableOf knows. Measured values differ when they do by more than they scatter
// (scatters). A setting that is not there has its default, and so differs from one that is; a version, a machine or a
// cluster that only one side states may be the same on the other, and moves nothing (see Undetermined).
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

// Variable is one of the eight that "Tuning and Performance of Bullet in Storm" names as having an effect, and of which
// a comparison should have moved one only. What is none of them, such as a heap, is "".
type Variable string

// The eight, in the document's order.
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

// Variables are the eight in the document's order.
func Variables() []Variable {
	return []Variable{DataVolume, QueryCount, QueryKind, Parallelism, Hardware, SoftwareVersion,
		ClusterLoad, DataSource}
}

// Namespaces of values that are no settings. Others than these move none of the eight.
const (
	OfData     = "data."     // data.records_per_second
	OfLoad     = "load."     // load.queries, load.class, load.query
	OfMachine  = "machine."  // machine.cpu_model, of the machines that the topology runs on
	OfVersions = "versions." // versions.storm
	OfCluster  = "cluster."  // cluster.busy_by_others
	OfRecords  = "records."  // records.schema
	OfSource   = "source."   // source.kafka_partitions
)

// Values that are measured.
const (
	// CalibratedRate is the record rate that was found, a number.
	CalibratedRate = OfData + "calibrated_records_per_second"
	// BusyByOthers is the share of the topology's machines that others took, in percent, "12%".
	BusyByOthers = OfCluster + "busy_by_others"
	// MeanRecord is the records' mean size.
	MeanRecord = OfRecords + "mean_size"
)

// places say which variable a key belongs to: the first whose part the key has. Parts that end in a point are prefixes,
// those that begin with one suffixes, the others whole keys.
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

// custom is how Bullet's file spells Storm's own settings.
const custom = "bullet.topology.custom."

// VariableOf is which of the eight a setting moves.
func VariableOf(key string) Variable {
	key = strings.TrimPrefix(key, custom)
	for _, p := range places {
		switch {
		case strings.HasSuffix(p.part, ".") && strings.HasPrefix(key, p.part),
			strings.HasPrefix(p.part, ".") && strings.HasSuffix(key, p.part), key == p.part:
			return loads(key, p.variable)
		}
	}
	return ""
}

// loads are what a component requests: that moves none of the eight, whatever the component.
func loads(key string, otherwise Variable) Variable {
	if strings.HasSuffix(key, ".load") {
		return ""
	}
	return otherwise
}

// Moved are the variables that the changes moved, in the document's order.
func Moved(changes []Change) []Variable {
	moved := []Variable{}
	for _, v := range Variables() {
		if slices.ContainsFunc(changes, func(c Change) bool { return c.Variable == v }) {
			moved = append(moved, v)
		}
	}
	return moved
}
