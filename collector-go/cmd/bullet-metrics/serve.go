package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

func newServeCommand() *cobra.Command {
	c := config.Default()
	var file string
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the collector: take samples over gRPC, keep them, answer PromQL over HTTP",
		Long: `Run the collector.

It takes samples from Storm plugins over gRPC, acknowledges them once they are on disk, cuts them into time slices, keeps these
and answers PromQL over HTTP. SIGTERM lets it drain and close.`,
		Example: `  bullet-metrics serve --data-dir /var/lib/bullet-metrics
  bullet-metrics serve --config /etc/bullet-metrics.yaml --log-level debug`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			lines, err := readSettings(cmd, file, &c)
			if err != nil {
				return usageError{err}
			}
			return lines.Locate(serve(cmd.Context(), c, secretsOf(c).logger(newLogger(c.Log))))
		},
	}
	command.Flags().StringVar(&file, "config", "", "YAML file of settings; flags win over it")
	config.AddFlags(command.Flags(), &c)
	return command
}

// readSettings fills c from the file, where there is one, and returns what is wrong with the whole.
func readSettings(cmd *cobra.Command, file string, c *config.Config) (lines config.Lines, err error) {
	if file != "" {
		given := func(s config.Setting) bool { return cmd.Flags().Changed(s.Flag()) }
		if lines, err = config.LoadFile(file, config.Settings(c), given); err != nil {
			return lines, err
		}
	}
	return lines, secretsOf(*c).hideError(lines.Locate(c.Validate()))
}

func newLogger(c config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(strings.ToUpper(c.Level))) // the settings take known levels only
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

// serve runs a collector until ctx is done, then closes it within the time that the settings give.
func serve(ctx context.Context, c config.Config, logger *slog.Logger) error {
	defer tendGarbage()()
	col, err := openCollector(c, logger)
	if err != nil {
		return err
	}
	logger.Info("collector is up", "version", version, "grpc", col.grpcListener.Addr(), "http", col.httpListener.Addr(), "data", c.DataDir)
	failed := col.start()
	var cause error
	select {
	case <-ctx.Done():
		logger.Info("closing: taking no more, keeping what was taken", "at_most", c.Shutdown)
	case cause = <-failed:
		logger.Error("closing, since a part failed", "error", cause)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Shutdown)
	defer cancel()
	if err := errors.Join(cause, col.close(closing)); err != nil {
		return fmt.Errorf("serve: %w", secretsOf(c).hideError(err))
	}
	logger.Info("closed")
	return nil
}
