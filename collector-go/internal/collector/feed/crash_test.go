package feed

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

var (
	crashFirst = flag.Uint64("crash.first", 1,
		"the first seed of those whose history the tests of crashes and of I/O errors play")
	crashSeeds = flag.Uint64("crash.seeds", 1, "how many histories they play, each once a point")
)

// points counts the places in a history at which it was cut, by name: calls of the disk, and acknowledgements.
type points struct {
	cut   map[string]int
	tally tally
}

func newPoints() *points { return &points{cut: map[string]int{}} }

// print writes the line that make chaos reads.
func (p *points) print() {
	var line strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.cut)) {
		fmt.Fprintf(&line, " %s=%d", name, p.cut[name])
	}
	fmt.Printf("tally: samples=%d%s\n", p.tally.acknowledgedSamples, line.String())
}

// requireEach checks that the first history was cut at each of the points. Other seeds need not have all of them: make
// chaos checks the sum over all of its seeds.
func (p *points) requireEach(t *testing.T, names ...string) {
	if *crashFirst != 1 || testing.Short() {
		return
	}
	for _, name := range names {
		require.Positive(t, p.cut[name], "no history was cut at %s", name)
	}
}

// TestCrashAtEveryPoint ends a fixed history at its first, second, n-th call of the disk, and before its n-th
// acknowledgement is sent; with -short at every fifth. It alternates between a kill and a power failure. The collector
// then works as before, and nothing is lost.
func TestCrashAtEveryPoint(t *testing.T) {
	all, step := newPoints(), cases.Number(1, 5)
	for seed := *crashFirst; seed < *crashFirst+*crashSeeds; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			for call := 1; cutHistory(t, seed, call, 0, all); call += step {
				require.Less(t, call, 10_000)
			}
			for ack := 1; cutHistory(t, seed, 0, ack, all); ack += step {
				require.Less(t, ack, 10_000)
			}
		})
		require.False(t, t.Failed(), "repeat it with -run TestCrashAtEveryPoint -crash.first=%d", seed)
	}
	all.print()
	all.requireEach(t, "create", "write", "sync", "rename", "remove", "syncdir", "acknowledge")
}

// cutHistory plays a history that ends at a call of the disk or an acknowledgement, and continues after it. It returns
// false if the history ended before that.
func cutHistory(t *testing.T, seed uint64, call, ack int, all *points) (cut bool) {
	t.Run(fmt.Sprintf("call=%d,acknowledgement=%d", call, ack), func(t *testing.T) {
		c := newCore(t, seed)
		c.offLoses = (seed+uint64(call+ack))%2 == 0
		c.deafFrom = ack
		at := c.disk.Calls() + call
		c.everyDisk(func(n int, op, _ string) error {
			if n != at || call == 0 {
				return nil
			}
			all.cut[op]++
			cut = true
			return disktest.ErrPowerless
		})
		c.fixedHistory(func() bool {
			c.settle()
			c.mu.Lock()
			deaf := c.deafFrom > 0 && c.acks >= c.deafFrom
			if deaf {
				c.deafFrom, cut = 0, true
				all.cut["acknowledge"]++
			}
			c.mu.Unlock()
			return deaf || c.disk.Off()
		})
		c.settle()
		c.deafFrom, c.fault = 0, nil // the history had fewer
		c.conclude(&all.tally)
	})
	return cut && !t.Failed()
}

// everyDisk sets a fault that stays after a restart of the machine.
func (c *core) everyDisk(fault func(call int, op, name string) error) {
	c.fault = fault
	c.disk.SetFault(fault)
}

// fixedHistory consists of some seconds of samples, slices that are written, a kill and a clean restart. Hours without
// samples follow, in which parts and segments are deleted. If crashed returns true, the process or the machine
// restarts.
func (c *core) fixedHistory(crashed func() bool) {
	again := func() {
		if crashed() {
			c.restart(c.offLoses)
		}
	}
	seconds := func(n int) {
		for range n {
			c.second()
			again()
		}
	}
	seconds(6)
	_ = c.store.Flush(context.Background())
	again()
	c.restart(false)
	seconds(4)
	c.clock.Add(31 * 3_600_000)
	seconds(8)
	_ = c.store.Flush(context.Background())
	again()
	c.reopen()
	seconds(3)
}

// TestInputOutputErrorAtEveryCall fails the first, second, n-th call of a fixed history, alone or with the ten calls
// after it. The journal reports that it is not ready while its calls fail. It writes nothing more to a segment whose
// fsync failed, and nothing is lost.
func TestInputOutputErrorAtEveryCall(t *testing.T) {
	all, step := newPoints(), cases.Number(1, 5)
	for seed := *crashFirst; seed < *crashFirst+*crashSeeds; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			for call := 1; failingHistory(t, seed, call, []int{1, 11}[(seed+uint64(call))%2], all); call += step {
				require.Less(t, call, 10_000)
			}
		})
		require.False(t, t.Failed(), "repeat it with -run TestInputOutputErrorAtEveryCall -crash.first=%d", seed)
	}
	all.print()
	all.requireEach(t, "create", "write", "sync", "rename", "remove", "syncdir", "not_ready", "sealed_segments")
}

// failingHistory plays a history in which some calls of the disk fail. It returns false if the history ended before the
// first of them.
func failingHistory(t *testing.T, seed uint64, call, length int, all *points) (failed bool) {
	t.Run(fmt.Sprintf("call=%d,length=%d", call, length), func(t *testing.T) {
		c := newCore(t, seed)
		at := c.disk.Calls() + call
		var mu sync.Mutex
		// Segments by start and name. A segment of an earlier process is written again in place when it is settled,
		// possibly several times.
		begun, sealed := map[string]bool{}, map[string]bool{}
		c.everyDisk(func(n int, op, name string) error { // of the journal's, the feed's and the store's goroutines
			mu.Lock()
			defer mu.Unlock()
			segment := fmt.Sprint(c.boots.Load(), name)
			if sealed[segment] && (op == "write" || op == "sync") {
				t.Errorf("%s of %s, whose fsync failed", op, name)
			}
			if n < at || n >= at+length {
				begun[segment] = begun[segment] || op == "create"
				return nil
			}
			all.cut[op]++
			failed = true
			if op == "sync" && begun[segment] && strings.HasSuffix(name, ".segment") {
				sealed[segment] = true
				all.cut["sealed_segments"]++
			}
			return disktest.ErrInputOutput
		})
		c.fixedHistory(func() bool {
			c.settle()
			if refused, ready := c.refusedNow(), c.journal.Ready(); refused {
				mu.Lock()
				defer mu.Unlock()
				all.cut["refused"]++
				if ready != nil {
					all.cut["not_ready"]++
				}
			}
			return false
		})
		c.settle()
		c.fault = nil
		c.conclude(&all.tally)
	})
	return failed && !t.Failed()
}

// refusedNow reports whether a batch was refused since the last call.
func (c *core) refusedNow() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := c.refused > c.refusedBefore
	c.refusedBefore = c.refused
	return since
}
