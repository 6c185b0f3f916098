package feed

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// life is a collector from its start to its end.
type life struct {
	*simulated
	journal   *journal.Journal
	retention *Retention
	server    *ingest.Server
	feeds     []*strand
	conns     []*conn
	end       context.CancelFunc
	committed bool // a commit is scheduled
}

// start starts a collector on what is on the disk. If a failing disk prevents it, the start is repeated.
func (w *simulated) start() {
	w.note("start")
	err := w.tryStart()
	if err == nil {
		return
	}
	require.True(w.t, w.faulty, "%v", err)
	w.note("did not start")
	w.happen["failed_starts"]++
	next := w.disk.Reboot(w.disk.Off())
	if w.life != nil {
		w.life.drop(true)
	}
	w.disk, w.faulty = next, false
	w.restartIn(w.downFor())
}

func (w *simulated) tryStart() (err error) {
	l := &life{simulated: w}
	o := journal.DefaultOptions()
	o.FS, o.SegmentBytes, o.MaxBytes, o.Stepped, o.MakeRoomAfter = w.disk, 8<<10, 1<<20, true, 0
	o.RingBytes = []int64{0, 2 << 10, 1 << 20}[w.random.IntN(3)]
	if l.journal, err = journal.Open("/journal", o); err != nil {
		return err
	}
	l.retention = NewRetention(l.journal.Release)
	l.retention.Join("journaled", nil)
	door := ingest.DefaultOptions()
	door.Now, door.Window, door.MaxAhead, door.MaxAge = w.clock, 8, doorAhead, doorAge
	l.server, err = ingest.New(l.journal, door)
	require.NoError(w.t, err)
	var ctx context.Context
	ctx, l.end = context.WithCancel(context.Background())
	w.life, w.last = l, l
	if err := l.feed(ctx, w.embedded.open(), "embedded"); err != nil {
		return err
	}
	for _, r := range w.receivers {
		store, err := r.open(l)
		if err == nil {
			err = l.feed(ctx, store, r.kind.name)
		}
		if err != nil {
			return err
		}
	}
	require.NoError(w.t, l.journal.AppendControl(&journal.Started{TimeMs: w.clockMs()}))
	l.tick()
	return nil
}

func (w *simulated) feedOptions(name string) Options {
	o := DefaultOptions(name, "/feeds")
	o.FS, o.CheckpointTicks = w.disk, 20
	if name != "embedded" {
		o.CatchUpTicks = 10
	}
	if !w.strict {
		o.Slicer.LatenessMs, o.Slicer.BacklogMs, o.Slicer.KeepMs = 12_000, 40_000, 90_000
	}
	return o
}

// feed runs the feed of a store.
func (l *life) feed(ctx context.Context, store Store, name string) error {
	f, err := New(l.journal, store, l.retention, l.feedOptions(name))
	if err != nil {
		return err
	}
	s := newStrand(ctx, name, f)
	if r, ok := store.(*forwarding); ok {
		r.receiver.pause = f.pause
	}
	l.feeds = append(l.feeds, s)
	l.schedule(s, 0)
	return nil
}

// tick writes the collector's clock, once a second.
func (l *life) tick() {
	if l.life != l {
		return
	}
	require.NoError(l.t, l.journal.AppendControl(&journal.Tick{TimeMs: l.clockMs()}))
	l.commitSoon()
	every := int64(1000)
	if l.quiet {
		every = 10_000
	}
	l.at(every, "tick", l.tick)
}

// commitSoon makes the journal write what is queued after a delay of the disk.
func (l *life) commitSoon() {
	if l.committed {
		return
	}
	l.committed = true
	latency := 1 + l.upTo(15)
	if !l.healed && l.chance(100) {
		latency = l.upTo(3000)
	}
	l.at(latency, "commit", l.commit)
}

func (l *life) commit() {
	if l.life != l {
		return
	}
	l.committed = false
	l.journal.Commit()
	if l.disk.Off() {
		return
	}
	if l.journal.Ready() != nil {
		l.note("not ready")
		l.happen["failures"]++
		l.committed = true
		l.at(time.Second.Milliseconds(), "retry", l.commit)
	}
	l.note("durable", uint64(l.journal.Durable()))
	for _, c := range l.conns {
		c.answerSoon()
	}
	for _, s := range l.feeds {
		if s.idle {
			s.idle = false
			l.schedule(s, l.upTo(5))
		}
	}
}

// schedule lets a feed continue.
func (l *life) schedule(s *strand, afterMs int64) {
	l.at(afterMs, s.name, func() {
		if l.life != l || s.over {
			return
		}
		wait := s.resume()
		l.note(s.name, s.feed.Position())
		switch {
		case s.over:
			require.NoError(l.t, s.err)
		case l.receiverDies():
			l.note("killed in the middle of a hand-over")
			l.happen["killed_writing"]++
			l.die(false)
		case wait == 0:
			s.idle = true
		default:
			l.schedule(s, wait.Milliseconds())
		}
	})
}

// receiverDies reports whether the process must end between a write and its cursor.
func (w *simulated) receiverDies() bool {
	for _, r := range w.receivers {
		if r.kills {
			r.kills = false
			return true
		}
	}
	return false
}

// die ends the collector in the middle of its work, by a kill or with its machine. It starts the collector again after
// a while.
func (w *simulated) die(powerLoss bool) {
	if powerLoss {
		w.happen["power_losses"]++
	} else {
		w.happen["kills"]++
	}
	l := w.life
	next := w.disk.Reboot(powerLoss)
	l.drop(powerLoss)
	w.disk, w.faulty = next, false
	w.restartIn(w.downFor())
	if !powerLoss && w.chance(2) { // what the killed process wrote and did not sync is uncertain
		w.at(w.upTo(8000), "power", func() {
			if w.life != nil && !w.healed {
				w.die(true)
			}
		})
	}
}

// downFor returns how long a collector is down.
func (w *simulated) downFor() int64 {
	if w.chance(6) {
		return w.upTo(90_000)
	}
	return 50 + w.upTo(3000)
}

func (w *simulated) restartIn(ms int64) {
	w.at(ms, "restart", func() {
		if w.life != nil {
			return
		}
		if w.chance(4) {
			w.disk.Fill() // a start without a byte of free space
		}
		w.start()
	})
}

// drop ends everything that a process consists of. It can write nothing any more.
func (l *life) drop(silently bool) {
	l.simulated.life = nil
	l.end()
	for _, s := range l.feeds {
		s.finish()
		require.NoError(l.t, s.err)
	}
	_ = l.journal.Close()
	for _, c := range l.conns {
		c.lostServer(silently)
	}
	l.balance()
}

// balance checks ingest's accounting.
func (l *life) balance() {
	totals := l.server.Totals()
	require.Zero(l.t, totals.Balance(), "the door's accounting: %+v", totals)
	l.journaledBy += totals.Journaled
	l.happen["duplicates"] += int(totals.Deduplicated)
}

// stop ends the collector in order. If a store is unavailable, the collector ends without it. In the end everything is
// delivered to the stores.
func (w *simulated) stop() {
	l := w.life
	w.happen["closes"]++
	w.life = nil
	for _, c := range l.conns {
		c.lostServer(false)
	}
	_ = l.journal.Close()
	for _, s := range l.feeds {
		for tries := 0; !s.over && (w.over || tries < 30); tries++ {
			wait := s.resume()
			w.nowMs += wait.Milliseconds()
			require.Less(l.t, tries, 10_000, "%s does not end", s.name)
		}
	}
	if w.over {
		w.journaled.catchUp(l.journal, l.retention)
	}
	l.end()
	for _, s := range l.feeds {
		s.finish()
		require.NoError(l.t, s.err)
		if store, ok := s.feed.store.(*forwarding); ok {
			_ = store.Close(context.Background())
		}
	}
	l.balance()
	w.disk, w.faulty = w.disk.Reboot(false), false
}
