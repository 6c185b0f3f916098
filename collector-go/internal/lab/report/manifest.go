package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// manifestTable is what ran, on what.
func (r *RunReport) manifestTable() document.Table {
	t := document.Pairs()
	m, v := r.Manifest, r.Manifest.Versions
	t.AddKnown("Run", m.ID)
	t.AddKnown("Command", m.Command)
	for _, trial := range r.Trials {
		if trial.Launched != "" {
			t.AddKnown("Launched by", trial.Launched)
			break // the others in their own sections
		}
	}
	t.AddKnown("Bullet Metrics", v.BulletMetrics)
	t.AddKnown("Bullet", v.Bullet)
	t.AddKnown("Storm", v.Storm)
	t.AddKnown("Kafka", r.kafka())
	t.AddKnown("Java of the workers", v.WorkerJava)
	t.AddKnown("Java of the host of the load", v.Java)
	t.AddKnown("Plugin", v.Plugin)
	r.addMachines(&t)
	addRecords(&t, m.Records)
	if r.plan.KafkaPartitions > 0 {
		t.AddKnown("Kafka partitions", strconv.Itoa(r.plan.KafkaPartitions))
	}
	t.AddKnown("Garbage collector's flags", m.GCFlags)
	t.AddKnown("Flags of the workers", m.WorkerFlags)
	for _, e := range m.Further {
		t.AddKnown(e.Key, e.Value)
	}
	return t
}

// kafka is the broker's version; where records come from one that is not known, how to state it.
func (r *RunReport) kafka() string {
	if r.Manifest.Versions.Kafka != "" {
		return r.Manifest.Versions.Kafka
	}
	for _, e := range r.Manifest.BulletSettings {
		if strings.HasPrefix(e.Key, "bullet.dsl.connector.kafka.") {
			return "not known: give cluster.kafka_version"
		}
	}
	return ""
}

// addMachines adds the machine of the run by its role, and the cluster's.
func (r *RunReport) addMachines(t *document.Table) {
	m, prefix := r.Manifest.Machine, ""
	if hostOfRun(r.plan) {
		addCluster(t, r.Manifest.Cluster)
		prefix = "Host of the load: "
	}
	if m.Cores > 0 {
		t.AddKnown(prefix+"Processors", strings.TrimSpace(fmt.Sprintf("%d x %s", m.Cores, m.CPUModel)))
		t.AddKnown(prefix+"Usable cores", usable(m.UsableCores, m.Cores))
	}
	t.AddKnown(prefix+"Memory", memory(m.MemoryBytes))
	t.AddKnown(prefix+"Network", m.Network)
	t.AddKnown(prefix+"Kernel", m.Kernel)
}

// addCluster adds what is known of a cluster's machines.
func addCluster(t *document.Table, c *runstore.Cluster) {
	const head = "Machines of the cluster"
	if c == nil || c.Cores <= 0 {
		t.AddKnown(head, "not known: give cluster.machines in the experiment's file")
		return
	}
	count := "number not reported"
	if c.Machines > 0 {
		count = strconv.Itoa(c.Machines)
	}
	t.AddKnown(head, count)
	t.AddKnown("Each machine: Processors", strings.TrimSpace(fmt.Sprintf("%d x %s", c.Cores, c.CPUModel)))
	t.AddKnown("Each machine: Usable cores", usable(c.UsableCores, c.Cores))
	t.AddKnown("Each machine: Memory", memory(c.MemoryBytes))
	t.AddKnown("Each machine: Network", c.Network)
	if c.BusyByOthers.Known() {
		t.AddKnown("Taken of the cluster by others", tuning.Percent(c.BusyByOthers))
	}
}

func usable(of Figure, cores int) string {
	if !of.Known() || of <= 0 {
		return ""
	}
	return fmt.Sprintf("%s of %d", tuning.Digits(of), cores)
}

func memory(bytes int64) string {
	if bytes <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

func addRecords(t *document.Table, s runstore.Records) {
	schema := "not known: the experiment does not state records"
	if s.Fields > 0 {
		schema = s.Schema() + tuning.InBrackets(s.Note)
	}
	t.AddKnown("Records", schema)
	if s.MeanRecordBytes.Known() {
		t.AddKnown("Mean record", tuning.Digits(s.MeanRecordBytes)+" bytes")
	}
	if s.CompressionRatio.Known() {
		t.AddKnown("Compression ratio", tuning.Digits(s.CompressionRatio))
	}
}

// launchBlocks are how the trial was launched and what its topology reported.
func (t *TrialReport) launchBlocks() []document.Block {
	laid := t.Arguments
	if len(laid) == 0 {
		laid = t.Settings
	}
	return []document.Block{
		document.Heading("What the topology reported"), document.Tabled(t.reportedTable()),
		document.Heading("Launched by"), document.Verbatim(t.Launched),
		document.Heading("Settings laid over Bullet's own"), document.Tabled(entryTable("Setting", "Value", laid)),
	}
}

// effectiveRows are the flags of the workers as they held, whatever set them, where the configurations that reported
// them do not share them.
func (r *RunReport) effectiveRows() (rows [][]string) {
	for _, flags := range []struct {
		name string
		of   func(runstore.ReportedConfig) string
	}{
		{"heap flags in effect", func(t runstore.ReportedConfig) string { return t.HeapFlags }},
		{"garbage collector's flags in effect", func(t runstore.ReportedConfig) string { return t.GCFlags }},
	} {
		row, distinct := []string{flags.name}, map[string]bool{}
		for _, configuration := range r.Rows {
			cell := document.Unknown
			for _, t := range r.Trials {
				if t.Configuration == configuration.Configuration && t.Reported != nil {
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

func (t *TrialReport) reportedTable() document.Table {
	out := document.Pairs()
	if t.Reported == nil {
		return out
	}
	out.AddKnown("Topology id", t.Reported.TopologyID)
	out.AddKnown("Bullet", t.Reported.Bullet)
	out.AddKnown("Storm", t.Reported.Storm)
	out.AddKnown("Java of the workers", t.Reported.WorkerJava)
	out.AddKnown("Plugin", t.Reported.Plugin)
	out.AddKnown("Flags of the workers", t.Reported.WorkerFlags)
	out.AddKnown("Heap flags in effect", t.Reported.HeapFlags)
	out.AddKnown("Garbage collector's flags in effect", t.Reported.GCFlags)
	if t.Reported.HeapLimitBytes.Known() {
		out.AddKnown("Heap limit of a worker", fmt.Sprintf("%.0f MiB", float64(t.Reported.HeapLimitBytes)/(1<<20)))
	}
	out.AddKnown("Executors", t.Reported.Executors)
	out.AddKnown("Requested from the scheduler", t.Reported.Requested)
	for _, e := range t.Reported.Settings {
		if !strings.HasSuffix(e.Key, "childopts") { // said above
			out.AddKnown(e.Key, e.Value)
		}
	}
	return out
}
