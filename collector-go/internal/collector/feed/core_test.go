package feed

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	gridrun "github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

var (
	coreSeed  = flag.Uint64("core.seed", 0, "TestWhateverHappens with this seed alone")
	coreFirst = flag.Uint64("core.first", 1, "the first seed of those that TestWhateverHappens plays")
	coreSeeds = cases.Flag("core.seeds", 500, 25, "how many histories TestWhateverHappens plays")
)

// TestWhateverHappens runs journal, feed and store on one disk, with faults of the disk, the process and the machine.
// All acknowledged samples are in the store once, with exactly their values. The accounting balances, and the next
// sample is acknowledged.
//
// Which goroutine meets a fault first is random, so a seed may have to be repeated (-count) until it fails again.
func TestWhateverHappens(t *testing.T) {
	first, last := *coreFirst, *coreFirst+coreSeeds.N()-1
	if *coreSeed != 0 {
		first, last = *coreSeed, *coreSeed
	}
	var all tally
	for seed := first; seed <= last; seed++ {
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { whateverHappens(t, seed, &all) }) {
			t.Fatalf("repeat it with -run TestWhateverHappens -core.seed=%d", seed)
		}
	}
	t.Logf("%+v", all)
	all.print()
	if *coreSeed == 0 && coreSeeds.N() >= 100 {
		all.requireMuch(t)
	}
}

// tally counts what happened in all histories, so that a test that tests nothing is noticed.
type tally struct {
	acknowledged, refused, samples, slices, parts          int
	kills, powerLosses, closes, inSlices, late, forgottens int
	abandoned                                              int // batches
	acknowledgedSamples                                    int
}

// print writes the line that make chaos reads.
func (a *tally) print() {
	fmt.Printf("tally: samples=%d kills=%d power_losses=%d restarts=%d refused_batches=%d late=%d\n",
		a.acknowledgedSamples, a.kills, a.powerLosses, a.closes, a.refused, a.late)
}

func (a *tally) requireMuch(t *testing.T) {
	for name, n := range map[string]int{"batches acknowledged": a.acknowledged, "batches refused": a.refused,
		"slices": a.slices, "parts": a.parts,
		"kills": a.kills, "losses of power": a.powerLosses, "clean restarts": a.closes, "late samples": a.late,
		"forgotten ids": a.forgottens} {
		require.Greater(t, n, int(coreSeeds.N())/4, name)
	}
}

func whateverHappens(t *testing.T, seed uint64, all *tally) {
	c := newCore(t, seed)
	for range 6 + c.random.IntN(10) {
		c.turn()
		if c.disk.Off() {
			c.restart(c.random.IntN(3) > 0)
		}
	}
	c.conclude(all)
}

// conclude ends a history. No faults remain, all that senders hold is delivered, and the result is compared with the
// expected one.
func (c *core) conclude(all *tally) {
	c.heal()
	c.deliverAll()
	c.restart(c.random.IntN(2) == 0)
	c.heal()
	c.send(c.senders[0])
	c.deliverAll()

	c.closeAtEnd = true // open slices close
	c.reopen()
	require.NoError(c.t, c.journal.Close())
	require.NoError(c.t, <-c.ran)
	c.readJournal()
	counts := c.feed.Accounting()
	require.NoError(c.t, c.store.Close(context.Background()))
	require.NoError(c.t, grid.Check(c.disk, "/store", func(damage *gridrun.DamageError) {
		require.NoError(c.t, damage)
	}))

	c.openStore()
	got := c.stored()
	c.dropStore()
	c.everythingIsThere()
	plain, want := c.journaled.plainRun(c.t, c.feedOptions(), 0)
	c.same(want, got)
	_, restarted := c.journaled.plainRun(c.t, c.feedOptions(), 1+c.random.IntN(12))
	require.Equal(c.t, want, restarted, "restarts at checkpoints change what comes out")
	c.balanced(counts, plain)
	c.count(all, counts, want)
}

// turn makes something happen, and lets some seconds pass in which samples arrive.
func (c *core) turn() {
	switch c.random.IntN(16) {
	case 0, 1:
		_ = c.store.Flush(context.Background())
	case 2: // the machine dies at a call
		at := c.disk.Calls() + 1 + c.random.IntN(120)
		c.disk.SetFault(func(call int, _, _ string) error {
			if call >= at {
				return disktest.ErrPowerless
			}
			return nil
		})
	case 3: // the n-th call from here fails, and a few after it
		from := c.disk.Calls() + 1 + c.random.IntN(40)
		to := from + c.random.IntN(4)
		c.disk.SetFault(func(call int, _, _ string) error {
			if call >= from && call <= to {
				return disktest.ErrInputOutput
			}
			return nil
		})
	case 4: // some calls fail
		rate, random := 2+c.random.IntN(20), rand.New(rand.NewPCG(c.random.Uint64(), 1)) // the disk asks one at a time
		c.disk.SetFault(func(int, string, string) error {
			if random.IntN(rate) == 0 {
				return disktest.ErrInputOutput
			}
			return nil
		})
	case 5:
		c.disk.Fill()
	case 6, 7, 8:
		c.heal()
	case 9: // the process dies
		c.restart(false)
	case 10: // the machine dies
		c.restart(true)
	case 11:
		c.closes++
		c.reopen()
	case 12: // idle for hours, or for so long that series are forgotten
		c.clock.Add(c.random.Int64N(28) * 3_600_000)
	case 13: // reads of the journal fail sometimes
		random := rand.New(rand.NewPCG(c.random.Uint64(), 1))
		c.disk.SetReadFault(func(name string, _, _ int64) error {
			if strings.HasSuffix(name, ".segment") && random.IntN(200) == 0 {
				return disktest.ErrInputOutput
			}
			return nil
		})
	case 14:
		c.newProducer(c.random.IntN(len(c.senders)))
	}
	for range c.random.IntN(24) {
		if c.second(); c.disk.Off() {
			break
		}
	}
	c.settle()
	c.readJournal()
	if c.random.IntN(2) == 0 {
		c.feedCatchesUp()
	}
}

func (c *core) heal() {
	c.disk.SetFault(nil)
	c.disk.SetReadFault(nil)
	c.disk.SetRoom(0)
}

// deliverAll sends what senders hold until all of it is acknowledged. There are no faults any more.
func (c *core) deliverAll() {
	c.until("everything that senders hold is acknowledged", func() bool {
		c.settle()
		held := 0
		for _, s := range c.senders {
			held += len(s.held)
			c.resend(s)
		}
		if held > 0 { // the journal may be full: it is released once the store has its content
			c.clock.Add(1000)
			_ = c.journal.AppendControl(&journal.Tick{TimeMs: c.clock.Load()})
			_ = c.store.Flush(context.Background())
		}
		c.settle()
		c.readJournal()
		return held == 0
	})
}

// until checks a condition repeatedly until it holds.
func (c *core) until(what string, holds func() bool) {
	begun := time.Now()
	for !holds() {
		require.Less(c.t, time.Since(begun), time.Minute,
			"never: %s; refused was: %v; journal %v to %v, feed at %v, store at %v", what, c.refusal,
			c.journal.Oldest(),
			c.journal.Durable(), journal.Position(c.feed.Position()), journal.Position(c.store.Durable()))
		<-time.After(200 * time.Microsecond)
	}
}

// feedCatchesUp waits until the store has received what closed up to now. While the disk fails there are no ticks that
// close slices.
func (c *core) feedCatchesUp() {
	if c.disk.Off() || c.journal.Ready() != nil {
		return
	}
	before, f := c.journal.Durable(), c.feed
	_ = c.journal.AppendControl(&journal.Tick{TimeMs: c.clock.Load()})
	c.until("the feed reaches a tick", func() bool {
		return journal.Position(f.Position()) > before || c.disk.Off() || c.journal.Ready() != nil ||
			c.journal.Durable() == before
	})
}

// restart ends the process, or the machine, in the middle of its work, and starts it again on what is left.
func (c *core) restart(powerLoss bool) {
	if powerLoss {
		c.powerLosses++
	} else {
		c.kills++
	}
	next := c.disk.Reboot(powerLoss)
	c.end()
	_ = c.journal.Close()
	require.NoError(c.t, <-c.ran)
	c.dropStore()
	c.settle()
	c.disk = next
	if c.random.IntN(4) == 0 {
		c.disk.Fill() // a start without a byte of free space
	}
	c.open()
}

// reopen closes the process in order, and starts it again.
func (c *core) reopen() {
	_ = c.journal.Close()
	c.settle()
	if c.disk.Off() {
		c.end() // the feed may have nothing to wait for
	}
	require.NoError(c.t, <-c.ran)
	_ = c.store.Close(context.Background())
	c.disk = c.disk.Reboot(c.offLoses && c.disk.Off())
	c.open()
}

// everythingIsThere compares the journal with what was acknowledged to senders.
func (c *core) everythingIsThere() {
	for name := range c.acknowledged {
		require.Equal(c.t, 1, c.journaled.batches[name], "batch %v was acknowledged", name)
	}
	for name, n := range c.journaled.batches {
		require.Equal(c.t, 1, n, "batch %v is doubled", name)
	}
}

// stored returns everything that the store contains.
func (c *core) stored() map[string][]storetest.Point {
	q, err := c.store.Querier(-1<<52, 1<<52)
	require.NoError(c.t, err)
	defer q.Close()
	all := map[string][]storetest.Point{}
	set := q.Select(context.Background(), true, nil,
		labels.MustNewMatcher(labels.MatchNotEqual, model.MetricNameLabel, ""))
	for set.Next() {
		key, it := set.At().Labels().String(), set.At().Iterator(nil)
		require.NotContains(c.t, all, key, "a series is there twice")
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind == chunkenc.ValFloat {
				all[key] = append(all[key], storetest.Number(it.At()))
				continue
			}
			all[key] = append(all[key], storetest.Distribution(it.AtFloatHistogram(nil)))
		}
		require.NoError(c.t, it.Err())
	}
	require.NoError(c.t, set.Err())
	require.Empty(c.t, set.Warnings())
	return all
}

// same compares the store with the plain run. Slices that retention no longer keeps may be missing.
func (c *core) same(want slicesByName, got map[string][]storetest.Point) {
	for key, points := range got {
		last := int64(math.MinInt64)
		for _, p := range points {
			require.Greater(c.t, p.EndMs, last, "%s has a slice twice", key)
			require.Equal(c.t, want[key][p.EndMs], p, key)
			last = p.EndMs
		}
	}
	partitionMs := corePartition.Milliseconds()
	oldestMs := (c.clock.Load() - coreRetention.Milliseconds()) / partitionMs * partitionMs
	for key, points := range want {
		there := map[int64]bool{}
		for _, p := range got[key] {
			there[p.EndMs] = true
		}
		for endMs := range points {
			require.True(c.t, there[endMs] || endMs < oldestMs, "%s lacks the slice at %d", key, endMs)
		}
	}
}

// balanced compares the feed's accounting with the journaled samples, and with the accounting of the plain run.
func (c *core) balanced(counts Accounting, plain *pipeline) {
	require.EqualValues(c.t, c.journaled.samples, counts.Read)
	require.Equal(c.t, counts.Read, counts.InSlices+counts.Open+counts.Expired+sumOf(counts.Refused)+
		sumOf(counts.LeftOut), "%+v", counts)
	require.Zero(c.t, counts.Open)
	require.Zero(c.t, counts.Expired)
	all := plain.accounting()
	require.Equal(c.t, all[fate{"read", ""}], counts.Read)
	require.Equal(c.t, all[fate{"in_slices", ""}], counts.InSlices)
	require.Equal(c.t, all[fate{"late", ""}], counts.Refused["late"])
}

func (c *core) count(all *tally, counts Accounting, want slicesByName) {
	all.acknowledged += len(c.acknowledged)
	for name := range c.acknowledged {
		all.acknowledgedSamples += c.journaled.sent[name].count()
	}
	all.refused += c.refused
	all.samples += c.journaled.samples
	all.forgottens += c.journaled.forgotten
	all.abandoned += c.abandoned
	all.inSlices += int(counts.InSlices)
	all.late += int(counts.Refused["late"])
	all.kills, all.powerLosses, all.closes = all.kills+c.kills, all.powerLosses+c.powerLosses, all.closes+c.closes
	for _, points := range want {
		all.slices += len(points)
	}
	names, err := c.disk.ReadDir("/store")
	require.NoError(c.t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".part") {
			all.parts++
		}
	}
}
