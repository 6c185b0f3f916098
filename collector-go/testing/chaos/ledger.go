package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Ledger is producers that send made-up samples that are identified by their values, and which of them were
// acknowledged. It is kept outside of the collector and knows nothing of what happens to that. It is safe for
// concurrent use.
type Ledger struct {
	seed uint64

	mu        sync.Mutex
	producers []*Producer
}

// NewLedger returns one without producers.
func NewLedger(seed uint64) *Ledger { return &Ledger{seed: seed} }

// Produce sends until the producer is stopped, or ctx ends; it reconnects, and sends again what was not acknowledged.
func (l *Ledger) Produce(ctx context.Context, address string, options ProducerOptions) *Producer {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := newProducer(ctx, address, options.completed(len(l.producers)), l.seed^uint64(len(l.producers)+1)<<40)
	l.producers = append(l.producers, p)
	go p.run()
	return p
}

func (l *Ledger) all() []*Producer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*Producer(nil), l.producers...)
}

// Acknowledged is how many samples were, so far.
func (l *Ledger) Acknowledged() (samples int64) {
	for _, p := range l.all() {
		samples += p.Acknowledged()
	}
	return samples
}

// freshLimit is how soon a fresh write must be acknowledged once a fault has ended.
const freshLimit = 5 * time.Second

// AwaitFresh waits until each producer has had one more batch acknowledged that was not sent before. What is beyond 5 s
// is a broken promise, in words.
func (l *Ledger) AwaitFresh(ctx context.Context) (broken []string, err error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, p := range l.all() {
		if err := p.AwaitFresh(ctx); err != nil {
			return nil, err
		}
	}
	if took := time.Since(begun); took > freshLimit {
		broken = append(broken, fmt.Sprintf("a fresh write was acknowledged after %.1f s, at most %s", took.Seconds(),
			freshLimit))
	}
	return broken, nil
}

// Finish lets producers make no more, waits until all they have sent is acknowledged, and moves the collector's event
// time on so that what they have sent is closed. It may be called again.
func (l *Ledger) Finish(ctx context.Context) error {
	var all []error
	for _, p := range l.all() {
		all = append(all, p.Finish(ctx))
	}
	return errors.Join(all...)
}

// Stop ends the producers at once.
func (l *Ledger) Stop() {
	for _, p := range l.all() {
		p.Stop()
	}
}

// verifyLimit ends a Verify that hangs: that waits for what is acknowledged to answer. How long it takes to ask for an
// hour's ledger has no limit.
const verifyLimit = 10 * time.Minute

// Verify finishes the producers, waits until the last sample of each answers, and then asks for all of them: every
// acknowledged sample answers once, nothing answers that was not sent, and the accounts of /metrics balance. What is
// missing is lost; a scenario that destroyed something, or made a bound drop it, moves that to its own column. http is
// the collector's address.
func (l *Ledger) Verify(ctx context.Context, http string) (Outcome, error) {
	waiting, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	if err := l.Finish(waiting); err != nil {
		return Outcome{}, err
	}
	for _, p := range l.all() {
		if err := p.awaitAnswer(waiting, http); err != nil {
			return Outcome{}, err
		}
	}
	o, err := l.Recount(ctx, http)
	if err != nil {
		return o, err
	}
	accounts, err := readFigures(ctx, http)
	if err != nil {
		return o, err
	}
	o.Broken = append(o.Broken, accounts.unbalanced()...)
	return o, nil
}

// Recount asks for all of finished producers' samples, and waits for none.
func (l *Ledger) Recount(ctx context.Context, http string) (Outcome, error) {
	var o Outcome
	for _, p := range l.all() {
		if err := p.verify(ctx, http, &o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// unbalanced names the counters that do not balance (docs/architecture.md). It holds while nothing comes in.
func (f figures) unbalanced() (broken []string) {
	received := f.sum("bullet_metrics_ingest_received_samples_total")
	ends := f.sum("bullet_metrics_ingest_journaled_samples_total") +
		f.sum("bullet_metrics_ingest_deduplicated_samples_total") +
		f.sum("bullet_metrics_ingest_rejected_samples_total")
	if received != ends {
		broken = append(broken, fmt.Sprintf("accounts of ingest: %.0f received, %.0f journaled, deduplicated or rejected",
			received, ends))
	}
	read := f.sum("bullet_metrics_feed_samples", `fate="read"`)
	if all := f.sum("bullet_metrics_feed_samples"); all != 2*read {
		broken = append(broken, fmt.Sprintf("accounts of the feeds: %.0f read, %.0f with a fate", read, all-read))
	}
	for _, fate := range []string{"late", "refused", "left_out"} {
		if n := f.sum("bullet_metrics_feed_samples", `fate="`+fate+`"`); n > 0 {
			broken = append(broken, fmt.Sprintf("%.0f samples are %s, none should be", n, fate))
		}
	}
	return broken
}
