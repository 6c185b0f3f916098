package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// benchSenders are the command's flags.
type benchSenders struct {
	measuring
	streams, workers, over int
}

// senderSamples are those of a message: as many metrics as a worker has.
const senderSamples = 100

func newBenchSendersCommand() *cobra.Command {
	o := benchSenders{measuring: measuring{Ingest: bench.Ingest{Metrics: senderSamples, RowsPerBatch: 1,
		Step: time.Second, Width: 10 * time.Second, WorkerSamples: senderSamples}}}
	command := &cobra.Command{
		Use:   "senders",
		Short: "Measure many small senders, at full speed and at a fixed rate",
		Long: `Send messages of 100 samples from many small senders, and check that the collector received every sample.

First, --streams streams send as fast as the collector accepts. Their samples are counted and added up through
queries. Then --workers workers send one message per second each, over --over streams. Their samples are compared with
the collector's own count.`,
		Example: `  bullet-metrics bench senders
  bullet-metrics bench senders --streams 100 --workers 2000 --duration 60s --output json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Hosts = o.streams
			return o.command(cmd, o.validate(), o.measure)
		},
	}
	flags := command.Flags()
	o.addFlags(flags)
	flags.IntVar(&o.streams, "streams", 500, "number of streams that send as fast as the collector accepts")
	flags.IntVar(&o.InFlight, "in-flight", 8, "maximum number of unacknowledged messages of such a stream")
	flags.IntVar(&o.workers, "workers", 500, "number of workers that send one message per second")
	flags.IntVar(&o.over, "over", 4, "number of streams that these workers share")
	flags.DurationVar(&o.Duration, "duration", 10*time.Second, "how long each of the two parts sends")
	return command
}

func (o *benchSenders) validate() error {
	if o.streams > 1000 || o.over < 1 || o.over > 1000 || o.workers < 1 {
		return errors.New("--streams and --over must be between 1 and 1000, --workers at least 1")
	}
	return o.Ingest.Validate()
}

func (o *benchSenders) measure(ctx context.Context, say *terminal, run bench.Run) (_ any, _ string, err error) {
	r := &bench.SendersResult{Run: run}
	say.Show("%d streams at full speed", o.streams)
	if r.Saturated, err = o.Measure(ctx, o.streams); err != nil {
		return nil, "", fmt.Errorf("%d streams: %w", o.streams, err)
	}
	if r.Saturated.Rows == 0 {
		return nil, "", fmt.Errorf("the collector does not accept %d streams (limits.streams); reduce --streams or raise the limit",
			o.streams)
	}
	say.Show("%d workers, one message per second each", o.workers)
	o.Hosts = o.workers
	if r.Paced, err = o.Pace(ctx, o.over); err != nil {
		return nil, "", fmt.Errorf("%d workers: %w", o.workers, err)
	}
	return r, r.Text(senderSamples), nil
}
