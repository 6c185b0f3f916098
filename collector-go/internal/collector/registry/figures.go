package registry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// figures are the registry's own metrics. The gauges are read from the state at each scrape, under the registry's
// mutex, because placement changes with every batch and most of these values are never read.
type figures struct {
	registry *Registry
	failures prometheus.Counter

	readFailures, unreadable prometheus.Counter
}

var (
	topologiesDesc = prometheus.NewDesc("bullet_metrics_registry_topologies", "Topologies that are known by name.",
		nil, nil)
	annotationsDesc = prometheus.NewDesc("bullet_metrics_registry_annotations",
		"Annotations held, by who made them: set by a producer or a client, or made from a change that was seen.",
		[]string{"origin"}, nil)
	droppedDesc = prometheus.NewDesc("bullet_metrics_registry_dropped_total",
		"What did not fit the registry's limits, or had to make room, by reason; since the journal's beginning.",
		[]string{"reason"}, nil)
)

// newFigures registers the metrics, unless the registerer is nil.
func newFigures(r *Registry, to prometheus.Registerer) *figures {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "bullet_metrics_registry_" + name, Help: help})
	}
	f := &figures{registry: r,
		failures: counter("checkpoint_failures_total", "Checkpoints of the registry that could not be saved."),
		readFailures: counter("read_failures_total",
			"Reads of the journal by the registry that the disk failed; each is tried again."),
		unreadable: counter("unreadable_total",
			"Parts of the journal that the registry stepped over since the disk did not give them back.")}
	if to != nil {
		to.MustRegister(f, f.failures, f.readFailures, f.unreadable)
	}
	return f
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(out chan<- *prometheus.Desc) {
	out <- topologiesDesc
	out <- annotationsDesc
	out <- droppedDesc
	out <- tasksDesc
	out <- tasksLeftOutDesc
	out <- endedDesc
	out <- clockDesc
	out <- clientStoppedDesc
}

// Collect implements prometheus.Collector.
func (f *figures) Collect(out chan<- prometheus.Metric) {
	r := f.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	gauge := func(d *prometheus.Desc, n int, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	gauge(topologiesDesc, len(r.state.topologies))
	gauge(annotationsDesc, len(r.state.set.sorted), "set")
	gauge(annotationsDesc, len(r.state.made.sorted), "made")
	for reason, n := range r.state.dropped {
		out <- prometheus.MustNewConstMetric(droppedDesc, prometheus.CounterValue, float64(n), reason)
	}
	f.collectPlacement(out)
}

// shownFor and shownForKilled are how long a topology that is no longer heard stays in the metrics. Alerts about
// missing samples need to know which workers have left and which topologies ended. A silent topology is shown for as
// long as such an alert looks back (a day). A killed one is shown until every rule has seen it.
const (
	shownFor       = 25 * time.Hour
	shownForKilled = time.Hour
	// mostPlacements limits the number of series of bullet_metrics_worker_tasks. Topologies are added in the order of
	// their names, and those that do not fit are left out.
	mostPlacements = 50_000
)

var (
	tasksDesc = prometheus.NewDesc("bullet_metrics_worker_tasks",
		"Tasks of a component that reported last from this worker; 0 where all that it had are reported from elsewhere since: it has left.",
		[]string{"topology", "worker", "component"}, nil)
	tasksLeftOutDesc = prometheus.NewDesc("bullet_metrics_worker_tasks_left_out_topologies",
		"Topologies whose tasks bullet_metrics_worker_tasks does not have, since there are too many workers: alerts about workers of theirs that left stay for a day.",
		nil, nil)
	endedDesc = prometheus.NewDesc("bullet_metrics_topology_ended_timestamp_seconds",
		"When a topology that no longer reports ended, where that is known: killed (reported by an annotation with the tag killed) or stopped (its consumer was closed in order, for whatever reason).",
		[]string{"topology", "how"}, nil)
	clientStoppedDesc = prometheus.NewDesc("bullet_metrics_client_stopped_timestamp_seconds",
		"When a client that measures a topology from outside, such as the canary, said that it ends, for an hour; it is not missed then.",
		[]string{"topology", "worker"}, nil)
)

// collectPlacement emits where tasks run and which topologies ended. The caller holds the registry's mutex.
func (f *figures) collectPlacement(out chan<- prometheus.Metric) {
	r, leftOut, shown := f.registry, 0, 0
	nowMs := r.options.Now().UnixMilli()
	for _, name := range sortedNames(r.state.topologies) {
		t := r.state.topologies[name]
		silentMs := nowMs - t.current().heardMs
		if silentMs > shownFor.Milliseconds() {
			continue
		}
		how, atMs, _ := r.state.ending(t, nowMs, r.options.Times)
		if how != "" {
			out <- prometheus.MustNewConstMetric(endedDesc, prometheus.GaugeValue, float64(atMs)/1000, name,
				string(how))
		}
		if how == Killed && silentMs > shownForKilled.Milliseconds() {
			continue
		}
		counts := t.placement()
		if shown += len(counts); shown > mostPlacements {
			leftOut++
			continue
		}
		f.collectClocks(out, t)
		for of, n := range counts {
			out <- prometheus.MustNewConstMetric(tasksDesc, prometheus.GaugeValue, float64(n), name, of.place.String(),
				of.component)
		}
	}
	for key, c := range r.state.clients {
		if c.stoppedMs != 0 && nowMs-c.stoppedMs <= shownForKilled.Milliseconds() {
			out <- prometheus.MustNewConstMetric(clientStoppedDesc, prometheus.GaugeValue, float64(c.stoppedMs)/1000,
				key.topology, key.place.String())
		}
	}
	out <- prometheus.MustNewConstMetric(tasksLeftOutDesc, prometheus.GaugeValue, float64(leftOut))
}
