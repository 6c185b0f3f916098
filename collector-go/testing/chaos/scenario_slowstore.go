package chaos

import (
	"context"
	"fmt"
	"time"
)

// slowStore is scenario 9: of two stores on the network one answers a byte a second, or after half a minute, or not at
// all. A try is one of these for a while.
func slowStore() Scenario {
	return Scenario{Number: 9, Fault: "slow store", Full: 20, Short: 1, Try: playSlowStores}
}

// slowStoreMemory is what a store that does not keep up may cost: the journal is its queue.
const slowStoreMemory = 64 << 20

var slowKinds = []struct {
	name    string
	weather Weather
}{
	{"answers of 1 byte/s", Weather{BytesPerSecond: 1}},
	{"a latency of 30 s", Weather{Latency: 30 * time.Second}},
	{"no answers", Weather{HoldDown: true}},
	{"requests that lead nowhere", Weather{HoldUp: true}},
}

func playSlowStores(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	first := int(g.Seed)
	for try := range tries {
		one, err := slowStoreOnce(ctx, g, (first+try)%len(slowKinds))
		if o.Add(one); err != nil {
			return o, err
		}
		o.Tries++
	}
	return o, nil
}

func slowStoreOnce(ctx context.Context, g *Ground, kind int) (o Outcome, err error) {
	what := slowKinds[kind].name
	dir, err := g.Directory("data")
	if err != nil {
		return o, err
	}
	good, err := NewReceiver()
	if err != nil {
		return o, err
	}
	defer good.Close()
	slow, err := NewReceiver()
	if err != nil {
		return o, err
	}
	defer slow.Close()
	relay, err := RelayTo(slow.Address())
	if err != nil {
		return o, err
	}
	defer relay.Close()
	c, err := g.Start(ctx, Settings{DataDir: dir, Flags: []string{"--store-remote-write-url", "good=" + good.URL(),
		"--store-remote-write-url", "slow=http://" + relay.Address() + "/api/v1/write", "--store-remote-write-timeout",
		"slow=5s"}})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	for range 2 {
		ledger.Produce(ctx, c.GRPC(), ProducerOptions{Series: 100, Pause: 20 * time.Millisecond})
	}
	beat, err := g.StartBeat(ctx, c)
	if err != nil {
		return o, err
	}
	defer beat.Stop()
	length := g.Duration(time.Minute, 4*time.Second)
	var memory memoryTrial
	_, _, err = beat.Measure(ctx, &o, what, length/2, func() error {
		if memory, err = c.startMemory(); err != nil {
			return err
		}
		relay.Set(slowKinds[kind].weather)
		relay.Cut()
		return wait(ctx, length)
	})
	if err != nil {
		return o, err
	}
	// The good store has all that the collector has closed, while the slow one lags.
	if err := ledger.Finish(ctx); err != nil {
		return o, err
	}
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := good.Await(limited, ledger.Acknowledged()); err != nil {
		o.Broken = append(o.Broken, fmt.Sprintf("beside a store with %s: %v", what, err))
	}
	o.Measured = append(o.Measured,
		fmt.Sprintf("%s: the other store has all %d slices %.1f s after the last sample, the slow one %d", what,
			good.Points(), time.Since(begun).Seconds(), slow.Points()))
	if err := memory.grown(&o, what, slowStoreMemory); err != nil {
		return o, err
	}
	beat.Stop() // the accounts balance while nothing comes in
	verified, err := ledger.Verify(ctx, c.HTTP())
	if err != nil {
		return o, err
	}
	o.Add(verified)
	lost, doubled := good.Verify(ledger)
	o.Lost, o.Doubled = o.Lost+lost, o.Doubled+doubled

	relay.Set(Weather{})
	relay.Cut()
	limited, cancel = context.WithTimeout(ctx, patience)
	defer cancel()
	if err := slow.Await(limited, ledger.Acknowledged()); err != nil {
		o.Broken = append(o.Broken, fmt.Sprintf("once it was fast again after %s: %v", what, err))
		return o, nil
	}
	lost, doubled = slow.Verify(ledger)
	o.Lost, o.Doubled = o.Lost+lost, o.Doubled+doubled
	return o, nil
}
