package registry

import (
	"github.com/prometheus/client_golang/prometheus"
)

// figures are what the registry says of itself.
type figures struct {
	registry *Registry
	failures prometheus.Counter

	readFailures, unreadable prometheus.Counter
}

var (
	topologiesDesc  = prometheus.NewDesc("bullet_metrics_registry_topologies", "Topologies that are known by name.", nil, nil)
	annotationsDesc = prometheus.NewDesc("bullet_metrics_registry_annotations", "Annotations held, by who made them: set by a producer or a client, or made from a change that was seen.",
		[]string{"origin"}, nil)
	droppedDesc = prometheus.NewDesc("bullet_metrics_registry_dropped_total",
		"What did not fit the registry's limits, or had to make room, by reason; since the journal's beginning.", []string{"reason"}, nil)
)

func newFigures(r *Registry, to prometheus.Registerer) *figures {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "bullet_metrics_registry_" + name, Help: help})
	}
	f := &figures{registry: r,
		failures:     counter("checkpoint_failures_total", "Checkpoints of the registry that could not be saved."),
		readFailures: counter("read_failures_total", "Reads of the journal by the registry that the disk failed; each is tried again."),
		unreadable:   counter("unreadable_total", "Parts of the journal that the registry stepped over since the disk did not give them back.")}
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
}
