package registry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/instrument"
)

// figures are the registry's own metrics. The gauges are read from the state at each scrape, under the registry's
// mutex, because placement changes with every batch and most of these values are never read.
type figures struct {
	registry *Registry
	failures prometheus.Counter

	readFailures, unreadable prometheus.Counter
}

var (
	topologiesDesc  = prometheus.NewDesc("bullet_metrics_registry_topologies", "Topologies in the registry.", nil, nil)
	annotationsDesc = prometheus.NewDesc("bullet_metrics_registry_annotations",
		"Annotations in the registry, by origin: set (by a producer or a client) or made (by the collector, from a change that it observed).",
		[]string{"origin"}, nil)
	droppedDesc = prometheus.NewDesc("bullet_metrics_registry_dropped_total",
		"Entries that were dropped because of the registry's limits, by reason, since the journal was created.",
		[]string{"reason"}, nil)
)

// newFigures registers the metrics, unless the registerer is nil.
func newFigures(r *Registry, to prometheus.Registerer) *figures {
	make := instrument.New("bullet_metrics_registry_", nil)
	f := &figures{registry: r,
		failures: make.Counter("checkpoint_failures_total", "Checkpoints of the registry that could not be saved."),
		readFailures: make.Counter("read_failures_total",
			"Reads of the journal by the registry that failed on the disk. Each one is retried."),
		unreadable: make.Counter("unreadable_total",
			"Parts of the journal that the registry skipped because they could not be read from the disk.")}
	make.Register(to, f)
	return f
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{topologiesDesc, annotationsDesc, droppedDesc, tasksDesc, tasksLeftOutDesc,
		endedDesc, clockDesc, clientStoppedDesc} {
		out <- d
	}
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
		"Tasks of a component that last reported from this worker. It is 0 after all of them moved to other workers.",
		[]string{"topology", "worker", "component"}, nil)
	tasksLeftOutDesc = prometheus.NewDesc("bullet_metrics_worker_tasks_left_out_topologies",
		"Topologies that bullet_metrics_worker_tasks leaves out because there are too many workers. Alerts about workers that left such a topology last for a day.",
		nil, nil)
	endedDesc = prometheus.NewDesc("bullet_metrics_topology_ended_timestamp_seconds",
		"Time at which a topology ended, in seconds since the Unix epoch, if it is known. The label how is killed (an annotation with the tag killed) or stopped (its metrics consumer was closed normally).",
		[]string{"topology", "how"}, nil)
	clientStoppedDesc = prometheus.NewDesc("bullet_metrics_client_stopped_timestamp_seconds",
		"Time at which a client outside the topology, such as the canary, announced its end, in seconds since the Unix epoch. It is exported for an hour, during which no alert reports the client as missing.",
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
