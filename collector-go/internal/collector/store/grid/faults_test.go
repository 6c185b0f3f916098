package grid

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// script is a history with several flushes, a merge, and a partition that expires.
func (w *world) script() {
	generation := map[int]int{}
	w.lateMs = 3_600_000
	for range 7 {
		for range 6 {
			w.happen(generation)
		}
		for w.next < len(w.steps) && !w.disk.Off() {
			w.hand()
		}
		w.store.workers.Wait()
		_ = w.store.Flush(context.Background())
	}
	w.nowMs += 30 * 3_600_000
	w.happen(generation)
	for w.next < len(w.steps) && !w.disk.Off() {
		w.hand()
	}
	_ = w.store.Flush(context.Background())
}

// tame disables writes that the script does not request.
func tame(o *Options) { o.FlushHandOvers, o.IdleHandOvers = 1<<30, 1<<30 }

func calls(t *testing.T) int {
	w := newWorld(t, 1, tame)
	w.open(t)
	w.script()
	require.NotZero(t, w.durable+w.store.Durable())
	require.NotZero(t, testutil.ToFloat64(w.store.figures.merged))
	return w.disk.Calls()
}

// The machine loses its power, or the process dies, at each call of the disk in turn.
func TestEndAtEveryCall(t *testing.T) {
	total := calls(t)
	for at := 1; at <= total; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			w := newWorld(t, 1, tame)
			w.open(t)
			w.disk.SetFault(func(call int, _, _ string) error {
				if call >= at {
					return disktest.ErrPowerless
				}
				return nil
			})
			w.script()
			w.restart(at%4 > 0)
			for w.next < len(w.steps) {
				require.True(t, w.hand())
			}
			w.same()
		})
	}
}

// The n-th call of the disk fails, and so do up to two calls after it. The store must continue, and a loss of power at
// any later time must lose nothing.
func TestFaultAtEveryCall(t *testing.T) {
	total := calls(t)
	for at := 1; at <= total; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			w := newWorld(t, uint64(at), tame)
			w.disk = disktest.NewMemory(uint64(at))
			w.open(t)
			w.disk.SetFault(func(call int, _, _ string) error {
				if call >= at && call < at+1+at%3 {
					return disktest.ErrInputOutput
				}
				return nil
			})
			w.script()
			w.same()
			w.look()
			w.restart(true)
			for w.next < len(w.steps) {
				require.True(t, w.hand())
			}
			w.same()
		})
	}
}

// If a manifest was renamed but its directory could not be synced, the next start may find it. The files that it lists
// must therefore be kept.
func TestManifestOfUncertainFate(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(t, seed, tame)
		w.disk = disktest.NewMemory(seed)
		w.open(t)
		generation := map[int]int{}
		for range mergeFan + 2 {
			for range 6 {
				w.happen(generation)
			}
			for w.next < len(w.steps) {
				w.hand()
			}
			require.NoError(t, w.store.withTurn(t.Context(), w.store.write))
		}
		parts, syncs := w.store.manifest.next, 0
		w.disk.SetFault(func(_ int, op, _ string) error {
			if op == "syncdir" {
				syncs++
			}
			if op == "syncdir" && syncs%2 == 0 { // the first sync is for the part, the second for the manifest
				return disktest.ErrInputOutput
			}
			return nil
		})
		require.ErrorIs(t, w.store.withTurn(t.Context(), func() error { return w.store.merge(t.Context()) }),
			disktest.ErrInputOutput)
		require.Greater(t, w.store.manifest.next, parts, "a part was made of others")
		w.same()
		w.restart(seed%2 == 0)
		require.Zero(t, testutil.ToFloat64(w.store.figures.damaged.WithLabelValues("missing")))
		for w.next < len(w.steps) {
			w.hand()
		}
		w.same()
	}
}

// numbers returns n slices of series 0, beginning at fromMs.
func numbers(fromMs int64, n int) *slice.Columns {
	c := &slice.Columns{Definitions: []slice.Definition{define(0, 0)}}
	for i := range int64(n) {
		c.Refs, c.EndsMs, c.Values = append(c.Refs, 0), append(c.EndsMs, fromMs+i*10_000), append(c.Values, float64(i))
	}
	return c
}

var today = now.UnixMilli() - 3_600_000

func count(t testing.TB, s *Store) (n int) {
	for _, points := range readAll(t, s) {
		n += len(points)
	}
	return n
}

// A store can be opened and queried on a disk without free space.
func TestOpensOnAFullDisk(t *testing.T) {
	p := three(t)
	p.disk.Fill()
	s := p.open(t)
	assert.Equal(t, 300, count(t, s))
	require.NoError(t, s.Close(t.Context()))
}

// Without free space, memory stays bounded and the durable position does not move. The store is full only when its
// memory is full, and it leaves no files behind. It continues by itself when there is space.
func TestFullDisk(t *testing.T) {
	p := newHarness(t, func(o *Options) { o.HeadBytes = 2 << 20; o.MinFreeBytes = 0; o.FlushHandOvers = 5 })
	s := p.open(t)
	_, err := s.Append(t.Context(), 1, numbers(today, 1000))
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context()))
	p.disk.Fill()
	position, handed := uint64(1), 1000
	for ; err == nil; position++ {
		require.Less(t, position, uint64(1000), "memory is never full")
		_, err = s.Append(t.Context(), position+1, numbers(today+int64(handed)*10_000, 1000))
		s.workers.Wait()
		if err == nil {
			handed += 1000
		}
	}
	require.ErrorIs(t, err, ErrNoSpace)
	require.ErrorContains(t, err, "free disk space or lower the retention", "it names what to do")
	assert.Greater(t, handed, 20_000)
	held, _ := s.Memory()
	assert.Less(t, held, 3<<20)
	assert.Equal(t, uint64(1), s.Durable())
	assert.Equal(t, handed, count(t, s))
	l, err := list(p.disk, dir)
	require.NoError(t, err)
	assert.Empty(t, l.aside)
	assert.Len(t, l.parts, 1)
	assert.Positive(t, testutil.ToFloat64(s.figures.writesFailed))

	p.disk.SetRoom(0)
	_, err = s.Append(t.Context(), position, numbers(today+int64(handed)*10_000, 1000))
	require.NoError(t, err)
	assert.Equal(t, position-1, s.Durable())
	assert.Equal(t, handed+1000, count(t, s))
}

// A failed write is tried again soon, and not only when the next one is due.
func TestFailedWriteIsTriedAgain(t *testing.T) {
	p := newHarness(t, func(o *Options) { o.FlushHandOvers = 100 })
	s := p.open(t)
	p.disk.SetFault(func(int, string, string) error { return disktest.ErrInputOutput })
	position := uint64(0)
	feed := func(n int) {
		for range n {
			position++
			_, err := s.Append(t.Context(), position, numbers(today+int64(position)*10_000, 1))
			require.NoError(t, err)
			s.workers.Wait()
		}
	}
	feed(130)
	assert.Zero(t, s.Durable())
	assert.Equal(t, 4.0, testutil.ToFloat64(s.figures.writesFailed), "at the hundredth, and every tenth from there")
	p.disk.SetFault(nil)
	feed(10)
	assert.GreaterOrEqual(t, s.Durable(), uint64(130))
	assert.Equal(t, 140, count(t, s))
}

// On a full disk, expired slices are deleted first, which makes room for the others.
func TestFullDiskWithExpired(t *testing.T) {
	clock := now
	p := newHarness(t, func(o *Options) {
		o.Partition, o.RetentionTime, o.MinFreeBytes = time.Hour, 2*time.Hour, 0
		o.Now = func() time.Time { return clock }
	})
	s := p.open(t)
	old := numbers(today, 3000)
	for i := range old.Values {
		old.Values[i] = float64(i*i) * 1.37e-5
	}
	_, err := s.Append(t.Context(), 1, old)
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context()))
	clock = clock.Add(24 * time.Hour)
	p.disk.Fill()
	_, err = s.Append(t.Context(), 2, numbers(clock.UnixMilli()-1000*10_000/10, 100))
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context()))
	assert.Equal(t, uint64(2), s.Durable())
	assert.Equal(t, 100, count(t, s))
	assert.Positive(t, testutil.ToFloat64(s.figures.expiredParts.WithLabelValues(boundTime)))
}

// A removed file takes space until it is closed, as on every Unix file system. Expired parts are therefore closed
// before the manifest is written.
func TestExpiredPartsAreClosedOnAFullDisk(t *testing.T) {
	clock := now
	p := newHarness(t, func(o *Options) {
		o.Partition, o.RetentionTime, o.MinFreeBytes = time.Hour, 2*time.Hour, 0
		o.Now = func() time.Time { return clock }
	})
	s := p.open(t)
	_, err := s.Append(t.Context(), 1, numbers(today, 3000))
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context()))
	clock = clock.Add(24 * time.Hour)
	_, err = s.Append(t.Context(), 2, numbers(clock.UnixMilli()-10_000, 1))
	require.NoError(t, err)
	p.disk.SetFault(func(_ int, op, name string) error {
		// Reclaim writes in this goroutine.
		if op == "write" && strings.HasPrefix(name, "manifest") && len(s.pieces) > 0 {
			return disktest.ErrNoSpace
		}
		return nil
	})
	require.NoError(t, s.Reclaim())
	assert.Equal(t, 1, count(t, s))
	assert.Empty(t, s.manifest.parts)
	p.disk.SetFault(nil)
	require.NoError(t, s.Close(t.Context()))
	assert.Equal(t, 1, count(t, p.open(t)))
}

// On a full disk, expired slices are deleted even if nothing is handed over, since the journal cannot be written
// either.
func TestRoomIsMadeWithoutHandOvers(t *testing.T) {
	clock := now
	p := newHarness(t, func(o *Options) {
		o.Partition, o.RetentionTime = time.Hour, 2*time.Hour
		o.Now = func() time.Time { return clock }
	})
	s := p.open(t)
	_, err := s.Append(t.Context(), 1, numbers(today, 3000))
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context()))
	require.NoError(t, s.Reclaim())
	assert.Equal(t, 3000, count(t, s), "nothing is expired")
	clock = clock.Add(24 * time.Hour)
	p.disk.Fill()
	s.turn <- struct{}{}
	require.NoError(t, s.Reclaim(), "it waits for no write")
	assert.Equal(t, 3000, count(t, s))
	<-s.turn
	require.NoError(t, s.Reclaim())
	assert.Zero(t, count(t, s))
	free, _, err := p.disk.Free(dir)
	require.NoError(t, err)
	assert.Positive(t, free)
	require.NoError(t, s.Close(t.Context()))
	require.ErrorIs(t, s.Reclaim(), ErrClosed)
}

// Below the required free space, the oldest parts are deleted, except those of the newest two partitions. None is
// deleted if that would not free enough.
func TestRetention(t *testing.T) {
	hour := time.Hour.Milliseconds()
	parts := []entry{{number: 3, maxMs: 3*hour - 1, bytes: 10}, {number: 1, maxMs: hour - 1, bytes: 10},
		{number: 2, maxMs: 2*hour - 1, bytes: 10}, {number: 9, maxMs: 900 * hour, bytes: 10}}
	none := map[uint64]string{}
	for _, c := range []struct {
		name string
		r    retention
		want map[uint64]string
	}{
		{"no bound", retention{nowMs: 1000 * hour}, none},
		{"time", retention{nowMs: 4*hour - 1, time: 2 * time.Hour}, map[uint64]string{1: boundTime}},
		{"time, at the border", retention{nowMs: 4 * hour, time: 2 * time.Hour},
			map[uint64]string{1: boundTime, 2: boundTime}},
		{"a clock that is ahead", retention{nowMs: 9000 * hour, newestMs: 3 * hour, time: 2 * time.Hour},
			map[uint64]string{1: boundTime}},
		{"bytes", retention{nowMs: 4 * hour, bytes: 35}, map[uint64]string{1: boundBytes}},
		{"the newest stays", retention{nowMs: 4 * hour, bytes: 1}, map[uint64]string{1: boundBytes, 2: boundBytes,
			3: boundBytes}},
		{"room", retention{nowMs: 4 * hour, missing: 5}, map[uint64]string{1: boundFree}},
		{"more room", retention{nowMs: 4 * hour, missing: 15}, map[uint64]string{1: boundFree, 2: boundFree}},
		{"time makes room", retention{nowMs: 4*hour - 1, time: 2 * time.Hour, missing: 10},
			map[uint64]string{1: boundTime}},
		{"as much as may go", retention{nowMs: 5 * hour, missing: 30}, map[uint64]string{1: boundFree, 2: boundFree,
			3: boundFree}},
		{"more than may go", retention{nowMs: 5 * hour, missing: 31}, none},
		{"no room, and time", retention{nowMs: 4*hour - 1, time: 2 * time.Hour, missing: 1000},
			map[uint64]string{1: boundTime}},
		{"what is expired by now goes for room", retention{nowMs: 900 * hour, newestMs: 2 * hour, time: 2 * time.Hour,
			missing: 10}, map[uint64]string{1: boundTime, 2: boundTime, 3: boundTime}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.r.width = time.Hour; c.r.newestMs == 0 {
				c.r.newestMs = 900 * hour
			}
			_, gone := c.r.decide(nil, parts)
			assert.Equal(t, c.want, gone)
		})
	}
}

// full returns a store with a part of old slices and one of new ones. Deleting the old one would free enough space.
func full(t *testing.T, change ...func(*Options)) (p *harness, s *Store, clock *time.Time, log *bytes.Buffer) {
	clock, log = new(now), &bytes.Buffer{}
	p = newHarness(t, append(change, func(o *Options) {
		o.Partition, o.RetentionTime, o.ReclaimAfter = time.Hour, 0, 5*time.Minute
		o.Now = func() time.Time { return *clock }
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
	})...)
	s = p.open(t)
	for i := range 2 {
		c := numbers(today+int64(i)*day, 3000)
		for at := range c.Values {
			c.Values[at] = float64(at*at) * 1.37e-5
		}
		_, err := s.Append(t.Context(), uint64(i+1), c)
		require.NoError(t, err)
		require.NoError(t, s.Flush(t.Context()))
		*clock = clock.Add(24 * time.Hour)
	}
	require.Equal(t, 6000, count(t, s))
	return p, s, clock, log
}

// A disk that another program fills briefly, however often, loses no slices. A disk that stays full for five minutes
// loses the oldest ones, which are logged with their time and counted.
func TestFullDiskForAMoment(t *testing.T) {
	p, s, clock, log := full(t)
	look := func(seconds int) {
		for range seconds {
			*clock = clock.Add(time.Second)
			require.NoError(t, s.Reclaim())
		}
	}
	for range 3 {
		p.disk.Fill()
		look(200)
		p.disk.SetRoom(0)
		look(2)
	}
	p.disk.Fill()
	look(1)
	*clock = clock.Add(24 * time.Hour) // the machine was suspended or its clock was set
	look(200)
	assert.Equal(t, 6000, count(t, s))
	assert.NotContains(t, log.String(), "retention deleted slices")
	assert.Equal(t, 4, strings.Count(log.String(), "disk space is low"), "each time it begins")

	look(100)
	left := count(t, s)
	assert.Less(t, left, 6000)
	assert.Contains(t, log.String(), `retention deleted slices" why="disk space was low for disk.make_room_after" from=`+
		time.UnixMilli(today).UTC().Format("2006-01-02T15:04:05"))
	deleted := testutil.ToFloat64(s.figures.expiredSlices.WithLabelValues(boundFree))
	assert.Equal(t, float64(6000-left), deleted)
	p.disk.SetRoom(0)
	require.NoError(t, s.Close(t.Context()))
	s = p.open(t)
	assert.Equal(t, deleted, testutil.ToFloat64(s.figures.expiredSlices.WithLabelValues(boundFree)),
		"it is known after a restart")
	assert.Positive(t, testutil.ToFloat64(s.figures.expiredParts.WithLabelValues(boundFree)))
	assert.Zero(t, testutil.ToFloat64(s.figures.expiredParts.WithLabelValues(boundBytes)), "it is there before it rises")
}

// If deleting all old slices would not free enough space, none are deleted.
func TestFullDiskThatSlicesDoNotFill(t *testing.T) {
	_, s, clock, _ := full(t)
	s.fs = fullDisk{s.fs}
	for range 1000 {
		*clock = clock.Add(time.Second)
		require.NoError(t, s.Reclaim())
	}
	assert.Equal(t, 6000, count(t, s))
}

// fullDisk has a few MiB less free space than required.
type fullDisk struct{ disk.FS }

func (fullDisk) Free(string) (free, size uint64, err error) { return 10 << 20, 1 << 30, nil }

// A store whose newest slice is older than the retention time is probably being inspected. Nothing is deleted, whatever
// the clock says, until newer slices arrive.
func TestOldDataIsKeptWhileNoneComes(t *testing.T) {
	clock := now.Add(300 * 24 * time.Hour)
	log := &bytes.Buffer{}
	p := newHarness(t, func(o *Options) {
		o.RetentionTime = 15 * 24 * time.Hour
		o.Now = func() time.Time { return now }
		o.Logger = slog.New(slog.NewTextHandler(log, nil))
	})
	s := p.open(t)
	_, err := s.Append(t.Context(), 1, numbers(today, 3000))
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
	p.options.Now = func() time.Time { return clock }
	s = p.open(t)
	for range 700 { // ticks of a collector without senders
		_, err := s.Append(t.Context(), 2, &slice.Columns{})
		require.NoError(t, err)
		require.NoError(t, s.Reclaim())
	}
	require.NoError(t, s.Flush(t.Context()))
	assert.Equal(t, 3000, count(t, s))
	_, err = s.Append(t.Context(), 3, numbers(clock.UnixMilli()-1000*10_000/10, 100))
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context()))
	assert.Equal(t, 100, count(t, s))
	assert.Contains(t, log.String(), `why="older than store.embedded.retention_time"`)
	assert.Contains(t, log.String(), "slices=3000")
}

// A deleted part is kept until the last query that reads it ends.
func TestQueryKeepsWhatItReads(t *testing.T) {
	clock := now
	p := newHarness(t, func(o *Options) { o.RetentionTime = time.Hour; o.Now = func() time.Time { return clock } })
	s := p.open(t)
	_, err := s.Append(t.Context(), 1, numbers(today, 100))
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context()))
	q, err := s.Querier(0, farthestMs)
	require.NoError(t, err)
	clock = clock.Add(48 * time.Hour)
	newer := numbers(clock.UnixMilli()-10_000, 1)
	newer.Definitions[0].Ref, newer.Refs[0] = 1, 1
	newer.Definitions[0].Series = define(1, 0).Series
	_, err = s.Append(t.Context(), 2, newer)
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context()))
	l, err := list(p.disk, dir)
	require.NoError(t, err)
	assert.Len(t, l.parts, 2, "it is read")
	assert.Positive(t, s.lingering.Load())
	assert.Equal(t, 1, count(t, s), "for others it is gone")
	set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "task", "0"))
	assert.True(t, set.Next())
	require.NoError(t, q.Close())
	require.NoError(t, q.Close())
	l, err = list(p.disk, dir)
	require.NoError(t, err)
	assert.Len(t, l.parts, 1)
	assert.Zero(t, s.lingering.Load())
}

func TestRejections(t *testing.T) {
	p := newHarness(t, func(o *Options) { o.MaxSeries = 4 })
	s := p.open(t)
	twice := define(5, 0)
	twice.Series.Labels = labels.FromStrings("a", "b", "a", "c")
	_, err := s.Append(t.Context(), 1, numbers(today, 1))
	require.NoError(t, err)
	c := &slice.Columns{
		Definitions: []slice.Definition{twice, define(1, 0), define(2, 0), define(3, 0), define(4, 0)},
		Refs:        []slice.Ref{0, 5, 9, 1, 2, 3, 4, 0, 0},
		EndsMs:      []int64{today, today, today, today, today, today, today, today - 40*day, farthestMs + 1},
		Values:      []float64{4711, 1, 1, 1, 1, 1, 1, 1, 1},
	}
	rejected, err := s.Append(t.Context(), 2, c)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{RejectedConflict: 1, RejectedInvalid: 2, RejectedUndefined: 1, RejectedSeries: 1,
		RejectedExpired: 1}, rejected)
	assert.Equal(t, 4, count(t, s), "the rest of the hand-over was taken, and the first of two stays")

	// When a series is retired, there is room for the waiting one after the memory is written.
	_, err = s.Append(t.Context(), 3, &slice.Columns{Retired: []slice.Ref{1}})
	require.NoError(t, err)
	require.NoError(t, s.Flush(t.Context()))
	rejected, err = s.Append(t.Context(), 4, &slice.Columns{Refs: []slice.Ref{4, 1}, EndsMs: []int64{today, today},
		Values: []float64{1, 1}})
	require.NoError(t, err)
	assert.Equal(t, map[string]int{RejectedUndefined: 1}, rejected, "what was retired has no Ref any more")
	assert.Equal(t, 5, count(t, s))
}

func TestSilentTopologyDoesNotHoldTheJournal(t *testing.T) {
	p := newHarness(t, func(o *Options) { o.IdleHandOvers = 5 })
	s := p.open(t)
	position := uint64(10)
	_, err := s.Append(t.Context(), position, numbers(today, 3))
	require.NoError(t, err)
	for range 4 {
		position++
		_, err := s.Append(t.Context(), position, &slice.Columns{})
		require.NoError(t, err)
	}
	s.workers.Wait()
	assert.Zero(t, s.Durable())
	position++
	_, err = s.Append(t.Context(), position, &slice.Columns{})
	require.NoError(t, err)
	s.workers.Wait()
	assert.Equal(t, position, s.Durable())
	assert.Equal(t, 3, count(t, s))
}

func TestDirectoryHasOneOwner(t *testing.T) {
	p := newHarness(t)
	p.open(t)
	o := p.options
	_, err := Open(dir, o)
	require.ErrorContains(t, err, "in use")
	require.ErrorContains(t, Check(p.disk, dir, nil), "in use")
}

func TestCloseWaitsForQueries(t *testing.T) {
	s := newHarness(t).open(t)
	q, err := s.Querier(0, 1)
	require.NoError(t, err)
	closed := make(chan error)
	go func() { closed <- s.Close(context.Background()) }()
	require.Eventually(t, func() bool {
		q, err := s.Querier(0, 1)
		if err == nil {
			_ = q.Close()
		}
		return errors.Is(err, ErrClosed)
	}, time.Minute, time.Millisecond)
	require.NoError(t, q.Close())
	require.NoError(t, <-closed)

	s = newHarness(t).open(t)
	q, err = s.Querier(0, 1)
	require.NoError(t, err)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, s.Close(done), "queries are still running")
	require.NoError(t, q.Close())
}

func TestClosed(t *testing.T) {
	s := newHarness(t).open(t)
	require.NoError(t, s.Close(t.Context()))
	_, err := s.Append(t.Context(), 1, &slice.Columns{})
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.Querier(0, 1)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, s.Flush(t.Context()), ErrClosed)
	require.ErrorIs(t, s.Snapshot(t.Context(), "/copy"), ErrClosed)
	_, _, err = s.Newest(t.Context())
	require.ErrorIs(t, err, ErrClosed)
}

// A snapshot is a complete store with everything that was handed over before. What arrives meanwhile is not lost to the
// running store.
func TestSnapshotOfARunningStore(t *testing.T) {
	p := newHarness(t)
	s := p.open(t)
	_, err := s.Append(t.Context(), 10, numbers(today, 200))
	require.NoError(t, err)
	done := make(chan error)
	go func() {
		var err error
		for i := range 300 {
			_, e := s.Append(t.Context(), uint64(20+i), numbers(today+int64(200+i)*10_000, 1))
			err = errors.Join(err, e)
		}
		done <- err
	}()
	require.NoError(t, s.Snapshot(t.Context(), "/copy"))
	require.NoError(t, <-done)
	assert.Equal(t, 500, count(t, s))
	require.ErrorContains(t, s.Snapshot(t.Context(), "/copy"), "not empty")
	require.NoError(t, Check(p.disk, "/copy", func(damage *run.DamageError) { require.NoError(t, damage) }))
	o := p.options
	c, err := Open("/copy", o)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, c.Durable(), uint64(10))
	assert.GreaterOrEqual(t, count(t, c), 200)
	require.NoError(t, c.Close(t.Context()))
}

func TestNewest(t *testing.T) {
	p := newHarness(t)
	s := p.open(t)
	newest := func() int64 {
		ms, ok, err := p.store.Newest(t.Context())
		require.NoError(t, err)
		if !ok {
			return -1
		}
		return ms
	}
	assert.Equal(t, int64(-1), newest(), "an empty store has none")
	c := numbers(today, 3)
	c.Definitions = append(c.Definitions, define(7, 0))
	c.HistogramRefs, c.HistogramEndsMs = []slice.Ref{7}, []int64{today + 900_000}
	c.Histograms = append(c.Histograms, nil)
	_, err := s.Append(t.Context(), 1, c)
	require.NoError(t, err)
	assert.Equal(t, today+20_000, newest(), "a marker is none")
	require.NoError(t, s.Flush(t.Context()))
	assert.Equal(t, today+20_000, newest())
	_, err = s.Append(t.Context(), 2, numbers(today-100_000, 1))
	require.NoError(t, err)
	assert.Equal(t, today+20_000, newest(), "what is late is not newest")
}

func TestOptionsThatCannotBe(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.Partition = time.Second }, func(o *Options) { o.FlushHandOvers = 0 }, func(o *Options) {
			o.IdleHandOvers = 0
		},
		func(o *Options) { o.HeadBytes = 1 }, func(o *Options) { o.MaxSeries = 0 }, func(o *Options) {
			o.RetentionTime = -1
		},
		func(o *Options) { o.RetentionBytes = -1 },
	} {
		o := DefaultOptions()
		change(&o)
		_, err := Open(t.TempDir(), o)
		require.ErrorContains(t, err, "grid store: ")
	}
}

// The store also works in a directory of the operating system. Its metrics can be registered again after it is closed.
func TestOnTheMachine(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	o := DefaultOptions()
	o.Registerer, o.RetentionTime = registry, 0
	home := t.TempDir() + "/store"
	for i := range 3 {
		s, err := Open(home, o)
		require.NoError(t, err)
		assert.Equal(t, uint64(i), s.Durable())
		_, err = s.Append(t.Context(), uint64(i)+1, numbers(today+int64(i)*100_000, 10))
		require.NoError(t, err)
		assert.Equal(t, (i+1)*10, count(t, s))
		families, err := registry.Gather()
		require.NoError(t, err)
		var names []string
		for _, f := range families {
			names = append(names, f.GetName())
		}
		assert.Contains(t, names, "bullet_metrics_embedded_compaction_failures_total")
		require.NoError(t, s.Close(t.Context()))
		require.NoError(t, s.Close(t.Context()))
	}
	require.NoError(t, Check(o.filled().FS, home, func(damage *run.DamageError) { require.NoError(t, damage) }))
}
