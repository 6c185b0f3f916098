package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/campaign"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/exit"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/experiment"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/rundir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/spec"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// tuneRunOptions are the flags of tune run.
type tuneRunOptions struct {
	out, resume, runs, build string
	limit                    time.Duration
	stack                    stack.Options
}

func newTuneRunCommand() *cobra.Command {
	o := tuneRunOptions{stack: stack.DefaultOptions("", "")}
	command := &cobra.Command{
		Use:   "run FILE | run --resume DIR",
		Short: "Run an experiment into a directory that holds everything",
		Long: `Run an experiment: launch the topology in each configuration, hold each load, judge each step as soon as its slices are in, and write
everything into a directory of its own.

Ctrl-C ends everything and leaves a directory that --resume goes on with: finished steps are kept, the topology of the trial that was
under way is launched again. A trial that cannot be measured ends no other.

Exit codes: 0 done, 99 a goal was missed (unless the experiment looks for where goals are missed: on_fail: bracket), 1 a trial could
not be measured, 2 wrong usage, 130 interrupted. An inconclusive run says so and is 0.`,
		Example: `  bullet-metrics tune run topology/experiments/test3-small.yaml
  bullet-metrics tune run --resume out/tune/test3-small-20261121-154500`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (o.resume == "") == (len(args) == 0) || len(args) > 1 {
				return usageError{fmt.Errorf("%s takes an experiment's file, or --resume with a run's directory", cmd.CommandPath())}
			}
			return o.run(cmd.Context(), args, newTerminal("tune", os.Stdout))
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.out, "out", "", "the run's directory; by default one of its own below --runs")
	flags.StringVar(&o.resume, "resume", "", "go on with the run in this directory")
	flags.StringVar(&o.runs, "runs", runsDir, "directory in which runs are, each in one of its own")
	flags.StringVar(&o.build, "build-dir", "build", "directory that make build has filled, for a local launch")
	flags.DurationVar(&o.limit, "time-limit", 0, "begin no further step after so long; 0 for no limit")
	flags.StringVar(&o.stack.GRPCListen, "grpc-listen", o.stack.GRPCListen, "address of a local collector's gRPC")
	flags.StringVar(&o.stack.HTTPListen, "http-listen", o.stack.HTTPListen, "address of a local collector's HTTP, the live figures")
	flags.StringVar(&o.stack.GatewayListen, "gateway-listen", o.stack.GatewayListen, "address of a local query gateway")
	return command
}

// workDir is, below the directory of runs, where a local cluster runs: its state and logs, of which each trial keeps its part.
const workDir = ".work"

// verdictFailed is the end of a run that missed its goals, or could not be measured.
type verdictFailed struct {
	code int
	text string
}

func (v verdictFailed) Error() string { return v.text }
func (v verdictFailed) ExitCode() int { return v.code }

func (o *tuneRunOptions) run(parent context.Context, args []string, say *terminal) error {
	began := time.Now()
	ctx, hasten := onSignals(parent, say)
	file, writer, err := o.open(ctx, args, began)
	if err != nil {
		return err
	}
	defer writer.Close()
	run, err := rundir.Load(writer.Dir())
	if err != nil {
		return err
	}
	launcher, err := o.launcher(file, run, say, hasten)
	if err != nil {
		if o.resume == "" {
			return errors.Join(err, os.RemoveAll(run.Dir)) // nothing is in it yet
		}
		return err
	}
	about, _ := run.Plan.Estimate()
	say.Say("%s into %s; about %s", run.Plan.Experiment, run.Dir, about.Round(10*time.Second))
	result, err := o.measure(ctx, file, run, writer, campaign.NewDescriber(launcher, run, writer), began, say)
	if stopping := launcher.Stop(hasten); stopping != nil {
		err = errors.Join(err, stopping)
	}
	if err != nil {
		say.Say("what was measured is kept; go on with it: bullet-metrics tune run --resume %s", run.Dir)
		return err
	}
	return o.conclude(run.Dir, *result, time.Since(began), say)
}

func (o *tuneRunOptions) measure(ctx context.Context, file *spec.File, run *rundir.Run, writer *rundir.Writer, launcher campaign.Launcher, began time.Time, say *terminal) (*rundir.Result, error) {
	options := campaign.Options{Lateness: time.Duration(file.Launch.SliceLateness)}
	if file.Launch.Command != nil {
		options.Wait = time.Duration(cmp.Or(file.Launch.Command.Wait, spec.DefaultWait))
	}
	if o.limit > 0 {
		options.Deadline = began.Add(o.limit)
	}
	return campaign.New(options, run, writer, launcher, say).Run(ctx)
}

// open makes the run's directory, or opens the one to be gone on with.
func (o *tuneRunOptions) open(ctx context.Context, args []string, now time.Time) (*spec.File, *rundir.Writer, error) {
	if o.resume != "" {
		return o.reopen()
	}
	file, text, err := spec.Read(args[0])
	if err != nil {
		return nil, nil, err
	}
	settings, err := experiment.Settings(file.Conf(), nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: topology.conf: %w", args[0], err)
	}
	id := file.Experiment + "-" + now.Format("20060102-150405")
	dir := o.out
	if dir == "" {
		dir = filepath.Join(o.runs, id)
	}
	manifest := o.manifest(ctx, id, file, now)
	manifest.BulletSettings = settings
	writer, err := rundir.Create(dir, text, file.Plan(), manifest)
	return file, writer, err
}

// reopen reads the experiment that a run keeps; its paths are relative to where it was read from then.
func (o *tuneRunOptions) reopen() (*spec.File, *rundir.Writer, error) {
	run, err := rundir.Load(o.resume)
	if err != nil {
		return nil, nil, err
	}
	if run.Result != nil && !run.Lacking() {
		return nil, nil, fmt.Errorf("the run in %s has ended (%s); there is nothing to go on with", o.resume, run.Result.Verdict)
	}
	file, err := spec.Parse(run.Manifest.ExperimentPath, run.Experiment)
	if err != nil {
		return nil, nil, err
	}
	writer, err := rundir.Open(o.resume)
	return file, writer, err
}

func (o *tuneRunOptions) launcher(file *spec.File, run *rundir.Run, say *terminal, hasten <-chan struct{}) (campaign.Launcher, error) {
	if c := file.Launch.Command; c != nil {
		o := campaign.CommandOptions{
			Submit: c.Submit, Kill: c.Kill, Conf: file.Conf(), Collector: c.Collector, Access: experiment.CollectorAccess{CA: file.CA(), TokenFile: file.Token()}, Gateway: c.Gateway,
			NoSource: run.Plan.Load.NoSource(), MostQueries: run.Plan.MostQueries(), Leftover: campaign.LeftoverOf(run),
			Around: experiment.Around{Endpoint: tuning.EndpointGateway, EndpointCapacity: c.GatewayCapacity, Partitions: c.Partitions},
		}
		if file.Load.Submit == spec.SubmitByDRPC {
			o.DRPC, o.DRPCFunction = file.Load.DRPC, file.Load.DRPCFunction
			o.Around.Endpoint, o.Around.EndpointCapacity = tuning.EndpointDRPC, file.Load.DRPCThreads
		}
		if _, err := experiment.NewCollectorAt(o.Collector, o.Access); err != nil {
			return nil, fmt.Errorf("launch.command: %w", err)
		}
		return campaign.NewCommand(o, say), nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program itself: %w", err)
	}
	// One place for what is launched, whichever run launches it: a run ends what a killed one before it left there, and of two at the
	// same time the second is refused.
	places := stack.DefaultOptions(filepath.Join(o.runs, workDir), o.build)
	s := o.stack
	s.Dir, s.DataDir, s.BuildDir, s.Program = places.Dir, filepath.Join(run.Dir, rundir.DataDir), places.BuildDir, program
	s.SliceWidth, s.SliceLateness = time.Duration(file.Launch.SliceWidth), time.Duration(file.Launch.SliceLateness)
	s.BulletConf, s.WorkerHeapMiB, s.Workers = file.Conf(), file.Launch.Local.WorkerHeap.MiB(), file.Launch.Local.Workers
	s.Kafka = kafkaOf(file.Launch.Local)
	for _, t := range run.Plan.Trials {
		s.Workers = max(s.Workers, t.Workers)
	}
	if err := s.Validate(); err != nil {
		return nil, err
	}
	log := slog.New(slog.NewTextHandler(say, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	return campaign.NewLocal(s, run.Plan.MostQueries(), log, say, hasten), nil
}

// conclude reports on a run that has ended by itself.
func (o *tuneRunOptions) conclude(dir string, result rundir.Result, took time.Duration, say *terminal) error {
	run, err := rundir.Load(dir)
	if err != nil {
		return err
	}
	for _, line := range campaign.Summary(run.Plan, result) {
		say.Say("%s", line)
	}
	out := filepath.Join(dir, rundir.ReportDir)
	if err := writeReportOf(dir, out); err != nil {
		say.Say("the report could not be written; bullet-metrics tune report %s tries again: %v", dir, err)
	}
	say.Say("%s after its start the report is in %s", took.Round(time.Second), filepath.Join(out, "report.html"))
	switch result.ExitCode {
	case exit.Done:
		return nil
	case exit.Missed:
		return verdictFailed{exit.Missed, "a goal was missed: " + string(result.Verdict)}
	}
	return verdictFailed{exit.Failed, "not every trial could be measured; bullet-metrics tune run --resume " + dir + " tries these again"}
}

func commandLine() string { return strings.Join(os.Args, " ") }
