package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/stormconfig"
)

// snippetFlags are the values of the command's flags.
type snippetFlags struct {
	storm, bullet string
	output        outputForm
	plain, tls    bool
	addresses     []string
	executors     int
}

func newSnippetCommand() *cobra.Command {
	var f snippetFlags
	command := &cobra.Command{
		Use:   "snippet --storm VERSION",
		Short: "Print the settings that a topology needs to report metrics, each with its reason",
		Long: `Print the settings that a topology needs to report metrics, each with its reason.

Paste them into bullet_settings.yaml. With --plain, for a topology without Bullet, paste them into storm.yaml or into
the topology's configuration. Settings that the plugin makes itself are printed as comments.`,
		Example: `  bullet-metrics storm snippet --storm 2.8.3 --bullet 1.3.2 --address collector.example:4320 --tls
  bullet-metrics storm snippet --storm 1.2.4 --plain`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printSnippet(cmd.OutOrStdout(), f, cmd.Flags().Changed("bullet"))
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.storm, "storm", "", "version of Storm, 1.0.3 to 2.8; required")
	flags.StringVar(&f.bullet, "bullet", "1.3", "version of Bullet (bullet-storm), 0.3 or later")
	flags.BoolVar(&f.plain, "plain", false, "print the settings for a topology without Bullet")
	flags.StringSliceVar(&f.addresses, "address", []string{"127.0.0.1:4320"},
		"gRPC address of the collector, HOST:PORT; several are tried in order")
	flags.BoolVar(&f.tls, "tls", false, "use TLS to connect to the collector")
	flags.IntVar(&f.executors, "executors", 0,
		"number of executors of the topology, which determines how many reports Storm keeps; 0 means unknown")
	f.output.addForms(flags, "output format: text (YAML) or json", outputText, outputJSON)
	return command
}

// printSnippet prints the settings for the flags. All its errors except those of out are usage errors.
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
		return r, errors.New("--storm is required, for example --storm 2.8.3")
	}
	if f.plain && bulletGiven {
		return r, errors.New("--plain cannot be combined with --bullet")
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
