package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/runbook"
)

func newRunbookCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "runbook [ALERT]",
		Short: "Print the instructions for an alert",
		Long: `Print the instructions for an alert as Markdown. Without ALERT, print the list of all alerts.

A collector serves the same pages at /runbooks/, and its alerts link to them.`,
		Example: `  bullet-metrics runbook BulletFilterLatencyP99High
  bullet-metrics runbook BulletGCShareHigh | less`,
		ValidArgs: runbook.Names(),
		Args:      cobra.ArbitraryArgs, // so that an unknown name is wrong usage
		RunE: func(cmd *cobra.Command, args []string) error {
			markdown := runbook.Index()
			switch {
			case len(args) > 1:
				return usageError{fmt.Errorf("runbook takes one alert name, got %d arguments", len(args))}
			case len(args) == 1:
				i := slices.IndexFunc(runbook.Names(), func(name string) bool {
					return strings.EqualFold(name, args[0])
				})
				if i < 0 {
					return usageError{fmt.Errorf("no runbook %q; known runbooks: %s", args[0],
						strings.Join(runbook.Names(), ", "))}
				}
				markdown, _ = runbook.Text(runbook.Names()[i])
			}
			_, err := io.WriteString(cmd.OutOrStdout(), markdown)
			return err
		},
	}
}
