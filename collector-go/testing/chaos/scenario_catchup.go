package chaos

import (
	"context"
	"fmt"
	"time"
)

// catchUp is scenario 8: a store on the network has been down for an hour of event time, and is back. A try is such an
// hour.
func catchUp() Scenario {
	return Scenario{Number: 8, Fault: "catching up", Full: 3, Long: true, Try: playCatchUps}
}

const (
	catchUpMemory = 64 << 20
	backlog       = time.Hour
	catchUpLimit  = 30 * time.Minute
)

func playCatchUps(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	for try := range tries {
		one, err := catchUpOnce(ctx, g, try)
		if o.Add(one); err != nil {
			return o, err
		}
		o.Tries++
	}
	return o, nil
}

func catchUpOnce(ctx context.Context, g *Ground, try int) (o Outcome, err error) {
	dir, err := g.Directory("data")
	if err != nil {
		return o, err
	}
	receiver, err := NewReceiver()
	if err != nil {
		return o, err
	}
	defer receiver.Close()
	receiver.SetDown(true)
	c, err := g.Start(ctx, Settings{DataDir: dir, Flags: []string{"--store-remote-write-url", "net=" + receiver.URL()}})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed + uint64(try))
	defer ledger.Stop()
	// Four workers that report for an hour, once a second.
	series := max(25, int(250*g.Scale))
	batches := uint64(backlog / time.Second)
	from := time.Now().Add(-backlog - time.Minute)
	for range 4 {
		ledger.Produce(ctx, c.GRPC(), ProducerOptions{Series: series, Batches: batches, From: from})
	}
	if err := ledger.Finish(ctx); err != nil {
		return o, err
	}
	if o, err = ledger.Verify(ctx, c.HTTP()); err != nil {
		return o, err
	}
	beat, err := g.StartBeat(ctx, c)
	if err != nil {
		return o, err
	}
	defer beat.Stop()
	g.Log.Info("the store comes back", "backlog", ledger.Acknowledged(), "hours", 1)
	memory, err := c.startMemory()
	if err != nil {
		return o, err
	}
	var took time.Duration
	err = beat.Compare(ctx, &o, "the catching up", g.Duration(30*time.Second, 5*time.Second), func() error {
		limited, cancel := context.WithTimeout(ctx, catchUpLimit)
		defer cancel()
		begun := time.Now()
		receiver.SetDown(false)
		err := receiver.Await(limited, ledger.Acknowledged())
		took = time.Since(begun)
		return err
	})
	if err != nil {
		return o, err
	}
	if err := memory.grown(&o, "the catching up", catchUpMemory); err != nil {
		return o, err
	}
	lost, doubled := receiver.Verify(ledger)
	o.Lost, o.Doubled = o.Lost+lost, o.Doubled+doubled
	o.Measured = append(o.Measured, fmt.Sprintf("an hour of %d series (%d slices) in %.1f s, %.0f slices a second",
		4*series, ledger.Acknowledged(), took.Seconds(), float64(ledger.Acknowledged())/took.Seconds()))
	return o, nil
}
