package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
)

// statePeriod is how often a client reports its state.
const statePeriod = time.Second

// maxHeldQueries is how many queries can be held: the record source has as many probes.
const maxHeldQueries = 1000

// client is a load client: it does in this process what its orders ask. One goroutine follows the orders, one reports
// the state, and the queries run in goroutines of the asker. All of them write answers, so mu guards the writer and
// what is counted of it. An error of writing is kept and ends up in Serve's result; queries go on, since the orders
// decide when they end.
type client struct {
	asker   *load.Here
	closing func() // the target
	tasks   sync.WaitGroup

	mu       sync.Mutex
	to       io.Writer
	outcomes int
	err      error // the first of writing
}

// errEnded is the end that was ordered.
var errEnded = errors.New("the orders have ended")

// Serve is a load client. It follows orders until they end, or ctx does: then it abandons its queries, whose outcomes
// are its last answers. An error states which order cannot be followed, or that the answers cannot be written.
//
// The end of the orders also comes where the program that gave them was killed, or the connection broke. A client
// therefore never outlives its run, and no load stays behind on a host. A goroutine reads from until it ends, also
// after Serve has returned for another reason.
func Serve(ctx context.Context, from io.Reader, to io.Writer) error {
	c := &client{to: to}
	ctx, cancel := context.WithCancel(ctx)
	orders, failed := make(chan order), make(chan error, 1)
	go func() {
		failed <- eachLine(from, func(o order) error {
			select {
			case orders <- o:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	err := c.serve(ctx, orders, failed)
	cancel()
	if c.asker != nil {
		c.asker.Close()
		c.tasks.Wait()
		c.closing()
	}
	if err != nil {
		c.answer(answer{Error: err.Error()})
	} else {
		c.answer(answer{End: &endAnswer{c.outcomes}})
	}
	return errors.Join(err, c.err)
}

// serve follows orders until their end. ctx ends it as an order to end would: without an error.
func (c *client) serve(ctx context.Context, orders <-chan order, failed <-chan error) error {
	for {
		select {
		case o := <-orders:
			if err := c.follow(ctx, o); err != nil {
				if errors.Is(err, errEnded) {
					return nil
				}
				return err
			}
		case err := <-failed:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// follow does what one order asks. Orders arrive from another program, so that each is checked here, whatever that
// program has checked. An order that this version does not know is an error: ignoring it would give another load than
// was ordered.
func (c *client) follow(ctx context.Context, o order) error {
	switch {
	case o.Begin != nil:
		return c.begin(ctx, *o.Begin)
	case o.End != nil:
		return errEnded
	case o.Clock != nil:
		c.answer(answer{Clock: &clockAnswer{o.Clock.ID, time.Now().UnixMicro()}})
		return nil
	case c.asker == nil:
		return errors.New("the first order must be begin")
	case o.Hold != nil:
		if o.Hold.Queries < 0 || o.Hold.Queries > maxHeldQueries || o.Hold.SpreadMs < 0 {
			return fmt.Errorf("hold: 0 to %d queries can be held, begun within 0 ms or more; not %d within %d ms",
				maxHeldQueries, o.Hold.Queries, o.Hold.SpreadMs)
		}
		c.asker.Hold(o.Hold.Queries, time.UnixMilli(o.Hold.FromMs), milliseconds(o.Hold.SpreadMs))
		return nil
	case o.Open != nil:
		return c.open(*o.Open)
	case o.Count != nil:
		n, _ := c.asker.InFlightBefore(ctx, time.UnixMilli(o.Count.BeforeMs)) // of this process it is known
		c.answer(answer{Count: &countAnswer{o.Count.ID, n}})
		return nil
	}
	return errors.New("an order is none that this program knows: install the same bullet-metrics on all hosts")
}

// begin opens the target and answers that the client is ready, with its version of the protocol and its processors. It
// is for one call: the query and the part stay the same until the end.
func (c *client) begin(ctx context.Context, b beginOrder) error {
	if c.asker != nil {
		return errors.New("begin: it has begun already")
	}
	query, err := b.query()
	if err := errors.Join(err, b.validate()); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	target, closing := b.Target.Open(b.Connections)
	c.asker, c.closing = load.NewHere(query, target, b.Part, c.observe), closing
	c.answer(answer{Ready: &readyAnswer{protocol, runtime.GOMAXPROCS(0)}})
	c.tasks.Go(func() { c.reportState(ctx) })
	return nil
}

// open starts an open loop, and answers once all of its queries have ended, so that the other side need not count them.
func (c *client) open(o openOrder) error {
	done, err := c.asker.Open(o.options())
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	c.tasks.Go(func() {
		<-done
		c.answer(answer{Opened: &openedAnswer{o.ID}})
	})
	return nil
}

// reportState reports the state once a second until ctx ends. The other side takes a client of which nothing is heard
// for dead, so the state is reported also while no query ends.
func (c *client) reportState(ctx context.Context) {
	ticker := time.NewTicker(statePeriod)
	defer ticker.Stop()
	for {
		c.answer(answer{State: &stateAnswer{time.Now().UnixMilli(), cpuTime().Microseconds(), c.asker.InFlight()}})
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// cpuTime is the user and system time that this process has used.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func (c *client) observe(o load.Outcome) { c.answer(answer{Outcome: &o}) }

// answer writes one line. The first error of writing is kept; later answers are still tried, since the error may be of
// one value.
func (c *client) answer(a answer) {
	line, err := json.Marshal(a)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		_, err = c.to.Write(append(line, '\n'))
	}
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("write an answer: %w", err)
	}
	if a.Outcome != nil {
		c.outcomes++
	}
}
