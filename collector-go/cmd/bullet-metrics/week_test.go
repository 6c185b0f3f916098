package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/replay"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/config"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/poll"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/goal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/bench/traffic"
)

var (
	weekWorkers = flag.Int("week.workers", 4, "the workers of TestAWeekIsFlat; each topology has two")
	weekKeep    = flag.Bool("week.keep", false, "let the store of TestAWeekIsFlat keep the week, as it does by default")
)

const day = 24 * time.Hour

// TestAWeekIsFlat plays recorded traffic for a simulated week into a whole collector, rules included. From the second
// day on, all topologies are submitted again twice a day, twelve times in all. Memory, files and the bytes written per
// day must not rise after the third day. By default the store keeps a day, so that its files are bounded within the
// week.
func TestAWeekIsFlat(t *testing.T) {
	if os.Getenv("BULLET_METRICS_LONG") == "" {
		t.Skip("make test-long runs this test: it takes minutes")
	}
	w, began := newWeek(t), time.Now()
	var days []weekDay
	for n := range 7 {
		for _, part := range []time.Duration{day / 4, day / 2} {
			w.play(part)
			if n >= 1 {
				w.submit()
			}
		}
		w.play(day / 4)
		days = append(days, w.measure())
		w.t.Logf("day %d after %v: %v", n+1, time.Since(began).Round(time.Second), days[n])
	}
	require.NoError(t, flat(days, *weekKeep))
	_, newestMs, _, err := w.col.store.Extent(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, w.now, time.UnixMilli(newestMs), time.Minute, "the newest slice in the store")
}

// weekDay is what a collector has at the end of a day.
type weekDay struct {
	heap, resident, stored, written float64 // bytes; written since the day before
	files, series                   float64
}

func (d weekDay) String() string {
	const mb = 1e6
	return fmt.Sprintf("heap %.1f MB, resident %.1f MB, %.0f files of %.1f MB, %.1f MB written, %.0f series",
		d.heap/mb, d.resident/mb, d.files, d.stored/mb, d.written/mb, d.series)
}

// flat returns an error for each measure that is more than a tenth higher on one of the days 4 to 7 than on day 3. If
// the store deletes nothing within the week, files and stored bytes may rise by as much on each day as on day 3.
func flat(days []weekDay, growing bool) (all error) {
	for _, measure := range []struct {
		name  string
		of    func(weekDay) float64
		grows bool
	}{
		{"live heap", func(d weekDay) float64 { return d.heap }, false},
		{"bytes written per day", func(d weekDay) float64 { return d.written }, false},
		{"series in the journal", func(d weekDay) float64 { return d.series }, false},
		{"files", func(d weekDay) float64 { return d.files }, growing},
		{"bytes in the data directory", func(d weekDay) float64 { return d.stored }, growing},
	} {
		at := func(day int) float64 {
			if measure.grows {
				return measure.of(days[day-1]) - measure.of(days[day-2])
			}
			return measure.of(days[day-1])
		}
		for day := 4; day <= len(days); day++ {
			if at(day) > 1.1*at(3) {
				all = errors.Join(all, fmt.Errorf("%s rose from %.4g on day 3 to %.4g on day %d, which is more than 10%%",
					measure.name, at(3), at(day), day))
				break
			}
		}
	}
	return all
}

func TestFlatNamesWhatRises(t *testing.T) {
	var days []weekDay
	for n := range 7 {
		days = append(days, weekDay{heap: 100, written: 100, series: 100, files: 10, stored: 100 + 10*float64(n)})
	}
	assert.NoError(t, flat(days, true), "the store grows by the same each day")
	assert.ErrorContains(t, flat(days, false), "bytes in the data directory rose from 120 on day 3 to 140 on day 5")
	days[6].heap = 111
	assert.ErrorContains(t, flat(days, true), "live heap rose from 100 on day 3 to 111 on day 7")
	days[5].stored += 2
	assert.ErrorContains(t, flat(days, true), "bytes in the data directory rose from 10 on day 3 to 12 on day 6")
}

// week is a collector in simulated time with topologies that send recorded traffic.
type week struct {
	t       *testing.T
	now     time.Time // simulated
	dir     string
	figures *prometheus.Registry
	col     *collector
	clock   *replay.Clock
	player  *replay.Player
	ticks   replay.Source // it has no samples, only time

	recording     *traffic.Recording
	runs          []*traffic.Run // one per topology
	senders       []*ingest.Local
	submissions   int
	writtenBefore float64   // bytes, up to the last measurement
	files, stored []float64 // at each hour since then
}

func newWeek(t *testing.T) *week {
	w := &week{t: t, dir: t.TempDir(), figures: newFigures(), clock: &replay.Clock{},
		now: time.Now().UTC().Truncate(day).Add(-8 * day), runs: make([]*traffic.Run, *weekWorkers/2),
		senders: make([]*ingest.Local, *weekWorkers/2)}
	var err error
	w.recording, err = traffic.Read("tour/incident.rec", time.Hour)
	require.NoError(t, err)
	c := config.Default()
	c.DataDir, c.GRPC.Listen, c.HTTP.Listen = w.dir, "127.0.0.1:0", "127.0.0.1:0"
	c.Journal.SegmentBytes = c.Journal.SegmentBytes * int64(*weekWorkers) / 100 // so that segments end as often
	if !*weekKeep {
		c.Embedded.RetentionTime = day
	}
	logger := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.col, err = openCollectorWith(c, logger, w.figures, w.clock)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, within(context.Background(), time.Minute, w.col.close)) })
	w.player = replay.New(w.col.ingest, w.col.journal, w.clock, logger)
	w.ticks = w.player.Recording(nil, 0)
	w.col.run(&w.col.feeder, w.col.feed.Run)
	w.col.run(&w.col.registrar, w.col.known.Run)
	w.tickTo(w.now)
	w.submit()
	w.writtenBefore = w.writtenTotal()
	return w
}

// submit ends all topologies and submits them again, each with a new id and new processes.
func (w *week) submit() {
	w.submissions++
	for i, sender := range w.senders {
		if sender != nil {
			sender.Close()
		}
		run := w.recording.Run(fmt.Sprintf("bullet-%03d", i), w.submissions, w.now)
		var err error
		w.senders[i], err = w.col.ingest.Local(run.Opened(), journal.Epoch{byte(i), byte(i >> 8), byte(w.submissions)})
		require.NoError(w.t, err)
		w.runs[i] = run
	}
}

// play sends what is due within a time, and evaluates the rules every ten minutes.
func (w *week) play(length time.Duration) {
	for end := w.now.Add(length); w.now.Before(end); {
		minute := w.now.Add(time.Minute)
		for due := w.runs[0].Due(); due.Before(minute); due = w.runs[0].Due() {
			w.tickTo(due)
			w.send()
		}
		w.tickTo(minute)
		w.now = minute
		w.caughtUp()
		require.NoError(w.t, w.col.store.Reclaim())
		if minute.Minute()%10 == 0 {
			require.NoError(w.t, w.col.rules.EvaluateAt(w.t.Context(), minute))
		}
		if minute.Minute() == 0 {
			w.lookAtFiles()
		}
	}
}

// send sends the next batch of each topology. They share a write of the journal.
func (w *week) send() {
	group, ctx := errgroup.WithContext(w.t.Context())
	for i, run := range w.runs {
		group.Go(func() error {
			rejected, err := w.senders[i].Send(ctx, run.Next())
			if err == nil && len(rejected) > 0 {
				err = fmt.Errorf("at %v, samples were rejected: %v", w.clock.Now(), rejected)
			}
			return err
		})
	}
	require.NoError(w.t, group.Wait())
}

func (w *week) tickTo(at time.Time) {
	require.NoError(w.t, w.player.PlayUntil(w.t.Context(), w.ticks, at.UnixMilli()))
}

// caughtUp waits until the store and the registry have what is durable in the journal. The feed hands over at a tick,
// but the journal may have written after the last one what it forgot.
func (w *week) caughtUp() {
	end := uint64(w.col.journal.Durable())
	w.col.tick(w.now)
	require.NoError(w.t, poll.Until(w.t.Context(), time.Millisecond, func() bool {
		select {
		case err := <-w.col.failed:
			require.NoError(w.t, err)
		default:
		}
		return w.col.position() >= end
	}))
}

// measure returns what the collector has now. Files are the median of the day's hours, because segments and parts are
// deleted all at once. Memory is the least of some seconds, because the results of rules are compacted in the
// background.
func (w *week) measure() (d weekDay) {
	d.files, d.stored = goal.Median(w.files), goal.Median(w.stored)
	w.files, w.stored = nil, nil
	require.NoError(w.t, w.col.store.Flush(w.t.Context())) // memory does not depend on how much waits to be written
	d.heap = math.Inf(1)
	for range 10 {
		runtime.GC()
		runtime.GC() // also what pools kept
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		d.heap = min(d.heap, float64(memory.HeapAlloc))
		time.Sleep(500 * time.Millisecond)
	}
	d.resident = 1024 * w.counter("/proc/self/status", "VmRSS:")
	total := w.writtenTotal()
	d.written, w.writtenBefore = total-w.writtenBefore, total
	families, err := w.figures.Gather()
	require.NoError(w.t, err)
	for _, f := range families {
		if f.GetName() == "bullet_metrics_journal_series" {
			d.series = f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return d
}

// lookAtFiles adds how many files the data directory has, and their size, to those of the day.
func (w *week) lookAtFiles() {
	files, bytes := 0, int64(0)
	require.NoError(w.t, filepath.WalkDir(w.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				files, bytes = files+1, bytes+info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		return err
	}))
	w.files, w.stored = append(w.files, float64(files)), append(w.stored, float64(bytes))
}

// writtenTotal returns how many bytes the process has passed to the operating system.
func (w *week) writtenTotal() float64 { return w.counter("/proc/self/io", "wchar:") }

// counter returns a number of a file that has one on each line, after its name.
func (w *week) counter(file, name string) float64 {
	text, err := os.ReadFile(file)
	require.NoError(w.t, err)
	_, after, found := strings.Cut(string(text), name)
	require.True(w.t, found, "%s has no %s", file, name)
	value, err := strconv.ParseFloat(strings.Fields(after)[0], 64)
	require.NoError(w.t, err)
	return value
}
