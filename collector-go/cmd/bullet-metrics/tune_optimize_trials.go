package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/experimentfile"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/searchrunner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/chart"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
)

// searchesDir is where the trials of searches are kept unless a flag names another place: each search's in a directory
// of its own.
const searchesDir = "out/optimize"

// bestFile is, below a search's directory, the best configuration as lines of a settings file.
const bestFile = "best.yaml"

// directory is where the trials are kept: a grid's apart from a search's, which is measured by it.
func (o *optimizeOptions) directory(search *searchrunner.Search) string {
	switch {
	case o.out != "":
		return o.out
	case o.grid:
		return filepath.Join(searchesDir, search.File.Name+"-grid")
	}
	return filepath.Join(searchesDir, search.File.Name)
}

// runTrials runs a search's trials, or a grid's, on a cluster, and shows what they came to.
func (o *optimizeOptions) runTrials(parent context.Context, s *optimization, out io.Writer) error {
	began, say := time.Now(), newTerminal("optimize", os.Stderr)
	ctx, hasten := onSignals(parent, say)
	player := &trialEngine{engine: engine{build: o.build, work: filepath.Join(runsDir, workDir), stack: o.stack,
		say: say, hasten: hasten}, search: s.onCluster, dir: o.directory(s.onCluster)}
	runner, err := searchrunner.NewRunner(s.onCluster, player.dir, player, say)
	if err != nil {
		return err
	}
	if o.limit > 0 {
		runner.Deadline = began.Add(o.limit)
	}
	say.Say("%s: %s kept in %s", s.file.Name, tuning.Counted(len(runner.Finished()), "trial"), player.dir)
	ended := player.enter(ctx)
	if ended == nil {
		ended = o.run(ctx, runner, s.search)
	}
	stopped := player.stop()
	if ended != nil && !errors.Is(ended, searchrunner.ErrTime) {
		say.Say("what was measured is kept; the same command goes on with it (--out %s)", player.dir)
		return errors.Join(ended, stopped)
	}
	shown := o.conclude(s, runner, out)
	if ended != nil {
		shown = errors.Join(fmt.Errorf("%w; the same command goes on (--out %s)", ended, player.dir), shown)
	}
	return errors.Join(shown, stopped)
}

func (o *optimizeOptions) run(ctx context.Context, runner *searchrunner.Runner, search *optimize.Search) error {
	if o.grid {
		return runner.Grid(ctx, search.Points())
	}
	return runner.Search(ctx, search)
}

// conclude writes what the trials came to, into their directory too.
func (o *optimizeOptions) conclude(s *optimization, runner *searchrunner.Runner, out io.Writer) error {
	finished := runner.Finished()
	if len(finished) == 0 {
		return errors.New("no trial has ended; begin again with more time")
	}
	result, err := s.search.Result(finished)
	if err != nil {
		return err
	}
	shown := trialsResult{Result: result}
	var findings []string
	if result.Best != nil {
		used := runner.Used(result.Best.Point)
		shown.Used, findings = &used, used.Findings()
	}
	account := s.account(result, findings...)
	if err := o.show.write(out, shown, account); err != nil {
		return err
	}
	if err := s.keep(o.directory(s.onCluster), shown, account); err != nil {
		return err
	}
	if !o.grid {
		return ending(result)
	}
	if left := runner.Left(s.search.Points()); left > 0 {
		return fmt.Errorf("%d of %d configurations of the grid are left", left, s.search.Configurations())
	}
	return nil
}

// trialsResult is a result with what the trials of the best used; null where nothing held.
type trialsResult struct {
	*optimize.Result
	Used *searchrunner.Used `json:"used"`
}

// keep writes a result beside the trials: report, figures, and the best as a settings file.
func (s *optimization) keep(dir string, result trialsResult, account *document.Document) error {
	report := filepath.Join(dir, runstore.ReportDir)
	page, err := account.HTML()
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	text, err := jsonOf(result)
	if err != nil {
		return err
	}
	files := map[string][]byte{filepath.Join(report, "report.html"): page,
		filepath.Join(report, "report.md"):   []byte(account.Markdown("figures")),
		filepath.Join(report, "report.json"): text}
	if result.Best != nil {
		files[filepath.Join(dir, bestFile)] = []byte(s.file.BestText(result.Result))
	}
	if err := os.MkdirAll(report, 0o755); err != nil {
		return err
	}
	for path, content := range files {
		if err := disk.WriteAside(disk.System{}, filepath.Dir(path), path, content); err != nil {
			return err
		}
	}
	return chart.WriteFigures(account.Drawings(), filepath.Join(report, "figures"))
}

// trialEngine plays trials by the engine that tune run has, on one cluster that is up from the first to the last.
type trialEngine struct {
	engine
	search   *searchrunner.Search
	dir      string
	launcher runner.Launcher // nil while there is none
}

// enter takes the place of a local cluster. On one that is there nothing is to be taken: the experiment's file has its
// address.
func (t *trialEngine) enter(ctx context.Context) error {
	plan := t.search.LaunchPlan()
	if plan.Launch != runstore.LocalLaunch {
		return nil
	}
	launcher, err := t.local(t.search.Base(), plan, t.dir)
	if err != nil {
		return err
	}
	t.launcher = launcher
	return launcher.Enter(ctx)
}

func (t *trialEngine) stop() error {
	if t.launcher == nil {
		return nil
	}
	return t.engine.stop(t.launcher, t.dir, t.search.LaunchPlan().Launch)
}

// Play implements searchrunner.Engine.
func (t *trialEngine) Play(ctx context.Context, o searchrunner.Order) (searchrunner.Outcome, error) {
	file := t.search.Experiment(o.Point)
	writer, err := t.open(ctx, file, o)
	if err != nil {
		return searchrunner.Outcome{}, err
	}
	defer writer.Close()
	run, err := runstore.Read(o.Dir)
	if err != nil {
		return searchrunner.Outcome{}, err
	}
	if run.Result == nil || run.Lacking() {
		if t.launcher == nil {
			if t.launcher, err = t.command(file, run); err != nil { // which ends what a killed one left of the trial
				return searchrunner.Outcome{}, err
			}
		}
		if _, err := t.measure(ctx, file, run, writer, t.launcher); err != nil {
			return searchrunner.Outcome{}, err
		}
		if run, err = runstore.Read(o.Dir); err != nil {
			return searchrunner.Outcome{}, err
		}
	}
	return t.search.OutcomeOf(run)
}

// open makes the run's directory of a trial, or opens that of one that was cut off.
func (t *trialEngine) open(ctx context.Context, file *experimentfile.File, o searchrunner.Order,
) (*runstore.Writer, error) {
	if _, err := os.Stat(filepath.Join(o.Dir, runstore.PlanFile)); err == nil {
		return runstore.Open(o.Dir)
	}
	return t.create(ctx, o.Dir, file, t.search.Text, t.search.Plan(o), time.Now())
}
