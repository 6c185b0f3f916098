package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// benchMetrics are those of a row.
const benchMetrics = 10

// benchIngest are the command's flags.
type benchIngest struct {
	measuring
	clients []int
	most    int
	out     string
}

// noReport is the value of --out by which no report is written.
const noReport = "none"

func newBenchIngestCommand() *cobra.Command {
	o := benchIngest{measuring: measuring{Ingest: bench.Ingest{Metrics: benchMetrics}}}
	command := &cobra.Command{
		Use:   "ingest",
		Short: "Measure how many rows a collector accepts, with more and more clients",
		Long: `Send rows from 1, 2, 4, ... clients until the collector rejects batches, or until more clients bring no more rows.

The rows are the cpu-only rows of TSBS (10 metrics, 10 tags), generated from a seed. A client sends a batch when fewer
than --in-flight of its batches are unacknowledged. The collector acknowledges a batch after the fsync.

The throughput of a step is the number of rows sent, divided by the time until queries return all of them. The count
and the sum are then compared with what was sent.

A local collector starts again for each step, and ends before its disk usage is measured. Rows begin 22 h in the past.
A step ends when that time is used up.`,
		Example: `  bullet-metrics bench ingest
  bullet-metrics bench ingest --step 1s --slice-width 60s --duration 5m --clients 4 --output json
  bullet-metrics bench ingest --grpc collector.example:4320 --tls --tls-ca ca.pem --token-file token --collector https://collector.example:9320`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.command(cmd, o.validate(), o.measure)
		},
	}
	flags := command.Flags()
	o.addFlags(flags)
	flags.IntVar(&o.Hosts, "hosts", 4000, "number of hosts; each is a worker with 10 series")
	flags.IntVar(&o.MostRows, "rows", 0, "maximum number of rows of a step; 0 sends as many as --duration allows")
	flags.IntVar(&o.RowsPerBatch, "rows-per-batch", 1000,
		"rows per batch: one of each host at a time, up to the number of hosts of a client")
	flags.IntSliceVar(&o.clients, "clients", nil,
		"numbers of clients to measure, such as 1,2,4,8 (default 1, 2, 4, ... until the collector is at its limit)")
	flags.IntVar(&o.most, "most-clients", 64, "maximum number of clients to try if --clients is not set")
	flags.IntVar(&o.InFlight, "in-flight", 1, "maximum number of unacknowledged batches of a client")
	flags.DurationVar(&o.Step, "step", 10*time.Second, "interval between two rows of a host, in the rows' own time")
	flags.DurationVar(&o.Width, "slice-width", 10*time.Second,
		"width of the collector's slices; a local collector uses it, the one at --grpc must already have it")
	flags.DurationVar(&o.Duration, "duration", 10*time.Second,
		"how long each number of clients sends; 0 sends all --rows")
	flags.Float64Var(&o.WorkerSamples, "worker-samples", 100,
		"samples per second of one of your workers, used to state the capacity in workers")
	flags.Var(textfile.PathFlag(&o.out, "out/bench-ingest"), "out",
		`directory for the report: ingest.html, result.json and scaling.csv; "none" writes no report`)
	return command
}

func (o *benchIngest) validate() error {
	if o.most < 1 || slices.ContainsFunc(o.clients, func(n int) bool { return n < 1 }) {
		return errors.New("--clients and --most-clients must be at least 1")
	}
	for _, n := range append(o.clients, o.most) {
		if n > 1000 {
			return fmt.Errorf("--clients must be at most 1000, not %d", n)
		}
	}
	return o.Ingest.Validate()
}

func (o *benchIngest) measure(ctx context.Context, say *terminal, run bench.Run) (result any, text string, err error) {
	clients, all := o.clients, len(o.clients) > 0
	if !all {
		clients = bench.Doubled(o.most)
	}
	steps, by, err := bench.Curve(ctx, clients, all, func(ctx context.Context, n int) (bench.Step, error) {
		say.Show("%d clients", n)
		step, err := o.Measure(ctx, n)
		if err != nil {
			return step, fmt.Errorf("%d clients: %w", n, err)
		}
		say.Say("%d clients: %.0f rows/s, %.0f samples/s, acknowledged in %.3g ms (p99), %d rejected", n,
			step.RowsPerS, step.SamplesPerS, step.Ack.P99, step.Rejected)
		return step, nil
	})
	if err != nil {
		return nil, "", err
	}
	r, err := o.Result(steps, by, run)
	switch {
	case err != nil:
		return nil, "", err
	case o.out == noReport:
		return r, r.Text(), nil
	}
	return r, r.Text() + "\nReport: " + filepath.Join(o.out, "ingest.html") + "\n", r.Write(o.out)
}
