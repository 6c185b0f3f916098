package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/datadir"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/blocks"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

// blockExport is what of a data directory is written where.
type blockExport struct {
	dataDir, out string
	start, end   string
}

func newExportCommand() *cobra.Command {
	command := &cobra.Command{Use: "export", Short: "Export the slices of a data directory to another program"}
	var e blockExport
	var data dataDirFlag
	blocks := &cobra.Command{
		Use:   "blocks [DIR]",
		Short: "Write slices as Prometheus blocks, for promtool, Thanos and Mimir",
		Long: `Write the slices of a data directory as Prometheus blocks of two hours each, oldest first.

No collector may use the directory: stop the collector, or export a copy. Native histograms and gap markers are kept.
Copy the blocks into the data directory of Prometheus, or upload them to Thanos or Mimir. "promtool tsdb list DIR"
lists them.`,
		Example: `  bullet-metrics export blocks --data-dir /var/lib/bullet-metrics --out blocks
  bullet-metrics export blocks --data-dir data --out blocks --start 2026-11-01T00:00:00Z --end 2026-11-02T00:00:00Z`,
		Args: dataDirArgument,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if e.dataDir, err = data.oneDataDir(cmd, args); err != nil {
				return err
			}
			if e.out == "" {
				return usageError{errors.New("--out is required: the directory for the blocks")}
			}
			return e.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	data.addFlag(blocks.Flags())
	blocks.Flags().Var(textfile.PathFlag(&e.out, ""), "out", "directory for the blocks; created if missing; required")
	blocks.Flags().StringVar(&e.start, "start", "", "first time: Unix seconds or RFC 3339 (default the oldest slice)")
	blocks.Flags().StringVar(&e.end, "end", "", "last time: Unix seconds or RFC 3339 (default the newest slice)")
	command.AddCommand(blocks)
	return command
}

func (e blockExport) run(ctx context.Context, out io.Writer) (err error) {
	store, err := datadir.OpenStore(e.dataDir)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() { err = errors.Join(err, within(ctx, 10*time.Second, store.Close)) }()
	fromMs, toMs, ok, err := e.bounds(ctx, store)
	if err != nil {
		return err
	}
	if !ok {
		_, err := fmt.Fprintf(out, "%s contains no slices in this time range\n", e.dataDir)
		return err
	}
	slices, written := 0, 0
	err = blocks.Export(ctx, store, e.out, fromMs, toMs, func(w blocks.Written) {
		if w.HasNothing {
			return
		}
		written++
		slices += w.Slices
		fmt.Fprintf(out, "%s  %s to %s  %d slices\n", filepath.Join(e.out, w.ID), stamp(w.FromMs),
			stamp(w.ToMs), w.Slices)
	})
	if err != nil {
		return fmt.Errorf("export: %w; remove %s before you retry", err, e.out)
	}
	_, err = fmt.Fprintf(out, "%d blocks, %d slices\n", written, slices)
	return err
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// bounds is the time to export; ok is false where nothing lies in it.
func (e blockExport) bounds(ctx context.Context, store sliceStore) (fromMs, toMs int64, ok bool, err error) {
	if fromMs, err = parseTime("--start", e.start, math.MinInt64); err != nil {
		return 0, 0, false, usageError{err}
	}
	if toMs, err = parseTime("--end", e.end, math.MaxInt64); err != nil {
		return 0, 0, false, usageError{err}
	}
	oldest, newest, ok, err := store.Extent(ctx)
	return max(fromMs, oldest), min(toMs, newest), ok && max(fromMs, oldest) <= min(toMs, newest), err
}

// parseTime reads seconds since 1970 or RFC 3339, as ms; a flag that was not given means otherwise.
func parseTime(flag, text string, otherwise int64) (int64, error) {
	if text == "" {
		return otherwise, nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(seconds) < 1e11 {
		return int64(seconds * 1000), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("%s %q: use Unix seconds or RFC 3339, for example 2026-11-22T08:00:00Z", flag, text)
	}
	return t.UnixMilli(), nil
}
