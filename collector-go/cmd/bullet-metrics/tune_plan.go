package main

import (
	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runner"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// runsDir contains the run directories, unless a flag names another directory.
const runsDir = "out/tune"

func newTunePlanCommand() *cobra.Command {
	var runs string
	var output outputForm
	command := &cobra.Command{
		Use:   "plan FILE",
		Short: "Show what a run of an experiment would do, how long it takes, and what changed since the last run",
		Long: `Show what a run of an experiment would do: its trials and steps, and about how long it takes.

The plan also shows what changed since the last run of the same experiment, as - and + lines. It names the controlled
variables that changed. The command starts nothing and sends no requests.

If the experiment has a search section, the plan has the one configuration of topology.settings, at the target. tune
optimize --dry-run shows the trials of the search.`,
		Example: "  bullet-metrics tune plan topology/experiments/test7-small.yaml",
		Args:    oneArgument("experiment's file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := runner.NewPreview(args[0], runs)
			if err != nil {
				return err
			}
			return output.write(cmd.OutOrStdout(), p, p.Text())
		},
	}
	command.Flags().Var(textfile.PathFlag(&runs, runsDir), "runs", "directory that contains the run directories")
	output.addFlag(command.Flags())
	return command
}
