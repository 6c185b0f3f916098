package forward

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/instrument"
)

// figures are the store's own metrics about requests. The feed counts what happens to slices.
type figures struct {
	*instrument.Set

	requests       *prometheus.CounterVec
	seconds        prometheus.Histogram
	bytes          prometheus.Counter
	repeated       prometheus.Counter
	cursorFailures prometheus.Counter

	refused map[string]bool // reasons that have been logged
}

func newFigures(o Options) *figures {
	make := instrument.New("bullet_metrics_forward_", prometheus.Labels{"store": o.Name})
	f := &figures{Set: make, refused: map[string]bool{},
		requests: make.Counters("requests_total",
			"Requests to a network store, by outcome: acknowledged, refused (it is sent again in smaller parts) or failed (it is sent again).", "outcome"),
		seconds: make.Histogram("request_seconds", "Duration of requests to a network store, in seconds.", false,
			prometheus.ExponentialBuckets(0.001, 4, 8)),
		bytes: make.Counter("request_bytes_total",
			"Size of the requests to a network store before compression, in bytes."),
		repeated: make.Counter("slices_repeated_total",
			"Duplicate slices: they were sent again after a failure or a restart, and the store refused them because it has them already."),
		cursorFailures: make.Counter("cursor_failures_total",
			"Failed writes of the cursor. A restart then sends more slices a second time."),
	}
	make.Register(o.Registerer)
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
