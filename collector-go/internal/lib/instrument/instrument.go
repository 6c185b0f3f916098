// Package instrument declares the metrics of one component, which share the beginning of their names and their labels.
//
// The package must not know what a component counts. Start with Set.
package instrument

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Set declares metrics, so that a declaration is a name and a help text. Register shows them to Prometheus.
type Set struct {
	prefix string
	labels prometheus.Labels
	all    []prometheus.Collector
	to     prometheus.Registerer // nil before Register
}

// New returns a set without metrics. Their names begin with the prefix, and their series have the labels.
func New(prefix string, labels prometheus.Labels) *Set { return &Set{prefix: prefix, labels: labels} }

// add makes a metric part of a set.
func add[C prometheus.Collector](s *Set, c C) C {
	s.all = append(s.all, c)
	return c
}

func (s *Set) about(name, help string) prometheus.Opts {
	return prometheus.Opts{Name: s.prefix + name, Help: help, ConstLabels: s.labels}
}

// Counter, Counters, Gauge, Gauges and Func declare a metric. Counters and Gauges have a series for each value of
// their own labels, and the value of Func is read when Prometheus asks for it.
func (s *Set) Counter(name, help string) prometheus.Counter {
	return add(s, prometheus.NewCounter(prometheus.CounterOpts(s.about(name, help))))
}

func (s *Set) Counters(name, help string, labels ...string) *prometheus.CounterVec {
	return add(s, prometheus.NewCounterVec(prometheus.CounterOpts(s.about(name, help)), labels))
}

func (s *Set) Gauge(name, help string) prometheus.Gauge {
	return add(s, prometheus.NewGauge(prometheus.GaugeOpts(s.about(name, help))))
}

func (s *Set) Gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return add(s, prometheus.NewGaugeVec(prometheus.GaugeOpts(s.about(name, help)), labels))
}

func (s *Set) Func(name, help string, read func() float64) {
	add(s, prometheus.NewGaugeFunc(prometheus.GaugeOpts(s.about(name, help)), read))
}

// Histogram declares a histogram of durations. A native one has native buckets too, for a Prometheus that reads them.
func (s *Set) Histogram(name, help string, native bool, buckets []float64) prometheus.Histogram {
	o := prometheus.HistogramOpts{Name: s.prefix + name, Help: help, ConstLabels: s.labels, Buckets: buckets}
	if native {
		o.NativeHistogramBucketFactor, o.NativeHistogramMaxBucketNumber = 1.1, 160
	}
	return add(s, prometheus.NewHistogram(o))
}

// Register shows the metrics of the set, and others of the same component, to Prometheus. Nothing is shown if the
// registerer is nil.
func (s *Set) Register(to prometheus.Registerer, others ...prometheus.Collector) {
	if s.to = to; to != nil {
		s.all = slices.Concat(s.all, others)
		to.MustRegister(s.all...)
	}
}

// Unregister hides what Register has shown.
func (s *Set) Unregister() {
	if s.to != nil {
		for _, c := range s.all {
			s.to.Unregister(c)
		}
	}
}
