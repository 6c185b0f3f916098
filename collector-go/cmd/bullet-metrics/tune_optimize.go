package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/searchfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/searchrunner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/stack"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// optimizeOptions are the flags of tune optimize.
type optimizeOptions struct {
	show      presentation
	simulate  string
	dry, grid bool
	// Of trials on a cluster.
	out, build string
	limit      time.Duration
	stack      stack.Options
}

func newTuneOptimizeCommand() *cobra.Command {
	o := optimizeOptions{stack: stack.DefaultOptions("", "")}
	command := &cobra.Command{
		Use:   "optimize FILE",
		Short: "Find the cheapest configuration that holds a load, proven by trials",
		Long: `Find the cheapest configuration that holds a load.

FILE states the target, the budget, the settings that may change, and the experiment that runs a trial. The command
proposes a configuration, runs a trial and judges it. It stops when the best configuration is proven, when the budget
is used up, or when no further trial would help. A configuration is proven to be the best if each cheaper one failed,
or is no easier than one that failed.

Each trial has its own run directory. Ctrl-C ends everything. Run the same command again to continue: it keeps
finished trials and repeats an interrupted one.

--grid runs every configuration once instead. --simulate takes the trials from a file instead of a cluster. That file
has measured rows, such as the space.yaml of an earlier search, or a formula.

Exit codes: 0 the best configuration is proven, or the grid is complete; 99 it is proven that no configuration holds
the target; 1 the result is open; 2 wrong usage; 130 interrupted.`,
		Example: `  bullet-metrics tune optimize topology/experiments/optimize-small.yaml --dry-run
  bullet-metrics tune optimize topology/experiments/optimize-small.yaml
  bullet-metrics tune optimize topology/experiments/optimize/test7.yaml --simulate topology/experiments/optimize/test7-space.yaml`,
		Args: oneArgument("search's file"),
	}
	flags := command.Flags()
	o.show.addFlags(flags, "text", "json", "markdown", "html")
	flags.Var(textfile.PathFlag(&o.simulate, ""), "simulate",
		"file that describes the trials of a space, used instead of a cluster")
	flags.BoolVar(&o.dry, "dry-run", false, "show the next trials and about how long they take, and run nothing")
	flags.BoolVar(&o.grid, "grid", false, "run every configuration of the space once")
	flags.Var(textfile.PathFlag(&o.out, ""), "out", "directory of the trials (default a directory below "+searchesDir+
		", named after the search)")
	flags.Var(textfile.PathFlag(&o.build, "build"), "build-dir",
		"directory with the output of make build, for a local launch")
	flags.DurationVar(&o.limit, "time-limit", 0, "start no further trial after this time; 0 means no limit")
	flags.StringVar(&o.stack.GRPCListen, "grpc-listen", o.stack.GRPCListen,
		"gRPC address of a local collector, HOST:PORT")
	flags.StringVar(&o.stack.HTTPListen, "http-listen", o.stack.HTTPListen,
		"HTTP address of a local collector with its page, HOST:PORT")
	flags.StringVar(&o.stack.GatewayListen, "gateway-listen", o.stack.GatewayListen,
		"address of a local query gateway, HOST:PORT")
	command.RunE = func(cmd *cobra.Command, args []string) error {
		return runTune(o.validate, func(out io.Writer) error {
			s, err := o.read(args[0])
			switch {
			case err != nil:
				return err
			case o.dry:
				return o.foresee(s, out)
			case o.simulate != "":
				return o.runSimulated(s, out)
			}
			return o.runTrials(cmd.Context(), s, out)
		})(cmd, nil)
	}
	return command
}

func (o *optimizeOptions) validate() error {
	switch {
	case o.dry && o.show.output != "text" && o.show.output != "json":
		return errors.New("--dry-run is shown as text or json")
	case o.simulate != "" && (o.grid || o.out != "" || o.limit != 0):
		return errors.New("--simulate takes its trials from a file; --grid, --out and --time-limit are for trials on a cluster")
	case o.limit < 0:
		return fmt.Errorf("--time-limit %s is below 0", o.limit)
	}
	return o.show.validate()
}

// optimization is a search with where its trials are from.
type optimization struct {
	file   *searchfile.File
	search *optimize.Search
	space  optimize.Space
	// trialSeconds is about how long a trial takes.
	trialSeconds float64
	unit         string
	simulation   *optimize.Simulation // nil where trials are run
	onCluster    *searchrunner.Search // nil where they are simulated
}

func (o *optimizeOptions) read(path string) (*optimization, error) {
	file, err := searchfile.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &optimization{file: file}
	if o.simulate != "" {
		err = s.simulate(o.simulate)
	} else if s.onCluster, err = searchrunner.Open(file); err == nil {
		s.space, s.trialSeconds, s.unit = s.onCluster.Space, s.onCluster.TrialSeconds(), file.CostUnit
	}
	if err != nil {
		return nil, err
	}
	if s.search, err = optimize.New(s.space, file.OptimizeTarget(), file.Options()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// simulate takes the trials from a space given as data.
func (s *optimization) simulate(path string) error {
	data, err := searchfile.ReadSpace(path)
	if err != nil {
		return err
	}
	if s.simulation, err = s.file.Simulation(data); err != nil {
		return err
	}
	s.space, s.trialSeconds, s.unit = s.simulation.Space, s.simulation.TrialSeconds, s.file.Unit(data)
	return nil
}

func (o *optimizeOptions) runSimulated(s *optimization, out io.Writer) error {
	all, err := optimize.Simulate(s.search, s.simulation)
	if err != nil {
		return err
	}
	result, err := s.search.Result(all)
	if err != nil {
		return err
	}
	if err := o.show.write(out, result, s.account(result)); err != nil {
		return err
	}
	return ending(result)
}

func (s *optimization) account(result *optimize.Result, findings ...string) *document.Document {
	var start map[string]any
	if p := s.space.Start; p != nil {
		start = s.space.Configured(p)
	}
	return s.file.Account(result, start, s.unit, findings...)
}

// ending is a result as the program's end; nil where the best is proven.
func ending(result *optimize.Result) error {
	switch {
	case !result.Proven:
		return errors.New(searchfile.Outcome(result) + "; give a larger budget or more repeats, or see what is open")
	case result.Best == nil:
		return noneHolds{searchfile.Outcome(result)}
	}
	return nil
}

// noneHolds is that the target was missed by the whole space.
type noneHolds struct{ outcome string }

func (e noneHolds) Error() string { return e.outcome }

// ExitCode states that a goal was missed.
func (noneHolds) ExitCode() int { return exitMissed }

// foreseen is what a dry run shows.
type foreseen struct {
	Configurations int `json:"configurations"`
	// KeptTrials have ended already.
	KeptTrials int `json:"kept_trials"`
	// First is what it would try next; null where nothing is left.
	First map[string]any `json:"first"`
	Why   string         `json:"why"`
	// Then is what would follow, at most mostForeseen, if each comes out as the model expects.
	Then []string `json:"then"`
	// AboutTrials is how many there are if each comes out as the model expects and none is repeated.
	AboutTrials  int     `json:"about_trials"`
	TrialSeconds float64 `json:"trial_s"`
	AboutSeconds float64 `json:"about_s"`
	// MostTrials and MostSeconds are the budget's, 0 for none.
	MostTrials  int     `json:"at_most_trials"`
	MostSeconds float64 `json:"at_most_s"`
	text        string
}

// mostForeseen bounds the trials that a dry run lists.
const mostForeseen = 10

func (o *optimizeOptions) foresee(s *optimization, out io.Writer) error {
	f, err := o.foreseen(s)
	if err != nil {
		return err
	}
	if o.show.output == "json" {
		return printJSON(out, f)
	}
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("%s: %d configurations may be tried", s.file.Name, f.Configurations)
	if f.KeptTrials > 0 {
		line("  %s kept in %s", tuning.Counted(f.KeptTrials, "trial"), o.directory(s.onCluster))
	}
	if f.First == nil {
		line("  nothing is left to try")
	} else {
		line("  first: %s (%s)", f.text, f.Why)
		for _, then := range f.Then {
			line("  then: %s", then)
		}
		expected := ", if each comes out as the model expects before it; those that noise could have turned are repeated"
		if o.grid {
			expected = ""
		}
		line("  about %s of %s: %s%s", tuning.Counted(f.AboutTrials, "trial"), searchfile.Took(f.TrialSeconds),
			searchfile.Took(f.AboutSeconds), expected)
	}
	if f.MostTrials > 0 {
		line("  at most %s", tuning.Counted(f.MostTrials, "trial"))
	}
	if f.MostSeconds > 0 {
		line("  at most %s", searchfile.Took(f.MostSeconds))
	}
	_, err = io.WriteString(out, text.String())
	return err
}

func (o *optimizeOptions) foreseen(s *optimization) (f foreseen, err error) {
	var kept []searchrunner.Kept
	var finished []optimize.Trial
	if s.onCluster != nil {
		if kept, err = s.onCluster.Load(o.directory(s.onCluster)); err != nil {
			return f, err
		}
		finished = s.onCluster.Finished(kept)
	}
	budget := s.file.Options().Budget
	f = foreseen{Configurations: s.search.Configurations(), KeptTrials: len(finished), TrialSeconds: s.trialSeconds,
		MostTrials: budget.Trials, MostSeconds: budget.Seconds, Then: []string{}}
	var way []optimize.Proposal
	if o.grid {
		f.MostTrials, f.MostSeconds = 0, 0
		way = s.onCluster.GridLeft(s.search.Points(), kept)
	} else if way, err = s.search.Foresee(finished); err != nil {
		return f, err
	}
	f.AboutTrials, f.AboutSeconds = len(way), float64(len(way))*s.trialSeconds
	if len(way) > 0 {
		f.First, f.Why, f.text = s.space.Configured(way[0].Point), way[0].Why, s.space.Text(way[0].Point)
		for _, p := range way[1:min(len(way), mostForeseen)] {
			f.Then = append(f.Then, s.space.Text(p.Point))
		}
	}
	return f, nil
}

// jsonOf is a result as --output json has it.
func jsonOf(result any) ([]byte, error) {
	var out bytes.Buffer
	err := printJSON(&out, result)
	return out.Bytes(), err
}
