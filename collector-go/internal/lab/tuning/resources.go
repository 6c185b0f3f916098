package tuning

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// Columns of a table of components. The name of the CPU column states whether it is a component's total or per
// instance.
const (
	ColumnComponent   = "component"
	ColumnParallelism = "parallelism"
	ColumnCPUTotal    = "cpu_cores_total"
	ColumnCPUEach     = "cpu_cores_each"
	ColumnOnHeap      = "on_heap_mib"
	ColumnOffHeap     = "off_heap_mib"
	ColumnTotalMemory = "total_memory_mib"
)

// Component is a row of the table. One of CPUCoresTotal and CPUCoresEach is known; heaps are per instance.
type Component struct {
	Name                        string
	Parallelism                 int
	CPUCoresTotal, CPUCoresEach Figure
	OnHeapMiB, OffHeapMiB       Figure
	TotalMemoryMiB              Figure
	// BusyMost is the share of a core that its busiest instance used at the last step that held; 0 if it was not
	// measured.
	BusyMost Figure
}

// StatedTotals is the table's own row of totals. CPUCores is in the column of the components' CPU.
type StatedTotals struct {
	Parallelism Figure `json:"parallelism"`
	CPUCores    Figure `json:"cpu_cores"`
	MemoryMiB   Figure `json:"total_memory_mib"`
	CPUColumn   string `json:"cpu_column"`
}

// Machine is the capacity of one machine; an unknown figure is not a limit.
type Machine struct {
	CPUCores  Figure `json:"cpu_cores"`
	MemoryMiB Figure `json:"memory_mib"`
}

// UnknownMachine returns a machine whose capacity is unknown.
func UnknownMachine() Machine { return Machine{CPUCores: Unknown, MemoryMiB: Unknown} }

// known reports whether any capacity of the machine is known.
func (m Machine) known() bool { return m.CPUCores.Known() || m.MemoryMiB.Known() }

// check is Validate for a machine that may be entirely unknown.
func (m Machine) check() error {
	if !m.known() {
		return nil
	}
	return m.Validate()
}

// Validate returns an error that names an invalid capacity.
func (m Machine) Validate() error {
	if !m.CPUCores.Known() || m.CPUCores <= 0 {
		return errors.New("the cores per machine must be a positive number")
	}
	if m.MemoryMiB <= 0 || math.IsInf(float64(m.MemoryMiB), 0) {
		return errors.New("the memory per machine must be a positive number of MiB")
	}
	return nil
}

// ComponentShare is a component with the resources that it uses.
type ComponentShare struct {
	Component      string `json:"component"`
	Parallelism    int    `json:"parallelism"`
	CPUCoresEach   Figure `json:"cpu_cores_each"`
	CPUCores       Figure `json:"cpu_cores"`
	OnHeapMiB      Figure `json:"on_heap_mib"`
	OffHeapMiB     Figure `json:"off_heap_mib"`
	TotalMemoryMiB Figure `json:"total_memory_mib"`
	CPUShare       Figure `json:"cpu_share"`
	MemoryShare    Figure `json:"memory_share"`
}

// Totals are sums over the components.
type Totals struct {
	Parallelism    int    `json:"parallelism"`
	CPUCores       Figure `json:"cpu_cores"`
	TotalMemoryMiB Figure `json:"total_memory_mib"`
}

// Resources that may limit the number of machines.
const (
	LimitedByCPU    = "cpu"
	LimitedByMemory = "memory"
)

// Resources are the resources that a topology needs.
type Resources struct {
	Totals Totals `json:"totals"`
	// Machines is how many machines are needed, rounded up: the larger of the numbers by CPU and by memory. It is 0 if
	// the machine is unknown.
	Machines         int    `json:"machines"`
	MachinesByCPU    Figure `json:"machines_by_cpu"`
	MachinesByMemory Figure `json:"machines_by_memory"`
	// Limiting is LimitedByCPU or LimitedByMemory, whichever needs more machines; "" if the machine is unknown.
	Limiting      string           `json:"limiting"`
	Machine       Machine          `json:"machine"`
	Components    []ComponentShare `json:"components"`
	Audit         []Finding        `json:"audit"`
	AuditedTotals int              `json:"audited_totals"`
	Spouts        *SpoutPending    `json:"spouts,omitempty"`
	Notes         []string         `json:"notes"`
}

// AnalyzeResources adds up the components, audits the stated totals, and computes the number of machines if the
// machine is known.
func AnalyzeResources(components []Component, stated *StatedTotals, machine Machine) (*Resources, error) {
	if err := errors.Join(machine.check(), checkComponents(components)); err != nil {
		return nil, err
	}
	r := &Resources{Machine: machine, Audit: []Finding{}, Notes: []string{}}
	sum := Totals{}
	lacking := false
	for i, c := range components {
		share := c.share()
		r.Components = append(r.Components, share)
		sum.Parallelism += c.Parallelism
		sum.CPUCores += share.CPUCores
		sum.TotalMemoryMiB += share.TotalMemoryMiB
		lacking = lacking || !c.TotalMemoryMiB.Known() && !c.OffHeapMiB.Known()
		r.audit(statedTotal{what: "memory of " + c.Name + ", MiB", row: i + 1, column: ColumnTotalMemory,
			stated: c.TotalMemoryMiB, computed: c.memoryOfParts(), lacking: !c.OffHeapMiB.Known()})
	}
	sum.CPUCores, sum.TotalMemoryMiB = Figure(tidy(float64(sum.CPUCores))), Figure(tidy(float64(sum.TotalMemoryMiB)))
	r.Totals = sum
	for i := range r.Components {
		r.Components[i].CPUShare = r.Components[i].CPUCores / sum.CPUCores
		r.Components[i].MemoryShare = r.Components[i].TotalMemoryMiB / sum.TotalMemoryMiB
	}
	if stated != nil {
		r.audit(
			statedTotal{what: "parallelism of the topology", column: ColumnParallelism, stated: stated.Parallelism,
				computed: Figure(sum.Parallelism)},
			statedTotal{what: "CPU cores of the topology", column: stated.CPUColumn, stated: stated.CPUCores,
				computed: sum.CPUCores},
			statedTotal{what: "memory of the topology, MiB", column: ColumnTotalMemory, stated: stated.MemoryMiB,
				computed: sum.TotalMemoryMiB, lacking: lacking},
		)
	}
	r.place()
	if lacking {
		r.Notes = append(r.Notes, "the memory is a lower bound, because the off-heap memory of some components is unknown")
	}
	return r, nil
}

func (r *Resources) audit(totals ...statedTotal) {
	findings, audited := auditTotals(totals)
	r.Audit, r.AuditedTotals = append(r.Audit, findings...), r.AuditedTotals+audited
}

func checkComponents(components []Component) error {
	var wrong faults
	seen := map[string]int{}
	for i, c := range components {
		n := i + 1
		wrong.atLeast(n, ColumnParallelism, float64(c.Parallelism), 1)
		wrong.notNegative(n, ColumnCPUTotal, c.CPUCoresTotal)
		wrong.notNegative(n, ColumnCPUEach, c.CPUCoresEach)
		wrong.notNegative(n, ColumnOnHeap, c.OnHeapMiB)
		wrong.notNegative(n, ColumnOffHeap, c.OffHeapMiB)
		wrong.notNegative(n, ColumnTotalMemory, c.TotalMemoryMiB)
		if c.CPUCoresTotal.Known() == c.CPUCoresEach.Known() {
			wrong.add(n, ColumnCPUTotal, "the CPU of %s is missing; give its total, or the CPU of one instance", c.Name)
		}
		if !c.OnHeapMiB.Known() && !c.TotalMemoryMiB.Known() {
			wrong.add(n, ColumnOnHeap, "the memory of %s is missing; give on_heap_mib (with off_heap_mib) or total_memory_mib",
				c.Name)
		}
		once(&wrong, seen, strings.ToLower(c.Name), n, ColumnComponent, "%q occurs twice; keep one row per component",
			c.Name)
	}
	if len(components) == 0 {
		wrong.add(0, ColumnComponent, "there are no components")
	}
	return wrong.err()
}

func (c Component) share() ComponentShare {
	n := Figure(c.Parallelism)
	s := ComponentShare{Component: c.Name, Parallelism: c.Parallelism, CPUCores: c.CPUCoresTotal,
		CPUCoresEach: c.CPUCoresEach,
		OnHeapMiB:    c.OnHeapMiB, OffHeapMiB: c.OffHeapMiB, TotalMemoryMiB: c.memoryOfParts()}
	if c.CPUCoresEach.Known() {
		s.CPUCores = n * c.CPUCoresEach
	} else {
		s.CPUCoresEach = c.CPUCoresTotal / n
	}
	if !s.TotalMemoryMiB.Known() || !c.OffHeapMiB.Known() && c.TotalMemoryMiB.Known() {
		s.TotalMemoryMiB = c.TotalMemoryMiB
	}
	return s
}

// memoryOfParts returns parallelism x (on-heap + off-heap); an unknown off-heap counts as 0.
func (c Component) memoryOfParts() Figure {
	return Figure(c.Parallelism) * (c.OnHeapMiB + Greater(0, c.OffHeapMiB))
}

// place computes the number of machines.
func (r *Resources) place() {
	if !r.Machine.known() {
		r.MachinesByCPU, r.MachinesByMemory = Unknown, Unknown
		return
	}
	cpu, memory := r.Totals.CPUCores/r.Machine.CPUCores, r.Totals.TotalMemoryMiB/r.Machine.MemoryMiB
	r.Limiting, r.Machines = LimitedByCPU, max(1, ceil(float64(cpu)))
	r.MachinesByCPU, r.MachinesByMemory = Figure(max(1, ceil(float64(cpu)))), Unknown
	if memory.Known() {
		r.MachinesByMemory = Figure(max(1, ceil(float64(memory))))
		if memory > cpu {
			r.Limiting = LimitedByMemory
		}
		r.Machines = int(max(r.MachinesByCPU, r.MachinesByMemory))
	} else {
		r.Notes = append(r.Notes, "memory was not considered as a limit, because the memory per machine is unknown (--memory-per-machine-mib, cluster.machines.memory)")
	}
	for _, c := range r.Components {
		if each := c.TotalMemoryMiB / Figure(c.Parallelism); c.CPUCoresEach > r.Machine.CPUCores ||
			each > r.Machine.MemoryMiB {
			r.Notes = append(r.Notes,
				fmt.Sprintf("an instance of %s cannot be placed, because it needs more than one machine has", c.Component))
		}
	}
}

// SpoutPending is how many records can be in flight. If a spout emits batches, Storm counts batches.
type SpoutPending struct {
	BatchSize int `json:"batch_size"`
	// MaxSpoutPending is 0 if topology.max.spout.pending is not set, so that there is no bound.
	MaxSpoutPending int `json:"max_spout_pending"`
	// RecordsPerSpout is batch size x topology.max.spout.pending; RecordsInAll is the sum over all spouts.
	RecordsPerSpout int `json:"records_per_spout"`
	Spouts          int `json:"spouts"`
	RecordsInAll    int `json:"records_in_all"`
	// FilterBoltsPerSpout is the fan-out from the record spouts to the filter bolts.
	FilterBoltsPerSpout Figure   `json:"filter_bolts_per_spout"`
	KafkaPartitions     int      `json:"kafka_partitions,omitempty"`
	Warnings            []string `json:"warnings"`
}

// PendingOf computes the effect of max spout pending, where 0 means not set. partitions and filterBolts may be 0 if
// unknown.
func PendingOf(batchSize, maxSpoutPending, spouts, filterBolts, partitions int) SpoutPending {
	p := SpoutPending{BatchSize: batchSize, MaxSpoutPending: maxSpoutPending,
		RecordsPerSpout: batchSize * maxSpoutPending, Spouts: spouts,
		RecordsInAll: batchSize * maxSpoutPending * spouts, FilterBoltsPerSpout: Unknown, KafkaPartitions: partitions,
		Warnings: []string{}}
	if filterBolts > 0 && spouts > 0 {
		p.FilterBoltsPerSpout = Figure(filterBolts) / Figure(spouts)
	}
	if partitions > 0 && spouts > partitions {
		p.Warnings = append(p.Warnings,
			fmt.Sprintf("%d spouts read %d Kafka partitions, so %d of them have no partition", spouts, partitions,
				spouts-partitions))
	}
	return p
}

// CountPending sets the effect of max spout pending for the table's record spout: the component that is called a
// DataSource, DSL or Bullet spout.
func (r *Resources) CountPending(batchSize, maxSpoutPending, partitions int) {
	spouts, filters := 0, 0
	for _, c := range r.Components {
		switch plainName(c.Component) {
		case "datasourcespout", "datasource", "dslspout", "bulletspout":
			spouts = c.Parallelism
		case filterBolt:
			filters = c.Parallelism
		}
	}
	if spouts == 0 {
		r.Notes = append(r.Notes, "max spout pending was not added up over the spouts, because no component is called \"DataSource spout\"")
	}
	pending := PendingOf(batchSize, maxSpoutPending, spouts, filters, partitions)
	r.Spouts = &pending
}
