package main

import (
	"archive/zip"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/replay"
)

// tourRecording is an incident of a real run. testing/cmd/record made it and says how.
//
//go:embed tour/incident.rec
var tourRecording []byte

// tourRun is the directory of a run of `make demo` with its report, as a zip file.
//
//go:embed tour/run.zip
var tourRun []byte

// tourOptions are the flags of tour.
type tourOptions struct {
	speed  float64
	start  time.Duration
	listen string
	ticks  <-chan time.Time // see scene
}

func newTourCommand() *cobra.Command {
	var o tourOptions
	command := &cobra.Command{
		Use:   "tour",
		Short: "Show a recorded incident on the page, without Storm",
		Long: `Show a recorded incident on the page. The tour needs neither Storm nor a network.

The recording is from a real Bullet topology with records from Kafka. Its workers suddenly get only a fifth of a core
each, so that the filter bolt becomes slow. Latency exceeds 200 ms and an alert fires. Then the topology is submitted
again without this limit and with four filter bolts instead of one, and recovers. The times of the recording are moved,
so that the recovery is now. Then the recording continues live for some minutes.

The collector listens on a free port of this machine. Ctrl-C ends it and removes its data.`,
		Example: `  bullet-metrics tour
  bullet-metrics tour --past 4m --speed 10`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(o.speed >= 1 && o.speed <= 1000) || o.start < 0 {
				return usageError{errors.New("--speed must be between 1 and 1000, and --past not negative")}
			}
			out := cmd.OutOrStdout()
			return tour(cmd.Context(), o, slog.New(slog.DiscardHandler), func(url string) {
				fmt.Fprintf(out, tourText, url)
			}, func() { fmt.Fprintln(out, tourEnd) })
		},
	}
	flags := command.Flags()
	flags.Float64Var(&o.speed, "speed", 1, "speed of the live part; 10 plays ten minutes in one")
	flags.DurationVar(&o.start, "past", tourStart, "part of the recording that is already past when the tour begins")
	flags.StringVar(&o.listen, "http-listen", "127.0.0.1:0", "address of the page; port 0 chooses a free port")
	return command
}

// tourStart is shortly after the recovery.
const tourStart = 16 * time.Minute

// tourText is what the tour prints. %s is the URL.
const tourText = `
The page is at %[1]s/

Look at these in order:
  1. Filter latency: it rises above the limit of 200 ms, and falls after the second submission.
  2. CPU time and wait in the receive queue: the workers got less CPU, and records waited for the filter bolt.
  3. Alerts: BulletFilterLatencyMeanHigh has ended. BulletFilterLatencyP99High ends within 3 minutes, because 1%% of the
     records were slow again after the recovery. Its "Why?" names the cause: the workers got less CPU.
     BulletWorkerRestarted remains: it tells of the second submission.
  4. The mark "Topology bullet submitted again": FilterBolt has four tasks instead of one.
  5. Experiment runs: the report of an experiment that measured how many queries a topology sustains.

Press Ctrl-C to end the tour. Its data are removed.
`

// tourEnd is what the tour prints at the end of the recording.
const tourEnd = "The recording has ended; the page shows its data until you press Ctrl-C."

// tour plays the recording, and shows it until ctx is done. It calls shown when the page has the past part, and ended
// at the end of the recording.
func tour(ctx context.Context, o tourOptions, logger *slog.Logger, shown func(url string), ended func()) error {
	events, err := replay.ReadRecording(bytes.NewReader(tourRecording))
	if err != nil {
		return err
	}
	first, last := time.UnixMilli(events[0].AtMs), time.UnixMilli(events[len(events)-1].AtMs)
	// The live part ends when the clock has reached the end of the recording.
	left := max(last.Sub(first)-o.start, 0)
	began := time.Now()
	end := began.Add(time.Duration(float64(left) / o.speed))
	source := func(p *replay.Player) (replay.Source, error) {
		return p.Recording(events, end.Sub(last).Milliseconds()), nil
	}
	runs, err := zip.NewReader(bytes.NewReader(tourRun), int64(len(tourRun)))
	if err != nil {
		return err
	}
	return view(ctx, o.listen, logger, scene{open: source, past: end.Add(-left), shown: shown, ended: ended, runs: runs,
		ticks: o.ticks,
		nowOf: func(wall time.Time) time.Time {
			return end.Add(-left + time.Duration(float64(wall.Sub(began))*o.speed))
		}})
}
