package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/exit"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/optimize"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/study"
)

func newTuneOptimizeCommand() *cobra.Command {
	var show presentation
	var simulate string
	var dry bool
	command := &cobra.Command{
		Use:   "optimize FILE",
		Short: "The cheapest configuration that holds a load, proven, on a space given as data",
		Long: `Find the cheapest configuration that holds a load: propose a trial, judge it, and go on until all that is cheaper failed or is no easier than
what failed, or the budget is used up. FILE states the target, the budget and what may be tried.

Trials are taken from a space given as data (--simulate): measured rows, or a formula. Trials on a cluster are not run yet.

The exit code is 0 where the best is proven, 99 where it is proven that no configuration of the space holds the target, and 1 where something is open.`,
		Example: `  bullet-metrics tune optimize topology/experiments/optimize/test7.yaml --simulate topology/experiments/optimize/test7-space.yaml
  bullet-metrics tune optimize topology/experiments/optimize/test7.yaml --simulate topology/experiments/optimize/test7-space.yaml --dry-run`,
		Args: oneArgument("search's file"),
	}
	flags := command.Flags()
	show.addFlags(flags, "text", "json", "markdown", "html")
	flags.StringVar(&simulate, "simulate", "", "file of a space as data, from which trials are taken")
	flags.BoolVar(&dry, "dry-run", false, "show what it would try first and about how long it takes, and try nothing")
	command.RunE = func(cmd *cobra.Command, args []string) error {
		return runTune(func() error {
			switch {
			case simulate == "":
				return errors.New("--simulate is missing: trials on a cluster are not run yet; name a space given as data (docs/optimize.md), or tune by hand with tune run")
			case dry && show.output != "text" && show.output != "json":
				return errors.New("--dry-run is shown as text or json")
			}
			return show.validate()
		}, func(out io.Writer) error {
			o, err := readOptimization(args[0], simulate)
			if err != nil {
				return err
			}
			if dry {
				return o.foresee(out, show.output)
			}
			return o.run(out, &show)
		})(cmd, nil)
	}
	return command
}

// optimization is a search with where its trials are from.
type optimization struct {
	file   *study.File
	from   *optimize.Simulation
	search *optimize.Search
	unit   string
}

func readOptimization(path, space string) (*optimization, error) {
	file, err := study.ReadFile(path)
	if err != nil {
		return nil, err
	}
	data, err := study.ReadSpace(space)
	if err != nil {
		return nil, err
	}
	from, err := file.Simulation(data)
	if err != nil {
		return nil, err
	}
	search, err := optimize.New(from.Space, from.Target, file.Options())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &optimization{file, from, search, file.Unit(data)}, nil
}

func (o *optimization) run(out io.Writer, show *presentation) error {
	trials, err := optimize.Simulate(o.search, o.from)
	if err != nil {
		return err
	}
	result, err := o.search.Result(trials)
	if err != nil {
		return err
	}
	var start map[string]any
	if p := o.from.Space.Start; p != nil {
		start = o.from.Space.Configured(p)
	}
	if err := show.write(out, result, o.file.Account(result, start, o.unit)); err != nil {
		return err
	}
	switch {
	case !result.Proven:
		return errors.New(study.Outcome(result) + "; give a larger budget or more repeats, or see what is open")
	case result.Best == nil:
		return noneHolds{study.Outcome(result)}
	}
	return nil
}

// noneHolds is that the target was missed by the whole space.
type noneHolds struct{ outcome string }

func (e noneHolds) Error() string { return e.outcome }

// ExitCode says that a goal was missed.
func (noneHolds) ExitCode() int { return exit.Missed }

// foreseen is what a dry run shows.
type foreseen struct {
	Configurations int            `json:"configurations"`
	First          map[string]any `json:"first"`
	Why            string         `json:"why"`
	// AboutTrials is how many there are if each comes out as the model expects and none is repeated.
	AboutTrials  int     `json:"about_trials"`
	TrialSeconds float64 `json:"trial_s"`
	AboutSeconds float64 `json:"about_s"`
	// MostTrials and MostSeconds are the budget's, 0 for none.
	MostTrials  int     `json:"at_most_trials"`
	MostSeconds float64 `json:"at_most_s"`
}

func (o *optimization) foresee(out io.Writer, form string) error {
	way, err := o.search.Foresee()
	if err != nil {
		return err
	}
	budget, first := o.file.Options().Budget, way[0]
	f := foreseen{o.search.Configurations(), o.from.Space.Configured(first.Point), first.Why, len(way), o.from.TrialSeconds, float64(len(way)) * o.from.TrialSeconds, budget.Trials, budget.Seconds}
	if form == "json" {
		return printJSON(out, f)
	}
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("%s: %d configurations may be tried", o.file.Name, f.Configurations)
	line("  first: %s (%s)", o.from.Space.Text(first.Point), f.Why)
	line("  about %d trials of %s: %s, if each comes out as the model expects before it; those that noise could have turned are repeated", f.AboutTrials, study.Took(f.TrialSeconds), study.Took(f.AboutSeconds))
	if f.MostTrials > 0 {
		line("  at most %d trials", f.MostTrials)
	}
	if f.MostSeconds > 0 {
		line("  at most %s", study.Took(f.MostSeconds))
	}
	_, err = io.WriteString(out, text.String())
	return err
}
