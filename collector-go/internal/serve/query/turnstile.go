package query

import (
	"container/list"
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// clientKey is the context's key of who asks.
type clientKey struct{}

// WithClient names the client on whose behalf the context's queries are evaluated, among which places are shared.
// Queries without a client have no share to keep to.
func WithClient(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

func clientOf(ctx context.Context) string {
	client, _ := ctx.Value(clientKey{}).(string)
	return client
}

// turnstile lets so many queries run at once, and each client its share of them; it is what the engine calls a query
// tracker.
type turnstile struct {
	limit int
	slots *quota.Slots

	waiting prometheus.Gauge
	refused prometheus.Counter

	mu      sync.Mutex
	queue   list.List // of *waiter, in the order in which they came
	running map[int]func()
	last    int
}

// waiter is a query that waits for a place.
type waiter struct {
	client string
	turn   chan int // its number among those that run, once it may
}

func newTurnstile(slots int, r prometheus.Registerer) *turnstile {
	t := &turnstile{
		limit: slots, slots: quota.New(slots), running: map[int]func(){},
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "bullet_metrics_query_waiting", Help: "Queries that wait for a free slot (query.max_concurrent).",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "bullet_metrics_query_refused_total", Help: "Queries that were refused because they got no slot before their timeout.",
		}),
	}
	if r != nil {
		r.MustRegister(t.waiting, t.refused, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "bullet_metrics_query_running", Help: "Running queries.",
		}, func() float64 { return float64(t.slots.Taken()) }))
	}
	return t
}

// GetMaxConcurrent is the number of places.
func (t *turnstile) GetMaxConcurrent() int { return t.limit }

// Insert waits for a place until ctx is done.
func (t *turnstile) Insert(ctx context.Context, _ string) (int, error) {
	w := &waiter{client: clientOf(ctx), turn: make(chan int, 1)}
	t.mu.Lock()
	if number, ok := t.enter(w.client); ok {
		t.mu.Unlock()
		return number, nil
	}
	queued := t.queue.PushBack(w)
	t.waiting.Inc()
	t.mu.Unlock()
	select {
	case number := <-w.turn:
		return number, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case number := <-w.turn: // its turn came in the same moment
		t.leave(number)
	default:
		t.queue.Remove(queued)
		t.waiting.Dec()
	}
	t.refused.Inc()
	return 0, ctx.Err() // bare: the engine compares it
}

// Delete gives a place back.
func (t *turnstile) Delete(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(number)
}

// enter takes a place where the client may have one.
func (t *turnstile) enter(client string) (number int, ok bool) {
	release, err := t.slots.Take(client)
	if err != nil {
		return 0, false
	}
	t.last++
	t.running[t.last] = release
	return t.last, true
}

// leave gives a place to the first of those that wait and may have it.
func (t *turnstile) leave(number int) {
	release, ok := t.running[number]
	if !ok {
		return
	}
	delete(t.running, number)
	release()
	for e := t.queue.Front(); e != nil; {
		next, w := e.Next(), e.Value.(*waiter)
		if number, ok := t.enter(w.client); ok {
			t.queue.Remove(e)
			t.waiting.Dec()
			w.turn <- number
		}
		e = next
	}
}

// Close does nothing; the places are gone with the engine.
func (t *turnstile) Close() error { return nil }
