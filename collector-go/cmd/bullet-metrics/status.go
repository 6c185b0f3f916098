package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/diagnosis"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/runbook"
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
				return fmt.Errorf("status: %w", advised(err, ""))
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

func newWhyCommand() *cobra.Command {
	var alert, topology, at string
	var output outputForm
	var to collectorFlags
	window := diagnosis.DefaultWindow
	command := &cobra.Command{
		Use:   "why --alert NAME [--topology NAME] [--time TIME]",
		Short: "List what changed before an alert",
		Long: `Print the most likely cause of an alert and what changed before it: settings, restarts, experiment steps and metrics
with their values before and after the change. The limiting resource of the topology is printed too.

The command queries a running collector. It also finds an alert that ended within the last day.`,
		Example: `  bullet-metrics why --alert BulletFilterLatencyMeanHigh
  bullet-metrics why --alert BulletFilterLatencyMeanHigh --topology bullet --window 1h --output json
  bullet-metrics why --alert BulletFilterLatencyMeanHigh --collector https://collector.example:9320 --tls-ca ca.pem --token-file token`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if alert == "" {
				return usageError{errors.New("--alert is required: the name of an alert, as in /api/v1/alerts")}
			}
			asked, err := to.client()
			if err != nil {
				return err
			}
			form := url.Values{"alert": {alert}, "window": {window.String()}}
			for name, value := range map[string]string{"topology": topology, "time": at} {
				if value != "" {
					form.Set(name, value)
				}
			}
			return askWhy(cmd.Context(), asked, cmd.OutOrStdout(), "/api/v1/why?"+form.Encode(), output.form)
		},
	}
	to.addFlags(command.Flags(), "http://127.0.0.1:9320", "HTTP address of the collector, HOST:PORT or URL")
	command.Flags().StringVar(&alert, "alert", "", "name of the alert; required")
	command.Flags().StringVar(&topology, "topology", "",
		"name of the topology; optional if only one topology has the alert")
	command.Flags().StringVar(&at, "time", "",
		"list changes before this time: Unix seconds or RFC 3339 (default the start of the alert)")
	command.Flags().DurationVar(&window, "window", window,
		"length of the searched period; it is compared with the preceding period, which is twice as long")
	output.addFlag(command.Flags())
	return command
}

// whyTimeout bounds the request, which may read metrics of three days.
const whyTimeout = 2 * time.Minute

func askWhy(ctx context.Context, asked *client.Client, out io.Writer, path, output string) error {
	asked.Timeout = whyTimeout
	var data json.RawMessage
	var refused *client.Refusal
	switch err := asked.Get(ctx, path, &data); {
	case errors.As(err, &refused) && refused.Reason != "":
		return errors.New(refused.Reason)
	case err != nil:
		return advised(err, "")
	case output == outputJSON:
		_, err = fmt.Fprintln(out, string(data))
		return err
	}
	var answer diagnosis.Answer
	if err := json.Unmarshal(data, &answer); err != nil {
		return fmt.Errorf("unexpected answer of the collector: %w", err)
	}
	_, err := io.WriteString(out, answer.Text())
	return err
}

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
