package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/heap"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

func newServeCommand() *cobra.Command {
	c := config.Default()
	var file string
	var check bool
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run the collector: receive samples over gRPC, store them, and answer PromQL over HTTP",
		Long: `Run the collector.

The collector receives samples from Storm plugins over gRPC and acknowledges them once they are on disk. It aggregates
them into time slices, stores the slices, and answers PromQL over HTTP. On SIGTERM it writes everything to the stores
and exits.

SIGHUP or POST /-/reload reads the rules, the token files and the web configuration again. If one of them is invalid,
nothing is applied. The log and the answer name changed settings that need a restart.

--check starts nothing. It validates the settings and every file that they name, and tests whether the listen
addresses are free. It also calls the stores, the Alertmanagers and Nimbus, and compares the disk with the limits. The
exit code is 2 if a setting or a file is wrong, 1 if something cannot be reached or obtained, and 0 otherwise.

Each setting is a flag (--slice-width), an environment variable (BULLET_METRICS_SLICE_WIDTH) and a key of the --config
file (slice.width). Flags take precedence over variables, and variables over the file. Limits on disk that are not set
are at most a tenth of the data directory's disk. Limits in memory that are not set fit into the memory limit of the
cgroup (or GOMEMLIMIT).

A token file has one entry per line: WHO SCOPES [TOPOLOGY ...]. Lines that begin with # are comments.

- WHO is cert:NAME, user:NAME, or the SHA-256 of a token in hex (printf %s "$TOKEN" | sha256sum).
- SCOPES is read, write, read,write or none.
- Without a TOPOLOGY, the entry applies to all topologies.

For example:

  9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  write       bullet
  cert:storm-worker-1                                               write       bullet other
  user:grafana                                                      read`,
		Example: `  bullet-metrics serve --data-dir /var/lib/bullet-metrics
  bullet-metrics serve --config /etc/bullet-metrics.yaml --check
  bullet-metrics serve --config /etc/bullet-metrics.yaml --log-level debug`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			read := func() (configured, error) { return readSettings(cmd, file, c.Clone()) }
			now, err := read()
			if check {
				return checkServe(cmd.Context(), now.Config, now.lines, err, now.tooLarge, cmd.OutOrStdout())
			}
			if err != nil {
				return usageError{err}
			}
			logger := now.Secrets().Logger(newLogger(now.Log))
			logger.Info("limits on disk", "journal.max_bytes", now.Journal.MaxBytes, "store.embedded.retention_bytes",
				now.Embedded.RetentionBytes, "disk_bytes", now.disk)
			logger.Info("limits in memory", "heap_bytes", now.heap, "series", mostSeries(now.Config),
				"limits.series_per_topology", now.Limits.SeriesPerTopology,
				"limits.open_samples", now.Limits.OpenSamples, "limits.streams", now.Limits.Streams,
				"limits.batch_bytes", now.Limits.BatchBytes, "query.max_samples", now.Query.MaxSamples)
			for _, warning := range now.tooLarge {
				logger.Warn(warning)
			}
			return now.lines.Locate(serve(cmd.Context(), now.Config, read, logger))
		},
	}
	command.Flags().Var(textfile.PathFlag(&file, ""), "config",
		"YAML file with settings; flags take precedence over it")
	command.Flags().BoolVar(&check, "check", false,
		"validate the configuration and everything it refers to, report every problem, and exit")
	config.AddFlags(command.Flags(), &c)
	command.SetUsageFunc(serveUsage)
	return command
}

// readSettings fills c, which has what the flags say, from the file, where there is one, and returns all that is wrong
// with the whole.
func readSettings(cmd *cobra.Command, file string, c config.Config) (read configured, err error) {
	var lines config.Lines
	if file != "" {
		given := func(s config.Setting) bool { return cmd.Flags().Changed(s.Flag()) }
		lines, err = config.LoadFile(file, config.Settings(&c), given)
	}
	err = errors.Join(err, lines.Locate(c.Validate()))
	err = c.Secrets().HideError(namingVariables(cmd, err))
	given := func(key string) bool { return lines.Has(key) || cmd.Flags().Changed(flagOf(key)) }
	disk := fitDisk(&c, given)
	heap, tooLarge := heap.Most(), []string(nil)
	if heap > 0 {
		tooLarge = c.FitMemory(heap, given) // what was set and does not fit
	}
	return configured{c, lines, disk, heap, tooLarge}, err
}

// flagOf is the flag of a setting's key.
func flagOf(key string) string { return config.Setting{Key: key}.Flag() }

// fitDisk lowers what bounds nobody has set to the data directory's disk, and returns the disk's size in bytes; 0 where
// it is not known, as where there is no such path yet that could be made: then opening it fails.
func fitDisk(c *config.Config, given func(key string) bool) int64 {
	_, size, err := disk.System{}.Free(datadir.Existing(c.DataDir))
	if err != nil {
		return 0
	}
	c.FitDisk(int64(size), given)
	return int64(size)
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

// serve runs a collector until ctx is done, then closes it within the time that the settings give. At SIGHUP it reloads
// what read then has.
func serve(ctx context.Context, c config.Config, read func() (configured, error), logger *slog.Logger) error {
	defer heap.Tend()()
	hangups := make(chan os.Signal, 1) // before anything else: the signal ends no start
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	col, err := openCollector(c, logger)
	if err != nil {
		return err
	}
	logger.Info("collector is up", "version", version, "grpc", col.grpcListener.Addr(), "http", col.httpListener.Addr(),
		"data", c.DataDir)
	col.reloads.read = read
	failed := col.start()
	col.run(&col.reloading, func(ctx context.Context) error { return col.reloads.run(ctx, hangups) })
	var cause error
	select {
	case <-ctx.Done():
		logger.Info("closing: writing accepted samples to the stores", "timeout", c.Shutdown)
	case cause = <-failed:
		logger.Error("closing after a failure", "error", cause)
	}
	if err := errors.Join(cause, within(ctx, c.Shutdown, col.close)); err != nil {
		return fmt.Errorf("serve: %w", c.Secrets().HideError(err))
	}
	logger.Info("closed")
	return nil
}

// serveGroups are the groups of serve's flags, by what their names begin with; the last takes what no other does.
var serveGroups = []struct {
	title    string
	prefixes []string
}{
	{"Common flags", []string{"config", "check", "data-dir", "grpc-listen", "http-listen", "http-external-url"}},
	{"Security (docs/security.md)", []string{"grpc-", "http-"}},
	{"Slices", []string{"slice-"}},
	{"Disk", []string{"journal-", "store-embedded-"}},
	{"Network stores (docs/stores)", []string{"store-"}},
	{"Rules and alerts (docs/alerting.md)", []string{"rules-", "alertmanager-", "nimbus-"}},
	{"Query limits", []string{"query-"}},
	{"Sender limits", []string{"limits-"}},
	{"Process", nil},
}

// serveUsage prints the flags in groups: there are some fifty.
func serveUsage(command *cobra.Command) error {
	out := command.OutOrStderr()
	fmt.Fprintf(out, "Usage:\n  %s\n\nExamples:\n%s\n", command.UseLine(), command.Example)
	for i, flags := range grouped(command.LocalFlags()) {
		if flags.HasAvailableFlags() {
			fmt.Fprintf(out, "\n%s:\n%s", serveGroups[i].title, flags.FlagUsagesWrapped(helpColumns))
		}
	}
	return nil
}

// grouped is each group's flags; each flag is in the first that takes it.
func grouped(all *pflag.FlagSet) []*pflag.FlagSet {
	sets := make([]*pflag.FlagSet, len(serveGroups))
	for i := range sets {
		sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
		sets[i].SortFlags = false
	}
	all.VisitAll(func(f *pflag.Flag) { sets[groupOf(f.Name)].AddFlag(f) })
	return sets
}

func groupOf(name string) int {
	for i, group := range serveGroups {
		for _, prefix := range group.prefixes {
			if name == prefix || strings.HasSuffix(prefix, "-") && strings.HasPrefix(name, prefix) {
				return i
			}
		}
	}
	return len(serveGroups) - 1
}
