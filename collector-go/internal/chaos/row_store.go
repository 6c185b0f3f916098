package chaos

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// storeDown is row 7: a store on the network is away for a day of event time, in which the collector is killed three times; then it is back, and
// has each slice once. What goes where the journal has no room for it all is tried by the tests of internal/feed.
func storeDown() Row {
	return Row{Number: 7, Fault: "store down", Full: 1, Short: 1, Try: playStoreDown}
}

func playStoreDown(ctx context.Context, g *Ground, _ int) (o Outcome, err error) {
	const step = 10 * time.Second
	day := g.Duration(24*time.Hour-10*time.Minute, 2*time.Hour) // the door takes nothing older than a day
	store, err := newReceiver()
	if err != nil {
		return o, err
	}
	defer store.close()
	c, err := g.Start(ctx, Settings{Flags: []string{"--slice-width", "10s", "--slice-lateness", "30s", "--store-remote-write-url", "back=" + store.url()}})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	batches := uint64(day / step)
	for range 4 {
		ledger.Produce(ctx, c.GRPC(), ProducerOptions{From: time.Now().Add(-day).Truncate(step), Step: step, Batches: batches, Series: 50})
	}
	for quarter := uint64(1); quarter < 4; quarter++ {
		for _, p := range ledger.all() {
			if err := p.AwaitAcknowledged(ctx, quarter*batches/4); err != nil {
				return o, err
			}
		}
		c.Kill()
		if err := c.Again(ctx); err != nil {
			return o, err
		}
	}
	if err := ledger.Finish(ctx); err != nil {
		return o, err
	}
	size, err := journalSize(c.DataDir())
	if err != nil {
		return o, err
	}
	if err := store.open(); err != nil {
		return o, err
	}
	begun := time.Now()
	if err := store.awaitAll(ctx, ledger); err != nil {
		return o, err
	}
	took := time.Since(begun)
	if o, err = store.verify(ledger); err != nil {
		return o, err
	}
	embedded, err := ledger.Verify(ctx, c.HTTP())
	if err != nil {
		return o, err
	}
	embedded.Acknowledged = 0 // they are the same
	o.Add(embedded)
	o.Tries = 1
	o.Measured = append(o.Measured, fmt.Sprintf("%s of event time without the store: %.1f MiB of journal; it had %d samples %.1f s after it was back", day, float64(size)/(1<<20),
		store.samples(), took.Seconds()))
	return o, c.Stop()
}

// awaitAll waits until the last sample of each producer has come, and then as long as more come.
func (r *receiver) awaitAll(ctx context.Context, l *Ledger) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for _, p := range l.all() {
		for last := p.at(p.verification().last).UnixMilli(); r.newest(p) < last; {
			if err := wait(ctx, 50*time.Millisecond); err != nil {
				return fmt.Errorf("the store has not got all of %s: %w", p.options.Topology, err)
			}
		}
	}
	for before := -1; before < r.samples(); {
		before = r.samples()
		if err := wait(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// journalSize is what its segments take, bytes.
func journalSize(dataDir string) (sum int64, err error) {
	err = filepath.WalkDir(filepath.Join(dataDir, "journal"), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil // it was released meanwhile
		}
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
