package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/compare"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
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

func newCompareCommand() *cobra.Command {
	var show presentation
	regression := 0.0
	command := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Compare two runs, with confidence intervals",
		Long: `Compare two runs: their configurations, and the figures of each step that both measured.

Changes of the configuration are - and + lines, together with the controlled variables that changed. The figures are
CPU, garbage collection, heap, latencies and results. Each change has its confidence interval.

BEFORE and AFTER are directories of tune run, of the demo, or of a trial (to compare two configurations of one run).

The exit code is 0, however much changed. With --fail-on-regression it is 99 if the whole interval of a figure is
worse by more than that percentage, or if the capacity is. The interval includes the variation between launches. A
baseline with fewer than 3 launches therefore proves no regression: the result is "not provable", and the exit code is
0.`,
		Example: `  bullet-metrics tune compare runs/little-heap runs/much-heap --figures figures
  bullet-metrics tune compare runs/baseline runs/new --fail-on-regression 10
  bullet-metrics tune compare runs/test4/trials/01-heap-96-MiB runs/test4/trials/02-heap-384-MiB --output markdown`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError{fmt.Errorf("%s takes two directories, before and after, not %d",
					cmd.CommandPath(), len(args))}
			}
			return nil
		},
	}
	flags := command.Flags()
	show.addFlags(flags, "table", "json", "markdown", "html")
	confidence := addConfidence(flags)
	flags.Float64Var(&regression, "fail-on-regression", math.NaN(),
		"exit with code 99 if a figure is proven to be worse by more than this percentage; if not set, never")
	flags.Lookup("fail-on-regression").DefValue = "0" // so that the help shows no default
	command.RunE = runTune(func(*cobra.Command, []string) error {
		var wrong error
		if regression < 0 || math.IsInf(regression, 0) {
			wrong = errors.New("--fail-on-regression must be at least 0")
		}
		return errors.Join(show.validate(), tuning.CheckConfidence(*confidence), wrong)
	}, func(cmd *cobra.Command, args []string) error {
		c, err := report.Compare(args[0], args[1], *confidence)
		if err != nil {
			return err
		}
		if !math.IsNaN(regression) {
			guard := c.Comparison.Guard(regression / 100)
			c.Guard = &guard
		}
		if err := show.write(cmd.OutOrStdout(), c, c.Document()); err != nil {
			return err
		}
		if c.Guard != nil && c.Guard.Verdict == compare.Regressed {
			return missed("worse than --fail-on-regression allows: " + strings.Join(c.Guard.Regressions, "; "))
		}
		return nil
	})
	return command
}
