package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/stormconfig"
)

// snippetFlags are what a snippet is asked for, as typed.
type snippetFlags struct {
	storm, bullet string
	output        outputForm
	plain, tls    bool
	addresses     []string
	executors     int
}

func newStormCommand() *cobra.Command {
	return group("storm", "What Storm needs in its settings", "", newSnippetCommand())
}

func newSnippetCommand() *cobra.Command {
	var f snippetFlags
	command := &cobra.Command{
		Use:   "snippet --storm VERSION",
		Short: "Print the settings to paste so that a topology's metrics get out, each with its reason",
		Long: `Print the settings to paste so that a topology's metrics get out, each with its reason: into bullet_settings.yaml, or with --plain, for
a topology without Bullet, into storm.yaml or the topology's configuration. What the plugin sets by itself is printed as a comment.`,
		Example: `  bullet-metrics storm snippet --storm 2.8.3 --bullet 1.3.2 --address collector.example:4320 --tls
  bullet-metrics storm snippet --storm 1.2.4 --plain`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.output.check(); err != nil {
				return err
			}
			return printSnippet(cmd.OutOrStdout(), f, cmd.Flags().Changed("bullet"))
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.storm, "storm", "", "version of Storm, 1.0.3 to 2.8")
	flags.StringVar(&f.bullet, "bullet", "1.3", "version of Bullet (bullet-storm), from 0.3 on")
	flags.BoolVar(&f.plain, "plain", false, "for a topology without Bullet")
	flags.StringSliceVar(&f.addresses, "address", []string{"127.0.0.1:4320"},
		"where the collector listens for gRPC; several are tried in order")
	flags.BoolVar(&f.tls, "tls", false, "the collector speaks TLS")
	flags.IntVar(&f.executors, "executors", 0, "executors of the topology, for how many reports Storm is to keep")
	flags.StringVar(&f.output.form, "output", outputText, "text (YAML) or json")
	return command
}

// printSnippet answers a command line; all that can be wrong is the line itself.
func printSnippet(out io.Writer, f snippetFlags, bulletGiven bool) error {
	request, err := f.request(bulletGiven)
	if err != nil {
		return usageError{err}
	}
	s, err := stormconfig.For(request)
	if err != nil {
		return usageError{err}
	}
	return f.output.writeLine(out, s, s.YAML())
}

func (f snippetFlags) request(bulletGiven bool) (r stormconfig.Request, err error) {
	if f.storm == "" {
		return r, errors.New("--storm is missing: the version of Storm, such as 2.8.3")
	}
	if f.plain && bulletGiven {
		return r, errors.New("--plain is for a topology without Bullet: leave out --bullet")
	}
	r = stormconfig.Request{Plain: f.plain, Addresses: f.addresses, TLS: f.tls, Executors: f.executors}
	if r.Storm, err = stormconfig.ParseVersion(f.storm); err != nil {
		return r, fmt.Errorf("--storm: %w", err)
	}
	if r.Bullet, err = stormconfig.ParseVersion(f.bullet); err != nil {
		return r, fmt.Errorf("--bullet: %w", err)
	}
	return r, nil
}
