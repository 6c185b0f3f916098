package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/replay"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
)

// viewer is a collector whose data are played into it and looked at on its page. Its clock is that of the data. It
// evaluates the rules until shortly after the end of the data, and deletes nothing.
type viewer struct {
	col    *collector
	player *replay.Player
	source replay.Source
	every  time.Duration // between two evaluations of the rules
}

// scene is what view shows.
type scene struct {
	open  func(*replay.Player) (replay.Source, error)
	past  time.Time                      // up to which the source is played at once
	nowOf func(wall time.Time) time.Time // the source's time after that
	runs  fs.FS                          // runs of experiments; nil if there are none
	shown func(url string)               // called once the page has the past part
	ended func()                         // called once the source has ended; may be nil
	ticks <-chan time.Time               // when to go on after the past part; nil for once a second
}

// afterEnd is how long the clock and the rules continue after the end of a source. The rules read the last samples up
// to 41 s after their time. Then both stop, because alerts about missing samples would only report the end of the
// source.
const afterEnd = time.Minute

// view shows a scene on a page until ctx is done. Its data are in a directory that it removes.
func view(ctx context.Context, listen string, logger *slog.Logger, s scene) error {
	dir, err := os.MkdirTemp("", "bullet-metrics-view-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := config.Default()
	c.DataDir, c.Embedded.RetentionTime, c.Embedded.RetentionBytes = filepath.Join(dir, "data"), 0, 0
	c.GRPC.Listen, c.HTTP.Listen = "127.0.0.1:0", listen
	if s.runs != nil {
		c.Runs.Dir = filepath.Join(dir, "runs")
		if err := os.CopyFS(c.Runs.Dir, s.runs); err != nil {
			return err
		}
	}
	if err := c.Validate(); err != nil {
		return usageError{fmt.Errorf("--http-listen: %w", err)}
	}
	clock := &replay.Clock{}
	col, err := openCollectorWith(c, logger, newFigures(), clock)
	if err != nil {
		return err
	}
	v := &viewer{col: col, player: replay.New(col.ingest, col.journal, clock, logger), every: c.Rules.Interval}
	if v.source, err = s.open(v.player); err == nil {
		err = v.run(ctx, s)
	}
	return errors.Join(err, within(ctx, 10*time.Second, col.close))
}

func (v *viewer) run(ctx context.Context, s scene) error {
	col := v.col
	col.startup = feed.NewStartup(0, col.position)
	col.run(&col.feeder, col.feed.Run)
	col.run(&col.registrar, col.known.Run)
	col.run(&col.page, func(ctx context.Context) error { return col.http.Run(ctx, col.httpListener) })
	judged, more := v.source.Next()
	for ; more && judged.Before(s.past); judged = judged.Add(v.every) {
		if err := v.playTo(ctx, judged, true); err != nil {
			return ignoreEnd(ctx, err)
		}
	}
	col.startup.Finish()
	s.shown("http://" + col.httpListener.Addr().String())
	ticks := s.ticks
	if ticks == nil {
		ticks = time.Tick(time.Second)
	}
	var end time.Time // of the source; zero before it has ended
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-col.failed:
			return err
		case now := <-ticks:
			at := s.nowOf(now)
			if _, more := v.source.Next(); !more && end.IsZero() {
				if end = at; s.ended != nil {
					s.ended()
				}
			}
			if !end.IsZero() && at.Sub(end) > afterEnd {
				continue
			}
			judge := at.Sub(judged) >= v.every
			if judge {
				judged = at
			}
			if err := v.playTo(ctx, at, judge); err != nil {
				return ignoreEnd(ctx, err)
			}
		}
	}
}

// ignoreEnd returns nil if an error comes from the end of ctx, which is how a viewer ends.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// playTo plays the source up to a time. With judge, it evaluates the rules once all slices that are closed by then are
// stored.
func (v *viewer) playTo(ctx context.Context, at time.Time, judge bool) error {
	if err := v.player.PlayUntil(ctx, v.source, at.UnixMilli()); err != nil || !judge {
		return err
	}
	// The feed hands over at a tick what came before it, and is then beyond that. After the tick, the journal may still
	// record ids that it forgot.
	end := uint64(v.col.journal.Durable())
	v.col.tick(at)
	if !feed.NewStartup(end+1, v.col.position).Replay(ctx) {
		return ctx.Err()
	}
	return v.col.rules.EvaluateAt(ctx, at)
}
