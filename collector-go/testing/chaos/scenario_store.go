package chaos

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// storeDown is scenario 7: a store on the network is away for a day of event time, in which the collector is killed
// three times; then it is back, and has each slice once. Then another is away for longer than a small journal has room
// for.
func storeDown() Scenario {
	return Scenario{Number: 7, Fault: "store down", Full: 1, Short: 1,
		Try: func(ctx context.Context, g *Ground, _ int) (Outcome, error) {
			o, err := playStoreDown(ctx, g)
			if err != nil {
				return o, err
			}
			bounded, err := playBeyondTheBound(ctx, g)
			o.Add(bounded)
			return o, err
		}}
}

func playStoreDown(ctx context.Context, g *Ground) (o Outcome, err error) {
	const step = 10 * time.Second
	day := g.Duration(24*time.Hour-10*time.Minute, 2*time.Hour) // the door takes nothing older than a day
	store, err := NewReceiver()
	if err != nil {
		return o, err
	}
	defer store.Close()
	store.SetDown(true)
	c, err := g.Start(ctx,
		Settings{Flags: []string{"--slice-width", "10s", "--slice-lateness", "30s", "--store-remote-write-url",
			"back=" + store.URL()}})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	batches := uint64(day / step)
	for range 4 {
		ledger.Produce(ctx, c.GRPC(), ProducerOptions{From: time.Now().Add(-day).Truncate(step), Step: step,
			Batches: batches, Series: 50})
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
	begun := time.Now()
	store.SetDown(false)
	waiting, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := store.Await(waiting, ledger.Acknowledged()); err != nil {
		return o, err
	}
	took := time.Since(begun)
	o.Lost, o.Doubled = store.Verify(ledger)
	o.Acknowledged = ledger.Acknowledged()
	embedded, err := ledger.Verify(ctx, c.HTTP())
	if err != nil {
		return o, err
	}
	embedded.Acknowledged = 0 // they are the same
	o.Add(embedded)
	o.Tries = 1
	o.Measured = append(o.Measured,
		fmt.Sprintf("%s of event time without the store: %.1f MiB of journal; it had %d samples %.1f s after it was back",
			day, float64(size)/(1<<20),
			store.Points(), took.Seconds()))
	return o, c.Stop()
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
