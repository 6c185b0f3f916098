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
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
)

// statePeriod is how often a client reports its state.
const statePeriod = time.Second

// maxClosedQueries is the largest number of queries of the closed model: the number of probes of the record source.
const maxClosedQueries = 1000

// client is a load client: it executes its orders in this process. One goroutine follows the orders, one reports the
// state, and the queries run in goroutines of the asker. All of them write answers, so mu guards the writer and its
// counts. A write error is kept and becomes part of Serve's result. Queries go on, because the orders decide when they
// end.
type client struct {
	asker   *load.Here
	closing func() // closes the target
	tasks   sync.WaitGroup

	mu       sync.Mutex
	to       io.Writer
	outcomes int
	err      error // the first write error
}

// errEnded means that an order ended the client.
var errEnded = errors.New("no more orders")

// Serve runs a load client. It follows orders until they end or ctx does, and then abandons its queries, whose
// outcomes are its last answers. An error states which order is invalid, or that the answers cannot be written.
//
// The orders also end if the program that gives them was killed, or the connection broke. A client therefore never
// outlives its run, and no load stays behind on a host. A goroutine reads from until its end, also after Serve has
// returned for another reason.
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

// serve follows orders until their end. The end of ctx is treated as an order to end, without an error.
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

// follow executes one order. Every order is validated here, because it comes from another program. An order that this
// version does not know is an error, because ignoring it would produce another load than was ordered.
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
		if o.Hold.Queries < 0 || o.Hold.Queries > maxClosedQueries || o.Hold.SpreadMs < 0 {
			return fmt.Errorf("hold: the number of queries must be between 0 and %d, and the time not negative, not %d within %d ms",
				maxClosedQueries, o.Hold.Queries, o.Hold.SpreadMs)
		}
		c.asker.Hold(o.Hold.Queries, time.UnixMilli(o.Hold.FromMs), load.DurationOf(o.Hold.SpreadMs))
		return nil
	case o.Open != nil:
		return c.open(*o.Open)
	case o.Count != nil:
		n, _ := c.asker.InFlightBefore(ctx, time.UnixMilli(o.Count.BeforeMs)) // here the count is always known
		c.answer(answer{Count: &countAnswer{o.Count.ID, n}})
		return nil
	}
	return errors.New("unknown order: install the same version of bullet-metrics on all hosts")
}

// begin opens the target and answers that the client is ready, with its version of the protocol and its processors. It
// may be called once: the query and the part stay the same until the end.
func (c *client) begin(ctx context.Context, b beginOrder) error {
	if c.asker != nil {
		return errors.New("begin: already begun")
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

// open starts an open loop, and answers when all of its queries have ended, so that the other side need not count
// them.
func (c *client) open(o openOrder) error {
	done, err := c.asker.Open(o.options())
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	c.tasks.Go(func() {
		<-done
		c.answer(answer{Opened: &numbered{o.ID}})
	})
	return nil
}

// reportState reports the state once a second until ctx ends. It reports even if no query ends, because the other side
// treats a silent client as dead.
func (c *client) reportState(ctx context.Context) {
	poll.Every(ctx, statePeriod, func() {
		c.answer(answer{State: &stateAnswer{time.Now().UnixMilli(), cpuTime().Microseconds(), c.asker.InFlight()}})
	})
}

// cpuTime returns the user and system time that this process has used.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func (c *client) observe(o load.Outcome) { c.answer(answer{Outcome: &o}) }

// answer writes one line. The first write error is kept. Later answers are still tried, because the error may concern
// one value only.
func (c *client) answer(a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := json.NewEncoder(c.to).Encode(a); err != nil && c.err == nil {
		c.err = fmt.Errorf("write an answer: %w", err)
	}
	if a.Outcome != nil {
		c.outcomes++
	}
}
