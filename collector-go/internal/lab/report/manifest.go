package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// manifestTable says what ran on which machines, so that the run can be repeated and compared. Rows with unknown values
// are omitted, unless the reader can supply the value. The launch is that of the first trial; the others are in the
// sections of their trials.
func (r *RunReport) manifestTable() document.Table {
	t := document.Pairs()
	m, v := r.Manifest, r.Manifest.Versions
	t.AddKnown("Run", m.ID)
	t.AddKnown("Command", m.Command)
	if i := slices.IndexFunc(r.Trials, func(trial *TrialReport) bool { return trial.Launched != "" }); i >= 0 {
		t.AddKnown("Launched by", r.Trials[i].Launched)
	}
	t.AddKnown("Bullet Metrics", v.BulletMetrics, "Bullet", v.Bullet, "Storm", v.Storm, "Kafka", r.kafka(),
		"Java of the workers", v.WorkerJava, "Java of the load host", v.Java, "Plugin", v.Plugin)
	if hostOfRun(r.plan) {
		addCluster(&t, m.Cluster)
		addMachine(&t, "Load host: ", m.Machine)
	} else {
		addMachine(&t, "", m.Machine)
	}
	addRecords(&t, m.Records)
	if r.plan.KafkaPartitions > 0 {
		t.AddKnown("Kafka partitions", strconv.Itoa(r.plan.KafkaPartitions))
	}
	t.AddKnown("GC flags", m.GCFlags)
	t.AddKnown("JVM flags of the workers", m.WorkerFlags)
	for _, e := range m.Further {
		t.AddKnown(e.Key, e.Value)
	}
	return t
}

// kafka returns the version of the broker. If the records come from Kafka and the version is unknown, it returns a hint
// how to state it.
func (r *RunReport) kafka() string {
	fromKafka := func(e runstore.Entry) bool { return strings.HasPrefix(e.Key, "bullet.dsl.connector.kafka.") }
	if r.Manifest.Versions.Kafka == "" && slices.ContainsFunc(r.Manifest.BulletSettings, fromKafka) {
		return "unknown; set cluster.kafka_version"
	}
	return r.Manifest.Versions.Kafka
}

// addMachine adds the known facts about a machine. The prefix is the role of the machine, or "" if the run has only one
// machine.
func addMachine(t *document.Table, prefix string, m runstore.Machine) {
	if m.Cores > 0 {
		t.AddKnown(prefix+"Processors", strings.TrimSpace(fmt.Sprintf("%d x %s", m.Cores, m.CPUModel)))
	}
	if m.Cores > 0 && m.UsableCores.Known() && m.UsableCores > 0 {
		t.AddKnown(prefix+"Usable cores", fmt.Sprintf("%s of %d", tuning.Digits(m.UsableCores), m.Cores))
	}
	if m.MemoryBytes > 0 {
		t.AddKnown(prefix+"Memory", fmt.Sprintf("%.1f GiB", float64(m.MemoryBytes)/(1<<30)))
	}
	t.AddKnown(prefix+"Network", m.Network)
	t.AddKnown(prefix+"Kernel", m.Kernel)
}

// addCluster adds the known facts about the machines of a cluster. They come only from the experiment file, because
// nothing queries these machines.
func addCluster(t *document.Table, c *runstore.Cluster) {
	const head = "Machines of the cluster"
	if c == nil || c.Cores <= 0 {
		t.AddKnown(head, "unknown; set cluster.machines in the experiment file")
		return
	}
	count := "number not reported"
	if c.Machines > 0 {
		count = strconv.Itoa(c.Machines)
	}
	t.AddKnown(head, count)
	addMachine(t, "Each machine: ", c.Machine())
	if c.BusyByOthers.Known() {
		t.AddKnown("Share of the cluster used by others", tuning.Percent(c.BusyByOthers))
	}
}

// addRecords adds the shape and size of the records. The costs in the report apply only to such records, so the row is
// also there if the shape is unknown.
func addRecords(t *document.Table, s runstore.Records) {
	schema := "unknown; set records in the experiment file"
	if s.Fields > 0 {
		schema = s.Schema() + tuning.InBrackets(s.Note)
	}
	t.AddKnown("Records", schema)
	if s.MeanRecordBytes.Known() {
		t.AddKnown("Mean record size", tuning.Digits(s.MeanRecordBytes)+" bytes")
	}
	if s.CompressionRatio.Known() {
		t.AddKnown("Compression ratio", tuning.Digits(s.CompressionRatio))
	}
}

// launchBlocks describes how the trial was launched and what its topology reported. Trials of older runs stored no
// arguments, so their settings are shown instead.
func (t *TrialReport) launchBlocks() []document.Block {
	laid := t.Arguments
	if len(laid) == 0 {
		laid = t.Settings
	}
	return []document.Block{
		document.Heading("Reported by the topology"), document.Tabled(t.reportedTable()),
		document.Heading("Launched by"), document.Verbatim(t.Launched),
		document.Heading("Settings that override the Bullet settings"), document.Tabled(entryTable("Setting", "Value", laid)),
	}
}

// effectiveRows returns the heap and GC flags that the workers reported. A row exists only if they differ between
// configurations. They are needed because flags may come from Storm's own configuration, which no setting of the trial
// shows.
func (r *RunReport) effectiveRows() (rows [][]string) {
	for _, flags := range []struct {
		name string
		of   func(runstore.ReportedConfig) string
	}{
		{"heap flags in effect", func(t runstore.ReportedConfig) string { return t.HeapFlags }},
		{"GC flags in effect", func(t runstore.ReportedConfig) string { return t.GCFlags }},
	} {
		row, distinct := []string{flags.name}, map[string]bool{}
		for _, configuration := range r.Rows {
			cell := document.Unknown
			for _, t := range r.trialsOf(configuration.Configuration) {
				if t.Reported != nil {
					cell = flags.of(*t.Reported)
					distinct[cell] = true
				}
			}
			row = append(row, cell)
		}
		if len(distinct) > 1 {
			rows = append(rows, row)
		}
	}
	return rows
}

// reportedTable shows what the topology reported about itself, which may differ from what it was launched with. JVM
// options are not repeated among the settings, because they have rows of their own.
func (t *TrialReport) reportedTable() document.Table {
	out, r := document.Pairs(), t.Reported
	if r == nil {
		return out
	}
	out.AddKnown("Topology id", r.TopologyID, "Bullet", r.Bullet, "Storm", r.Storm, "Java of the workers", r.WorkerJava,
		"Plugin", r.Plugin, "JVM flags of the workers", r.WorkerFlags, "Heap flags in effect", r.HeapFlags,
		"GC flags in effect", r.GCFlags)
	if r.HeapLimitBytes.Known() {
		out.AddKnown("Heap limit of a worker", fmt.Sprintf("%.0f MiB", float64(r.HeapLimitBytes)/mib))
	}
	out.AddKnown("Executors", r.Executors)
	out.AddKnown("Requested from the scheduler", r.Requested)
	for _, e := range r.Settings {
		if !strings.HasSuffix(e.Key, "childopts") {
			out.AddKnown(e.Key, e.Value)
		}
	}
	return out
}
