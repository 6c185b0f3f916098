package feed

import (
	"container/heap"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// simulated is a world. Its events happen one after the other at their times, controlled by one random source.
type simulated struct {
	t      *testing.T
	random *rand.Rand
	seed   uint64
	happen happenings

	nowMs  int64 // true time since the Unix epoch, which no clock in the world shows
	offMs  int64 // how far the collector's clock is ahead
	events events
	order  uint64
	trace  uint64
	bytes  []byte // of a note
	shown  bool   // -sim.trace

	disk      *disktest.Memory
	life      *life // nil while the collector is down
	last      *life // the newest, running or not
	faulty    bool  // the disk has a fault
	healed    bool  // all faults are over
	over      bool  // everything must come to its end
	quiet     bool  // samples are rare
	strict    bool  // nothing in the world makes a sample late
	plugins   []*plugin
	epochs    uint64
	receivers []*receiver
	embedded  *buffered
	journaled *journaled

	acknowledged map[batchName]int64 // with the time
	journaledBy  uint64              // samples, as counted by ingest in all lives
}

// event is something that happens at a time.
type event struct {
	atMs  int64
	order uint64
	what  string
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].atMs < e[j].atMs || e[i].atMs == e[j].atMs && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	(*e)[last].do = nil
	*e = (*e)[:last]
	return x
}

func newSimulated(t *testing.T, seed uint64, shown bool) *simulated {
	w := &simulated{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 21)), disk: disktest.NewMemory(seed),
		nowMs: t0, shown: shown,
		epochs: seed << 16, journaled: newJournaled(t), acknowledged: map[batchName]int64{}, happen: happenings{}}
	w.journaled.rejects = func(s sentSample, receivedMs int64) bool {
		return s.timeMs > receivedMs+doorAhead.Milliseconds() || s.timeMs < max(0, receivedMs-doorAge.Milliseconds())
	}
	w.strict = w.random.IntN(2) == 0
	w.embedded = newBuffered(w)
	for _, kind := range w.random.Perm(len(kinds))[:1+w.random.IntN(3)] {
		w.receivers = append(w.receivers, newReceiver(w, kinds[kind]))
	}
	for i := range 1 + w.random.IntN(3) {
		w.newPlugin(journal.ProducerDefined{Topology: "t", TopologyID: "t-1", Host: "h", Port: 6700 + uint32(i),
			Task: int32(i)})
	}
	w.start()
	return w
}

const (
	doorAhead = 10 * time.Minute
	doorAge   = 24 * time.Hour
)

// at schedules something after a delay.
func (w *simulated) at(afterMs int64, what string, do func()) {
	w.order++
	heap.Push(&w.events, event{w.nowMs + max(afterMs, 0), w.order, what, do})
}

// run lets time pass.
func (w *simulated) run(ms int64) {
	w.until(w.nowMs+ms, func() bool { return false })
}

// until lets time pass until a condition holds, or to a time. It returns whether the condition holds.
func (w *simulated) until(atMs int64, holds func() bool) bool {
	for !holds() {
		if len(w.events) == 0 || w.events[0].atMs > atMs {
			w.nowMs = max(w.nowMs, atMs)
			return false
		}
		e := heap.Pop(&w.events).(event)
		w.nowMs = max(w.nowMs, e.atMs)
		w.note(e.what, e.order)
		e.do()
		if w.life != nil && w.disk.Off() {
			w.note("the disk is off")
			w.die(!w.chance(3)) // otherwise only the process died in the middle of a call
		}
	}
	return true
}

// upTo returns a number from 0 to n-1. chance is true once in n times.
func (w *simulated) upTo(n int64) int64 { return w.random.Int64N(n) }
func (w *simulated) chance(n int) bool  { return w.random.IntN(n) == 0 }

// note adds to the trace.
func (w *simulated) note(what string, of ...uint64) {
	b := w.bytes[:0]
	b = binary.BigEndian.AppendUint64(b, w.trace)
	b = binary.BigEndian.AppendUint64(b, uint64(w.nowMs))
	b = append(b, what...)
	for _, n := range of {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	w.bytes, w.trace = b, sum(b)
	if w.shown {
		fmt.Printf("%9.3f %016x %s %v\n", float64(w.nowMs-t0)/1000, w.trace, what, of)
	}
}

// clockMs returns the collector's clock.
func (w *simulated) clockMs() int64 { return w.nowMs + w.offMs }

func (w *simulated) clock() time.Time { return time.UnixMilli(w.clockMs()) }

// hashOf returns a number that depends only on a name and a time.
func hashOf(name string, ms int64) uint64 {
	return sum(binary.BigEndian.AppendUint64([]byte(name), uint64(ms)))
}

func sum(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}
