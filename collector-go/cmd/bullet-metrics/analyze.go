package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/document"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// analysis is a subcommand of tune analyze, in a file of its own. The page with its sample is in docs/analysis.md or
// docs/tune (analysisPages).
type analysis struct {
	name, short string
	example     string // arguments behind its name
	columns     string // of its CSV file, as the help of --input names them
	// prepare adds its own flags; check, which may be nil, and run follow once they are parsed.
	prepare func(*pflag.FlagSet) (check func() error, run analyze)
}

// analyze reads a file or the directory of a run: what is found is written as JSON, shown as a document.
type analyze func(path string) (found any, shown *document.Document, err error)

// analyses are all subcommands of tune analyze.
var analyses = []analysis{resourcesAnalysis, concurrencyAnalysis, queriesAnalysis, dataAnalysis, scalingAnalysis}

func newAnalyzeCommand() *cobra.Command {
	var commands []*cobra.Command
	for _, a := range analyses {
		commands = append(commands, a.command())
	}
	return group("analyze", "Analyze a run, or measurements in a CSV file",
		`Analyze a run, or measurements in a CSV file: verdicts, capacities and fits.

The exit code is 0 for every result, even for a table with FAIL. It is 1 if the file cannot be analyzed, and 2 for
wrong usage.`, commands...)
}

func (a analysis) command() *cobra.Command {
	path := ""
	var show presentation
	command := &cobra.Command{Use: a.name, Short: a.short, Example: "  bullet-metrics tune analyze " + a.name + " " +
		a.example, Args: noArguments}
	flags := command.Flags()
	flags.Var(textfile.PathFlag(&path, ""), "input", "run directory, or CSV file with the columns "+a.columns)
	show.addFlags(flags, "table", "json", "markdown")
	check, run := a.prepare(flags)
	command.RunE = runTune(func(*cobra.Command, []string) error {
		wrong := show.validate()
		if path == "" {
			wrong = errors.Join(errors.New("--input is missing; name a CSV file with measurements, or a run directory"), wrong)
		}
		if check != nil {
			wrong = errors.Join(wrong, check())
		}
		return wrong
	}, func(cmd *cobra.Command, _ []string) error {
		found, shown, err := run(path)
		if err != nil {
			return err
		}
		return show.write(cmd.OutOrStdout(), found, shown)
	})
	return command
}
