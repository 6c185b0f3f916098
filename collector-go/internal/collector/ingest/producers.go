package ingest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/quota"
)

// producers tracks which senders are connected. The journal records every stream that opens, but the end of a producer
// only when its last stream ends. A sender that reconnects often opens the new stream before the collector notices the
// end of the old one. Otherwise it would then look disconnected.
type producers struct {
	journal Journal
	stats   *stats
	now     func() time.Time
	slots   *quota.Slots // of streams

	mu      sync.Mutex
	streams int
	online  map[journal.ProducerID]*producer
}

// producer is a connected sender, which is a task of a topology's metrics consumer. All its streams share one producer.
// Its id in the journal may change while it is connected (see renew), so it is read atomically.
type producer struct {
	place journal.ProducerDefined
	stats *stats
	id    atomic.Uint32

	streams int // protected by producers.mu

	mu        sync.Mutex
	skew      skew
	published time.Time
	gauge     prometheus.Gauge // nil before the first batch with a sending time
}

// name returns the journal's id of the producer.
func (p *producer) name() journal.ProducerID { return journal.ProducerID(p.id.Load()) }

func (p *producer) worker() metric.Worker {
	return metric.Worker{Topology: p.place.Topology, Host: p.place.Host, Port: p.place.Port}
}

// connect records a new stream of a producer in the journal and here. It returns the producer that its streams share.
func (p *producers) connect(place journal.ProducerDefined) (connected *producer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, err := p.journal.DefineProducer(place)
	if err != nil {
		return nil, err
	}
	if err := p.journal.AppendControl(&journal.Connected{Producer: id, TimeMs: p.now().UnixMilli()}); err != nil {
		return nil, err
	}
	connected = p.online[id]
	if connected == nil {
		connected = &producer{place: place, stats: p.stats}
		connected.id.Store(uint32(id))
		p.online[id] = connected
	}
	connected.streams++
	p.streams++
	p.stats.streams.Set(float64(p.streams))
	return connected, nil
}

// renew defines a producer again after the journal has forgotten it. The new id is recorded as a new connection.
func (p *producers) renew(o *producer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := o.name()
	id, err := p.journal.DefineProducer(o.place)
	if err != nil || id == before {
		return err
	}
	if err := p.journal.AppendControl(&journal.Connected{Producer: id, TimeMs: p.now().UnixMilli()}); err != nil {
		return err
	}
	delete(p.online, before)
	o.id.Store(uint32(id))
	p.online[id] = o
	return nil
}

// disconnect records the end of a stream. The journal records it only for the last stream of the producer.
func (p *producers) disconnect(gone *producer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams--
	p.stats.streams.Set(float64(p.streams))
	if gone.streams--; gone.streams > 0 {
		return nil
	}
	if p.online[gone.name()] == gone {
		delete(p.online, gone.name())
	}
	if w := gone.worker(); !p.anyOf(w) {
		p.stats.skew.DeleteLabelValues(w.Topology, w.String())
	}
	return p.journal.AppendControl(&journal.Disconnected{Producer: gone.name(), TimeMs: p.now().UnixMilli()})
}

// anyOf reports whether a worker still has a connected producer. The metric of the worker then shows that producer's
// skew.
func (p *producers) anyOf(w metric.Worker) bool {
	for _, other := range p.online {
		if other.worker() == w {
			return true
		}
	}
	return false
}

// publishEvery is the least time between two updates of a producer's skew metric.
const publishEvery = time.Second

// sent updates the clock skew from a batch. sentMs is the time of sending by the producer's clock, and now the time of
// receipt by the collector's.
func (p *producer) sent(sentMs int64, now time.Time) {
	if sentMs == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ahead := p.skew.observe(now, now.Sub(time.UnixMilli(sentMs)))
	if p.gauge == nil {
		w := p.worker()
		p.gauge = p.stats.skew.WithLabelValues(w.Topology, w.String())
	} else if since := now.Sub(p.published); since >= 0 && since < publishEvery {
		return
	}
	p.published = now
	p.gauge.Set(ahead.Seconds())
}

const skewWindow = time.Minute

// skew is the smallest difference between two clocks over the last one to two minutes. Transit time only adds to the
// difference, so the smallest difference is the best estimate.
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
