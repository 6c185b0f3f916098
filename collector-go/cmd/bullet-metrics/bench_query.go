package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
)

// benchQuery are the command's flags.
type benchQuery struct {
	measuring
	bench.Ingest
	span time.Duration
}

// queryResult is what the command prints as JSON.
type queryResult struct {
	Queries []bench.Question `json:"queries"`
	Written bench.Step       `json:"written"`
	Machine runstore.Machine `json:"machine"`
	Version string           `json:"version"`
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
			if err := errors.Join(o.measuring.validate(), o.validate()); err != nil {
				return usageError{err}
			}
			result, err := o.measure(cmd.Context(), newTerminal("bench", os.Stderr))
			if err != nil {
				return benchError(cmd.Context(), err)
			}
			if o.output == outputJSON {
				return printJSON(cmd.OutOrStdout(), result)
			}
			return result.text(cmd.OutOrStdout())
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

func (o *benchQuery) measure(ctx context.Context, say *terminal) (*queryResult, error) {
	machine, err := describeMachine()
	if err != nil {
		return nil, err
	}
	r := &queryResult{Machine: machine, Version: version}
	if o.Remote, err = o.remote(); err != nil {
		return nil, err
	}
	return r, o.within(func(program, dir string) error {
		o.Program, o.Dir = program, dir
		say.Show("writing %d rows", o.MostRows)
		r.Written, r.Queries, err = o.Ask(ctx, benchWriters, func(q bench.Question) {
			say.Show("%s: %.0f ms of CPU", q.What, q.CPUMs)
		})
		return err
	})
}

// text prints the result for people.
func (r *queryResult) text(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(to, "%d samples, read back whole\n", r.Written.Samples)
	fmt.Fprintf(table, "server CPU, ms\tanswered in, ms\tanswer, KiB\t  query\n")
	for _, q := range r.Queries {
		fmt.Fprintf(table, "%.0f\t%.0f\t%d\t  %s (%s)\n", q.CPUMs, q.Ms, q.AnswerBytes>>10, q.What, q.Expression)
	}
	return table.Flush()
}
