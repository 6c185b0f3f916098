package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

const (
	// demoDir is the demo's run directory unless a flag names another.
	demoDir = "out/demo"
	// secondsVariable sets the time of the demo if no flag does.
	secondsVariable = "DEMO_SECONDS"
)

// demoOptions are the demo's flags.
type demoOptions struct {
	out, build       string
	seconds          int
	queries          []int
	recordsPerSecond float64
	stack            stack.Options
}

func newDemoCommand() *cobra.Command {
	o := demoOptions{stack: stack.DefaultOptions("", "")}
	command := &cobra.Command{
		Use:   "demo",
		Short: "Measure a Bullet topology on a local Storm cluster and write a report",
		Long: `Run the built-in experiment: start a collector, a local Storm cluster and a Bullet topology, and measure its capacity.

The number of simultaneous queries doubles until a goal is missed. The last number that held and the first that did not
are measured again. The report states the capacity or a bound of it, the limiter, and the cost of a query. The output is
a run directory, so tune report, tune compare and tune list accept it.

The demo takes five minutes. ` + secondsVariable + ` or --seconds sets another time. Its steps share the time, so a longer demo
measures more carefully.

Ctrl-C ends everything and leaves the data directory usable. A second Ctrl-C ends it faster.`,
		Example: `  bullet-metrics demo
  ` + secondsVariable + `=900 bullet-metrics demo --out out/demo
  bullet-metrics demo --queries 0,50,100,200 --records-per-second 500`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.setSeconds(cmd.Flags().Changed("seconds")); err != nil {
				return usageError{err}
			}
			file, text, err := experimentfile.Demo{Limit: o.limit(), Queries: o.queries,
				RecordsPerSecond: o.recordsPerSecond, BulletConf: o.stack.BulletConf}.File()
			if err != nil {
				return usageError{err}
			}
			return o.run(cmd.Context(), file, text, newTerminal("demo", os.Stdout))
		},
	}
	flags := command.Flags()
	flags.Var(textfile.PathFlag(&o.out, demoDir), "out",
		"run directory, with the report, the collector's data and the logs")
	flags.IntVar(&o.seconds, "seconds", int(experimentfile.DemoLimit.Seconds()),
		"time from the start to the written report, in seconds (env "+secondsVariable+")")
	flags.IntSliceVar(&o.queries, "queries", nil,
		"simultaneous queries of each step; the first step must have 0 (default the steps of the built-in experiment)")
	flags.Float64Var(&o.recordsPerSecond, "records-per-second", 0,
		"records per second; 0 finds the rate that leaves 50% of the host idle")
	addStackFlags(flags, &o.stack, &o.build, "the", "")
	flags.Var(textfile.PathFlag(&o.stack.BulletConf, experimentfile.DemoConf), "bullet-conf",
		"YAML file with Bullet's settings")
	flags.StringArrayVarP(&o.stack.Settings, "setting", "c", nil,
		"setting of Bullet that overrides the file, KEY=VALUE; may be repeated")
	return command
}

// setSeconds takes the limit from the environment, unless the flag was given.
func (o *demoOptions) setSeconds(given bool) error {
	if text := os.Getenv(secondsVariable); text != "" && !given {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%s=%q is not a whole number of seconds", secondsVariable, text)
		}
		o.seconds = seconds
	}
	return nil
}

func (o *demoOptions) limit() time.Duration { return time.Duration(o.seconds) * time.Second }

// run takes the directory before it clears it: another demo may be under way there.
func (o *demoOptions) run(parent context.Context, file *experimentfile.File, text []byte, say *terminal) error {
	began := time.Now()
	ctx, hasten := onSignals(parent, say)
	e := engine{build: o.build, work: o.out, stack: o.stack, say: say, hasten: hasten,
		write: func(r *report.RunReport, dir string) (string, error) {
			return dir, r.WriteSingle(dir)
		},
		options: runner.Options{End: began.Add(o.limit() - experimentfile.DemoReporting),
			LeastSteps: experimentfile.DemoLeastSteps}}
	plan := file.Plan()
	launcher, err := e.local(file, plan, o.out)
	if err != nil {
		return err
	}
	if err := launcher.Enter(ctx); err != nil {
		return err
	}
	writer, err := o.directory(ctx, &e, file, text, plan, began)
	if err != nil {
		return errors.Join(err, launcher.Stop(hasten))
	}
	defer writer.Close()
	return e.run(ctx, file, writer, launcher, began)
}

// directory makes the run's directory in the place of an earlier demo's, whose data are kept.
func (o *demoOptions) directory(ctx context.Context, e *engine, file *experimentfile.File, text []byte,
	plan runstore.Plan, began time.Time) (*runstore.Writer, error) {
	old := []string{"report.html", "report.md", "report.json", "figures", "run"} // run: of demos before version 2
	for _, pattern := range append(old, "*.csv", runstore.ReportDir, runstore.PlanFile, runstore.ExperimentFile,
		runstore.ManifestFile, runstore.ProgressFile, runstore.ResultFile, runstore.TrialsDir) {
		found, err := filepath.Glob(filepath.Join(o.out, pattern))
		for _, path := range found {
			err = errors.Join(err, os.RemoveAll(path))
		}
		if err != nil {
			return nil, err
		}
	}
	return e.create(ctx, o.out, file, text, plan, began)
}
