package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// loadOptions are the command's flags.
type loadOptions struct {
	queryTarget
	class                      string
	own                        ownQueries
	query                      load.Parameters
	rate, background           float64
	held, mostInFlight, probes int
	duration, timeout          time.Duration
	counter                    topologyCounter
	presented                  loadPresentation
	outcomes, part, start      string
}

func newLoadCommand() *cobra.Command {
	defaults := load.DefaultOpenOptions(1, 0)
	o := loadOptions{}
	command := &cobra.Command{
		Use:   "load",
		Short: "Run queries on a topology at a constant rate or concurrency, and report their latency",
		Long: `Run queries of one class on a Bullet topology, and report their latency, failures and completeness.

--rate starts queries at a constant rate. --held keeps a constant number of queries running. Queries go through
Bullet's query endpoint or Storm's DRPC. An answer is complete if it contains the records that the topology's record
source made for the query.

--query runs your own BQL instead of a class. --expect-records and --expect-field state what its answers must contain.

Latency counts from the planned start of a query, so that a stall shows in every query that it delays. Queries delayed
by --most-in-flight are reported, and the delay counts as latency. The delay of the client itself is reported
separately.

To use several clients, start each with --part K/N and the same --start. Write the results of each with --outcomes,
and combine them with "load merge".

Ctrl-C ends the queries and prints the results so far.`,
		Example: `  bullet-metrics load --rate 20 --duration 60s --threshold 'p99<35s' --threshold 'failed<1%'
  bullet-metrics load --held 100 --duration 5m --class top-k --histogram out/load.csv --picture out/load.png
  bullet-metrics load --target drpc --url drpc.example:3774 --function bullet-query --held 30 --duration 2m
  bullet-metrics load --url bullet.example:5555 --rate 2 --query "SELECT * FROM STREAM(5000, TIME) LIMIT 3" --expect-records 3 --threshold 'completeness>=99%'
  bullet-metrics load --rate 5000 --part 2/5 --start 2026-11-24T12:00:00Z --outcomes part-2.jsonl`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			session, err := o.prepare(cmd)
			if err != nil {
				return usageError{err}
			}
			return o.run(cmd.Context(), session, cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	o.queryTarget.addFlags(flags, " (default 127.0.0.1:9901 for gateway, 127.0.0.1:3774 for drpc)")
	o.own.addFlags(flags, "replaces the query of the class")
	flags.StringVar(&o.class, "class", string(load.Raw), "class of the queries: "+
		strings.Join(tuning.Texts(load.Classes()), ", "))
	flags.Float64Var(&o.rate, "rate", 0, "queries started per second, whether or not earlier ones have returned")
	flags.IntVar(&o.held, "held", 0, "number of queries to keep running; each is submitted again when it returns")
	flags.DurationVar(&o.duration, "duration", time.Minute, "how long queries are started; 0 means until Ctrl-C")
	flags.DurationVar(&o.timeout, "timeout", defaults.Grace,
		"how long to wait for an answer after the end of the query")
	flags.DurationVar(&o.query.Duration, "query-duration", load.DefaultRawQuery().Duration,
		"maximum duration of a query in the topology")
	flags.IntVar(&o.query.Limit, "query-limit", 0,
		"records of a RAW query, groups, points of a DISTRIBUTION, or K (default 10, 4, 10, 3)")
	flags.Float64Var(&o.query.PerSecond, "matching-per-second", 0,
		"matching records per second that the source makes for each probe (default 0.4 for RAW, otherwise 10)")
	flags.Float64Var(&o.background, "background", 0,
		"records per second that match no query, during the run; if not set, their rate is not changed")
	flags.IntVar(&o.probes, "probes", defaults.Probes, "number of different probes that queries of --rate look for")
	flags.IntVar(&o.mostInFlight, "most-in-flight", defaults.MostInFlight,
		"maximum number of queries of --rate in flight")
	o.counter.addFlags(flags)
	o.presented.addFlags(flags)
	flags.Var(textfile.PathFlag(&o.outcomes, ""), "outcomes", "file for one line of JSON per query")
	flags.StringVar(&o.part, "part", "",
		"K/N: run part K of N of the queries; --rate, --held and --most-in-flight are those of all parts together")
	flags.StringVar(&o.start, "start", "",
		"start time in RFC 3339, such as 2026-11-24T12:00:00Z; the same for all parts (default now)")
	command.AddCommand(newLoadMergeCommand(), newLoadClientCommand())
	return command
}

// prepare returns the session that the flags describe.
func (o *loadOptions) prepare(cmd *cobra.Command) (*load.Session, error) {
	class, err := load.ParseClass(o.class)
	if err != nil {
		return nil, err
	}
	own, err := o.own.queries(o.query.Duration)
	switch {
	case err != nil:
		return nil, err
	case len(own) > 1:
		return nil, errors.New("load runs one query: give --query once")
	case len(own) == 1 && cmd.Flags().Changed("class"):
		return nil, errors.New("give either --class or --query")
	case len(own) == 1:
		class, o.class, o.source = own[0].Of, string(own[0].Of), "none" // nothing is made for it
		o.query.Text, o.query.Expect, o.query.Duration = own[0].Text, own[0].Expect, own[0].Duration
	}
	o.url = cmp.Or(o.url, map[string]string{targetGateway: "127.0.0.1:9901", targetDRPC: "127.0.0.1:3774"}[o.target])
	wrongAddress := o.complete()
	o.query.NoSource = o.source == ""
	s := &load.Session{Concurrent: o.held, Duration: o.duration, Endpoint: o.target, URL: o.url, Source: o.source,
		Outcomes: o.outcomes, Collector: o.counter.collector, Topology: o.counter.topology,
		Progress: newTerminal("load", os.Stderr)}
	if s.Query, err = load.NewQuery(class, o.query); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("background") {
		s.Records = &o.background
	}
	part, start, err := o.parts()
	if err != nil {
		return nil, err
	}
	s.Open = load.OpenOptions{Rate: o.rate, Duration: o.duration,
		MostInFlight: max(min(1, o.mostInFlight), part.Share(o.mostInFlight)), Probes: o.probes,
		Grace: o.timeout, Part: part, Start: start}
	if wrongAddress != nil {
		return nil, wrongAddress
	}
	return s, o.check(s)
}

// parts reads the flags for several clients.
func (o *loadOptions) parts() (part load.Part, start time.Time, err error) {
	if o.part != "" {
		if part, err = load.ParsePart(o.part); err != nil {
			return part, start, fmt.Errorf("--part: %w", err)
		}
		switch {
		case o.start == "":
			return part, start, errors.New("--part requires --start, with the same time for all parts, for example --start " +
				time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
		case o.outcomes == "":
			return part, start, errors.New("--part requires --outcomes FILE, which load merge reads")
		case o.duration == 0:
			return part, start, errors.New("--part requires a --duration: all parts end at the same time")
		}
	}
	if o.start == "" {
		return part, start, nil
	}
	if start, err = time.Parse(time.RFC3339, o.start); err != nil {
		return part, start, fmt.Errorf("--start %q: use RFC 3339, for example %s", o.start,
			time.Now().UTC().Format(time.RFC3339))
	}
	if late := time.Since(start); late > 0 {
		return part, start, fmt.Errorf("--start was %s ago", late.Round(time.Millisecond))
	}
	return part, start, nil
}

func (o *loadOptions) check(s *load.Session) error {
	if err := o.queryTarget.check(); err != nil {
		return err
	}
	switch {
	case (o.rate != 0) == (o.held != 0):
		return errors.New("give either --rate (queries per second) or --held (queries to keep running)")
	case o.held < 0 || o.held > 1000:
		return fmt.Errorf("--held %d: must be between 1 and 1000, because the record source has 1000 probes", o.held)
	case o.duration < 0 || o.timeout < 0:
		return errors.New("--duration and --timeout must not be negative")
	case s.Records != nil && o.source == "":
		return errors.New("--background requires --source, the address of the record source")
	}
	if o.rate != 0 {
		return errors.Join(s.Open.Validate(), o.presented.check())
	}
	return o.presented.check()
}

func (o *loadOptions) run(ctx context.Context, s *load.Session, out io.Writer) error {
	target, closing := o.queryTarget.open(max(o.held, min(o.mostInFlight, 1000)))
	defer closing()
	s.Target = target
	err := s.Run(ctx, func(report *load.Report) error { return o.presented.give(out, report) })
	if ctx.Err() != nil && (err == nil && o.duration > 0 || errors.Is(err, context.Canceled)) {
		return interrupted{}
	}
	return err
}
