package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// readLaunch reads how the trial was launched, and what its topology told.
func (t *TrialReport) readLaunch(trial rundir.Trial) error {
	arguments, err := trial.Arguments()
	if err != nil {
		return err
	}
	t.Arguments, t.Launched = append([]rundir.Entry{}, arguments.Shown()...), arguments.CommandLine()
	t.Told, err = trial.Told()
	return err
}

// machine is what one machine of the topology's has to give: this one's on the local cluster, else what is told of the cluster's.
func (r *RunReport) machine() tuning.Machine {
	if hostOfClient(r.plan) {
		return clusterMachine(r.Manifest.Cluster)
	}
	m := tuning.Machine{CPUCores: r.Manifest.Machine.UsableCores, MemoryMiB: inMiB(r.Manifest.Machine.MemoryBytes)}
	if !m.CPUCores.Known() || m.CPUCores <= 0 {
		m.CPUCores = Figure(max(1, r.Manifest.Machine.Cores))
	}
	return m
}

// clusterMachine is one of the cluster's machines; unknown where nobody told.
func clusterMachine(c *rundir.Cluster) tuning.Machine {
	switch {
	case c == nil || c.Cores <= 0:
		return tuning.UnknownMachine()
	case !c.UsableCores.Known() || c.UsableCores <= 0:
		return tuning.Machine{CPUCores: Figure(c.Cores), MemoryMiB: inMiB(c.MemoryBytes)}
	}
	return tuning.Machine{CPUCores: c.UsableCores, MemoryMiB: inMiB(c.MemoryBytes)}
}

func inMiB(bytes int64) Figure {
	if bytes <= 0 {
		return Unknown
	}
	return Figure(bytes) / (1 << 20)
}

// manifest is a table on its way; what is not known is left out.
type manifest struct{ table }

func (m *manifest) add(key, value string) {
	if value != "" {
		m.Rows = append(m.Rows, []string{key, value})
	}
}

// manifestTable is what ran, on what.
func (r *RunReport) manifestTable() table {
	t := &manifest{table{Heads: []string{"", ""}, Numeric: []bool{false, false}}}
	m, v := r.Manifest, r.Manifest.Versions
	t.add("Run", m.ID)
	t.add("Command", m.Command)
	for _, trial := range r.Trials {
		if trial.Launched != "" {
			t.add("Launched by", trial.Launched)
			break // the others in their own sections
		}
	}
	t.add("Bullet Metrics", v.BulletMetrics)
	t.add("Bullet", v.Bullet)
	t.add("Storm", v.Storm)
	t.add("Kafka", r.kafka())
	t.add("Java of the workers", v.WorkerJava)
	t.add("Java of the host of the load", v.Java)
	t.add("Plugin", v.Plugin)
	r.addMachines(t)
	t.addRecords(m.Records)
	if r.plan.KafkaPartitions > 0 {
		t.add("Kafka partitions", strconv.Itoa(r.plan.KafkaPartitions))
	}
	t.add("Garbage collector's flags", m.GCFlags)
	t.add("Flags of the workers", m.WorkerFlags)
	for _, e := range m.Further {
		t.add(e.Key, e.Value)
	}
	return t.table
}

// kafka is the broker's version; where records come from one of which nobody told, it says who can.
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
func (r *RunReport) addMachines(t *manifest) {
	m, prefix := r.Manifest.Machine, ""
	if hostOfClient(r.plan) {
		t.addCluster(r.Manifest.Cluster)
		prefix = "Host of the load: "
	}
	if m.Cores > 0 {
		t.add(prefix+"Processors", strings.TrimSpace(fmt.Sprintf("%d x %s", m.Cores, m.CPUModel)))
		t.add(prefix+"Usable cores", usable(m.UsableCores, m.Cores))
	}
	t.add(prefix+"Memory", memory(m.MemoryBytes))
	t.add(prefix+"Network", m.Network)
	t.add(prefix+"Kernel", m.Kernel)
}

// addCluster adds what is told of a cluster's machines.
func (t *manifest) addCluster(c *rundir.Cluster) {
	const head = "Machines of the cluster"
	if c == nil || c.Cores <= 0 {
		t.add(head, "not known: give cluster.machines in the experiment's file")
		return
	}
	count := "number not told"
	if c.Machines > 0 {
		count = strconv.Itoa(c.Machines)
	}
	t.add(head, count)
	t.add("Each machine: Processors", strings.TrimSpace(fmt.Sprintf("%d x %s", c.Cores, c.CPUModel)))
	t.add("Each machine: Usable cores", usable(c.UsableCores, c.Cores))
	t.add("Each machine: Memory", memory(c.MemoryBytes))
	t.add("Each machine: Network", c.Network)
	if c.BusyByOthers.Known() {
		t.add("Taken of the cluster by others", percent(c.BusyByOthers))
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

func (t *manifest) addRecords(s rundir.Records) {
	if s.Fields == 0 {
		return
	}
	t.add("Records", s.Schema()+sentence(s.Note))
	if s.MeanRecordBytes.Known() {
		t.add("Mean record", tuning.Digits(s.MeanRecordBytes)+" bytes")
	}
	if s.CompressionRatio.Known() {
		t.add("Compression ratio", tuning.Digits(s.CompressionRatio))
	}
}

// launchBlocks are how the trial was launched and what its topology told.
func (t *TrialReport) launchBlocks() []block {
	blocks := []block{heading4("What the topology told"), tabled(t.toldTable()), heading4("Launched by"), verbatim(t.Launched), heading4("Settings laid over Bullet's own")}
	if len(t.Arguments) > 0 {
		return append(blocks, tabled(entriesOf(t.Arguments)))
	}
	return append(blocks, tabled(entriesOf(t.Settings)))
}

// effectiveRows are the flags of the workers as they held, whatever set them, where the configurations that told do not share them.
func (r *RunReport) effectiveRows() (rows [][]string) {
	for _, flags := range []struct {
		name string
		of   func(rundir.Told) string
	}{
		{"heap flags in effect", func(t rundir.Told) string { return t.HeapFlags }},
		{"garbage collector's flags in effect", func(t rundir.Told) string { return t.GCFlags }},
	} {
		row, distinct := []string{flags.name}, map[string]bool{}
		for _, configuration := range r.Rows {
			cell := "–"
			for _, t := range r.Trials {
				if t.Configuration == configuration.Configuration && t.Told != nil {
					cell = flags.of(*t.Told)
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

func (t *TrialReport) toldTable() table {
	out := &manifest{table{Heads: []string{"", ""}, Numeric: []bool{false, false}}}
	if t.Told == nil {
		return out.table
	}
	out.add("Topology id", t.Told.TopologyID)
	out.add("Bullet", t.Told.Bullet)
	out.add("Storm", t.Told.Storm)
	out.add("Java of the workers", t.Told.WorkerJava)
	out.add("Plugin", t.Told.Plugin)
	out.add("Flags of the workers", t.Told.WorkerFlags)
	out.add("Heap flags in effect", t.Told.HeapFlags)
	out.add("Garbage collector's flags in effect", t.Told.GCFlags)
	if t.Told.HeapLimitBytes.Known() {
		out.add("Heap limit of a worker", fmt.Sprintf("%.0f MiB", float64(t.Told.HeapLimitBytes)/(1<<20)))
	}
	out.add("Executors", t.Told.Executors)
	out.add("Asked of the scheduler", t.Told.Asked)
	for _, e := range t.Told.Settings {
		if !strings.HasSuffix(e.Key, "childopts") { // said above
			out.add(e.Key, e.Value)
		}
	}
	return out.table
}
