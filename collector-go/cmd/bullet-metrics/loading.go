package main

import (
	"context"
	"fmt"
	"time"
)

// loading is how far a collector is that was just started: what had been acknowledged before is read again from the
// journal, and until it is in the store an answer would lack it, and an alert about it be missing. Samples are taken
// meanwhile.
type loading struct {
	from, had uint64        // journal positions: where reading begins, and what the journal had at the start
	position  func() uint64 // up to where everything answers
	done      chan struct{} // closed once all answers
}

// progressEvery is how often it is looked whether all that was there is read.
const progressEvery = 10 * time.Millisecond

// newLoading begins: what the journal has now is what is waited for.
func (col *collector) newLoading() *loading {
	l := &loading{had: uint64(col.journal.Durable()), done: make(chan struct{}), position: func() uint64 {
		if col.feed == nil {
			return col.known.Position()
		}
		return min(col.feed.Position(), col.known.Position())
	}}
	l.from = l.position()
	return l
}

// read waits until all that was there is in the store and in the registry; false where ctx ended before.
func (l *loading) read(ctx context.Context) bool {
	looking := time.NewTicker(progressEvery)
	defer looking.Stop()
	for l.position() < l.had {
		select {
		case <-ctx.Done():
			return false
		case <-looking.C:
		}
	}
	return true
}

// load brings back what was known before the start, alerts included, and goes on with the rules.
func (col *collector) load(ctx context.Context) error {
	if !col.loading.read(ctx) {
		return nil
	}
	if col.rules == nil {
		close(col.loading.done)
		return nil
	}
	return col.rules.Run(ctx, func() { close(col.loading.done) })
}

// loaded waits until answers have all that was acknowledged before the start, and the alerts of then. Where ctx ends
// before, the error states how far that is.
func (col *collector) loaded(ctx context.Context) error {
	l := col.loading
	if l == nil {
		return nil
	}
	select {
	case <-l.done:
		return nil
	default:
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
	}
	at := l.position()
	if at >= l.had {
		return fmt.Errorf("the collector was just started: all %d journal entries are read again, and rules are being evaluated; ask again in a moment",
			l.had-min(l.from, l.had))
	}
	return fmt.Errorf("the collector was just started: %d of the journal's %d entries that must be read again are; ask again in a moment",
		at-min(l.from, at), l.had-min(l.from, l.had))
}
