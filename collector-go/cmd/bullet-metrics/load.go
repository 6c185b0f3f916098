package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/address"
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
			run, err := o.prepare(cmd)
			if err != nil {
				return usageError{err}
			}
			return run.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	o.queryTarget.addFlags(flags, " (default 127.0.0.1:9901 for gateway, 127.0.0.1:3774 for drpc)")
	o.own.addFlags(flags, "replaces the query of the class")
	flags.StringVar(&o.class, "class", string(load.Raw), "class of the queries: "+classNames())
	flags.Float64Var(&o.rate, "rate", 0, "queries started per second, whether or not earlier ones have returned")
	flags.IntVar(&o.held, "held", 0, "number of queries to keep running; each is submitted again when it returns")
	flags.DurationVar(&o.duration, "duration", time.Minute, "how long queries are started; 0 means until Ctrl-C")
	flags.DurationVar(&o.timeout, "timeout", defaults.Grace,
		"how long to wait for an answer after the end of the query")
	flags.DurationVar(&o.query.Duration, "query-duration", load.DefaultRawQuery().Duration,
		"maximum duration of a query in the topology")
	flags.IntVar(&o.query.Limit, "limit", 0,
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

func classNames() string {
	var names []string
	for _, class := range load.Classes() {
		names = append(names, string(class))
	}
	return strings.Join(names, ", ")
}

// loadRun is a run whose flags make sense.
type loadRun struct {
	loadOptions
	query      load.Query
	open       load.OpenOptions
	ordered    *float64 // the background that was asked for
	tally      *load.Tally
	timeline   load.Timeline
	say        *terminal
	outcomes   *load.OutcomesWriter // nil for none
	part       load.Part
	start      time.Time // zero: at once
	began, end time.Time
	// peakInFlight is the most queries that were under way at a time; active is what the topology counted, nil where
	// that is not known.
	peakInFlight int
	active       *load.Active
}

// loadProbes begins the values of a load run's probes.
const loadProbes = "load"

func (o loadOptions) prepare(cmd *cobra.Command) (*loadRun, error) {
	class, err := load.ParseClass(o.class)
	if err != nil {
		return nil, err
	}
	own, err := o.own.queries(o.query.Duration)
	switch {
	case err != nil:
		return nil, err
	case len(own) > 1:
		return nil, errors.New("load asks one query: --query is given twice")
	case len(own) == 1 && cmd.Flags().Changed("class"):
		return nil, errors.New("give either --class or --query")
	case len(own) == 1:
		class, o.class, o.source = own[0].Of, string(own[0].Of), "none" // nothing is made for it
		o.query.Text, o.query.Expect, o.query.Duration = own[0].Text, own[0].Expect, own[0].Duration
	}
	run := &loadRun{loadOptions: o, tally: load.NewTally(), say: newTerminal("load", os.Stderr)}
	if run.url == "" {
		run.url = map[string]string{targetGateway: "127.0.0.1:9901", targetDRPC: "127.0.0.1:3774"}[run.target]
	}
	wrongAddress := run.complete()
	run.loadOptions.query.NoSource = run.source == ""
	if run.query, err = load.NewQuery(class, run.loadOptions.query); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("background") {
		run.ordered = &run.background
	}
	if err := run.parseParts(); err != nil {
		return nil, err
	}
	run.open = load.OpenOptions{Rate: o.rate, Duration: o.duration,
		MostInFlight: max(min(1, o.mostInFlight), run.part.Share(o.mostInFlight)), Probes: o.probes,
		Prefix: loadProbes, Grace: o.timeout, Part: run.part, Start: run.start}
	if wrongAddress != nil {
		return nil, wrongAddress
	}
	return run, run.check()
}

// parseParts reads what several clients agree on.
func (r *loadRun) parseParts() (err error) {
	if r.loadOptions.part != "" {
		if r.part, err = load.ParsePart(r.loadOptions.part); err != nil {
			return fmt.Errorf("--part: %w", err)
		}
		switch {
		case r.loadOptions.start == "":
			return errors.New("--part needs --start, the same for all parts, such as --start " +
				time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
		case r.loadOptions.outcomes == "":
			return errors.New("--part needs --outcomes FILE, which load merge reads")
		case r.duration == 0:
			return errors.New("--part needs a --duration: the parts end together")
		}
	}
	if r.loadOptions.start == "" {
		return nil
	}
	if r.start, err = time.Parse(time.RFC3339, r.loadOptions.start); err != nil {
		return fmt.Errorf("--start is a time such as %s, not %q", time.Now().UTC().Format(time.RFC3339),
			r.loadOptions.start)
	}
	if late := time.Since(r.start); late > 0 {
		return fmt.Errorf("--start was %s ago", late.Round(time.Millisecond))
	}
	return nil
}

func (r *loadRun) check() error {
	if err := r.queryTarget.check(); err != nil {
		return err
	}
	switch {
	case (r.rate != 0) == (r.held != 0):
		return errors.New("give either --rate, queries a second, or --held, queries at a time")
	case r.held < 0 || r.held > 1000:
		return fmt.Errorf("1 to 1000 queries can be held, not %d: the record source has as many probes", r.held)
	case r.duration < 0 || r.timeout < 0:
		return errors.New("--duration and --timeout must not be negative")
	case r.ordered != nil && r.source == "":
		return errors.New("--background needs the record source's address, --source")
	}
	if r.rate != 0 {
		return errors.Join(r.open.Validate(), r.presented.check())
	}
	return r.presented.check()
}

func (r *loadRun) run(ctx context.Context, out io.Writer) (err error) {
	target, closing := r.queryTarget.open(max(r.held, min(r.mostInFlight, 1000)))
	defer closing()
	kept, err := r.keepOutcomes()
	if err != nil {
		return err
	}
	takeBack, err := r.order(ctx)
	if err != nil {
		return errors.Join(err, kept())
	}
	defer func() { err = errors.Join(err, takeBack()) }()
	if err := r.await(ctx); err != nil {
		return errors.Join(err, kept())
	}
	r.drive(ctx, target)
	if err := kept(); err != nil {
		return err
	}
	r.active = r.counter.between(ctx, r.say, r.began, r.end)
	switch err := r.presented.give(out, r.report()); {
	case err != nil:
		return err
	case ctx.Err() != nil && r.duration > 0:
		return interrupted{}
	}
	return nil
}

// await waits for the run's start.
func (r *loadRun) await(ctx context.Context) error {
	wait := time.Until(r.start)
	switch {
	case r.start.IsZero():
		return nil
	case wait < 0:
		return fmt.Errorf("--start was %s ago when the record source was ready: choose a later one",
			(-wait).Round(time.Millisecond))
	}
	r.say.Say("part %s of the run begins in %s", r.part, wait.Round(time.Second))
	if !load.WaitUntil(ctx, r.start) {
		return interrupted{}
	}
	return nil
}

// keepOutcomes has what becomes of the queries written, if it is to be; kept ends the file.
func (r *loadRun) keepOutcomes() (kept func() error, err error) {
	if r.loadOptions.outcomes == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(r.loadOptions.outcomes)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewWriter(file)
	var of *load.Run
	if !r.part.Whole() {
		asked := r.asked()
		of = &asked
	}
	r.outcomes = load.NewOutcomesWriter(lines, of)
	return func() error {
		if of != nil && r.wasAsked() {
			r.outcomes.End(r.end)
		}
		return errors.Join(r.outcomes.Err(), lines.Flush(), file.Close())
	}, nil
}

// wasAsked reports that the queries were asked: the run did not end before its start.
func (r *loadRun) wasAsked() bool { return !r.end.IsZero() }

// asked is what the run is, and this client of it.
func (r *loadRun) asked() load.Run {
	return load.Run{Part: r.part, URL: address.URL(r.url).String(), Processors: runtime.GOMAXPROCS(0), Target: r.target,
		Class: r.query.Class(), Query: r.query.BQL("…"), Rate: r.rate, Held: r.held, StartMs: r.start.UnixMilli(),
		DurationMs: r.duration.Milliseconds()}
}

// thresholdsCrossed is how many.
type thresholdsCrossed int

func (n thresholdsCrossed) Error() string {
	if n == 1 {
		return "a threshold was crossed"
	}
	return fmt.Sprintf("%d thresholds were crossed", int(n))
}

func (thresholdsCrossed) ExitCode() int { return exitMissed }

// order has the record source make what the queries look for, if there is one. Of several parts the first does so, and
// takes it back when no query of any can be under way any more.
func (r *loadRun) order(ctx context.Context) (takeBack func() error, err error) {
	if r.source == "" || r.part.Number > 1 {
		return func() error { return nil }, nil
	}
	probes := r.probes
	if r.held > 0 {
		probes = r.held
	}
	gateway := load.NewGateway(r.source, 1)
	undo, err := gateway.Order(ctx, load.ProbesNamed(loadProbes, r.query, probes), r.ordered)
	if err != nil {
		gateway.Close()
		return nil, fmt.Errorf("%w; --source none asks a topology that has no record source", err)
	}
	return func() error {
		defer gateway.Close()
		r.awaitOthers(ctx)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return undo(ctx)
	}, nil
}

// awaitOthers waits until the last query that another part may have started has ended.
func (r *loadRun) awaitOthers(ctx context.Context) {
	if r.part.Whole() || !r.wasAsked() || ctx.Err() != nil {
		return
	}
	over := r.start.Add(r.duration + r.query.Life() + r.timeout)
	r.say.Say("the record source makes records for the other parts' last queries, for %s",
		time.Until(over).Round(time.Second))
	load.WaitUntil(ctx, over)
}

func (r *loadRun) observe(o load.Outcome) {
	r.tally.Add(o)
	if r.outcomes != nil {
		r.outcomes.Add(o)
	}
}

// drive asks the queries, and returns when all have ended.
func (r *loadRun) drive(ctx context.Context, target load.Submitter) {
	var client load.Client
	var asking func()
	if r.rate > 0 {
		open, err := load.NewOpenLoop(r.query, target, r.open, r.observe)
		if err != nil {
			panic(err) // it was checked
		}
		client, asking = open, func() { open.Run(ctx) }
	} else {
		options := load.DefaultClosedOptions()
		options.Grace, options.Prefix, options.Part = r.timeout, loadProbes, r.part
		held := load.NewClosedLoop(r.query, target, options, r.observe)
		client, asking = held, func() { r.hold(ctx, held) }
	}
	watching, stop := context.WithCancel(context.Background())
	var watch sync.WaitGroup
	r.began = time.Now()
	watch.Go(func() { r.watch(watching, client) })
	asking()
	stop()
	watch.Wait()
	r.end = time.Now()
	r.peakInFlight = client.Counts().MostInFlight
}

// report is the run's, once it has ended.
func (r *loadRun) report() *load.Report {
	late := r.tally.Result().Lateness.P99
	return &load.Report{Run: r.asked(), Tally: r.tally, Moments: r.timeline.Moments(), Began: r.began, End: r.end,
		PeakInFlight: r.peakInFlight, Active: r.active,
		ClientLimit: load.ClientLimit("the load client", late, runtime.GOMAXPROCS(0))}
}

// hold holds queries for the run's duration and lets those under way end.
func (r *loadRun) hold(ctx context.Context, held *load.ClosedLoop) {
	defer held.Close()
	running := ctx
	if r.duration > 0 {
		var cancel context.CancelFunc
		running, cancel = context.WithTimeout(ctx, r.duration)
		defer cancel()
	}
	held.Hold(r.held)
	<-running.Done()
	_ = held.Drain(ctx) // an error is the context's end, which the caller sees
}

// watch shows every second how the run stands, and without a terminal every ten.
func (r *loadRun) watch(ctx context.Context, client load.Client) {
	r.say.Say("%s", liveHeader)
	shown := 0
	r.timeline.Watch(ctx, time.Second, client, r.tally, func(m load.Moment) {
		if shown++; shown%10 == 0 {
			r.say.Say("%s", liveRow(m, r.began))
		}
		r.say.Show("%s", liveRow(m, r.began))
	})
}

const liveHeader = "   time  submitted  waiting  in flight  returned  failed        p99"

func liveRow(m load.Moment, began time.Time) string {
	p99 := "-"
	if m.P99Ms != nil {
		p99 = fmt.Sprintf("%.0f ms", *m.P99Ms)
	}
	elapsed := time.UnixMilli(m.TimeMs).Sub(began).Round(time.Second)
	return fmt.Sprintf("%7s %10d %8d %10d %9d %7d %10s", elapsed, m.Submitted, m.Waiting, m.InFlight, m.Returned,
		m.Failed+m.TimedOut, p99)
}
