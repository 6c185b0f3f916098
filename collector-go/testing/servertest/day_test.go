//go:build stores

package servertest

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/feed"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/influx"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/remote"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

// sink is a real server with the store that fills it.
type sink struct {
	name     string
	server   *Server
	protocol func() (forward.Protocol, error)
	read     func() map[string][]storetest.Point
	want     func([]storetest.Handed) map[string][]storetest.Point
	equal    func(a, b storetest.Point) bool
}

func toTheBit(a, b storetest.Point) bool { return a == b }

// toTwelveDigits is what VictoriaMetrics, which turns floats into decimals, promises with a digit to spare. Both are
// rounded at the thirteenth digit before, each by half a unit of it at the most.
func toTwelveDigits(a, b storetest.Point) bool {
	x, y := math.Float64frombits(a.Bits), math.Float64frombits(b.Bits)
	rounding := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-12)
	return a.EndMs == b.EndMs && (a.Bits == b.Bits || math.Abs(x-y) <= 1e-12*math.Abs(x)+rounding)
}

// life is one run of a collector: the embedded store and those on the network, each with its feed.
type life struct {
	t        testing.TB
	world    *world
	embedded *grid.Store
	stores   []*forward.Store
	feeds    map[string]*feed.Feed
	cancel   context.CancelFunc
	ended    chan error
}

func live(t testing.TB, w *world, dir string, sinks []sink) *life {
	l := &life{t: t, world: w, feeds: map[string]*feed.Feed{}, ended: make(chan error, 1+len(sinks))}
	options := grid.DefaultOptions()
	options.RetentionTime = 0
	var err error
	l.embedded, err = grid.Open(filepath.Join(dir, "grid"), options)
	require.NoError(t, err)
	retention := feed.NewRetention(w.journal.Release)
	l.feed("embedded", dir, l.embedded, retention, nil)
	for _, s := range sinks {
		p, err := s.protocol()
		require.NoError(t, err)
		store, err := forward.Open(filepath.Join(dir, "stores", s.name), p, forward.DefaultOptions(s.name))
		require.NoError(t, err)
		l.stores = append(l.stores, store)
		l.feed(s.name, dir, store, retention, func(o *feed.Options) { o.CatchUpTicks, o.FlushSlices = 60, 20_000 })
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	for _, f := range l.feeds {
		go func() { l.ended <- f.Run(ctx) }()
	}
	return l
}

func (l *life) feed(name, dir string, store feed.Store, retention *feed.Retention, change func(*feed.Options)) {
	o := feed.DefaultOptions(name, filepath.Join(dir, "feeds"))
	o.Logger = slog.New(slog.NewTextHandler(l.t.Output(), nil)) // it has why a store takes nothing
	if change != nil {
		change(&o)
	}
	f, err := feed.New(l.world.journal, counted{store, l.t}, retention, o)
	require.NoError(l.t, err)
	l.feeds[name] = f
}

// counted lets no slice be refused.
type counted struct {
	feed.Store
	t testing.TB
}

func (c counted) Append(ctx context.Context, upTo uint64, columns *slice.Columns) (map[string]int, error) {
	rejected, err := c.Store.Append(ctx, upTo, columns)
	assert.Empty(c.t, rejected)
	return rejected, err
}

// await waits until feeds have handed over all that the journal has, for as long as they get on: how long that takes is
// the machine's affair.
func (l *life) await(names ...string) {
	end := l.world.journal.Durable()
	for _, name := range names {
		at, since := uint64(0), time.Now()
		for journal.Position(l.feeds[name].Position()) < end {
			if now := l.feeds[name].Position(); now != at {
				at, since = now, time.Now()
			}
			require.Less(l.t, time.Since(since), stuck, "%s is at %v of %v", name, journal.Position(at), end)
			<-time.After(5 * time.Millisecond)
		}
	}
}

// stuck is a feed that hands nothing over for so long: two requests that time out, and the waits before and after each.
const stuck = 2 * time.Minute

// end ends the collector: the journal is closed first, as SIGTERM does, or the feeds are stopped where they are.
func (l *life) end(gently bool) {
	if gently {
		require.NoError(l.t, l.world.journal.Close())
	}
	l.cancel()
	for range l.feeds {
		require.NoError(l.t, <-l.ended)
	}
	require.NoError(l.t, l.world.journal.Close())
	ctx, cancel := context.WithCancel(context.Background())
	if !gently {
		cancel() // the embedded store flushes nothing then
	}
	defer cancel()
	err := l.embedded.Close(ctx)
	require.True(l.t, err == nil || errors.Is(err, context.Canceled), "%v", err)
	for _, s := range l.stores {
		if gently {
			require.NoError(l.t, s.Close(ctx))
		}
	}
}

// handed is all that the embedded store has.
func handed(t testing.TB, s *grid.Store) (all []storetest.Handed) {
	q, err := s.Querier(0, math.MaxInt64/2)
	require.NoError(t, err)
	defer q.Close()
	set := q.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "topology", "bullet"))
	for set.Next() {
		samples := set.At().Iterator(nil)
		for kind := samples.Next(); kind != chunkenc.ValNone; kind = samples.Next() {
			h := storetest.Handed{Labels: set.At().Labels()}
			if kind == chunkenc.ValFloat {
				h.EndMs, h.Value = samples.At()
			} else {
				var native *histogram.Histogram
				h.Distribution = true
				if h.EndMs, native = samples.AtHistogram(nil); !value.IsStaleNaN(native.Sum) {
					h.Histogram = native
				}
			}
			all = append(all, h)
		}
		require.NoError(t, samples.Err())
	}
	require.NoError(t, set.Err())
	return all
}

func sinks(t testing.TB) []sink {
	at := func(s *Server, path string) forward.Receiver { return forward.Receiver{URL: s.URL() + path} }
	p, v, i := Prometheus(t, 2*time.Hour), victoria(t), influxdb(t, fromDebian(t, "influxdb", "influxd"))
	createDatabase(i, "bullet")
	all := []sink{
		{"prometheus", p, func() (forward.Protocol, error) {
			return remote.New(remote.Options{Receiver: at(p, "/api/v1/write")})
		},
			func() map[string][]storetest.Point { return readPrometheus(p, "topology", "bullet") }, unsigned, toTheBit},
		{"victoria", v, func() (forward.Protocol, error) {
			return remote.New(remote.Options{Receiver: at(v, "/api/v1/write"), Classic: true})
		}, func() map[string][]storetest.Point { return readVictoria(v, "topology", "bullet") },
			decimal(storetest.Classic), toTwelveDigits},
		{"influx1", i, func() (forward.Protocol, error) {
			return influx.New(influx.Options{Receiver: at(i, ""), Database: "bullet"})
		},
			func() map[string][]storetest.Point { return readInfluxDB(i, "bullet") }, finite, toTheBit},
	}
	if program := built(t, "influxd"); program != "" {
		j := influxdb(t, program)
		createDatabase(j, "bullet")
		all = append(all, sink{"influx2", j, func() (forward.Protocol, error) {
			return influx.New(influx.Options{Receiver: at(j, ""), Bucket: "bullet/autogen"})
		}, func() map[string][]storetest.Point { return readInfluxDB(j, "bullet") }, finite, toTheBit})
	}
	return all
}

// Two stores are down for a day of event time while the collector is restarted three times and a worker is away for an
// hour. In the end every store has, point by point, what the embedded store has: nothing is missing, and nothing is
// there twice.
func TestADayAway(t *testing.T) {
	cases.Full(t, "Prometheus of our library's version, since it compares answers")
	all, w, dir := sinks(t), newWorld(t), directory(t)
	var names []string
	for _, s := range all {
		names = append(names, s.name)
	}
	up := []string{"embedded", "victoria"}
	steps := func(n int) {
		for range n {
			w.step()
		}
	}
	l := live(t, w, dir, all)
	steps(200)
	l.await(append(names, "embedded")...)
	for _, s := range all {
		if s.name != "victoria" {
			s.server.stop()
		}
	}
	for restart := range 3 {
		steps(2160)
		l.await(up...)
		if restart == 1 {
			w.leave(1)
			steps(360)
			w.comeBack()
		}
		l.end(restart%2 == 0)
		w.open()
		l = live(t, w, dir, all)
	}
	steps(2160)
	l.await(up...)
	for _, s := range all {
		if s.name != "victoria" {
			s.server.Start()
		}
	}
	began := time.Now()
	steps(60) // life goes on meanwhile
	l.await("embedded")
	t.Logf("the embedded store had what is live after %s", time.Since(began))
	l.await(names...)
	t.Logf("a day was caught up in %s", time.Since(began))
	has := handed(t, l.embedded)
	gaps, histograms := 0, 0
	for _, h := range has {
		switch {
		case h.Histogram != nil:
			histograms++
		case h.Distribution || value.IsStaleNaN(h.Value):
			gaps++
		}
	}
	t.Logf("%d slices, %d of them gaps and %d histograms", len(has), gaps, histograms)
	require.Greater(t, len(has), 200_000)
	require.Greater(t, gaps, 50)
	require.Greater(t, histograms, 20_000)
	for _, s := range all {
		want, got := s.want(has), s.read()
		for deadline := time.Now().Add(20 * time.Second); s.name == "victoria" && len(got) != len(want) &&
			time.Now().Before(deadline); {
			got = s.read()
		}
		points := 0
		for series := range want {
			points += len(want[series])
			require.Equal(t, len(want[series]), len(got[series]), "%s: %s", s.name, series)
			for i, point := range want[series] {
				if !s.equal(point, got[series][i]) {
					require.Equal(t, point, got[series][i], "%s: %s", s.name, series)
				}
			}
		}
		require.Len(t, got, len(want), s.name)
		t.Logf("%s has the same %d points in %d series", s.name, points, len(want))
	}
	l.end(true)
}
