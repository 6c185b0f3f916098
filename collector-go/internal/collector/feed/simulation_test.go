package feed

import (
	"flag"
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
)

var (
	simSeed  = flag.Uint64("sim.seed", 0, "TestSimulation with this seed alone")
	simFirst = flag.Uint64("sim.first", 1, "the first seed of those that TestSimulation plays")
	simSeeds = cases.Flag("sim.seeds", 250, 25, "how many worlds TestSimulation plays")
	simTrace = flag.Bool("sim.trace", false, "TestSimulation prints what happens")
)

// TestSimulation runs plugins, network, ingest, journal, slicer, cursors and stores in one goroutine. They use one seed
// and a simulated clock, and disk, process, machine, network, clocks and stores may fail.
//
// Acknowledged samples are in each store once with exactly their values, or are counted by a reason. The accounting
// balances. Once the faults are over, a fresh batch is acknowledged within 5 s. The same seed gives the same world.
func TestSimulation(t *testing.T) {
	first, last := *simFirst, *simFirst+simSeeds.N()-1
	if *simSeed != 0 {
		first, last = *simSeed, *simSeed
	}
	all := happenings{}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // otherwise GC takes a fifth of the time
	for seed := first; seed <= last; seed++ {
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { simulate(t, seed, all) }) {
			t.Fatalf("repeat it with: go test ./internal/collector/feed -run TestSimulation -sim.seed=%d (and -sim.trace to see what happens)",
				seed)
		}
	}
	fmt.Println(all.line())
	if *simSeed == 0 && *simFirst == 1 && simSeeds.N() >= 250 { // with fewer seeds the rarest event may be missing
		all.requireMuch(t)
	}
}

// TestASimulationRepeatsItself checks that the same seed gives the same events at the same times, the same answers, and
// the same bytes on disk.
func TestASimulationRepeatsItself(t *testing.T) {
	for seed := uint64(1); seed <= 12; seed++ {
		once, twice := happenings{}, happenings{}
		require.Equal(t, simulate(t, seed, once), simulate(t, seed, twice), "seed %d", seed)
		require.Equal(t, once, twice)
	}
}

func simulate(t *testing.T, seed uint64, all happenings) (digest string) {
	w := newSimulated(t, seed, *simTrace)
	w.run(w.upTo(20_000))
	for range 4 + w.random.IntN(8) {
		w.turn()
		w.run(w.upTo(30_000))
		w.readJournal()
	}
	w.heal()
	w.freshWrite()
	w.allDelivered()
	w.finish()
	w.happen["seeds"] = 1
	all.add(w.happen)
	return fmt.Sprintf("%016x after %d calls of the disk", w.trace, w.disk.Calls())
}

// readJournal lets the ledger read what is durable, and allows the journal to release it.
func (w *simulated) readJournal() {
	if w.life != nil {
		w.journaled.catchUp(w.life.journal, w.life.retention)
	}
}

// freshWrite checks that a sender that connects now is served within 5 s.
func (w *simulated) freshWrite() {
	p := w.newPlugin(journal.ProducerDefined{Topology: "t", TopologyID: "t-1", Host: "fresh", Port: 6700})
	p.link.delayMs = 5
	p.link.simulated = w
	begun := w.nowMs
	if w.life.journal.Ready() != nil && w.journalIsLarge() {
		return // a store was unavailable for too long and has to catch up first
	}
	require.True(w.t, w.until(begun+5000, func() bool { return w.acknowledged[batchName{p.epoch, 1}] > 0 }),
		"a fresh batch is not acknowledged within 5 s; the journal reports %v", w.life.journal.Ready())
	w.happen["fresh"]++
	w.happen[slowestFresh] = int(w.acknowledged[batchName{p.epoch, 1}] - begun)
}

// journalIsLarge reports whether the journal has reached its limit.
func (w *simulated) journalIsLarge() bool {
	_, nearlyFull := w.life.journal.NearlyFull()
	return nearlyFull
}

// allDelivered lets time pass until everything that plugins hold is acknowledged, and all stores have it.
func (w *simulated) allDelivered() {
	held := func() (n int) {
		for _, p := range w.plugins {
			p.gone = true // no new samples
			n += len(p.held)
		}
		return n
	}
	limit := w.nowMs + 3_600_000/2
	for held() > 0 || !w.feedsAreThere() {
		require.Less(w.t, w.nowMs, limit, "%d batches are held, %v; journal: %v; feeds %v", held(), w.positions(),
			w.life.journal.Ready(), w.life.journal.Durable())
		for _, p := range w.plugins {
			p.step()
		}
		w.run(1000)
		w.readJournal()
	}
}

func (w *simulated) positions() (all []uint64) {
	for _, s := range w.life.feeds {
		all = append(all, s.feed.Position())
	}
	return all
}

// feedsAreThere reports whether all feeds have handed over what closed up to a second ago.
func (w *simulated) feedsAreThere() bool {
	for _, s := range w.life.feeds {
		if w.clockMs()-s.feed.tickMs > 2500 {
			return false
		}
	}
	return true
}

// finish ends the collector, and compares everything with the ledger.
func (w *simulated) finish() {
	w.over = true
	w.stop()
	w.everythingIsThere()
	plain, want := w.journaled.plainRun(w.t, w.feedOptions("plain"), 0)
	w.embedded.flush()
	w.same("embedded", want, w.embedded.durable)
	for _, r := range w.receivers {
		w.same(r.kind.name, r.kept(want), r.has)
	}
	w.accountingBalances(plain)
	w.ordered()
	for _, points := range want {
		w.happen["slices"] += len(points)
	}
	w.happen["samples"], w.happen["acknowledged"] = w.journaled.samples, len(w.acknowledged)
	w.happen["forgotten"], w.happen["rejected"] = w.journaled.forgotten, w.journaled.turned
	w.happen["late"] += int(plain.accounting()[fate{"late", ""}])
}

// everythingIsThere compares the journal with what was acknowledged to plugins.
func (w *simulated) everythingIsThere() {
	for name := range w.acknowledged {
		if w.journaled.batches[name] == 0 {
			require.Fail(w.t, "a batch was acknowledged and is lost", "%v", name)
		}
	}
	for name, n := range w.journaled.batches {
		if n != 1 {
			require.Fail(w.t, "a batch is doubled", "%v is there %d times", name, n)
		}
	}
	require.LessOrEqual(w.t, int(w.journaledBy), w.journaled.samples, "samples that the doors counted as journaled")
}

// same compares a store with the plain run.
func (w *simulated) same(store string, want, got slicesByName) {
	for name, points := range want {
		for endMs, p := range points {
			if got[name][endMs] != p {
				require.Equal(w.t, p, got[name][endMs], "%s: %s at %d", store, name, endMs)
			}
		}
		require.Len(w.t, got[name], len(points), "%s: %s", store, name)
	}
	require.Len(w.t, got, len(want), store)
}

// accountingBalances compares each feed's accounting with the journaled samples, and with the accounting of the plain
// run.
func (w *simulated) accountingBalances(plain *pipeline) {
	all := plain.accounting()
	for _, s := range w.last.feeds {
		counts := s.feed.Accounting()
		require.EqualValues(w.t, w.journaled.samples, counts.Read, s.name)
		require.Equal(w.t, counts.Read, counts.InSlices+counts.Open+counts.Expired+sumOf(counts.Refused)+
			sumOf(counts.LeftOut), "%s: %+v", s.name, counts)
		require.Zero(w.t, counts.Expired, s.name)
		require.Equal(w.t, all[fate{"open", ""}], counts.Open, s.name)
		require.Equal(w.t, all[fate{"in_slices", ""}], counts.InSlices, s.name)
		require.Equal(w.t, all[fate{"late", ""}], counts.Refused["late"], s.name)
	}
}
