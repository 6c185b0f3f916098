package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// optimizeOptions are the flags of tune optimize.
type optimizeOptions struct {
	launchOptions
	show      presentation
	simulate  string
	dry, grid bool
}

func newTuneOptimizeCommand() *cobra.Command {
	var o optimizeOptions
	command := &cobra.Command{
		Use:   "optimize FILE",
		Short: "Find the cheapest configuration that holds a load, proven by trials",
		Long: `Find the cheapest configuration that holds a load.

FILE is an experiment file with a search section, which states the target, the budget and the settings that may vary.
The command proposes a configuration, runs a trial and judges it. It stops when the best configuration is proven, when
the budget is used up, or when no further trial would help. A configuration is proven to be the best if each cheaper
one failed, or is no easier than one that failed.

The trials are stored in a run directory. Ctrl-C ends everything. Run the same command again to continue: it keeps
finished trials and repeats an interrupted one.

--grid runs every configuration once instead. --simulate takes the trials from a space file instead of a cluster. That
file has measured rows, such as the space.yaml of an earlier search, or a formula.

Exit codes:

- 0: the best configuration is proven, or the grid is complete.
- 99: it is proven that no configuration holds the target.
- 1: the result is open.
- 2: wrong usage.
- 130: interrupted.`,
		Example: `  bullet-metrics tune optimize topology/experiments/optimize-small.yaml --dry-run
  bullet-metrics tune optimize topology/experiments/optimize-small.yaml
  bullet-metrics tune optimize topology/experiments/optimize/test7.yaml --simulate topology/experiments/optimize/test7-space.yaml`,
		Args: oneArgument("experiment's file"),
	}
	flags := command.Flags()
	o.show.addFlags(flags, "text", "json", "markdown", "html")
	o.addFlags(flags, "run directory (default a directory below "+searchesDir+", named after the experiment)", "trial")
	flags.Var(textfile.PathFlag(&o.simulate, ""), "simulate", "space file with the trials, used instead of a cluster")
	flags.BoolVar(&o.dry, "dry-run", false, "show the next trials and their approximate duration, and run nothing")
	flags.BoolVar(&o.grid, "grid", false, "run every configuration once")
	command.RunE = runTune(o.validate, func(cmd *cobra.Command, args []string) error {
		s, err := o.read(args[0])
		switch {
		case err != nil:
			return err
		case o.dry:
			return o.foresee(s, cmd.OutOrStdout())
		case o.simulate != "":
			return o.runSimulated(s, cmd.OutOrStdout())
		}
		return o.runTrials(cmd.Context(), s, cmd.OutOrStdout())
	})
	return command
}

func (o *optimizeOptions) validate(*cobra.Command, []string) error {
	switch {
	case o.dry && o.show.output != "text" && o.show.output != "json":
		return errors.New("--dry-run needs --output text or json")
	case o.simulate != "" && (o.grid || o.out != "" || o.limit != 0):
		return errors.New("--simulate cannot be combined with --grid, --out or --time-limit, which are for trials on a cluster")
	case o.limit < 0:
		return fmt.Errorf("--time-limit %s is below 0", o.limit)
	}
	return o.show.validate()
}

// optimization is a search and the source of its trials.
type optimization struct {
	file   *experimentfile.File
	text   []byte
	search *optimize.Search
	space  optimize.Space
	// trialSeconds is the approximate duration of a trial.
	trialSeconds float64
	unit         string
	simulation   *optimize.Simulation // nil if trials are run on a cluster
	trials       *runner.Search       // nil if they are simulated
}

func (o *optimizeOptions) read(path string) (s *optimization, err error) {
	s = &optimization{}
	if s.file, s.text, err = experimentfile.ReadSearch(path, o.simulate == ""); err != nil {
		return nil, err
	}
	if o.simulate == "" {
		if s.trials, err = runner.NewSearch(s.file, o.grid); err == nil {
			s.search, s.space, s.unit = s.trials.Search, s.file.Space(), s.file.Search.CostUnit
			s.trialSeconds = s.file.TrialSeconds()
		}
		return s, err
	}
	from, err := experimentfile.ReadSpace(o.simulate)
	if err != nil {
		return nil, err
	}
	if s.simulation, s.unit, err = s.file.Simulation(from); err != nil {
		return nil, err
	}
	s.space, s.trialSeconds = s.simulation.Space, s.simulation.TrialSeconds
	if s.search, err = optimize.New(s.space, s.file.Target(), s.file.Options()); err != nil {
		return nil, fmt.Errorf("%s: search: %w", path, err)
	}
	return s, nil
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
	if err := o.show.write(out, result, s.document(result)); err != nil {
		return err
	}
	return ending(result)
}

func (s *optimization) document(result *optimize.Result, findings ...string) *document.Document {
	var start map[string]any
	if p := s.space.Start; p != nil {
		start = s.space.Configured(p)
	}
	return result.Document(s.file.Experiment, start, s.unit, findings...)
}

// ending returns the error with which the program ends; nil if the best configuration is proven.
func ending(result *optimize.Result) error {
	switch {
	case !result.Proven:
		return errors.New(result.Outcome() + "; increase the budget or the repeats, or see the open configurations")
	case result.Best == nil:
		return missed(result.Outcome())
	}
	return nil
}

// searchesDir contains the run directories of searches, unless --out names another one. A search has one directory
// there and not one for each invocation, because the same command continues it.
const searchesDir = "out/optimize"

// bestFile is, in a search's run directory, the best configuration as lines of a settings file.
const bestFile = "best.yaml"

// directory returns the run directory. A grid has its own.
func (o *optimizeOptions) directory(file *experimentfile.File) string {
	switch {
	case o.out != "":
		return o.out
	case o.grid:
		return filepath.Join(searchesDir, file.Experiment+"-grid")
	}
	return filepath.Join(searchesDir, file.Experiment)
}

// runTrials runs the trials of a search or a grid on a cluster, and shows the result.
func (o *optimizeOptions) runTrials(parent context.Context, s *optimization, out io.Writer) error {
	began, say, dir := time.Now(), newTerminal("optimize", os.Stderr), o.directory(s.file)
	ctx, e := o.engine(parent, runsDir, say, began)
	e.options.Chooser, e.options.LeastSteps = s.trials, 1
	e.conclude = func() error { return o.conclude(s, e.options.Deadline, out) }
	run, err := s.stored(dir)
	if err != nil {
		return err
	}
	var writer *runstore.Writer
	if run != nil {
		writer, err = runstore.Open(dir)
	} else if err = mustBeEmpty(dir); err == nil {
		writer, err = e.create(ctx, dir, s.file, s.text, s.file.SearchPlan(), began)
	}
	if err != nil {
		return err
	}
	defer writer.Close()
	if run != nil {
		say.Say("%s: %s stored in %s", s.file.Experiment, tuning.Counted(len(s.trials.Trials(run)), "trial"), dir)
	}
	launcher, err := e.launcher(s.file, s.file.LaunchPlan(), dir)
	if err != nil {
		return err
	}
	if local, is := launcher.(*runner.Local); is {
		if err := local.Enter(ctx); err != nil { // or it would count as the failure of a trial
			return err
		}
	}
	return e.run(ctx, s.file, writer, launcher, began)
}

// stored returns the run in the directory of a search, or nil if there is none.
func (s *optimization) stored(dir string) (*runstore.Run, error) {
	run, err := runstore.Read(dir)
	if errors.Is(err, runstore.ErrNoRun) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return run, s.trials.CheckTerms(run)
}

// searchResult is the JSON of a search on a cluster. Used is null if no configuration held.
type searchResult struct {
	*optimize.Result
	Used *runner.Used `json:"used"`
}

// conclude shows the result of the trials and stores it in the run directory.
func (o *optimizeOptions) conclude(s *optimization, deadline time.Time, out io.Writer) error {
	dir := o.directory(s.file)
	run, err := s.stored(dir)
	if err != nil {
		return err
	}
	finished := s.trials.Trials(run)
	late := !deadline.IsZero() && time.Now().After(deadline)
	if len(finished) == 0 {
		return errors.New("no trial has finished; run the same command again, with a longer --time-limit")
	}
	result, err := s.search.Result(finished)
	if err != nil {
		return err
	}
	shown := searchResult{Result: result}
	var findings []string
	if result.Best != nil {
		used := s.trials.Used(run, result.Best.Point)
		shown.Used, findings = &used, used.Findings()
	}
	d := s.document(result, findings...)
	if err := errors.Join(o.show.write(out, shown, d), s.store(dir, shown, d), s.trials.Record(run)); err != nil {
		return err
	}
	left := len(s.trials.Left(run))
	switch {
	case late && (o.grid && left > 0 || !o.grid && !result.Proven):
		return fmt.Errorf("the time limit has passed; run the same command again to continue (--out %s)", dir)
	case !o.grid:
		return ending(result)
	case left > 0:
		return fmt.Errorf("%d of %d configurations of the grid could not be measured", left, s.search.Configurations())
	}
	return nil
}

// store writes a result into the run directory: report, figures, and the best configuration as a settings file.
func (s *optimization) store(dir string, result searchResult, d *document.Document) error {
	report := filepath.Join(dir, runstore.ReportDir)
	page, err := d.HTML()
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	var text bytes.Buffer
	if err := printJSON(&text, result); err != nil {
		return err
	}
	files := map[string][]byte{"search.html": page, "search.json": text.Bytes(), "search.md": []byte(d.Markdown("figures"))}
	if result.Best != nil {
		files[filepath.Join("..", bestFile)] = []byte(result.BestText(s.file.Experiment))
	}
	if err := os.MkdirAll(report, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(report, name)
		if err := disk.WriteAside(disk.System{}, filepath.Dir(path), path, content); err != nil {
			return err
		}
	}
	return chart.WriteFigures(d.Drawings(), filepath.Join(report, "figures"))
}

// foresee prints what a dry run finds.
func (o *optimizeOptions) foresee(s *optimization, out io.Writer) (err error) {
	run := &runstore.Run{}
	var finished []optimize.Trial
	if s.trials != nil {
		stored, err := s.stored(o.directory(s.file))
		if err != nil {
			return err
		}
		run = cmp.Or(stored, run)
		finished = s.trials.Trials(run)
	}
	var outlook optimize.Outlook
	if o.grid {
		outlook = s.search.GridOutlook(len(finished), s.trials.Left(run), s.trialSeconds)
	} else if outlook, err = s.search.Outlook(finished, s.trialSeconds); err != nil {
		return err
	}
	if o.show.output == "json" {
		return printJSON(out, outlook)
	}
	_, err = io.WriteString(out, outlook.Text(s.file.Experiment, o.directory(s.file)))
	return err
}
