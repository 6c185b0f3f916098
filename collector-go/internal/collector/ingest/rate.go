package ingest

import (
	"fmt"
	"sync"
	"time"
)

// rateBurst is for how long a topology may send beyond its rate when it was silent before: Storm's tasks report all at
// once, each 10 to 60 s.
const rateBurst = time.Minute

// longestRateWait bounds how long a sender is asked to wait; it is asked again where that was too short.
const longestRateWait = 10 * time.Second

// mostBuckets is how many topologies' buckets are kept before the full ones, which say nothing, go.
const mostBuckets = 1024

// rates limits the samples per second of each topology with a token bucket. A batch is admitted as a whole when the
// bucket is not empty, and the excess becomes debt. A batch larger than the bucket can therefore still pass. It is safe
// for concurrent use.
type rates struct {
	perSecond float64 // 0 is no bound

	mu      sync.Mutex
	buckets map[string]*bucket
}

// bucket is how many samples a topology may send at once, as of a time. It is negative while the topology has sent more
// than its rate.
type bucket struct {
	samples float64
	at      time.Time
}

func newRates(perSecond int) *rates {
	return &rates{perSecond: float64(perSecond), buckets: map[string]*bucket{}}
}

// rateError reports that a topology exceeds its rate, and how long to wait.
type rateError struct {
	topology  string
	perSecond float64
	wait      time.Duration
}

func (e *rateError) Error() string {
	return fmt.Sprintf("topology %s sends more than %.0f samples a second", e.topology, e.perSecond)
}

// take admits the samples of a batch, or returns a *rateError that says how long the topology has to wait.
func (p *rates) take(topology string, samples int, now time.Time) error {
	if p.perSecond == 0 || samples == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.buckets[topology]
	if b == nil {
		p.forgetFull(now)
		b = &bucket{samples: p.most(), at: now}
		p.buckets[topology] = b
	}
	p.fill(b, now)
	if b.samples <= 0 {
		wait := time.Duration((1 - b.samples) / p.perSecond * float64(time.Second))
		return &rateError{topology, p.perSecond, min(wait, longestRateWait)}
	}
	b.samples -= float64(samples)
	return nil
}

// giveBack returns the tokens of a batch that the journal refused, because the sender will send that batch again.
func (p *rates) giveBack(topology string, samples int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.buckets[topology]; b != nil {
		b.samples += float64(samples)
	}
}

func (p *rates) most() float64 { return p.perSecond * rateBurst.Seconds() }

// fill adds what came since the last look; a clock that went back adds nothing.
func (p *rates) fill(b *bucket, now time.Time) {
	b.samples = min(b.samples+max(now.Sub(b.at).Seconds(), 0)*p.perSecond, p.most())
	b.at = now
}

// forgetFull removes full buckets. A full bucket equals a new one, so nothing is lost.
func (p *rates) forgetFull(now time.Time) {
	if len(p.buckets) < mostBuckets {
		return
	}
	for topology, b := range p.buckets {
		if p.fill(b, now); b.samples >= p.most() {
			delete(p.buckets, topology)
		}
	}
}
