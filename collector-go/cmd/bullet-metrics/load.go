package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	loadhosts "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load/hosts"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
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

// loadPresentation is how a run's figures are judged and given.
type loadPresentation struct {
	thresholds         []string
	bounds             []load.Threshold // the thresholds, once check has read them
	output             outputForm
	histogram, picture string
}

func (p *loadPresentation) addFlags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&p.thresholds, "threshold", nil,
		"bound such as p99<200ms, failed<1% or completeness>=0.999; may be repeated; the exit code is 99 if one is crossed")
	p.output.addFlag(flags)
	flags.Var(textfile.PathFlag(&p.histogram, ""), "histogram",
		"file for the latencies: .csv, .hgrm or .hlog (HdrHistogram)")
	flags.Var(textfile.PathFlag(&p.picture, ""), "picture", "file for a chart of the latencies: .png or .svg")
}

func (p *loadPresentation) check() error {
	for _, text := range p.thresholds {
		threshold, err := load.ParseThreshold(text)
		if err != nil {
			return err
		}
		p.bounds = append(p.bounds, threshold)
	}
	if kind := filepath.Ext(p.picture); p.picture != "" && kind != ".png" && kind != ".svg" {
		return fmt.Errorf("--picture %s: use a file name that ends in .png or .svg", p.picture)
	}
	if p.histogram != "" {
		if err := load.WriteHistogram(io.Discard, p.histogram, load.NewTally().Latencies(), time.Time{},
			time.Time{}); err != nil {
			return fmt.Errorf("--histogram: %w", err)
		}
	}
	return nil
}

// give writes a run's figures as they are to be presented. Crossed thresholds are an error.
func (p *loadPresentation) give(out io.Writer, run *load.Report) error {
	if err := errors.Join(p.writeHistogram(run), p.draw(run)); err != nil {
		return err
	}
	figures := run.Figures(p.bounds)
	if err := p.output.write(out, figures, figures.Text(run.Title())); err != nil {
		return err
	}
	switch crossed := figures.Crossed(); crossed {
	case 0:
		return nil
	case 1:
		return missed("a threshold was crossed")
	default:
		return missed(fmt.Sprintf("%d thresholds were crossed", crossed))
	}
}

func (p *loadPresentation) writeHistogram(run *load.Report) error {
	if p.histogram == "" {
		return nil
	}
	file, err := os.Create(p.histogram)
	if err != nil {
		return err
	}
	if err := errors.Join(load.WriteHistogram(file, p.histogram, run.Tally.Latencies(), run.Began, run.End),
		file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", p.histogram, err)
	}
	return nil
}

func (p *loadPresentation) draw(run *load.Report) error {
	if p.picture == "" {
		return nil
	}
	figure := report.LatencyChart("load", run.Title(), load.Points(run.Tally.Latencies()))
	draw := figure.PNG
	if filepath.Ext(p.picture) == ".svg" {
		draw = figure.SVG
	}
	picture, err := draw()
	if err != nil {
		return fmt.Errorf("draw %s: %w", p.picture, err)
	}
	return os.WriteFile(p.picture, picture, 0o644)
}

// topologyCounter asks a collector how many queries a topology counted.
type topologyCounter struct{ collector, topology string }

func (c *topologyCounter) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.collector, "collector", "",
		"HTTP address of a collector, HOST:PORT or URL; it reports how many queries the topology counted")
	flags.StringVar(&c.topology, "topology", "bullet", "name of the topology in the collector")
}

func newLoadMergeCommand() *cobra.Command {
	var presented loadPresentation
	var counter topologyCounter
	command := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Combine the results of several load clients",
		Long: `Combine the --outcomes files of all parts of a run, and report them as load does.

Latencies are those of all queries together, not an average of averages. Give the file of each part once. The report
also states how late each client was, and whether it submitted its share.`,
		Example: `  bullet-metrics load merge part-1.jsonl part-2.jsonl --threshold 'p99<35s' --threshold 'failed<1%'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("name the --outcomes files of all parts")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := presented.check(); err != nil {
				return usageError{err}
			}
			report, err := load.MergeFiles(files)
			if err != nil {
				return err
			}
			report.Active = load.CountedBy(cmd.Context(), counter.collector, counter.topology, report.Began, report.End,
				newTerminal("load", os.Stderr))
			return presented.give(cmd.OutOrStdout(), report)
		},
	}
	presented.addFlags(command.Flags())
	counter.addFlags(command.Flags())
	return command
}

func newLoadClientCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "client",
		Short: "Run a part of an experiment's queries for tune run",
		Long: `Run a part of an experiment's queries for tune run.

tune run starts this command on each host of launch.load.hosts, with launch.load.command. The command reads orders
from stdin, one line of JSON each, and writes the results of its queries to stdout. At the end of stdin it abandons
its queries and exits.`,
		Example: `  ssh load1.example bullet-metrics load client`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return loadhosts.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
