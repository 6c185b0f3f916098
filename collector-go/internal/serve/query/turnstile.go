package query

import (
	"container/list"
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/instrument"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// clientKey is the context key of the client's name.
type clientKey struct{}

// WithClient names the client on whose behalf queries with this context are evaluated. The slots are shared fairly
// among clients. Queries without a client have no limit of their own.
func WithClient(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// ClientOf returns the client's name, or "" if ctx has none.
func ClientOf(ctx context.Context) string {
	client, _ := ctx.Value(clientKey{}).(string)
	return client
}

// turnstile limits the number of concurrent queries, in total and per client. It implements the query tracker of
// Prometheus' engine, because the engine calls the tracker before each evaluation.
type turnstile struct {
	limit int
	slots *quota.Slots

	waiting prometheus.Gauge
	refused prometheus.Counter

	mu      sync.Mutex
	queue   list.List // of *waiter, oldest first
	running map[int]func()
	last    int
}

// waiter is a query that waits for a slot.
type waiter struct {
	client string
	turn   chan int // receives the number of its slot
}

func newTurnstile(slots int, r prometheus.Registerer) *turnstile {
	make := instrument.New("bullet_metrics_query_", nil)
	t := &turnstile{
		limit: slots, slots: quota.New(slots), running: map[int]func(){},
		waiting: make.Gauge("waiting", "Queries that wait for a free slot (query.max_concurrent)."),
		refused: make.Counter("refused_total", "Queries that were refused because they got no slot before their timeout."),
	}
	make.Func("running", "Running queries.", func() float64 { return float64(t.slots.Taken()) })
	make.Register(r)
	return t
}

// GetMaxConcurrent returns the number of slots.
func (t *turnstile) GetMaxConcurrent() int { return t.limit }

// Insert waits for a slot until ctx is done, and returns its number. The caller returns the slot with Delete.
func (t *turnstile) Insert(ctx context.Context, _ string) (int, error) {
	client := ClientOf(ctx)
	w := &waiter{client: client, turn: make(chan int, 1)}
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
	case number := <-w.turn: // it got a slot at the same time
		t.leave(number)
	default:
		t.queue.Remove(queued)
		t.waiting.Dec()
	}
	t.refused.Inc()
	return 0, ctx.Err() // not wrapped, because the engine compares it with ==
}

// Delete returns a slot.
func (t *turnstile) Delete(number int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(number)
}

// enter takes a slot if the client may have one. The caller must hold mu.
func (t *turnstile) enter(client string) (number int, ok bool) {
	release, err := t.slots.Take(client)
	if err != nil {
		return 0, false
	}
	t.last++
	t.running[t.last] = release
	return t.last, true
}

// leave returns a slot and starts every waiting query that can now have one, oldest first. The caller must hold mu.
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

// Close implements the query tracker; there is nothing to close.
func (t *turnstile) Close() error { return nil }
