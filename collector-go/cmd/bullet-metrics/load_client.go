package main

import (
	"github.com/spf13/cobra"

	loadhosts "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load/hosts"
)

func newLoadClientCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "client",
		Short: "Run a part of an experiment's queries for tune run",
		Long: `Run a part of an experiment's queries for tune run.

tune run starts this command on each host of launch.load.hosts, with launch.load.command. The command reads orders
from stdin, one line of JSON each, and writes the results of its queries to stdout. At the end of stdin it abandons
its queries and exits.`,
		Example: `  ssh load1.example bullet-metrics load client`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return loadhosts.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
