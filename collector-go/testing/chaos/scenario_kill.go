package chaos

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// kill is scenario 1: SIGKILL in a loop, 50 to 600 ms after the process' start or after it was ready, under load.
func kill() Scenario {
	return Scenario{Number: 1, Fault: "SIGKILL", Full: 1000, Short: 12, Try: playKills}
}

// killsOfADirectory bounds what the data directory grows to: so many kills, then what was acknowledged is held against
// it, and another begins.
const killsOfADirectory = 100

func playKills(ctx context.Context, g *Ground, tries int) (Outcome, error) {
	var all Outcome
	var starts []time.Duration
	for done := 0; done < tries; done += killsOfADirectory {
		o, took, err := killsInADirectory(ctx, g, done, min(killsOfADirectory, tries-done))
		all.Add(o)
		starts = append(starts, took...)
		if err != nil {
			return all, err
		}
		g.Log.Info("killed", "kills", all.Tries, "acknowledged", all.Acknowledged, "lost", all.Lost, "doubled",
			all.Doubled)
	}
	slices.Sort(starts)
	all.Measured = append(all.Measured,
		fmt.Sprintf("ready again after %d ms (median), %d ms (longest) of %d starts that were waited for",
			starts[len(starts)/2].Milliseconds(),
			starts[len(starts)-1].Milliseconds(), len(starts)))
	million, err := startOverAMillion(ctx, g)
	all.Measured = append(all.Measured, million)
	return all, err
}

// killsInADirectory kills one collector after the other over one directory; the producers know of nothing.
func killsInADirectory(ctx context.Context, g *Ground, from, kills int) (o Outcome, starts []time.Duration, err error) {
	dir, err := g.Directory("data")
	if err != nil {
		return o, nil, err
	}
	c, err := g.Start(ctx, Settings{DataDir: dir})
	if err != nil {
		return o, nil, err
	}
	defer func() { c.Kill() }()
	starts = append(starts, c.ReadyAfter())
	ledger := NewLedger(g.Seed + uint64(from))
	defer ledger.Stop()
	for range 4 {
		ledger.Produce(ctx, c.GRPC(),
			ProducerOptions{Pause: 4 * time.Millisecond, From: time.Now().Add(-20 * time.Hour)})
	}
	for try := range kills {
		random := g.Random(from + try)
		after, started := time.Duration(50+random.IntN(551))*time.Millisecond, random.IntN(4) > 0
		if err := wait(ctx, after); err != nil {
			return o, starts, err
		}
		c.Kill()
		g.Log.Debug("killed", "try", from+try, "after", after, "ready", started)
		if err := c.Launch(); err != nil {
			return o, starts, err
		}
		if started || try == kills-1 { // else it is killed while it starts, or soon after
			if err := c.AwaitReady(ctx); err != nil {
				o.Broken = append(o.Broken, fmt.Sprintf("after kill %d: %v", from+try, err))
				return o, starts, nil
			}
			starts = append(starts, c.ReadyAfter())
		}
	}
	broken, err := ledger.AwaitFresh(ctx)
	if err != nil {
		return o, starts, err
	}
	if o, err = ledger.Verify(ctx, c.HTTP()); err != nil {
		return o, starts, err
	}
	o.Tries, o.Broken = kills, append(o.Broken, broken...)
	return o, starts, os.RemoveAll(dir)
}

// startOverAMillion measures how soon a collector is back that was killed with a million samples in its journal.
func startOverAMillion(ctx context.Context, g *Ground) (string, error) {
	const producers, series, batches = 4, 500, 500
	c, err := g.Start(ctx, Settings{DataDir: g.Dir + "/million"})
	if err != nil {
		return "", err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	for range producers {
		p := ledger.Produce(ctx, c.GRPC(), ProducerOptions{Series: series, Batches: batches})
		defer p.Stop()
	}
	for _, p := range ledger.all() {
		if err := p.AwaitAcknowledged(ctx, batches); err != nil {
			return "", err
		}
	}
	c.Kill()
	ledger.Stop()
	if err := c.Again(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("ready again after %.2f s with %d samples in the journal (2 s wanted)", c.ReadyAfter().Seconds(),
		ledger.Acknowledged()), nil
}
