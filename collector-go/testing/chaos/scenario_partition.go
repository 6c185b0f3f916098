package chaos

import (
	"context"
	"fmt"
	"net"
	"time"
)

// partition is scenario 21: the network between producers and collector fails, in both directions or one, once or again
// and again. A try is a failure.
func partition() Scenario {
	return Scenario{Number: 21, Fault: "partition", Full: 200, Short: 4, Try: playPartitions}
}

const reconnectLimit = 10 * time.Second

// divide is what partitions are made with: namespaces where the machine has them, else the relay.
type divide struct {
	how  string
	grpc string
	dial func(ctx context.Context, address string) (net.Conn, error)
	http string // where to ask, past what is divided
	cut  func(ctx context.Context, how cut) error
	heal func(ctx context.Context) error
	end  func()
}

func playPartitions(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	d, err := startDivided(ctx, g)
	if err != nil {
		return o, err
	}
	defer d.end()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	for range 3 {
		ledger.Produce(ctx, d.grpc, ProducerOptions{Pause: 10 * time.Millisecond, Dial: d.dial, Answer: unanswered})
	}
	longest, kinds := time.Duration(0), map[string]int{}
	var broken []string
	for try := range tries {
		random := g.Random(try)
		how, flaps := cut(try%int(cuts)), 1
		if random.IntN(4) == 0 {
			flaps = 2 + random.IntN(6)
		}
		kinds[how.String()]++
		for range flaps {
			if err := d.cut(ctx, how); err != nil {
				return o, err
			}
			if err := wait(ctx, time.Duration(50+
				random.IntN(int(g.Duration(8*time.Second,
					2*time.Second).Milliseconds())/flaps))*time.Millisecond); err != nil {
				return o, err
			}
			if err := d.heal(ctx); err != nil {
				return o, err
			}
			if err := wait(ctx, time.Duration(random.IntN(200))*time.Millisecond); err != nil {
				return o, err
			}
		}
		healed := time.Now()
		if _, err := ledger.AwaitFresh(ctx); err != nil {
			return o, err
		}
		took := time.Since(healed)
		longest = max(longest, took)
		g.Log.Debug("healed", "try", try, "cut", how, "flaps", flaps, "fresh_after", took)
		if took > reconnectLimit {
			broken = append(broken,
				fmt.Sprintf("try %d, %s, %d times: a fresh write was acknowledged %.1f s after the network was back, at most %s",
					try, how, flaps, took.Seconds(), reconnectLimit))
		}
	}
	verified, err := ledger.Verify(ctx, d.http)
	if err != nil {
		return o, err
	}
	o.Add(verified)
	streams := 0
	for _, p := range ledger.all() {
		streams += p.Sending().Streams
	}
	o.Tries, o.Broken = tries, append(o.Broken, broken...)
	o.Measured = append(o.Measured,
		fmt.Sprintf("by %s: %v, longest %.1f s until a fresh write of every producer, %d streams", d.how, kinds,
			longest.Seconds(), streams))
	return o, nil
}

// startDivided starts a collector behind a network that can be cut.
func startDivided(ctx context.Context, g *Ground) (*divide, error) {
	network, unavailable := NewNetwork(ctx)
	if unavailable != nil {
		return startRelayed(ctx, g, unavailable)
	}
	d := &divide{how: "network namespaces, a link and routes", grpc: collectorAddress + ":4320",
		dial: network.DialFrom(network.producer), cut: network.Cut, heal: network.Heal}
	asking, err := NewRelay(func(ctx context.Context) (net.Conn, error) {
		return network.DialFrom(network.collector)(ctx, collectorAddress+":9320")
	})
	if err != nil {
		network.Close()
		return nil, err
	}
	d.http = asking.Address()
	c, err := g.Start(ctx, Settings{Namespace: network.collector, GRPC: d.grpc, HTTP: d.http,
		Flags: []string{"--http-listen", collectorAddress + ":9320", "--http-insecure", "--grpc-insecure"}})
	d.end = func() {
		if c != nil {
			c.Kill()
		}
		asking.Close()
		network.Close()
	}
	if err != nil {
		d.end()
	}
	return d, err
}

func startRelayed(ctx context.Context, g *Ground, why error) (*divide, error) {
	c, err := g.Start(ctx, Settings{})
	if err != nil {
		return nil, err
	}
	relay, err := RelayTo(c.GRPC())
	if err != nil {
		c.Kill()
		return nil, err
	}
	return &divide{how: fmt.Sprintf("a relay of the test's own (no namespaces: %v)", why), grpc: relay.Address(),
		http: c.HTTP(),
		cut: func(_ context.Context, how cut) error {
			relay.Set(Weather{HoldUp: how != downLost, HoldDown: how != upLost})
			return nil
		},
		heal: func(context.Context) error {
			relay.Set(Weather{})
			return nil
		},
		end: func() {
			relay.Close()
			c.Kill()
		}}, nil
}
