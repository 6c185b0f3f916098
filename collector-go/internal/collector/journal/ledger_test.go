package journal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

var (
	ledgerSeed  = flag.Uint64("journal.seed", 0, "run the ledger tests with this seed alone")
	ledgerFirst = flag.Uint64("journal.first", 1, "the first of them")
	ledgerCases = cases.Flag("journal.cases", 150, 15, "seeds that the ledger tests run")
)

// eachSeed runs a test with many seeds. The name of a failed one contains the seed, and -journal.seed repeats it.
func eachSeed(t *testing.T, n uint64, run func(t *testing.T, seed uint64)) {
	first := *ledgerFirst
	if *ledgerSeed != 0 {
		first, n = *ledgerSeed, 1
	}
	for seed := first; seed < first+n; seed++ {
		if !t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { run(t, seed) }) {
			return
		}
	}
}

// batchKey identifies a batch in tests.
type batchKey struct {
	epoch    Epoch
	sequence uint64
}

// sender is the sender of one epoch. It keeps what is not acknowledged and sends it again after a restart.
type sender struct {
	producer ProducerDefined
	epoch    Epoch
	sequence uint64
	held     []uint64
}

// batchOf returns a batch whose content follows from its sender and sequence, so that a reader can check it.
func batchOf(t require.TestingT, j *Journal, s *sender, sequence uint64) *Batch {
	producer, err := j.DefineProducer(s.producer)
	require.NoError(t, err)
	b := &Batch{Producer: producer, Epoch: s.epoch, Sequence: sequence, SentMs: 1_000_000, ReceivedMs: 1_000_000 +
		int64(sequence)}
	for i := range sequence%40 + 1 {
		id, err := j.Define(metric.Raw{Worker: metric.Worker{Topology: s.producer.Topology, Host: "h",
			Port: s.producer.Port},
			Component: "FilterBolt", Task: int32(i), Name: fmt.Sprintf("m%d", (sequence+i)%97)})
		require.NoError(t, err)
		b.IDs = append(b.IDs, id)
		b.TimesMs = append(b.TimesMs, int64(sequence*1000+i))
		b.Values = append(b.Values, float64(sequence)+float64(i)/7)
	}
	if sequence%2 == 0 {
		layout, err := j.DefineLayout(b.IDs)
		require.NoError(t, err)
		b.Blocks = []Block{{Layout: layout, Block: blockOf(sequence, b.Values)}}
	}
	return b
}

// blockOf returns a block of two rows with the same values. The last cell is missing.
func blockOf(sequence uint64, values []float64) block.Block {
	cells := 2 * len(values)
	x := block.Block{Columns: len(values), Rows: 2, FirstMs: int64(sequence * 1000), StepMs: 10,
		Presence: bytes.Repeat([]byte{0xff}, (cells+7)/8),
		Codec:    block.Trimmed}
	x.Presence[(cells-1)/8] = byte(1)<<((cells-1)%8) - 1
	var all []float64
	for _, v := range values {
		all = append(all, v, -v)
	}
	x.Values = block.AppendTrimmed(nil, all[:cells-1])
	return x
}

// reading is the state of a store that reads the journal: the batches that it received, and its position.
type reading struct {
	at        Position
	batches   map[batchKey]int
	series    map[SeriesID]metric.Raw
	layouts   map[LayoutID][]SeriesID
	samples   int
	connected int
}

func newReading() *reading {
	return &reading{batches: map[batchKey]int{}, series: map[SeriesID]metric.Raw{}, layouts: map[LayoutID][]SeriesID{}}
}

// catchUp reads everything that is durable.
func (r *reading) catchUp(t require.TestingT, j *Journal) {
	reader, err := j.Reader(r.at)
	require.NoError(t, err)
	defer reader.Close()
	nothingToWaitFor, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		at, entry, err := reader.Next(nothingToWaitFor)
		if errors.Is(err, context.Canceled) {
			return
		}
		require.NoError(t, err)
		r.take(t, entry)
		r.at = at
	}
}

func (r *reading) take(t require.TestingT, entry Entry) {
	switch e := entry.(type) {
	case *SeriesDefined:
		if known, ok := r.series[e.ID]; ok {
			require.Equal(t, known, e.Series, "series %d was defined as another", e.ID)
		}
		r.series[e.ID] = e.Series
	case *LayoutDefined:
		for _, id := range e.Series {
			if _, ok := r.series[id]; !ok {
				require.Fail(t, "layout comes before its series", "%d", e.ID)
			}
		}
		if known, ok := r.layouts[e.ID]; ok && !slices.Equal(known, e.Series) {
			require.Fail(t, "layout was defined as another", "%d", e.ID)
		}
		r.layouts[e.ID] = e.Series
	case *Connected:
		r.connected++
	case *Batch:
		r.batches[batchKey{e.Epoch, e.Sequence}]++
		r.samples += e.Samples()
		r.check(t, e)
	}
}

// check compares a batch with the content that follows from its sequence (see batchOf).
func (r *reading) check(t require.TestingT, b *Batch) {
	if len(b.IDs) != int(b.Sequence%40+1) {
		require.Fail(t, "batch has lost samples", "%v", b)
	}
	for i, id := range b.IDs {
		n := b.Sequence + uint64(i)
		if r.series[id].Name != fmt.Sprintf("m%d", n%97) || b.TimesMs[i] != int64(b.Sequence*1000+uint64(i)) ||
			b.Values[i] != float64(b.Sequence)+float64(i)/7 {
			require.Fail(t, "sample is not what was sent", "%d of %v, series %v", i, b, r.series[id])
		}
	}
	if len(b.Blocks) != int((b.Sequence+1)%2) {
		require.Fail(t, "batch has lost its block", "%v", b)
	}
	for _, got := range b.Blocks {
		want := blockOf(b.Sequence, b.Values)
		if !slices.Equal(b.IDs, r.layouts[got.Layout]) || !bytes.Equal(want.Values, got.Values) ||
			!bytes.Equal(want.Presence, got.Presence) ||
			want.FirstMs != got.FirstMs || want.Columns != got.Columns || want.Rows != got.Rows ||
			want.StepMs != got.StepMs || want.Codec != got.Codec {
			require.Fail(t, "block is not what was sent", "%v", got)
		}
	}
}

// world consists of senders, a disk, a journal and a store, with a ledger of what was acknowledged.
type world struct {
	t       *testing.T
	random  *rand.Rand
	fs      *disktest.Memory
	j       *Journal
	senders []*sender

	mu           sync.Mutex
	acknowledged map[batchKey]bool
	waiting      sync.WaitGroup

	store  *reading
	stored map[batchKey]int // as of the store's checkpoint
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 2)), fs: disktest.NewMemory(seed),
		acknowledged: map[batchKey]bool{},
		store:        newReading()}
	for i := range 3 {
		s := &sender{producer: ProducerDefined{Topology: "t", Host: "h", Port: uint32(6700 + i), Task: int32(i)}}
		binary.BigEndian.PutUint64(s.epoch[:], seed<<8|uint64(i))
		w.senders = append(w.senders, s)
	}
	w.open()
	return w
}

func smallOptions(fs disk.FS) Options {
	o := DefaultOptions()
	o.SegmentBytes, o.RetryInterval, o.MakeRoomAfter, o.FS = 4<<10, time.Millisecond, 0, fs
	return o
}

func (w *world) open() {
	j, err := Open("/journal", smallOptions(w.fs))
	require.NoError(w.t, err)
	w.j = j
	for _, s := range w.senders {
		w.resend(s)
	}
}

// resend sends everything that a sender holds on a new stream, from the oldest.
func (w *world) resend(s *sender) {
	for _, sequence := range slices.Clone(s.held) {
		w.append(s, sequence)
	}
}

func (w *world) send(s *sender) {
	s.sequence++
	s.held = append(s.held, s.sequence)
	w.append(s, s.sequence)
}

func (w *world) append(s *sender, sequence uint64) {
	w.waiting.Add(1)
	key := batchKey{s.epoch, sequence}
	_, err := w.j.Append(batchOf(w.t, w.j, s, sequence), func(err error) {
		defer w.waiting.Done()
		if err == nil {
			w.mu.Lock()
			w.acknowledged[key] = true
			w.mu.Unlock()
		} else if !errors.Is(err, ErrFull) {
			w.t.Error(err)
		}
	})
	if err != nil {
		w.waiting.Done()
		require.ErrorIs(w.t, err, ErrFull)
	}
}

// settle waits for every answer, and lets senders forget what was acknowledged.
func (w *world) settle() {
	w.waiting.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.senders {
		s.held = slices.DeleteFunc(s.held, func(sequence uint64) bool {
			return w.acknowledged[batchKey{s.epoch, sequence}]
		})
	}
}

// checkpoint makes durable what the store has read so far.
func (w *world) checkpoint() {
	w.store.catchUp(w.t, w.j)
	w.stored = make(map[batchKey]int, len(w.store.batches))
	for key, n := range w.store.batches {
		w.stored[key] = n
	}
	if w.random.IntN(3) == 0 {
		if err := w.j.Release(w.store.at); err != nil {
			require.False(w.t, errors.Is(err, ErrClosed))
		}
	}
}

// crash ends the collector and starts it on what its disk kept. The store returns to its checkpoint.
func (w *world) crash(powerLoss bool) {
	at := w.store.at
	if w.stored == nil {
		at = 0
	}
	batches := w.stored
	if w.random.IntN(2) == 0 { // the store read on after its checkpoint, and loses that
		w.store.catchUp(w.t, w.j)
	}
	next := w.fs.Reboot(powerLoss)
	_ = w.j.Close()
	w.settle()
	w.fs = next
	w.store.at = at
	w.store.batches = map[batchKey]int{}
	for key, n := range batches {
		w.store.batches[key] = n
	}
	w.open()
}

// verify compares the ledger with the content of the store.
func (w *world) verify() {
	w.store.catchUp(w.t, w.j)
	for key := range w.acknowledged {
		require.Equal(w.t, 1, w.store.batches[key], "batch %v was acknowledged", key)
	}
	for key, n := range w.store.batches {
		require.Equal(w.t, 1, n, "batch %v is doubled", key)
	}
}

// failSoon makes the n-th call from now, and possibly some after it, fail.
func (w *world) failSoon() {
	from := w.fs.Calls() + 1 + w.random.IntN(6)
	to := from + w.random.IntN(4)
	w.fs.SetFault(func(call int, op, name string) error {
		if call >= from && call <= to {
			return disktest.ErrInputOutput
		}
		return nil
	})
}

func (w *world) step() {
	switch n := w.random.IntN(40); {
	case n < 24:
		w.send(w.senders[w.random.IntN(len(w.senders))])
	case n < 28:
		w.settle()
	case n < 30: // a new stream, while answers to the old one may still be outstanding
		for _, s := range w.senders {
			w.resend(s)
		}
	case n < 34:
		w.checkpoint()
	case n < 36:
		require.NoError(w.t, w.j.AppendControl(&Tick{TimeMs: 1_000_000}))
	case n < 38:
		w.failSoon()
	case n < 39:
		w.crash(false)
	default:
		w.crash(true)
	}
}

// awaitReady waits until the journal accepts writes.
func awaitReady(j *Journal) {
	for {
		j.mu.Lock()
		changed, failure := j.changed, j.failure
		j.mu.Unlock()
		if failure == nil {
			return
		}
		<-changed
	}
}

// TestLedger sends, fails, crashes and restarts at random. Nothing that was acknowledged may be missing or duplicated.
func TestLedger(t *testing.T) {
	eachSeed(t, ledgerCases.N(), func(t *testing.T, seed uint64) {
		w := newWorld(t, seed)
		for range 120 {
			w.step()
		}
		w.fs.SetFault(nil)
		for w.settle(); len(w.senders[0].held)+len(w.senders[1].held)+len(w.senders[2].held) > 0; w.settle() {
			for _, s := range w.senders {
				w.resend(s)
			}
			awaitReady(w.j)
		}
		w.verify()
		require.NoError(t, w.j.Close())
	})
}

// readClosed reads the content of a closed journal.
func (r *reading) readClosed(t require.TestingT, j *Journal) {
	reader, err := j.Reader(0)
	require.NoError(t, err)
	defer reader.Close()
	for {
		_, entry, err := reader.Next(context.Background())
		if errors.Is(err, ErrClosed) {
			return
		}
		require.NoError(t, err)
		r.take(t, entry)
	}
}
