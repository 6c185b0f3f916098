package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

func newBenchCommand() *cobra.Command {
	return group("bench", "Measure the throughput of a collector on this machine, and its limit",
		`Measure the throughput of a collector: rows, small senders, queries.

Without --grpc, the command starts a local collector on loopback, in an empty directory that is removed afterwards.
It counts and adds up what it wrote through queries. A difference is an error.`,
		newBenchIngestCommand(), newBenchSendersCommand(), newBenchQueryCommand())
}

// measuring are the flags of what measures a collector.
type measuring struct {
	bench.Ingest
	collectorFlags
	grpc string
	tls  bool
	dir  string
	outputForm
}

func (m *measuring) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&m.grpc, "grpc", "",
		"gRPC address of a running collector, HOST:PORT (default a new local collector)")
	m.collectorFlags.addFlags(flags, "",
		"HTTP address of that collector, HOST:PORT or URL (default the host of --grpc, port 9320)")
	flags.Lookup("token-file").Usage = "file with a token that has the scopes read and write"
	flags.BoolVar(&m.tls, "tls", false, "use TLS to connect to --grpc")
	flags.Var(textfile.PathFlag(&m.dir, ""), "dir",
		"directory for the data of a local collector, which are removed afterwards (default the system's directory for temporary files)")
	flags.Uint64Var(&m.Seed, "seed", 1, "seed of the generated rows; the same seed gives the same rows")
	m.outputForm.addFlag(flags)
}

func (m *measuring) validate() error {
	if m.grpc == "" && (m.collector != "" || m.tls || m.access != client.Access{}) {
		return errors.New("--collector, --tls... and --token-file require --grpc")
	}
	return nil
}

// remote is the collector that was named; nil for none.
func (m *measuring) remote() (*bench.Remote, error) {
	if m.grpc == "" {
		return nil, nil
	}
	host, _, err := net.SplitHostPort(m.grpc)
	if err != nil {
		return nil, err
	}
	m.collector = cmp.Or(m.collector, net.JoinHostPort(host, "9320"))
	base, caller, err := m.access.Client(m.collector)
	if err != nil {
		return nil, usageError{err}
	}
	target := bench.Target{Address: m.grpc, TLS: sender.TLS{Enabled: m.tls, CA: m.access.CA, Cert: m.access.Cert,
		Key: m.access.Key}, TokenFile: m.access.TokenFile}
	return &bench.Remote{Target: target, Server: bench.NewServer(base, caller)}, nil
}

// within runs what needs a directory of its own, and removes that. It sets the directory and the collector to measure,
// and passes a description of the machine and the version.
func (m *measuring) within(work func(bench.Run) error) error {
	proc, err := measure.NewProc()
	if err != nil {
		return err
	}
	if m.Remote, err = m.remote(); err != nil {
		return err
	}
	if m.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find the path of this program: %w", err)
	}
	if m.Dir, err = os.MkdirTemp(m.dir, "bullet-metrics-bench-"); err != nil {
		return err
	}
	err = work(bench.Run{Machine: proc.Describe(), Version: version, Target: m.grpc})
	return errors.Join(err, os.RemoveAll(m.Dir))
}

// command checks the flags, measures, and prints the result. If the user interrupts the measurement, it returns
// interrupted.
func (m *measuring) command(cmd *cobra.Command, wrong error,
	measure func(context.Context, *terminal, bench.Run) (result any, text string, err error)) error {
	if err := errors.Join(m.validate(), wrong); err != nil {
		return usageError{err}
	}
	var result any
	var text string
	err := m.within(func(run bench.Run) (err error) {
		result, text, err = measure(cmd.Context(), newTerminal("bench", os.Stderr), run)
		return err
	})
	switch {
	case err != nil && cmd.Context().Err() != nil:
		return interrupted{}
	case err != nil && result == nil:
		return err
	}
	return errors.Join(err, m.write(cmd.OutOrStdout(), result, text))
}

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
