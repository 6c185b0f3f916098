package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/status"
)

func newStatusCommand() *cobra.Command {
	var output outputForm
	var to collectorFlags
	command := &cobra.Command{
		Use:   "status",
		Short: "Print whether a running collector is ready, its topologies, and its firing alerts",
		Long: `Print the status of a running collector: its version, whether it accepts samples, their number per second, and their
size on disk. For each topology, the command prints the workers, the filter latency and the source lag. It also lists
the alerts that fire.

A figure that is not known is "-". The exit code is 0 if the collector is ready, and 1 if it is not ready or cannot be
reached.`,
		Example: `  bullet-metrics status
  bullet-metrics status --collector https://collector.example:9320 --tls-ca ca.pem --token-file token -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked, err := to.client()
			if err != nil {
				return err
			}
			found, err := status.Read(cmd.Context(), asked, time.Now())
			if err != nil {
				return fmt.Errorf("status: %w", err)
			}
			if err := output.write(cmd.OutOrStdout(), found, found.Text()); err != nil {
				return err
			}
			if !found.Ready {
				return fmt.Errorf("status: the collector is not ready: %s", found.Reason)
			}
			return nil
		},
	}
	to.addFlags(command.Flags(), usualCollector, "HTTP address of the collector, HOST:PORT or URL")
	output.addFlag(command.Flags())
	return command
}
