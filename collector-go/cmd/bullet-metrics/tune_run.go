package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/measure"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// launchOptions are the flags of commands that run an experiment file: tune run and tune optimize.
type launchOptions struct {
	out, build string
	limit      time.Duration
	stack      stack.Options
}

func (o *launchOptions) addFlags(flags *pflag.FlagSet, out, unit string) {
	o.stack = stack.DefaultOptions("", "")
	flags.Var(textfile.PathFlag(&o.out, ""), "out", out)
	flags.DurationVar(&o.limit, "time-limit", 0, "start no further "+unit+" after this time; 0 means no limit")
	addStackFlags(flags, &o.stack, &o.build, "a local", ", for a local launch")
}

// addStackFlags adds the flags of the processes that a local launch starts.
func addStackFlags(flags *pflag.FlagSet, s *stack.Options, build *string, which, launch string) {
	flags.Var(textfile.PathFlag(build, "build"), "build-dir", "directory with the output of make build"+launch)
	flags.StringVar(&s.GRPCListen, "grpc-listen", s.GRPCListen, "gRPC address of "+which+" collector, HOST:PORT")
	flags.StringVar(&s.HTTPListen, "http-listen", s.HTTPListen,
		"HTTP address of "+which+" collector with its page, HOST:PORT")
	flags.StringVar(&s.GatewayListen, "gateway-listen", s.GatewayListen,
		"address of "+which+" query gateway, HOST:PORT")
}

// engine returns an engine with the flags. Local clusters run in one directory below runs, whichever run launches.
func (o *launchOptions) engine(ctx context.Context, runs string, say *terminal, began time.Time) (
	context.Context, engine) {
	ctx, hasten := onSignals(ctx, say)
	e := engine{build: o.build, work: filepath.Join(runs, workDir), stack: o.stack, say: say, hasten: hasten}
	if o.limit > 0 {
		e.options.Deadline = began.Add(o.limit)
	}
	return ctx, e
}

// workDir is, below the directory of runs, where a local cluster runs.
const workDir = ".work"

// launcher returns the launcher of a run. plan has all trials that the cluster must be able to hold.
func (e *engine) launcher(file *experimentfile.File, plan runstore.Plan, dir string) (runner.Launcher, error) {
	if file.Launch.Command == nil {
		return e.local(file, plan, dir)
	}
	run, err := runstore.Read(dir)
	if err != nil {
		return nil, err
	}
	return e.command(file, run)
}

// tuneRunOptions are the flags of tune run.
type tuneRunOptions struct {
	launchOptions
	resume, runs string
}

func newTuneRunCommand() *cobra.Command {
	var o tuneRunOptions
	command := &cobra.Command{
		Use:   "run FILE | run --resume DIR",
		Short: "Run an experiment and write all results into a run directory",
		Long: `Run an experiment and write all results into a run directory.

The command launches the topology in each configuration and runs each load. It judges a step as soon as its slices are
available.

Ctrl-C ends everything. --resume continues the run in its directory: it keeps finished steps, and launches the
topology of the interrupted trial again. If a trial cannot be measured, the other trials still run.

Exit codes:

- 0: done, even if the result is inconclusive.
- 99: a goal was missed (0 with on_fail: bracket).
- 1: a trial could not be measured.
- 2: wrong usage.
- 130: interrupted.`,
		Example: `  bullet-metrics tune run topology/experiments/test3-small.yaml
  bullet-metrics tune run --resume out/tune/test3-small-20261121-154500`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (o.resume == "") == (len(args) == 0) || len(args) > 1 {
				return usageError{fmt.Errorf("%s needs either an experiment file, or --resume with a run directory",
					cmd.CommandPath())}
			}
			return o.run(cmd.Context(), args, newTerminal("tune", os.Stdout))
		},
	}
	flags := command.Flags()
	o.addFlags(flags, "run directory (default a new directory below --runs)", "step")
	flags.Var(textfile.PathFlag(&o.resume, ""), "resume", "continue the run in this directory")
	flags.Var(textfile.PathFlag(&o.runs, runsDir), "runs", "directory that contains the run directories")
	return command
}

func (o *tuneRunOptions) run(parent context.Context, args []string, say *terminal) error {
	began := time.Now()
	ctx, e := o.engine(parent, o.runs, say, began)
	e.write = func(r *report.RunReport, dir string) (string, error) {
		out := filepath.Join(dir, runstore.ReportDir)
		return out, r.Write(out)
	}
	file, writer, err := o.open(ctx, &e, args, began)
	if err != nil {
		return err
	}
	defer writer.Close()
	run, err := runstore.Read(writer.Dir())
	if err != nil {
		return err
	}
	launcher, err := e.launcher(file, run.Plan, writer.Dir())
	if err != nil {
		if o.resume == "" {
			return errors.Join(err, os.RemoveAll(writer.Dir())) // nothing is in it yet
		}
		return err
	}
	return e.run(ctx, file, writer, launcher, began)
}

// open makes the run's directory, or opens the one to be gone on with.
func (o *tuneRunOptions) open(ctx context.Context, e *engine, args []string, now time.Time) (*experimentfile.File,
	*runstore.Writer, error) {
	if o.resume != "" {
		return o.reopen()
	}
	file, text, err := experimentfile.Read(args[0])
	if err != nil {
		return nil, nil, err
	}
	dir := cmp.Or(o.out, filepath.Join(o.runs, runID(file, now)))
	if err := mustBeEmpty(dir); err != nil {
		return nil, nil, err
	}
	writer, err := e.create(ctx, dir, file, text, file.Plan(), now)
	return file, writer, err
}

// mustBeEmpty returns an error if a directory contains files. A run that cannot be launched is removed with its
// directory.
func mustBeEmpty(dir string) error {
	if holds, _ := os.ReadDir(dir); len(holds) > 0 {
		return usageError{fmt.Errorf("--out %q: the directory is not empty; choose a new one, or continue its run with "+
			"tune run --resume %[1]q", dir)}
	}
	return nil
}

// reopen reads the experiment that a run keeps; its paths are relative to where it was read from then.
func (o *tuneRunOptions) reopen() (*experimentfile.File, *runstore.Writer, error) {
	run, err := runstore.Read(o.resume)
	if err != nil {
		return nil, nil, err
	}
	if run.Result != nil && !run.Lacking() {
		return nil, nil, fmt.Errorf("the run in %s has already ended (%s)", o.resume, run.Result.Verdict)
	}
	if run.Plan.EndEarly {
		return nil, nil, fmt.Errorf("%s contains a search; continue it with tune optimize FILE --out %[1]s", o.resume)
	}
	file, err := experimentfile.Parse(run.Manifest.ExperimentPath, run.Experiment)
	if err != nil {
		return nil, nil, err
	}
	writer, err := runstore.Open(o.resume)
	return file, writer, err
}

// runID names a run for good.
func runID(file *experimentfile.File, now time.Time) string {
	return file.Experiment + "-" + now.Format("20060102-150405")
}

// manifest is what is known before anything runs.
func (e *engine) manifest(ctx context.Context, file *experimentfile.File, now time.Time) runstore.Manifest {
	m := file.Manifest()
	m.ID, m.StartedMs, m.Command, m.ExperimentPath, m.Versions.BulletMetrics = runID(file, now), now.UnixMilli(),
		strings.Join(os.Args, " "), file.Path(), version
	if absolute, err := filepath.Abs(file.Path()); err == nil {
		m.ExperimentPath = absolute
	}
	launched := stack.DefaultOptions("", e.build)
	if java, err := launched.JavaVersion(ctx); err == nil {
		m.Versions.Java = java
	}
	if machine, err := measure.NewProc(); err == nil {
		m.Machine = machine.Describe()
	}
	m.Machine.Role = runstore.LoadHost
	local := file.Launch.Local
	if local == nil {
		return m
	}
	m.Machine.Role = runstore.OnlyMachine
	m.Machine.Network = "all over loopback; " + m.Machine.Network
	if launched.Kafka = (*stack.Kafka)(local.Kafka); launched.KafkaVersion() != "" {
		m.Versions.Kafka = launched.KafkaVersion()
		if !m.Records.CompressionRatio.Known() {
			m.Records.CompressionRatio, m.Records.Note = 1, "not compressed by the producer and broker of the run"
		}
	}
	return m
}
