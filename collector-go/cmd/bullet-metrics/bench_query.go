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
	bench.Ingest
	span time.Duration
}

func newBenchQueryCommand() *cobra.Command {
	o := benchQuery{Ingest: bench.Ingest{Metrics: benchMetrics, InFlight: 4, Step: 10 * time.Second,
		Width: 10 * time.Second, WorkerSamples: 1}}
	command := &cobra.Command{
		Use:   "query",
		Short: "Write hours of rows, and measure what queries over all of them cost",
		Long: `Write --span of rows of so many workers, 10 metrics each every 10 s, check them, and ask four queries over all of it: averages by topology, the
most of each hour by worker, every slice, all ten metrics. Each is asked three times without the collector's memory of answers; the cheapest counts.

An own collector starts again before it is asked, so that the answers come from its disk.`,
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
	flags.Uint64Var(&o.Seed, "seed", 1, "what the rows are made from: the same seed gives the same rows")
	flags.IntVar(&o.Hosts, "hosts", 500, "hosts, each a worker with 10 series")
	flags.DurationVar(&o.span, "span", 21*time.Hour+50*time.Minute,
		"how much time the rows span; what is older than a day is not taken")
	return command
}

func (o *benchQuery) validate() error {
	if o.span < o.Step || o.span > 21*time.Hour+50*time.Minute {
		return fmt.Errorf("--span must be %s to 21h50m, not %s", o.Step, o.span)
	}
	return o.Ingest.Validate()
}

// benchWriters are the clients that write what is asked about.
const benchWriters = 4

func (o *benchQuery) measure(ctx context.Context, say *terminal) (any, string, error) {
	run, err := o.describe()
	if err != nil {
		return nil, "", err
	}
	r := &bench.QueryResult{Run: run}
	if err := o.within(&o.Ingest, func() (err error) {
		say.Show("writing %d rows", o.MostRows)
		r.Written, r.Queries, err = o.Ask(ctx, benchWriters, func(q bench.Question) {
			say.Show("%s: %.0f ms of CPU", q.What, q.CPUMs)
		})
		return err
	}); err != nil {
		return nil, "", err
	}
	return r, r.Text(), nil
}
