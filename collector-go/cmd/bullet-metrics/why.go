package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/client"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/diagnosis"
)

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
		return fmt.Errorf("%w; check that a collector runs at the address of --collector", err)
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
