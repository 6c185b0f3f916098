package query

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// turnstile lets so many queries run at once; it is what the engine calls a query tracker.
type turnstile struct {
	places  chan struct{}
	waiting prometheus.Gauge
	refused prometheus.Counter
}

func newTurnstile(places int, r prometheus.Registerer) *turnstile {
	t := &turnstile{
		places: make(chan struct{}, places),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "bullet_metrics_query_waiting", Help: "Queries that wait for a place.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "bullet_metrics_query_refused_total", Help: "Queries whose time was over before they got a place.",
		}),
	}
	if r != nil {
		r.MustRegister(t.waiting, t.refused, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "bullet_metrics_query_running", Help: "Queries that run now.",
		}, func() float64 { return float64(len(t.places)) }))
	}
	return t
}

// GetMaxConcurrent is the number of places.
func (t *turnstile) GetMaxConcurrent() int { return cap(t.places) }

// Insert waits for a place until ctx is done.
func (t *turnstile) Insert(ctx context.Context, _ string) (int, error) {
	t.waiting.Inc()
	defer t.waiting.Dec()
	select {
	case t.places <- struct{}{}:
		return 0, nil
	case <-ctx.Done():
		t.refused.Inc()
		return 0, ctx.Err() // bare: the engine compares it
	}
}

// Delete gives a place back.
func (t *turnstile) Delete(int) { <-t.places }

// Close does nothing; the places are gone with the engine.
func (t *turnstile) Close() error { return nil }
