package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// slowClientScenario is scenario 14: a thousand connections that send a byte a second, on both ports. A try is a
// connection.
func slowClientScenario() Scenario {
	return Scenario{Number: 14, Fault: "slow-loris", Full: 1000, Long: true, Try: playSlowClients}
}

const (
	cutWithin      = 30 * time.Second
	slowClientGone = 90 * time.Second // then it is not cut at all
)

// loopbackFrom is one of this host's own addresses: an address may have its share of connections alone.
func loopbackFrom(n int) string { return fmt.Sprintf("127.0.%d.%d", 1+n/250%250, 1+n%250) }

func playSlowClients(ctx context.Context, g *Ground, tries int) (o Outcome, err error) {
	c, err := g.Start(ctx, Settings{})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	ledger.Produce(ctx, c.GRPC(), ProducerOptions{Pause: 20 * time.Millisecond})
	beat, err := g.StartBeat(ctx, c)
	if err != nil {
		return o, err
	}
	defer beat.Stop()
	memory, err := c.startMemory()
	if err != nil {
		return o, err
	}
	herd := &slowClients{longest: map[string]time.Duration{}}
	err = beat.Compare(ctx, &o, fmt.Sprintf("%d connections of 1 byte/s", tries),
		g.Duration(30*time.Second, 10*time.Second), func() error {
			return herd.live(ctx, c, tries)
		})
	if err != nil {
		return o, err
	}
	for _, kind := range slowClientKinds {
		if longest := herd.longest[kind.name]; longest > cutWithin {
			o.Broken = append(o.Broken, fmt.Sprintf("%s: cut after %.1f s, at most %s", kind.name,
				longest.Seconds(), cutWithin))
		}
	}
	o.Broken = append(o.Broken, herd.broken...)
	o.Measured = append(o.Measured, herd.said())
	if err := memory.grown(&o, "that", floodMemory); err != nil {
		return o, err
	}
	fresh, err := ledger.AwaitFresh(ctx)
	if err != nil {
		return o, err
	}
	beat.Stop() // the accounts balance while nothing comes in
	verified, err := ledger.Verify(ctx, c.HTTP())
	o.Add(verified)
	o.Tries, o.Broken = tries, append(o.Broken, fresh...)
	return o, err
}

// slowClients is many of them at once.
type slowClients struct {
	mu      sync.Mutex
	longest map[string]time.Duration // by kind
	atOnce  int                      // there was no place for them
	broken  []string
}

func (h *slowClients) live(ctx context.Context, c *Collector, connections int) error {
	ctx, cancel := context.WithTimeout(ctx, slowClientGone)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	for i := range connections {
		kind := slowClientKinds[i%len(slowClientKinds)]
		to := c.GRPC()
		if kind.http {
			to = c.HTTP()
		}
		l, err := newSlowClient(ctx, loopbackFrom(i), to)
		if err != nil {
			return err
		}
		all.Go(func() {
			took, err := l.live(ctx, kind)
			h.mu.Lock()
			defer h.mu.Unlock()
			h.longest[kind.name] = max(h.longest[kind.name], took)
			if took < 2*dripEvery {
				h.atOnce++
			}
			if err != nil && len(h.broken) < 10 {
				h.broken = append(h.broken, err.Error())
			}
		})
	}
	return nil
}

func (h *slowClients) said() string {
	var kinds []string
	for name, longest := range h.longest {
		kinds = append(kinds, fmt.Sprintf("%s %.1f s", name, longest.Seconds()))
	}
	slices.Sort(kinds)
	return fmt.Sprintf("longest until cut: %s; %d found no place", strings.Join(kinds, ", "), h.atOnce)
}
