package measure

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Topology is what a collector knows of a topology, as far as runs need it (docs/topologies.md). It is the JSON of the
// collector's answer; a field that an older collector lacks is empty.
type Topology struct {
	Name, ID string
	Alive    bool
	// Condition is whether it runs, or how it ended, and by whose word (docs/topologies.md).
	Condition  struct{ State, By string }
	Versions   struct{ Storm, Bullet, Java, Plugin string }
	Components []struct {
		Name        string
		Kind        string
		Parallelism int
		Tasks       []int32
	}
	Resources struct {
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

// KnownWorker is a worker with what runs in it.
type KnownWorker struct {
	Worker     string
	Host       string
	Port       int
	Pid        int
	Alive      bool
	Restarts   int
	Components []ComponentTasks
}

// ComponentTasks are some tasks of a component.
type ComponentTasks struct {
	Component string
	Tasks     []int32
}

// Facts is where a topology's facts come from. Collector is one.
type Facts interface {
	Topology(ctx context.Context, name string) (Topology, error)
}

// Topology asks for the newest submission of a name.
func (c *Collector) Topology(ctx context.Context, name string) (t Topology, err error) {
	return t, c.client.Call(ctx, http.MethodGet, "/api/v1/topologies/"+url.PathEscape(name), nil, &t)
}

// parameters are pairs of names and values as part of a URL's query, each with a leading &.
func parameters(pairs ...string) string {
	var text strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		text.WriteString("&" + pairs[i] + "=" + url.QueryEscape(pairs[i+1]))
	}
	return text.String()
}

// parallelism lists Bullet's own components with their executors. Storm's own components begin with two underscores and
// are left out.
func (t Topology) parallelism() string {
	var parts []string
	for _, c := range t.Components {
		if !strings.HasPrefix(c.Name, "__") {
			parts = append(parts, fmt.Sprintf("%s %d", c.Name, c.Parallelism))
		}
	}
	return strings.Join(parts, ", ")
}

// resources are the totals that the topology asks of the scheduler.
func (t Topology) resources() string {
	totals := t.Resources.Totals
	if totals.Parallelism == 0 {
		return ""
	}
	return fmt.Sprintf("%d executors, %.1f cores, %.0f MiB", totals.Parallelism, totals.CPUCores, totals.TotalMemoryMiB)
}

// flags are the options of the workers' JVMs about heap and collectors, in the order in which Storm puts them together
// (BasicContainer.mkLaunchCommand): the JVM takes the last of two that contradict each other.
func (t Topology) flags() string {
	collectors := cmp.Or(t.Settings["topology.worker.gc.childopts"], t.Settings["worker.gc.childopts"])
	var all []string
	for _, flags := range []string{t.Settings["worker.childopts"], t.Settings["topology.worker.childopts"],
		collectors} {
		if flags != "" {
			all = append(all, flags)
		}
	}
	return strings.Join(all, " ")
}

// recordSpout is the component that reads records, with its executors: bullet-dsl's spout before its bolt, else the
// source itself.
func (t Topology) recordSpout() (string, tuning.Figure) {
	for _, name := range []string{"DataSpout", "DataSource"} {
		for _, c := range t.Components {
			if c.Name == name && c.Kind == "spout" {
				return name, tuning.Figure(c.Parallelism)
			}
		}
	}
	return "DataSource", tuning.Unknown
}

// defaultPoll is how many messages Kafka's consumer reads at once unless that is set.
const defaultPoll = 500

// recordsPerTuple is how many records one tuple of the record spout may hold: with bullet-dsl's bolt a read's messages
// are one. Max spout pending counts tuples, so records under way are pending times this.
func (t Topology) recordsPerTuple() tuning.Figure {
	if name, _ := t.recordSpout(); name != "DataSpout" {
		return 1
	}
	if n := number(t.Settings["bullet.dsl.connector.kafka.max.poll.records"]); n.Known() {
		return n
	}
	return defaultPoll
}

// ResourceRequest is what the topology requests of the scheduler; nil where it reported none. partitions are those of
// its Kafka topic, 0 where they are not known or there is none.
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
		filters, pending := 0, 0
		for _, c := range t.Components {
			if c.Name == tuning.FilterBolt {
				filters = c.Parallelism
			}
		}
		if most := number(t.Settings["topology.max.spout.pending"]); most.Known() {
			pending = int(most)
		}
		counted := tuning.PendingOf(int(t.recordsPerTuple()), pending, int(spouts), filters, partitions)
		asked.Spouts = &counted
	}
	return asked
}
