package runstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Values returns the properties of a run as named values, which tuning.DiffSettings compares with those of another
// run. They are the settings that all trials share, the grid, the load, and what is known about versions and machines.
// bulletSettings are the Bullet YAML's entries.
func Values(plan Plan, bulletSettings []Entry, manifest Manifest) map[string]string {
	values := Mapped(bulletSettings)
	for _, e := range plan.shared() {
		values[e.Key] = Shown(e.Key, e.Value)
	}
	for axis, labels := range plan.labels() {
		values["grid."+axis] = strings.Join(labels, ", ")
	}
	plan.addLoad(values)
	manifest.add(plan.Launch, values)
	for key, value := range values {
		if value == "" {
			delete(values, key)
		}
	}
	return values
}

// Values returns the properties of one trial: the run's values that hold for it, its launch settings and its
// topology's reported configuration. The steps' values are listed under steps.values, which belongs to no variable,
// because two trials are compared at the same values.
func (r *Run) Values(t Trial) (map[string]string, error) {
	plan := r.Plan
	plan.Trials = []PlannedTrial{t.PlannedTrial}
	values := Values(plan, r.Manifest.BulletSettings, r.Manifest)
	for axis := range plan.labels() {
		delete(values, "grid."+axis) // the trial's settings contain it
	}
	values["steps.values"] = values[plan.Axis.key()]
	delete(values, plan.Axis.key())
	if t.Workers > 0 {
		values["topology.workers"] = strconv.Itoa(t.Workers)
	}
	if t.WorkerHeapMiB > 0 {
		values["launch.worker_heap"] = fmt.Sprintf("%d MiB", t.WorkerHeapMiB)
	}
	r.addMeasured(t, values)
	reported, err := t.ReportedConfig()
	if err != nil || reported == nil {
		return values, err
	}
	reported.add(values)
	return values, nil
}

// addMeasured adds measured properties of the environment: the record rate, and the CPU that others used on the
// machine.
func (r *Run) addMeasured(t Trial, values map[string]string) {
	for _, e := range r.Events {
		if e.Kind == RateCalibrated && e.RecordsPerSecond != nil && !r.Plan.Load.RecordsPerSecond.Known() &&
			r.Plan.Axis != RecordsPerSecond {
			values[tuning.CalibratedRate] = strconv.FormatFloat(*e.RecordsPerSecond, 'f', 0, 64)
		}
	}
	if r.Plan.Launch != LocalLaunch {
		return // the steps report processes of the load host only
	}
	taken, steps := 0.0, 0
	for _, s := range t.Steps {
		for _, share := range s.Shares {
			if share.Process == EverythingElse && share.Ratio.Known() {
				taken, steps = taken+float64(share.Ratio), steps+1
			}
		}
	}
	if steps > 0 {
		values[tuning.BusyByOthers] = tuning.PercentIn(tuning.Figure(taken/float64(steps)), 1)
	}
}

// add adds the effective configuration. The settings themselves come from the file and its arguments.
func (t *ReportedConfig) add(values map[string]string) {
	for key, value := range map[string]string{
		"worker.heap_flags": t.HeapFlags, "worker.gc_flags": t.GCFlags, "versions.storm": t.Storm,
		"versions.bullet": t.Bullet, "versions.java": t.WorkerJava, "versions.plugin": t.Plugin,
	} {
		if value != "" {
			values[key] = value
		}
	}
	if t.HeapLimitBytes.Known() && t.HeapLimitBytes > 0 {
		values["worker.heap_limit"] = fmt.Sprintf("%.0f MiB", float64(t.HeapLimitBytes)/(1<<20))
	}
}

// shared returns the settings that have the same value in all trials.
func (p Plan) shared() (all []Entry) {
	if len(p.Trials) == 0 {
		return nil
	}
	for _, e := range p.Trials[0].Settings {
		if !slices.ContainsFunc(p.Trials, func(t PlannedTrial) bool { return !slices.Contains(t.Settings, e) }) {
			all = append(all, e)
		}
	}
	return all
}

// labels returns the positions on each axis of the grid, in their order.
func (p Plan) labels() map[string][]string {
	labels := map[string][]string{}
	for _, t := range p.Trials {
		for _, c := range t.Point {
			labels[c.Axis] = tuning.Union(labels[c.Axis], c.Label)
		}
	}
	return labels
}

// addLoad adds the load on the topology.
func (p Plan) addLoad(values map[string]string) {
	l := p.Load
	values["load.class"], values["load.submit"] = l.Class, l.Submit
	values["load.query"] = fmt.Sprintf("%d records or %s, %s matching records/s", l.QueryLimit,
		time.Duration(l.QueryDurationMs)*time.Millisecond, short(float64(l.MatchingPerSecond)))
	if l.BQL != "" {
		values["load.query"] = l.BQL
	}
	values["load.queries"] = strconv.Itoa(l.Queries)
	values["data.records_per_second"] = "calibrated"
	if l.NoSource() {
		values["data.records_per_second"] = "all that the topology can read"
	} else if l.RecordsPerSecond.Known() {
		values["data.records_per_second"] = short(float64(l.RecordsPerSecond))
	} else if l.TargetIdle.Known() {
		values["data.records_per_second"] = fmt.Sprintf("calibrated to leave %s%% of the host idle",
			short(100*float64(l.TargetIdle)))
	}
	values[p.Axis.key()] = strings.Join(tuning.Union(nil, tuning.Each(p.StepValues(), short)...), ", ")
	values["launch.kind"], values["launch.load_hosts"] = p.Launch, strings.Join(p.LoadHosts, ", ")
	if p.KafkaPartitions > 0 {
		values[tuning.OfSource+"kafka_partitions"] = strconv.Itoa(p.KafkaPartitions)
	}
	values["steps.search"] = string(p.Search)
	values["steps.warm_up"], values["steps.sustain"] = (time.Duration(p.WarmUpMs) * time.Millisecond).String(),
		(time.Duration(p.SustainMs) * time.Millisecond).String()
	for _, g := range p.Goals {
		values["goals."+string(g.Figure)+"."+string(g.Statistic)] = g.String()
	}
}

func short(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// key returns the name of the value that the axis varies.
func (a Axis) key() string {
	return map[Axis]string{Queries: "load.queries", QueriesPerSecond: "load.queries_per_second",
		RecordsPerSecond: "data.records_per_second"}[a]
}

// add adds what is known about versions, records and machines. The hardware is that of the cluster; if the load host
// is another machine, it is reported separately.
func (m Manifest) add(launch string, values map[string]string) {
	v := m.Versions
	for name, text := range map[string]string{"bullet_metrics": v.BulletMetrics, "bullet": v.Bullet, "storm": v.Storm,
		"kafka": v.Kafka, "java": v.WorkerJava, "plugin": v.Plugin} {
		values[tuning.OfVersions+name] = text
	}
	m.Records.add(values)
	if launch != CommandLaunch {
		m.Machine.add(tuning.OfMachine, values)
		return
	}
	m.Machine.add("load_host.", values)
	values["load_host.java"] = v.Java
	if c := m.Cluster; c != nil {
		addCount(values, tuning.OfMachine+"count", c.Machines)
		c.Machine().add(tuning.OfMachine, values)
		if c.BusyByOthers.Known() {
			values[tuning.BusyByOthers] = tuning.PercentIn(c.BusyByOthers, 1)
		}
	}
}

func (m Machine) add(namespace string, values map[string]string) {
	values[namespace+"cpu_model"], values[namespace+"network"] = m.CPUModel, m.Network
	addCount(values, namespace+"cores", m.Cores)
	if m.UsableCores.Known() && m.UsableCores > 0 {
		values[namespace+"usable_cores"] = short(float64(m.UsableCores))
	}
	if m.MemoryBytes > 0 {
		values[namespace+"memory"] = fmt.Sprintf("%.1f GiB", float64(m.MemoryBytes)/(1<<30))
	}
}

func addCount(values map[string]string, key string, n int) {
	if n > 0 {
		values[key] = strconv.Itoa(n)
	}
}

func (r Records) add(values map[string]string) {
	if r.Fields > 0 {
		values[tuning.OfRecords+"schema"] = r.Schema()
	}
	if r.MeanRecordBytes.Known() && r.MeanRecordBytes > 0 {
		values[tuning.MeanRecord] = short(float64(r.MeanRecordBytes)) + " bytes"
	}
	if r.CompressionRatio.Known() && r.CompressionRatio > 0 {
		values[tuning.OfRecords+"compression_ratio"] = short(float64(r.CompressionRatio))
	}
}

// Schema returns the schema of the records in words, as far as it is known.
func (r Records) Schema() string {
	var parts []string
	for _, part := range []struct {
		count int
		of    string
	}{{r.Strings, "strings"}, {r.Longs, "longs"}, {r.Maps, "maps"}, {r.ListsOfMaps, "lists of maps"}} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.of))
		}
	}
	return fmt.Sprintf("%d fields", r.Fields) + tuning.InBrackets(strings.Join(parts, ", "))
}

// Mapped returns the values by key. A later entry replaces an earlier one.
func Mapped(entries []Entry) map[string]string {
	values := map[string]string{}
	for _, e := range entries {
		values[e.Key] = e.Value
	}
	return values
}
