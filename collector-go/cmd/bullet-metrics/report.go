package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

func newReportCommand() *cobra.Command {
	out := ""
	command := &cobra.Command{
		Use:   "report DIR",
		Short: "Write the report of a run: verdict, limiters, figures, fits",
		Long: `Write the report of a run's directory again: report.html, one file that needs nothing beside it, report.md, report.json, the figures as SVG
and PNG, and the run's tables as CSV for tune analyze and tune size.

DIR is a directory of tune run or of the demo, be its run finished, interrupted or under way, or one of a single trial. The
report says what the run came to; 0 means that it is written, whatever the verdict.`,
		Example: `  bullet-metrics tune report runs/test7
  bullet-metrics tune report out/demo --out again`,
		Args: oneDirectory,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			if out == "" {
				out = filepath.Join(dir, runstore.ReportDir)
			}
			if err := writeReportOf(dir, out); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(out, "report.html"))
			return err
		},
	}
	command.Flags().Var(textfile.PathFlag(&out, ""), "out", `directory to write into; "report" in DIR unless it is given`)
	return command
}

// oneDirectory takes the directory of a run.
func oneDirectory(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError{fmt.Errorf("%s takes one directory, that of a run, not %d", cmd.CommandPath(), len(args))}
	}
	return nil
}

// writeReportOf reports a run's directory, or that of a trial.
func writeReportOf(dir, out string) error {
	written, err := report.OpenRunReport(dir)
	if err != nil {
		return err
	}
	return written.Write(out)
}
