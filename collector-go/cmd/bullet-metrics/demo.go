package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// demoExperiment is the demo: an experiment's file like any other, that the flags change a little.
//
//go:embed demo.yaml
var demoExperiment string

const (
	// demoDir is the demo's run directory unless a flag names another.
	demoDir = "out/demo"
	// secondsVariable bounds the demo where no flag does.
	secondsVariable = "DEMO_SECONDS"
	// demoConf is Bullet's settings as the demo's file has them.
	demoConf = "topology/bullet-topology/conf/bullet_settings.yaml"
)

// Times of a bounded demo. The least is what a topology's start takes twice; one that is short has shorter steps;
// reporting takes the topology's end, the figures and the report's pictures.
const (
	leastDemo     = time.Minute
	shortDemo     = 5 * time.Minute
	shortWarmUp   = 5 * time.Second
	shortSustain  = 15 * time.Second // three slices, the least of which there is a mean
	demoStart     = time.Minute      // up to the first step
	demoReporting = 20 * time.Second
	leastSteps    = 3
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

The number of simultaneous queries increases until a goal is missed or the time is up. The report states the capacity
of the topology or a lower bound of it, the cost of a query, and the limiter. The output is a run directory, so tune
report, tune compare and tune list accept it.

The experiment takes about ten minutes after the topology is up. Half of that time measures the cost of a query.
` + secondsVariable + ` or --seconds limits the time from the submission of the topology to the written report. If that time is
short, the cost is fitted to the steps of the capacity.

Ctrl-C ends everything and leaves the data directory usable. A second Ctrl-C ends it faster.`,
		Example: `  bullet-metrics demo
  ` + secondsVariable + `=180 bullet-metrics demo --out out/demo
  bullet-metrics demo --queries 0,50,100,200 --records-per-second 500`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, text, err := o.experiment(cmd.Flags().Changed("seconds"))
			if err != nil {
				return usageError{err}
			}
			return o.run(cmd.Context(), file, text, newTerminal("demo", os.Stdout))
		},
	}
	flags := command.Flags()
	flags.Var(textfile.PathFlag(&o.out, demoDir), "out",
		"run directory, with the report, the collector's data and the logs")
	flags.Var(textfile.PathFlag(&o.build, "build"), "build-dir", "directory with the output of make build")
	flags.IntVar(&o.seconds, "seconds", 0,
		"maximum time from the submission of the topology to the written report, in seconds; 0 runs all steps, about ten minutes (env "+
			secondsVariable+")")
	flags.IntSliceVar(&o.queries, "queries", nil,
		"simultaneous queries of each step; the first step must have 0 (default the steps of the built-in experiment)")
	flags.Float64Var(&o.recordsPerSecond, "records-per-second", 0,
		"records per second; 0 finds the rate that leaves 40% of the host idle")
	flags.StringVar(&o.stack.GRPCListen, "grpc-listen", o.stack.GRPCListen, "gRPC address of the collector, HOST:PORT")
	flags.StringVar(&o.stack.HTTPListen, "http-listen", o.stack.HTTPListen,
		"HTTP address of the collector with its page, HOST:PORT")
	flags.StringVar(&o.stack.GatewayListen, "gateway-listen", o.stack.GatewayListen,
		"address of the query gateway, HOST:PORT")
	flags.Var(textfile.PathFlag(&o.stack.BulletConf, demoConf), "bullet-conf", "YAML file with Bullet's settings")
	flags.StringArrayVarP(&o.stack.Settings, "setting", "c", nil,
		"setting of Bullet that overrides the file, KEY=VALUE; may be repeated")
	return command
}

// experiment is the demo's file as the flags and the environment change it, with the text that the run's directory
// keeps.
func (o *demoOptions) experiment(secondsGiven bool) (*experimentfile.File, []byte, error) {
	if text := os.Getenv(secondsVariable); text != "" && !secondsGiven {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s=%q is not a whole number of seconds", secondsVariable, text)
		}
		o.seconds = seconds
	}
	if o.seconds != 0 && o.bound() < leastDemo {
		return nil, nil, fmt.Errorf(
			"--seconds: the demo cannot be bounded to less than %s: the topology's start alone takes half of that", leastDemo)
	}
	text := []byte(strings.Replace(demoExperiment, demoConf, strconv.Quote(o.stack.BulletConf), 1))
	file, err := experimentfile.Parse("demo.yaml", text)
	if err != nil {
		return nil, nil, err
	}
	if o.queries != nil {
		if len(o.queries) < leastSteps || o.queries[0] != 0 {
			return nil, nil, fmt.Errorf(
				"--queries takes at least %d steps, of which the first has 0 queries and is the baseline, not %v",
				leastSteps, o.queries)
		}
		file.Steps.Values = nil
		for _, n := range o.queries {
			file.Steps.Values = append(file.Steps.Values, float64(n))
		}
		if most := float64(slices.Max(o.queries)); most < file.Steps.ExpectedCapacity {
			file.Steps.ExpectedCapacity = 0 // nobody wants so many
		}
	}
	if o.recordsPerSecond < 0 {
		return nil, nil, fmt.Errorf("--records-per-second %g is below 0", o.recordsPerSecond)
	}
	if o.recordsPerSecond > 0 {
		file.Load.RecordsPerSecond = experimentfile.Rate{PerSecond: o.recordsPerSecond}
	}
	o.fit(file)
	return file, text, file.Check()
}

func (o *demoOptions) bound() time.Duration { return time.Duration(o.seconds) * time.Second }

// fit shortens the steps of a demo that is bounded, and leaves out those that it has no time for: the record source
// makes the matching records of the largest step all the while.
func (o *demoOptions) fit(file *experimentfile.File) {
	if o.seconds == 0 {
		return
	}
	if o.bound() < shortDemo {
		file.Steps.WarmUp = experimentfile.Duration(shortWarmUp)
		file.Steps.Sustain = experimentfile.Duration(shortSustain)
	}
	fitting := int((o.bound()-demoStart-demoReporting)/file.Plan().StepTime()) + 1
	file.Steps.Values = file.Steps.Values[:min(max(leastSteps, fitting), len(file.Steps.Values))]
}

// run takes the directory before it clears it: another demo may be under way there.
func (o *demoOptions) run(parent context.Context, file *experimentfile.File, text []byte, say *terminal) error {
	began := time.Now()
	ctx, hasten := onSignals(parent, say)
	e := engine{build: o.build, work: o.out, stack: o.stack, say: say, hasten: hasten,
		write: func(r *report.RunReport, dir string) (string, error) {
			return dir, r.WriteSingle(dir)
		}}
	if o.seconds != 0 {
		e.options = runner.Options{Bound: o.bound() - demoReporting, LeastSteps: leastSteps}
	}
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
