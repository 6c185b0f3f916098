package ingest

import (
	"fmt"
	"sync"
	"time"
)

// rateBurst is how long a topology that was silent before may exceed its rate. Storm's tasks all report at once, every
// 10 to 60 s.
const rateBurst = time.Minute

// longestRateWait bounds how long a sender is asked to wait. If that was too short, it is asked again.
const longestRateWait = 10 * time.Second

// mostBuckets is the number of buckets from which full ones are removed. A full bucket carries no information.
const mostBuckets = 1024

// rates limits the samples per second of each topology with a token bucket. If the bucket is not empty, a batch is
// admitted as a whole and the excess becomes debt. A batch larger than the bucket can therefore still pass. It is safe
// for concurrent use.
type rates struct {
	perSecond float64 // 0 means unlimited

	mu      sync.Mutex
	buckets map[string]*bucket
}

// bucket is the number of samples that a topology may send at once, at a certain time. It is negative while the
// topology has exceeded its rate.
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
	return fmt.Sprintf("topology %s exceeds its limit of %.0f samples per second", e.topology, e.perSecond)
}

// take admits the samples of a batch, or returns a *rateError with the time that the topology has to wait.
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

// fill adds the tokens since the last call. It adds none if the clock went back.
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
