package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// benchMetrics are those of a row.
const benchMetrics = 10

// benchIngest are the command's flags.
type benchIngest struct {
	measuring
	bench.Ingest
	clients []int
	most    int
	out     string
}

// noReport is the value of --out by which no report is written.
const noReport = "none"

func newBenchIngestCommand() *cobra.Command {
	o := benchIngest{Ingest: bench.Ingest{Metrics: benchMetrics}}
	command := &cobra.Command{
		Use:   "ingest",
		Short: "Send rows from ever more clients until the collector is full, and report what it takes",
		Long: `Send TSBS' cpu-only rows (10 metrics, 10 tags), made from a seed, from 1, 2, 4 ... clients at a time, until the collector answers that it has no
room, or more clients bring no more rows. A client sends a batch when fewer than --in-flight of its batches are unacknowledged; an
acknowledgement follows the fsync. A step's throughput is what it sent over the time until queries have all of it. Count and sum are then
compared with what was sent.

An own collector starts again for each step, and ends before its disk is counted. Rows begin 22 h back, and a step ends where that day is used up.`,
		Example: `  bullet-metrics bench ingest
  bullet-metrics bench ingest --step 1s --slice-width 60s --duration 5m --clients 4 --output json
  bullet-metrics bench ingest --target collector.example:4320 --tls --tls-ca ca.pem --token-file token --collector https://collector.example:9320`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(o.measuring.validate(), o.validate()); err != nil {
				return usageError{err}
			}
			result, err := o.measure(cmd.Context(), newTerminal("bench", os.Stderr))
			if err != nil {
				return benchError(cmd.Context(), err)
			}
			if o.output == outputJSON {
				return errors.Join(result.write(o.out), printJSON(cmd.OutOrStdout(), result))
			}
			return errors.Join(result.write(o.out), result.text(cmd.OutOrStdout(), o.out))
		},
	}
	flags := command.Flags()
	o.addFlags(flags)
	flags.Uint64Var(&o.Seed, "seed", 1, "what the rows are made from: the same seed gives the same rows")
	flags.IntVar(&o.Hosts, "hosts", 4000, "hosts, each a worker with 10 series")
	flags.IntVar(&o.MostRows, "rows", 0, "most rows of a step of the curve; 0 for as many as --duration takes")
	flags.IntVar(&o.RowsPerBatch, "rows-per-batch", 1000,
		"rows of a batch: hosts at one time, as far as a client has so many")
	flags.IntSliceVar(&o.clients, "clients", nil,
		"numbers of clients to measure, all of them, such as 1,2,4,8 (default 1, 2, 4 ... until the collector is full)")
	flags.IntVar(&o.most, "most-clients", 64, "most clients to try where --clients names none")
	flags.IntVar(&o.InFlight, "in-flight", 1, "batches that a client has under way unacknowledged")
	flags.DurationVar(&o.Step, "step", 10*time.Second, "time from a host's row to its next, in the rows' own time")
	flags.DurationVar(&o.Width, "slice-width", 10*time.Second,
		"width of the collector's slices: of an own collector it is set, of a --target it must be given")
	flags.DurationVar(&o.Duration, "duration", 10*time.Second,
		"how long each number of clients sends; 0 for all --rows")
	flags.Float64Var(&o.WorkerSamples, "worker-samples", 100,
		"samples a second of a worker of your kind, for the capacity")
	flags.Var(textfile.PathFlag(&o.out, "out/bench-ingest"), "out",
		`directory of the report: ingest.html, result.json, scaling.csv; "none" writes none`)
	return command
}

func (o *benchIngest) validate() error {
	if o.most < 1 || slices.ContainsFunc(o.clients, func(n int) bool { return n < 1 }) {
		return errors.New("--clients and --most-clients must be at least 1")
	}
	for _, n := range append(o.clients, o.most) {
		if n > 1000 {
			return fmt.Errorf("at most 1000 clients can be measured, not %d", n)
		}
	}
	return o.Ingest.Validate()
}

// ingestResult is what the command prints as JSON. Units end the names; what is not known is null. The first figures
// are those of the step with the most rows a second, rejected is of all steps.
type ingestResult struct {
	RowsPerS            float64                `json:"rows_per_s"`
	SamplesPerS         float64                `json:"samples_per_s"`
	SamplesPerCPUSecond float64                `json:"samples_per_server_cpu_second"`
	Ack                 bench.Quantiles        `json:"ack_ms"`
	Stages              map[string]bench.Stage `json:"stages"`
	DiskBytesPerSample  *float64               `json:"disk_bytes_per_sample"`
	ServerRSSMiB        float64                `json:"server_rss_mib"`
	Rejected            int                    `json:"rejected"`
	Steps               []bench.Step           `json:"steps"`
	Machine             runstore.Machine       `json:"machine"`
	Version             string                 `json:"version"`
	Settings            ingestSettings         `json:"settings"`
}

// ingestSettings are the parameters of a run.
type ingestSettings struct {
	Target        string  `json:"target"`
	Seed          uint64  `json:"seed"`
	Hosts         int     `json:"hosts"`
	Metrics       int     `json:"metrics"`
	Tags          int     `json:"tags"`
	Rows          int     `json:"rows"`
	RowsPerBatch  int     `json:"rows_per_batch"`
	InFlight      int     `json:"in_flight"`
	StepS         float64 `json:"step_s"`
	SliceWidthS   float64 `json:"slice_width_s"`
	DurationS     float64 `json:"duration_s"`
	WorkerSamples float64 `json:"worker_samples_per_s"`
}

func (o *benchIngest) measure(ctx context.Context, say *terminal) (result *ingestResult, err error) {
	if o.Remote, err = o.remote(); err != nil {
		return nil, err
	}
	clients, all := o.clients, len(o.clients) > 0
	if !all {
		clients = bench.Doubled(o.most)
	}
	var steps []bench.Step
	var by string
	err = o.within(func(program, dir string) error {
		o.Program, o.Dir = program, dir
		steps, by, err = bench.Curve(ctx, clients, all, func(ctx context.Context, n int) (bench.Step, error) {
			say.Show("%d clients", n)
			step, err := o.Ingest.Measure(ctx, n)
			if err != nil {
				return step, fmt.Errorf("%d clients: %w", n, err)
			}
			say.Say("%d clients: %.0f rows/s, %.0f samples/s, acknowledged in %.3g ms (p99), %d rejected", n,
				step.RowsPerS, step.SamplesPerS, step.Ack.P99, step.Rejected)
			return step, nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return o.result(steps, by)
}

func (o *benchIngest) result(steps []bench.Step, by string) (*ingestResult, error) {
	machine, err := describeMachine()
	if err != nil {
		return nil, err
	}
	i := bench.Best(steps)
	best := &steps[i]
	best.Best, steps[len(steps)-1].SaturatedBy = true, by
	r := &ingestResult{RowsPerS: best.RowsPerS, SamplesPerS: best.SamplesPerS,
		SamplesPerCPUSecond: best.SamplesPerCPUSecond, Ack: best.Ack, Stages: best.Stages,
		DiskBytesPerSample: best.Disk, ServerRSSMiB: best.ServerMiB, Steps: steps, Machine: machine, Version: version,
		Settings: ingestSettings{Target: o.target, Seed: o.Seed, Hosts: o.Hosts, Metrics: o.Metrics, Tags: 10,
			Rows: o.MostRows, RowsPerBatch: o.RowsPerBatch, InFlight: o.InFlight,
			StepS: o.Step.Seconds(), SliceWidthS: o.Width.Seconds(), DurationS: o.Duration.Seconds(),
			WorkerSamples: o.WorkerSamples}}
	for _, s := range steps {
		r.Rejected += s.Rejected
	}
	if best.Rows == 0 {
		return nil, errors.New("the collector has no room for a single client; limits.streams and its senders say why")
	}
	return r, nil
}
