package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/replay"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/textfile"
)

func newReplayCommand() *cobra.Command {
	var dir, storm, listen string
	var serve bool
	var output outputForm
	command := &cobra.Command{
		Use:   "replay CAPTURE.jsonl... --data-dir DIR | --serve",
		Short: "Store captured metrics of Storm as if they had arrived over gRPC",
		Long: `Store captures of the metrics that Storm passed to a metrics consumer, as if they had arrived over gRPC.

A capture has one line of JSON per data point, from any version of Storm (docs/replay.md). Its field "now" is the
clock. At the end, all open slices are closed. The summary counts the data points that were stored, refused and left
out.

The directory is a collector's data directory: "bullet-metrics query" evaluates PromQL over it, and "bullet-metrics
serve" serves it.

With --serve, the command shows the captures on the page instead, with the alerts that they cause. Their times are
moved, so that they end now. Ctrl-C ends it and removes the data.`,
		Example: `  bullet-metrics replay capture.jsonl --data-dir data --output json
  bullet-metrics replay capture.jsonl --serve
  bullet-metrics query --data-dir data 'sum by (task) (storm_acked_total{component="DataSource"})'`,
		RunE: func(cmd *cobra.Command, captures []string) error {
			switch {
			case len(captures) == 0:
				return usageError{errors.New("name at least one capture; see bullet-metrics replay --help")}
			case (dir == "") == !serve:
				return usageError{errors.New("set either --data-dir, the directory to store into, or --serve")}
			case serve:
				out := cmd.OutOrStdout()
				return serveCaptures(cmd.Context(), captures, storm, listen, func(url string) {
					fmt.Fprintf(out, "The page is at %s/\nPress Ctrl-C to end. The data are removed.\n", url)
				})
			}
			return runReplay(cmd.Context(), cmd.OutOrStdout(), captures, dir, storm, output)
		},
	}
	command.Flags().Var(textfile.PathFlag(&dir, ""), "data-dir", "directory to store into; created if missing")
	command.Flags().BoolVar(&serve, "serve", false, "show the captures on the page, and store nothing")
	command.Flags().StringVar(&listen, "http-listen", "127.0.0.1:0", "address of the page; port 0 chooses a free port")
	output.addFlag(command.Flags())
	command.Flags().StringVar(&storm, "storm-version", "",
		"Storm release of captures that do not state it, such as 2.2.0 (default derived from the metrics)")
	return command
}

// serveCaptures shows captures on the page until ctx is done. Their times are moved, so that they end now.
func serveCaptures(ctx context.Context, captures []string, storm, listen string, shown func(url string)) error {
	endMs, err := replay.EndMs(captures)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	files, closeFiles, err := replay.Open(captures)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer closeFiles()
	now := time.Now()
	source := func(p *replay.Player) (replay.Source, error) {
		p.Storm, p.ShiftMs = storm, now.UnixMilli()-endMs
		return p.Captures(files...)
	}
	logger := newLogger(config.Log{Level: "warn", Format: "text"})
	return view(ctx, listen, logger, scene{open: source, past: now, shown: shown,
		nowOf: func(wall time.Time) time.Time { return wall }})
}

// runReplay prints what became of the captures, also where some of their lines could not be read.
func runReplay(ctx context.Context, out io.Writer, captures []string, dir, storm string, output outputForm) error {
	files, closeFiles, err := replay.Open(captures)
	if err != nil {
		return fmt.Errorf("replay: %w", err)
	}
	defer closeFiles()
	c := config.Default()
	c.DataDir, c.Embedded.RetentionTime, c.Embedded.RetentionBytes = dir, 0, 0 // a replay deletes nothing
	p, err := openReplay(c, newLogger(config.Log{Level: "warn", Format: "text"}))
	if err != nil {
		return fmt.Errorf("replay into %s: %w", dir, err)
	}
	summary, outcome, err := p.play(ctx, files, storm)
	if err != nil {
		return fmt.Errorf("replay into %s: %w", dir, err)
	}
	if err := output.writeLine(out, summary, summary.Text()); err != nil {
		return err
	}
	return outcome.Err()
}

// replaying is a collector without a wire and without a page, whose clock is the captures'.
type replaying struct {
	col    *collector
	clock  *replay.Clock
	before feed.Accounting

	earlier map[string][]replay.Run
}

func openReplay(c config.Config, logger *slog.Logger) (*replaying, error) {
	p := &replaying{col: &collector{logger: logger, failed: make(chan error, 5), replay: replay.NewIntake()},
		clock: &replay.Clock{}}
	err := p.col.openData(c, prometheus.NewRegistry())
	if err == nil {
		taking := ingest.DefaultOptions()
		taking.Now, taking.MaxTopologySeries, taking.Logger = p.clock.Now, c.Limits.SeriesPerTopology, logger
		p.col.ingest, err = ingest.New(p.col.journal, taking)
	}
	if err != nil {
		return nil, errors.Join(err, p.col.release(context.Background()))
	}
	p.before, p.earlier = p.col.feed.Accounting(), replay.RunsOf(p.col.known)
	return p, nil
}

// play stores captures and closes the directory.
func (p *replaying) play(ctx context.Context, files []*replay.File, storm string) (
	*replay.Summary, replay.Outcome, error) {
	col := p.col
	col.run(&col.feeder, col.feed.Run)
	col.run(&col.registrar, col.known.Run)
	player := replay.New(col.ingest, col.journal, p.clock, col.logger)
	player.Earlier, player.Storm = p.earlier, storm
	outcome, err := player.Play(ctx, files...)
	err = errors.Join(err, col.journal.Close())
	for _, reader := range []*task{&col.feeder, &col.registrar} {
		reader.wait(ctx) // the journal's end is its own
		reader.cancel()
		<-reader.done
	}
	select {
	case failed := <-col.failed:
		err = errors.Join(err, failed)
	default:
	}
	after := col.feed.Accounting()
	if err == nil {
		err = ctx.Err() // ended while the store was given the rest
	}
	if err = errors.Join(err, within(ctx, time.Minute, col.release)); err != nil {
		return nil, outcome, err
	}
	summary := replay.Summarize(outcome, p.before, after, col.feed)
	summary.Metrics = col.replay.Metrics()
	return summary, outcome, errors.Join(summary.Check(), col.replay.Check())
}
