package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/exit"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/experiment"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/load"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// secondsVariable bounds the demo where no flag does.
const secondsVariable = "DEMO_SECONDS"

// demoOptions are the demo's flags.
type demoOptions struct {
	out, build string
	seconds    int
	stack      stack.Options
	experiment experiment.Options
}

func newDemoCommand() *cobra.Command {
	o := demoOptions{stack: stack.DefaultOptions("", ""), experiment: experiment.DefaultOptions()}
	command := &cobra.Command{
		Use:   "demo",
		Short: "Measure a real Bullet topology on a local Storm cluster and write a report",
		Long: `Start a collector, a local Storm cluster and a Bullet topology, hold more and more simultaneous queries step by step, and
write the report with the figures of "Tuning and Performance of Bullet in Storm".

It takes about five minutes after the topology is up; ` + secondsVariable + ` or --seconds bounds the time from the topology's submission to
the written report. Ctrl-C ends everything and leaves the data directory usable; a second Ctrl-C hastens it.`,
		Example: `  bullet-metrics demo
  ` + secondsVariable + `=180 bullet-metrics demo --out out/demo
  bullet-metrics demo --queries 0,50,100,200 --records-per-second 500`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.complete(cmd); err != nil {
				return usageError{err}
			}
			return runDemo(cmd.Context(), o, newTerminal("demo", os.Stdout))
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.out, "out", "out/demo", "directory of the report, the collector's data and the logs")
	flags.StringVar(&o.build, "build-dir", "build", "directory that make build has filled")
	flags.IntVar(&o.seconds, "seconds", 0, "longest time from the topology's submission to the written report, s; 0 for about five minutes of steps (env "+secondsVariable+")")
	flags.IntSliceVar(&o.experiment.Ladder, "queries", o.experiment.Ladder, "simultaneous queries of each step")
	flags.Float64Var(&o.experiment.RecordsPerSecond, "records-per-second", 0, "record rate; 0 finds the one that leaves 40% of the host idle")
	flags.StringVar(&o.stack.GRPCListen, "grpc-listen", o.stack.GRPCListen, "address of the collector's gRPC")
	flags.StringVar(&o.stack.HTTPListen, "http-listen", o.stack.HTTPListen, "address of the collector's HTTP, the live figures")
	flags.StringVar(&o.stack.GatewayListen, "gateway-listen", o.stack.GatewayListen, "address of the query gateway")
	flags.StringVar(&o.stack.BulletConf, "bullet-conf", o.stack.BulletConf, "Bullet's settings, a YAML file")
	flags.StringArrayVarP(&o.stack.Settings, "setting", "c", nil, "a Bullet setting over the file's, KEY=VALUE; may be repeated")
	return command
}

// complete fills in what follows from the flags and the environment.
func (o *demoOptions) complete(cmd *cobra.Command) error {
	if text := os.Getenv(secondsVariable); text != "" && !cmd.Flags().Changed("seconds") {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%s=%q is not a whole number of seconds", secondsVariable, text)
		}
		o.seconds = seconds
	}
	places := stack.DefaultOptions(o.out, o.build)
	o.stack.Dir, o.stack.DataDir, o.stack.BuildDir = places.Dir, places.DataDir, places.BuildDir
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program itself: %w", err)
	}
	o.stack.Program = program
	o.experiment.Bound = time.Duration(o.seconds) * time.Second
	o.experiment.Topology, o.experiment.Workers = o.stack.Topology, o.stack.Workers
	o.experiment.SliceWidth, o.experiment.SliceLateness = o.stack.SliceWidth, o.stack.SliceLateness
	return o.experiment.Validate()
}

// interrupted is the end of a demo that somebody stopped.
type interrupted struct{}

func (interrupted) Error() string { return "interrupted" }

func (interrupted) ExitCode() int { return exit.Interrupted }

// sameSignal is how long after the first signal another one counts as the same: make and timeout pass on what the terminal has
// sent already.
const sameSignal = time.Second

// onSignals ends ctx at the first signal and closes hasten at the second. The signals stay ours to the end: the children are in
// groups of their own, and only we can end them.
func onSignals(parent context.Context, say *terminal) (ctx context.Context, hasten <-chan struct{}) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	signals, hurry := make(chan os.Signal, 2), make(chan struct{})
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone must not end us before the children
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		first := time.Now()
		say.Say("stopping everything (Ctrl-C again hastens it)")
		cancel(interrupted{})
		for <-signals; time.Since(first) < sameSignal; <-signals {
		}
		say.Say("killing everything")
		close(hurry)
	}()
	if parent.Err() != nil {
		cancel(interrupted{})
	}
	return ctx, hurry
}

func runDemo(parent context.Context, o demoOptions, say *terminal) error {
	ctx, hasten := onSignals(parent, say)
	s, err := stack.Enter(ctx, o.stack, slog.New(slog.NewTextHandler(say, &slog.HandlerOptions{ReplaceAttr: withoutTime})))
	if err != nil {
		return err
	}
	err = runStack(ctx, o, s, say)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if stopping := s.Stop(hasten); stopping != nil {
		return errors.Join(err, stopping)
	}
	if _, missing := os.Stat(o.stack.DataDir); missing == nil {
		say.Say("everything is stopped; the data is kept: %s serve --data-dir %s", o.stack.Program, o.stack.DataDir)
	}
	return err
}

// withoutTime leaves out of a log line what somebody at a terminal knows.
func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return a
}

// runStack is the demo between the directory's taking and its giving back.
func runStack(parent context.Context, o demoOptions, s *stack.Stack, say *terminal) error {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	go func() {
		select {
		case err := <-s.Failed():
			cancel(err)
		case <-ctx.Done():
		}
	}()
	if err := removeOldReport(o.out); err != nil {
		return err
	}
	started := time.Now()
	say.Say("starting the collector, the query gateway and a Storm cluster of %d workers; logs in %s", o.stack.Workers, filepath.Join(o.out, "logs"))
	if err := s.Start(ctx); err != nil {
		return err
	}
	say.Say("all are up after %.0f s; live figures at http://%s/", time.Since(started).Seconds(), o.stack.HTTPListen)
	say.Say("submitting topology %s", o.stack.Topology)
	submitted := time.Now()
	if err := s.Submit(ctx); err != nil {
		return err
	}
	run, err := measure(ctx, o, s, submitted, say)
	if err != nil {
		return err
	}
	return writeReport(o, run, submitted, say)
}

// measure runs the experiment and keeps its raw results.
func measure(ctx context.Context, o demoOptions, s *stack.Stack, submitted time.Time, say *terminal) (*report.Run, error) {
	collector, err := experiment.NewCollector(o.stack.HTTPListen)
	if err != nil {
		return nil, err
	}
	machine, err := experiment.NewProc()
	if err != nil {
		return nil, err
	}
	outcomes, err := os.Create(filepath.Join(runDir(o.out), "queries.jsonl"))
	if err != nil {
		return nil, err
	}
	defer outcomes.Close()
	gateway := load.NewGateway(o.stack.GatewayListen, slices.Max(o.experiment.Ladder))
	defer gateway.Close()
	runner, err := experiment.NewRunner(o.experiment, experiment.Ports{
		Source: gateway, Queries: gateway, Slices: collector, Marks: collector, Machine: machine, Processes: processes(ctx, s, say), Progress: say, Outcomes: outcomes,
	})
	if err != nil {
		return nil, err
	}
	run, err := runner.Run(ctx, submitted)
	if err != nil {
		return nil, err
	}
	run.CollectorRestarts, run.OneMachine = s.CollectorRestarts(), true
	return run, describe(ctx, o, s, collector, machine, run)
}

// processes names the stack's processes, the workers and the load client, which is this program.
func processes(ctx context.Context, s *stack.Stack, say *terminal) func() map[string]int {
	workers := sync.OnceValue(func() []stack.Worker {
		workers, err := s.Workers(ctx)
		if err != nil {
			say.Say("the workers' shares of the host will be missing: %v", err)
		}
		return workers
	})
	return func() map[string]int {
		pids := s.Pids()
		pids[experiment.ClientProcess] = os.Getpid()
		for _, w := range workers() {
			pids[fmt.Sprintf("worker at port %d", w.Port)] = w.Pid
		}
		return pids
	}
}

func describe(ctx context.Context, o demoOptions, s *stack.Stack, collector *experiment.Collector, machine *experiment.Proc, run *report.Run) error {
	java, err := s.JavaVersion(ctx)
	if err != nil {
		return err
	}
	if run.Settings, err = experiment.Settings(o.stack.BulletConf, o.stack.AllSettings()); err != nil {
		return err
	}
	run.Manifest = experiment.Manifest(ctx, collector, machine, o.experiment, []report.Entry{
		{Key: "Bullet Metrics", Value: version}, {Key: "Java", Value: java},
		{Key: "Records", Value: "92 fields (62 strings, 4 longs, 23 maps, 3 lists of maps), about 1.8 KiB each, seeded generator"},
		{Key: "Workers", Value: fmt.Sprintf("%d, heap limit %d MiB each", o.stack.Workers, o.stack.WorkerHeapMiB)},
		{Key: "Command", Value: strings.Join(os.Args, " ")},
	})
	if err := experiment.Explain(ctx, collector, collector, experiment.Around{Endpoint: tuning.EndpointGateway}, run); err != nil {
		run.Notes = append(run.Notes, fmt.Sprintf("What limited the steps is not known: %v.", err))
	}
	return run.Save(runDir(o.out))
}

func runDir(out string) string { return filepath.Join(out, "run") }

// removeOldReport makes sure that a report in the directory is this run's.
func removeOldReport(out string) error {
	for _, name := range []string{"report.html", "report.md", "report.json", "figures", "run"} {
		if err := os.RemoveAll(filepath.Join(out, name)); err != nil {
			return err
		}
	}
	return os.MkdirAll(runDir(out), 0o755)
}

func writeReport(o demoOptions, run *report.Run, submitted time.Time, say *terminal) error {
	r, err := report.Build(run)
	if err != nil {
		return err
	}
	if err := r.Write(o.out); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	say.Say("verdict: %s", r.Verdict)
	for _, line := range strings.Split(strings.TrimRight(r.Summary(), "\n"), "\n") {
		say.Say("  %s", line)
	}
	say.Say("%.0f s after the topology's submission the report is in %s", time.Since(submitted).Seconds(), filepath.Join(o.out, "report.html"))
	return nil
}
