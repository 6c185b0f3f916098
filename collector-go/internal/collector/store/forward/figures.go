package forward

import (
	"cmp"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// figures are the store's own metrics about requests. The feed counts what happens to slices.
type figures struct {
	registerer prometheus.Registerer
	all        []prometheus.Collector

	requests       *prometheus.CounterVec
	seconds        prometheus.Histogram
	bytes          prometheus.Counter
	repeated       prometheus.Counter
	cursorFailures prometheus.Counter

	refused map[string]bool // reasons that have been logged
}

func newFigures(o Options) *figures {
	labels := prometheus.Labels{"store": o.Name}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "bullet_metrics_forward_" + name, Help: help,
			ConstLabels: labels})
	}
	f := &figures{
		registerer: cmp.Or[prometheus.Registerer](o.Registerer, prometheus.NewRegistry()), refused: map[string]bool{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bullet_metrics_forward_requests_total", ConstLabels: labels,
			Help: "Requests to a network store, by outcome: acknowledged, refused (it is sent again in smaller parts) or failed (it is sent again).",
		}, []string{"outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "bullet_metrics_forward_request_seconds", ConstLabels: labels,
			Help:    "Duration of requests to a network store, in seconds.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
		}),
		bytes: counter("request_bytes_total", "Size of the requests to a network store before compression, in bytes."),
		repeated: counter("slices_repeated_total",
			"Duplicate slices: they were sent again after a failure or a restart, and the store refused them because it has them already."),
		cursorFailures: counter("cursor_failures_total",
			"Failed writes of the cursor. A restart then sends more slices a second time."),
	}
	f.all = []prometheus.Collector{f.requests, f.seconds, f.bytes, f.repeated, f.cursorFailures}
	f.registerer.MustRegister(f.all...)
	return f
}

// posted counts one request by its outcome, and records its size and duration.
func (f *figures) posted(bytes int, took time.Duration, err error) {
	outcome := "acknowledged"
	switch _, refused := errors.AsType[*Refusal](err); {
	case refused:
		outcome = "refused"
	case err != nil:
		outcome = "failed"
	}
	f.requests.WithLabelValues(outcome).Inc()
	f.seconds.Observe(took.Seconds())
	f.bytes.Add(float64(bytes))
}

// firstRefusal reports whether a reason is new, so that each reason is logged only once.
func (f *figures) firstRefusal(reason string) bool {
	first := !f.refused[reason]
	f.refused[reason] = true
	return first
}

// unregister removes the metrics, so that a store can be opened again with the same registerer.
func (f *figures) unregister() {
	for _, c := range f.all {
		f.registerer.Unregister(c)
	}
}
