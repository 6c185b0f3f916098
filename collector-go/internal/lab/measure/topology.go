package measure

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Topology is what a collector reports about a topology, as far as runs need it (docs/topologies.md). It is decoded
// from the JSON of the collector's answer. A field that an older collector lacks is empty.
type Topology struct {
	Name, ID string
	Alive    bool
	// Condition is whether the topology runs or how it ended, and who reported that (docs/topologies.md).
	Condition  struct{ State, By string }
	Versions   struct{ Storm, Bullet, Java, Plugin string }
	Components []KnownComponent
	Resources  struct {
		Rows   []runstore.Component
		Totals struct {
			Parallelism    int
			CPUCores       float64 `json:"cpu_cores"`
			TotalMemoryMiB float64 `json:"total_memory_mib"`
		}
	}
	Workers  []KnownWorker
	Unplaced []ComponentTasks
	Settings map[string]string
}

// KnownComponent is a component of the topology.
type KnownComponent struct {
	Name        string
	Kind        string
	Parallelism int
	Tasks       []int32
}

func (t Topology) component(name string) (KnownComponent, bool) {
	return tuning.First(t.Components, func(c KnownComponent) bool { return c.Name == name })
}

// KnownWorker is a worker and the tasks that run in it.
type KnownWorker struct {
	Worker     string
	Host       string
	Port       int
	Pid        int
	Alive      bool
	Restarts   int
	Components []ComponentTasks
}

// ComponentTasks are the ids of some or all tasks of a component.
type ComponentTasks struct {
	Component string
	Tasks     []int32
}

// Facts provides the facts about a topology. Collector implements it.
type Facts interface {
	Topology(ctx context.Context, name string) (Topology, error)
}

// Topology returns the newest submission with the given name.
func (c *Collector) Topology(ctx context.Context, name string) (t Topology, err error) {
	return t, c.client.Call(ctx, http.MethodGet, "/api/v1/topologies/"+url.PathEscape(name), nil, &t)
}

// parallelism lists Bullet's own components with their executors. It skips Storm's own components, whose names begin
// with two underscores.
func (t Topology) parallelism() string {
	var parts []string
	for _, c := range t.Components {
		if !strings.HasPrefix(c.Name, "__") {
			parts = append(parts, fmt.Sprintf("%s %d", c.Name, c.Parallelism))
		}
	}
	return strings.Join(parts, ", ")
}

// resources returns the totals of the topology's resource request as text, or "" if it reported none.
func (t Topology) resources() string {
	totals := t.Resources.Totals
	if totals.Parallelism == 0 {
		return ""
	}
	return fmt.Sprintf("%d executors, %.1f cores, %.0f MiB", totals.Parallelism, totals.CPUCores, totals.TotalMemoryMiB)
}

// flags returns the JVM options of the workers in the order in which Storm joins them
// (BasicContainer.mkLaunchCommand). The order matters: of two contradicting options the JVM uses the last.
func (t Topology) flags() string {
	collectors := cmp.Or(t.Settings["topology.worker.gc.childopts"], t.Settings["worker.gc.childopts"])
	all := []string{t.Settings["worker.childopts"], t.Settings["topology.worker.childopts"], collectors}
	return strings.Join(slices.DeleteFunc(all, func(flags string) bool { return flags == "" }), " ")
}

// recordSpout returns the component that reads records and its number of executors: bullet-dsl's spout if there is
// one, otherwise the source itself.
func (t Topology) recordSpout() (string, tuning.Figure) {
	for _, name := range []string{"DataSpout", "DataSource"} {
		if c, found := t.component(name); found && c.Kind == "spout" {
			return name, tuning.Figure(c.Parallelism)
		}
	}
	return "DataSource", tuning.Unknown
}

// defaultPoll is Kafka's default for the maximum number of messages per read.
const defaultPoll = 500

// recordsPerTuple returns the maximum number of records in one tuple of the record spout. With bullet-dsl's bolt, one
// tuple holds all messages of a read. Max spout pending counts tuples, so the records in flight are pending times this
// number.
func (t Topology) recordsPerTuple() tuning.Figure {
	if name, _ := t.recordSpout(); name != "DataSpout" {
		return 1
	}
	if n := number(t.Settings["bullet.dsl.connector.kafka.max.poll.records"]); n.Known() {
		return n
	}
	return defaultPoll
}

// ResourceRequest returns the topology's resource request to the scheduler; nil if it reported none. partitions is the
// number of partitions of its Kafka topic, 0 if unknown or if there is no topic.
func (t Topology) ResourceRequest(partitions int) *runstore.ResourceRequest {
	if len(t.Resources.Rows) == 0 {
		return nil
	}
	totals := t.Resources.Totals
	asked := &runstore.ResourceRequest{Components: t.Resources.Rows, Totals: tuning.StatedTotals{
		Parallelism: tuning.Figure(totals.Parallelism), CPUCores: tuning.Figure(totals.CPUCores),
		MemoryMiB: tuning.Figure(totals.TotalMemoryMiB), CPUColumn: tuning.ColumnCPUTotal,
	}}
	if _, spouts := t.recordSpout(); spouts.Known() {
		pending := 0
		if most := number(t.Settings["topology.max.spout.pending"]); most.Known() {
			pending = int(most)
		}
		filter, _ := t.component(tuning.FilterBolt)
		counted := tuning.PendingOf(int(t.recordsPerTuple()), pending, int(spouts), filter.Parallelism, partitions)
		asked.Spouts = &counted
	}
	return asked
}
