package canary

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

// flushTimeout is how long the last samples may take to reach the collector.
const flushTimeout = 5 * time.Second

// Deliver runs a canary until ctx ends, prints its summaries to lines, and sends its samples to the collector at
// to.Address, if there is one. source is the address of the record source, or "".
func Deliver(ctx context.Context, o Options, target load.Submitter, source string, to sender.Options,
	lines *Lines) error {
	var records Records
	if source != "" {
		gateway := load.NewGateway(source, 1)
		defer gateway.Close()
		records = gateway
	}
	if to.Address == "" {
		c, err := New(o, target, records, nil, lines.Print)
		if err != nil {
			return err
		}
		return errors.Join(c.Run(ctx), lines.Err)
	}
	delivery, err := sender.New(to)
	if err != nil {
		return err
	}
	c, err := New(o, target, records, delivery, lines.Print)
	if err != nil {
		return err
	}
	lines.Delivery = delivery
	delivering, stop := context.WithCancel(context.Background())
	defer stop()
	var sending sync.WaitGroup
	var sendErr error
	sending.Go(func() { sendErr = delivery.Run(delivering) })
	runErr := c.Run(ctx)
	delivery.Close()
	flushing, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	flushErr := delivery.Flush(flushing)
	stop()
	sending.Wait()
	return errors.Join(runErr, sendErr, flushErr, lines.Err)
}
