package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// The bounded half of scenario 7: a store is away for longer than the journal has room for. The collector goes on
// taking samples, the journal stays at its bound, and once the store is back it has all but the oldest, which are
// counted.
const (
	boundedJournal = 1 << 20
	boundedSegment = 64 << 10
	// timesOver is how much more than its bound the journal is written, at scale 1.
	timesOver = 40
	// journalOver is how far beyond its bound a journal may be for a moment: what is queued, and a head.
	journalOver = 2 * boundedSegment
)

func playBeyondTheBound(ctx context.Context, g *Ground) (o Outcome, err error) {
	store, err := NewReceiver()
	if err != nil {
		return o, err
	}
	defer store.Close()
	store.SetDown(true)
	c, err := g.Start(ctx,
		Settings{DataDir: g.Dir + "/bounded", Flags: []string{"--store-embedded-enabled=false",
			"--store-remote-write-url", "back=" + store.URL(),
			"--journal-max-bytes", fmt.Sprint(boundedJournal), "--journal-segment-bytes", fmt.Sprint(boundedSegment)}})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	for range 4 {
		ledger.Produce(ctx, c.GRPC(), ProducerOptions{From: time.Now().Add(-20 * time.Hour), Series: 50,
			Pause: 10 * time.Millisecond})
	}
	largest, slowest, err := writeOver(ctx, c, ledger, max(4, g.Scale*timesOver)*boundedJournal)
	if err != nil {
		return o, err
	}
	if largest > boundedJournal+journalOver {
		o.Broken = append(o.Broken, fmt.Sprintf("the journal took %d KiB of a disk, its bound is %d", largest>>10,
			boundedJournal>>10))
	}
	if slowest > freshLimit {
		o.Broken = append(o.Broken,
			fmt.Sprintf("beside a store that is away and a journal at its bound, a fresh write was acknowledged after %.1f s, at most %s",
				slowest.Seconds(), freshLimit))
	}
	store.SetDown(false)
	if err := ledger.Finish(ctx); err != nil {
		return o, err
	}
	if err := store.awaitLast(ctx, ledger); err != nil {
		return o, err
	}
	o.Acknowledged = ledger.Acknowledged()
	o.Lost, o.Doubled = store.verifyWithGaps(ledger)
	missing := o.Lost
	samples, err := c.Figure("bullet_metrics_feed_samples", `store="back"`, `fate="expired"`)
	if err != nil {
		return o, err
	}
	cut, err := c.Figure("bullet_metrics_feed_slices_total", `store="back"`, `fate="expired"`)
	if err != nil {
		return o, err
	}
	if missing == 0 {
		o.Broken = append(o.Broken,
			"nothing is missing in a store that was away for longer than the journal has room for: nothing was tried")
	}
	o.Expire(int64(samples + cut)) // what it had not read, and what was cut already: a slice holds one sample
	o.Measured = append(o.Measured,
		fmt.Sprintf("a journal of %d KiB written %.0f times over without the store: at most %d KiB of disk, a fresh write acknowledged after %.2f s at most; %d of %d samples missing in the store, %.0f samples and %.0f slices counted",
			boundedJournal>>10, max(4, g.Scale*timesOver), largest>>10, slowest.Seconds(), missing, o.Acknowledged,
			samples, cut))
	return o, c.Stop()
}

// writeOver waits until the journal has been written so many bytes, and returns the most that it took and the longest
// that a fresh write did.
func writeOver(ctx context.Context, c *Collector, l *Ledger, bytes float64) (
	largest int64, slowest time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	for {
		written, err := c.Figure("bullet_metrics_journal_appended_bytes_total")
		if err != nil || written >= bytes {
			return largest, slowest, err
		}
		size, err := journalSize(c.DataDir())
		if err != nil {
			return largest, slowest, err
		}
		begun := time.Now()
		for _, p := range l.all() {
			if err := p.AwaitFresh(ctx); err != nil {
				return largest, slowest, fmt.Errorf("%.0f of %.0f bytes written: %w", written, bytes, err)
			}
		}
		largest, slowest = max(largest, size), max(slowest, time.Since(begun))
	}
}

// awaitLast waits until the last batch of each producer is there.
func (r *Receiver) awaitLast(ctx context.Context, l *Ledger) error {
	ctx, cancel := context.WithTimeout(ctx, verifyLimit)
	defer cancel()
	for {
		r.mu.Lock()
		is, changed := r.hasLast(l), r.changed
		r.mu.Unlock()
		if is {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.Join(errors.New("the store is back, and does not get the newest"), ctx.Err())
		}
	}
}

// hasLast is called under the lock.
func (r *Receiver) hasLast(l *Ledger) bool {
	for _, p := range l.all() {
		p.mu.Lock()
		last := p.batches()
		p.mu.Unlock()
		for series := range p.options.Series {
			if _, there := r.points[p.receiverKey(series)][p.at(last).UnixMilli()]; !there {
				return false
			}
		}
	}
	return true
}

// verifyWithGaps is Verify where slices may be missing: totals go on behind a gap from where they were, with none, some
// or all of what lies in it.
func (r *Receiver) verifyWithGaps(l *Ledger) (lost, doubled int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range l.all() {
		p.mu.Lock()
		last := p.batches()
		p.mu.Unlock()
		for series := range p.options.Series {
			missing, twice := p.gaps(series, last, r.points[p.receiverKey(series)])
			lost, doubled = lost+missing, doubled+twice
		}
	}
	return lost, doubled + r.other
}

func (p *Producer) gaps(series int, last uint64, points map[int64]float64) (missing, twice int64) {
	seen, total := uint64(0), 0.0
	for _, ms := range slices.Sorted(maps.Keys(points)) {
		behind := time.UnixMilli(ms).Sub(p.options.From)
		batch := uint64(behind/p.options.Step) + 1
		if behind < 0 || behind%p.options.Step != 0 || batch > last {
			twice++ // nobody sent it
			continue
		}
		own, between := p.value(batch, series), 0.0
		for b := seen + 1; b < batch; b++ {
			between += p.value(b, series)
		}
		switch grown := points[ms] - total; {
		case grown < own:
			missing++
		case grown > own+between:
			twice++
		}
		missing += int64(batch - seen - 1)
		seen, total = batch, points[ms]
	}
	return missing + int64(last-seen), twice
}
