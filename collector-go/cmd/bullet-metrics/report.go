package main

import (
	"cmp"
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
		Short: "Write the report of a run again",
		Long: `Write the report of a run again: report.html, report.md, report.json, the figures as SVG and PNG, and tables as CSV.

report.html needs no other file. tune analyze and tune size accept the CSV files.

DIR is a directory of tune run, of the demo, or of a single trial. The run may be finished, interrupted or in
progress. The exit code is 0 if the report was written, even for the verdict FAIL.`,
		Example: `  bullet-metrics tune report runs/test7
  bullet-metrics tune report out/demo --out again`,
		Args: oneArgument("run directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := args[0]
			out = cmp.Or(out, filepath.Join(dir, runstore.ReportDir))
			written, err := report.OpenRunReport(dir)
			if err == nil {
				err = written.Write(out)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(out, "report.html"))
			return err
		},
	}
	command.Flags().Var(textfile.PathFlag(&out, ""), "out", "directory for the report (default DIR/report)")
	return command
}
