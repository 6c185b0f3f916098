package main

import (
	"github.com/spf13/cobra"

	loadhosts "github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/load/hosts"
)

func newLoadClientCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "client",
		Short: "Ask a part of an experiment's queries, as tune run orders",
		Long: `Ask a part of an experiment's queries. tune run starts it on each of launch.load.hosts by launch.load.command: it takes orders from stdin, a line
of JSON each, and writes what becomes of its queries to stdout, until its orders end. Its queries end with it.`,
		Example: `  ssh load1.example bullet-metrics load client`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return loadhosts.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
