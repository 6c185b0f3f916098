package chaos

import (
	"context"
	"fmt"
	"time"
)

// soak is scenario 23: load for an hour, a kill every ten minutes, and what the process takes is looked at all the
// while.
func soak() Scenario {
	return Scenario{Number: 23, Fault: "soak", Full: 1, Long: true, Try: playSoak}
}

// A soak has six lives of the collector, whatever the scale; taken is read this often in each.
const (
	lives    = 6
	readings = 20
)

// settled is how long a life must be for its memory to be held to its first third's: the store writes every ten
// minutes, and keeps until then.
const settled = 10 * time.Minute

// taken is what a process has.
type taken struct {
	goroutines, descriptors float64
	resident                int64
}

func (t taken) String() string {
	return fmt.Sprintf("%.0f goroutines, %.0f descriptors, %d MiB", t.goroutines, t.descriptors, t.resident>>20)
}

func readTaken(c *Collector) (t taken, err error) {
	t.goroutines, err = c.Figure("go_goroutines")
	t.descriptors, t.resident = float64(c.Descriptors()), c.ResidentBytes()
	return t, err
}

func playSoak(ctx context.Context, g *Ground, _ int) (o Outcome, err error) {
	life := g.Duration(time.Hour/lives, 5*time.Second)
	c, err := g.Start(ctx, Settings{})
	if err != nil {
		return o, err
	}
	defer func() { c.Kill() }()
	ledger := NewLedger(g.Seed)
	defer ledger.Stop()
	for range 16 { // 16,000 samples a second, as 160 workers send; event time goes as the clock does
		ledger.Produce(ctx, c.GRPC(), ProducerOptions{Series: 1000, Pause: time.Second, From: time.Now()})
	}
	for n := range lives {
		if n > 0 {
			c.Kill()
			if err := c.Again(ctx); err != nil {
				return o, err
			}
		}
		first, last, err := live(ctx, c, life)
		if err != nil {
			return o, err
		}
		o.Measured = append(o.Measured, fmt.Sprintf("life %d of %s: %s at a third, %s at the end", n+1, life,
			first, last))
		// A life's first third fills what is kept of series; behind it nothing may grow with time.
		if last.goroutines > 1.2*first.goroutines+10 || last.descriptors > 1.2*first.descriptors+10 {
			o.Broken = append(o.Broken, fmt.Sprintf("life %d grows: %s, then %s", n+1, first, last))
		}
		if life >= settled && last.resident > first.resident*3/2+64<<20 {
			o.Broken = append(o.Broken, fmt.Sprintf("memory of life %d grows: %s, then %s", n+1, first, last))
		}
	}
	measured, broken := o.Measured, o.Broken
	if o, err = ledger.Verify(ctx, c.HTTP()); err != nil {
		return o, err
	}
	o.Tries, o.Measured, o.Broken = 1, measured, append(broken, o.Broken...)
	return o, c.Stop()
}

// live lets a life pass, and returns what the process had at a third of it and at its end, each the least of a third's
// readings: what is collected as garbage at the next turn counts for nothing.
func live(ctx context.Context, c *Collector, life time.Duration) (first, last taken, err error) {
	for n := range readings {
		if err := wait(ctx, life/readings); err != nil {
			return first, last, err
		}
		now, err := readTaken(c)
		if err != nil {
			return first, last, err
		}
		switch third := 3 * n / readings; {
		case third == 1:
			first = first.least(now)
		case third == 2:
			last = last.least(now)
		}
	}
	return first, last, nil
}

func (t taken) least(other taken) taken {
	if t == (taken{}) {
		return other
	}
	return taken{min(t.goroutines, other.goroutines), min(t.descriptors, other.descriptors),
		min(t.resident, other.resident)}
}
