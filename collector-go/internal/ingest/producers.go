package ingest

import (
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// producers knows who is connected. The journal is told of every stream that opens, and that a producer is gone when its last
// stream has ended: a new stream often begins before the collector has noticed the end of the old.
type producers struct {
	journal Journal
	ledger  *ledger
	now     func() time.Time
	limit   int

	mu      sync.Mutex
	streams int
	online  map[journal.ProducerID]*producer
}

type producer struct {
	streams int
	worker  metric.Worker
	skew    skew
}

// connect admits a stream; full says that there are too many.
func (p *producers) connect(place journal.ProducerDefined) (id journal.ProducerID, full bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams >= p.limit {
		return 0, true, nil
	}
	if id, err = p.journal.DefineProducer(place); err != nil {
		return 0, false, err
	}
	if err := p.journal.Mark(&journal.Connected{Producer: id, TimeMs: p.now().UnixMilli()}); err != nil {
		return 0, false, err
	}
	if p.online[id] == nil {
		p.online[id] = &producer{worker: metric.Worker{Topology: place.Topology, Host: place.Host, Port: place.Port}}
	}
	p.online[id].streams++
	p.streams++
	p.ledger.streams.Set(float64(p.streams))
	return id, false, nil
}

// disconnect notes a stream's end.
func (p *producers) disconnect(id journal.ProducerID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams--
	p.ledger.streams.Set(float64(p.streams))
	gone := p.online[id]
	if gone.streams--; gone.streams > 0 {
		return nil
	}
	delete(p.online, id)
	if !p.anyOf(gone.worker) {
		p.ledger.skew.DeleteLabelValues(gone.worker.Topology, gone.worker.String())
	}
	return p.journal.Mark(&journal.Disconnected{Producer: id, TimeMs: p.now().UnixMilli()})
}

// anyOf says whether a worker has another producer.
func (p *producers) anyOf(w metric.Worker) bool {
	for _, other := range p.online {
		if other.worker == w {
			return true
		}
	}
	return false
}

// sent notes when, by its own clock, a producer sent a batch that came now.
func (p *producers) sent(id journal.ProducerID, sentMs int64, now time.Time) {
	if sentMs == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.online[id]
	ahead := o.skew.observe(now, now.Sub(time.UnixMilli(sentMs)))
	p.ledger.skew.WithLabelValues(o.worker.Topology, o.worker.String()).Set(ahead.Seconds())
}

const skewWindow = time.Minute

// skew is the least difference between two clocks over the last one to two minutes: what is above the least is time in
// transit.
type skew struct {
	begun            time.Time
	current, earlier time.Duration
	hasEarlier       bool
}

func (s *skew) observe(now time.Time, difference time.Duration) time.Duration {
	switch {
	case s.begun.IsZero():
		s.begun, s.current = now, difference
	case now.Sub(s.begun) >= skewWindow:
		s.begun, s.earlier, s.current, s.hasEarlier = now, s.current, difference, true
	default:
		s.current = min(s.current, difference)
	}
	if s.hasEarlier {
		return min(s.current, s.earlier)
	}
	return s.current
}
