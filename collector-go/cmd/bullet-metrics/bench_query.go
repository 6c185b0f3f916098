package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// benchQuery are the command's flags.
type benchQuery struct {
	measuring
	span time.Duration
}

func newBenchQueryCommand() *cobra.Command {
	o := benchQuery{measuring: measuring{Ingest: bench.Ingest{Metrics: benchMetrics, InFlight: 4,
		Step: 10 * time.Second, Width: 10 * time.Second, WorkerSamples: 1}}}
	command := &cobra.Command{
		Use:   "query",
		Short: "Write hours of rows, and measure the cost of queries over all of them",
		Long: `Write rows over --span, check them, and measure the cost of four queries over all of them.

Each of --hosts workers has 10 metrics and a row every 10 s. The queries are the average by topology, the maximum of
each hour by worker, every slice, and all ten metrics. Each query runs three times without cached results. The
cheapest run counts.

A local collector starts again before the queries, so that the answers come from its disk.`,
		Example: `  bullet-metrics bench query
  bullet-metrics bench query --hosts 100 --span 6h --output json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.MostRows, o.RowsPerBatch = o.Hosts*int(o.span/o.Step), min(max(o.Hosts, 1), 1000)
			return o.command(cmd, o.validate(), o.measure)
		},
	}
	flags := command.Flags()
	o.addFlags(flags)
	flags.IntVar(&o.Hosts, "hosts", 500, "number of hosts; each is a worker with 10 series")
	flags.DurationVar(&o.span, "span", 21*time.Hour+50*time.Minute,
		"time that the rows span; samples older than a day are not accepted")
	return command
}

func (o *benchQuery) validate() error {
	if o.span < o.Step || o.span > 21*time.Hour+50*time.Minute {
		return fmt.Errorf("--span must be between %s and 21h50m, not %s", o.Step, o.span)
	}
	return o.Ingest.Validate()
}

// benchWriters are the clients that write what is asked about.
const benchWriters = 4

func (o *benchQuery) measure(ctx context.Context, say *terminal, run bench.Run) (any, string, error) {
	say.Show("writing %d rows", o.MostRows)
	written, queries, err := o.Ask(ctx, benchWriters, func(q bench.Question) {
		say.Show("%s: %.0f ms of CPU", q.What, q.CPUMs)
	})
	if err != nil {
		return nil, "", err
	}
	r := &bench.QueryResult{Queries: queries, Written: written, Run: run}
	return r, r.Text(), nil
}
