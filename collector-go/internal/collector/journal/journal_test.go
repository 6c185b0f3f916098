package journal

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var place = ProducerDefined{Topology: "t", TopologyID: "t-1", Host: "h", Port: 6700, Task: 4}

// appended appends a batch and waits until it is durable.
func appended(t testing.TB, j *Journal, b *Batch) (duplicate bool) {
	answer := make(chan error, 1)
	duplicate, err := j.Append(b, func(err error) { answer <- err })
	require.NoError(t, err)
	require.NoError(t, <-answer)
	return duplicate
}

func oneBatch(t testing.TB, j *Journal, sequence uint64) *Batch {
	return batchOf(t, j, &sender{producer: place, epoch: Epoch{9}}, sequence)
}

// next reads entries until one that is no definition.
func next(t testing.TB, r *Reader) (Position, Entry, []Entry) {
	var definitions []Entry
	for {
		at, entry, err := r.Next(context.Background())
		require.NoError(t, err)
		switch entry.(type) {
		case *SeriesDefined, *ProducerDefined, *LayoutDefined:
			definitions = append(definitions, entry)
		default:
			return at, entry, definitions
		}
	}
}

// TestOnARealDisk writes, reads, restarts and resumes in a real directory.
func TestOnARealDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "journal")
	j, err := Open(dir, DefaultOptions())
	require.NoError(t, err)
	_, err = Open(dir, DefaultOptions())
	require.ErrorContains(t, err, "in use by pid")

	b := oneBatch(t, j, 5)
	id := b.IDs[0]
	b.Histograms = []*bulletmetricsv1.HistogramSample{{SeriesId: uint32(id), Count: 3, ZeroCount: 3}}
	b.Notes = &bulletmetricsv1.Batch{Drops: []*bulletmetricsv1.Drop{{TotalSamples: 4}}}
	require.NoError(t, j.AppendControl(&Started{TimeMs: 1}))
	require.NoError(t, j.AppendControl(&Connected{Producer: b.Producer, TimeMs: 2}))
	require.False(t, appended(t, j, b))
	require.True(t, appended(t, j, b), "the same again")
	reader, err := j.Reader(0)
	require.NoError(t, err)
	_, entry, definitions := next(t, reader)
	require.Equal(t, &Started{TimeMs: 1}, entry)
	require.NotEmpty(t, definitions)
	middle, entry, _ := next(t, reader)
	require.Equal(t, &Connected{Producer: b.Producer, TimeMs: 2}, entry)
	_, entry, _ = next(t, reader)
	got := entry.(*Batch)
	require.Equal(t, b.Values, got.Values)
	require.Equal(t, b.TimesMs, got.TimesMs)
	require.Equal(t, b.IDs, got.IDs)
	require.Equal(t, uint64(3), got.Histograms[0].GetCount())
	require.Equal(t, uint64(4), got.Notes.GetDrops()[0].GetTotalSamples())
	require.NoError(t, reader.Close())
	require.NoError(t, j.Close())
	require.NoError(t, j.Close())

	j, err = Open(dir, DefaultOptions())
	require.NoError(t, err)
	require.True(t, appended(t, j, b), "known after a restart")
	again, err := j.Define(metric.Raw{Worker: metric.Worker{Topology: "t", Host: "h", Port: 6700},
		Component: "FilterBolt",
		Task:      0, Name: "m5"})
	require.NoError(t, err)
	require.Equal(t, id, again)
	reader, err = j.Reader(middle)
	require.NoError(t, err)
	at, entry, definitions := next(t, reader)
	require.Equal(t, b.Sequence, entry.(*Batch).Sequence)
	require.Len(t, definitions, len(b.IDs)+1, "what was defined before the middle")
	require.Greater(t, at, middle)

	waiting := make(chan error, 1)
	go func() { _, _, err := reader.Next(context.Background()); waiting <- err }()
	require.NoError(t, j.Close())
	require.ErrorIs(t, <-waiting, ErrClosed)
	require.NoError(t, reader.Close())
	_, err = j.Append(b, nil)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, j.AppendControl(&Tick{}), ErrClosed)
}

// TestReadersSeeOnlyWhatIsDurable delays an fsync.
func TestReadersSeeOnlyWhatIsDurable(t *testing.T) {
	gate := newGate()
	j, err := Open("/journal", smallOptions(gate))
	require.NoError(t, err)
	defer j.Close()
	gate.shut.Store(true)
	b := oneBatch(t, j, 1)
	answer := make(chan error, 1)
	_, err = j.Append(b, func(err error) { answer <- err })
	require.NoError(t, err)
	<-gate.waiting
	r := newReading()
	r.catchUp(t, j)
	require.Empty(t, r.batches)
	require.Empty(t, answer)
	gate.open()
	require.NoError(t, <-answer)
	r.catchUp(t, j)
	require.Len(t, r.batches, 1)
}

// gate is a disk whose fsyncs block while it is shut.
type gate struct {
	*disktest.Memory
	shut    atomic.Bool
	waiting chan struct{} // receives a token from each fsync that blocks
	release chan struct{}
}

func newGate() *gate {
	return &gate{Memory: disktest.NewMemory(1), waiting: make(chan struct{}, 100), release: make(chan struct{})}
}

func (g *gate) open() {
	g.shut.Store(false)
	close(g.release)
}

func (g *gate) Create(name string) (disk.File, error) {
	f, err := g.Memory.Create(name)
	return &gatedFile{f, g}, err
}

type gatedFile struct {
	disk.File
	gate *gate
}

func (f *gatedFile) Sync() error {
	if f.gate.shut.Load() {
		f.gate.waiting <- struct{}{}
		<-f.gate.release
	}
	return f.File.Sync()
}

// TestFullQueue checks that batches which do not fit are refused while an fsync blocks, and accepted afterwards.
func TestFullQueue(t *testing.T) {
	gate := newGate()
	o := smallOptions(gate)
	o.QueueBytes = 8 << 10
	j, err := Open("/journal", o)
	require.NoError(t, err)
	defer j.Close()
	gate.shut.Store(true)
	var full *FullError
	answers := make(chan error, 10_000)
	accepted := 0
	for sequence := uint64(1); ; sequence++ {
		if _, err := j.Append(oneBatch(t, j, sequence), func(err error) { answers <- err }); err != nil {
			require.ErrorIs(t, err, ErrFull)
			require.ErrorAs(t, err, &full)
			break
		}
		accepted++
	}
	require.Equal(t, "share", full.Reason)
	require.Equal(t, o.RetryInterval, full.RetryAfter)
	require.Positive(t, accepted)
	second := 0 // of another topology, which finds capacity
	for s := (&sender{producer: ProducerDefined{Topology: "another", Host: "h", Port: 1},
		epoch: Epoch{9}}); ; second++ {
		if _, err := j.Append(batchOf(t, j, s, uint64(second+1)), func(err error) { answers <- err }); err != nil {
			break
		}
	}
	require.Positive(t, second)
	require.Less(t, second, accepted)
	accepted += second
	gate.open()
	for range accepted {
		require.NoError(t, <-answers)
	}
	appended(t, j, oneBatch(t, j, 1_000))
}

// TestDiskFull fills a small disk. Batches are refused, and accepted again when there is space. The journal also starts
// with no byte free.
func TestDiskFull(t *testing.T) {
	fs := disktest.NewMemory(1)
	fs.SetRoom(20 << 10)
	j, err := Open("/journal", smallOptions(fs))
	require.NoError(t, err)
	s := &sender{producer: place, epoch: Epoch{9}}
	durable := map[batchKey]int{}
	sequence := uint64(0)
	send := func() error {
		sequence++
		answer := make(chan error, 1)
		if _, err := j.Append(batchOf(t, j, s, sequence), func(err error) { answer <- err }); err != nil {
			return err
		}
		err := <-answer
		if err == nil {
			durable[batchKey{s.epoch, sequence}] = 1
		}
		return err
	}
	refused := 0
	for refused < 200 {
		if err := send(); err != nil {
			require.ErrorIs(t, err, ErrFull)
			refused++
		}
	}
	fs.Fill() // no byte is free
	require.ErrorContains(t, j.Ready(), "no space left")
	require.NoError(t, j.Close())

	j, err = Open("/journal", smallOptions(fs))
	require.NoError(t, err, "starts on a full disk")
	require.Error(t, j.Ready())
	require.ErrorIs(t, send(), ErrFull)
	fs.SetRoom(0)
	awaitReady(j)
	require.NoError(t, j.Ready())
	for range 300 {
		require.NoError(t, send())
	}
	require.NoError(t, j.Close())
	r := newReading()
	r.readClosed(t, j)
	require.Equal(t, durable, r.batches)
}

// TestAFailedFsyncSealsTheSegment checks that the batch is refused, and is written to a new segment when it is sent
// again. It is read once, although the sealed segment may contain it too.
func TestAFailedFsyncSealsTheSegment(t *testing.T) {
	fs := disktest.NewMemory(1)
	registry := prometheus.NewRegistry()
	o := smallOptions(fs)
	o.Registerer = registry
	j, err := Open("/journal", o)
	require.NoError(t, err)
	appended(t, j, oneBatch(t, j, 1))
	fs.SetFault(func(_ int, op, name string) error {
		if op == "sync" && name == segmentName(1) || op == "truncate" {
			return disktest.ErrInputOutput
		}
		return nil
	})
	// may fail with the batch, and must not be lost
	require.NoError(t, j.AppendControl(&Connected{Producer: 1, TimeMs: 5}))
	answer := make(chan error, 1)
	b := oneBatch(t, j, 2)
	_, err = j.Append(b, func(err error) { answer <- err })
	if err == nil {
		err = <-answer
	}
	require.ErrorIs(t, err, ErrFull)
	awaitReady(j)
	require.False(t, appended(t, j, b))
	require.Equal(t, 1.0, testutil.ToFloat64(j.figures.fsyncFailed))
	for range 2 {
		require.NoError(t, j.Close())
		r := newReading()
		r.readClosed(t, j)
		require.Equal(t, map[batchKey]int{{Epoch{9}, 1}: 1, {Epoch{9}, 2}: 1}, r.batches)
		require.Equal(t, 1, r.connected)
		j, err = Open("/journal", smallOptions(fs))
		require.NoError(t, err)
	}
	require.NoError(t, j.Close())
}

// TestReleaseAndBounds checks that MaxBytes refuses batches until Release has freed space, and that released positions
// are expired.
func TestReleaseAndBounds(t *testing.T) {
	fs := disktest.NewMemory(1)
	o := smallOptions(fs)
	o.MaxBytes = 60 << 10
	j, err := Open("/journal", o)
	require.NoError(t, err)
	defer j.Close()
	sequence := uint64(1)
	for ; ; sequence++ {
		answer := make(chan error, 1)
		_, err := j.Append(oneBatch(t, j, sequence), func(err error) { answer <- err })
		if err != nil {
			var full *FullError
			require.ErrorAs(t, err, &full)
			require.Equal(t, "disk", full.Reason)
			break
		}
		require.NoError(t, <-answer)
	}
	r := newReading()
	r.catchUp(t, j)
	require.Len(t, r.batches, int(sequence-1))
	early, err := j.Reader(0)
	require.NoError(t, err)
	at, _, _ := next(t, early)
	require.NoError(t, j.Release(r.at))
	require.Len(t, j.segments, 1)
	appended(t, j, oneBatch(t, j, sequence))
	_, err = j.Reader(at)
	require.ErrorIs(t, err, ErrExpired)
	for err = nil; err == nil; { // it may still read the file that it has open
		_, _, err = early.Next(t.Context())
	}
	require.ErrorIs(t, err, ErrExpired)
	require.NoError(t, early.Close())
	_, err = j.Reader(r.at)
	require.NoError(t, err, "a position at the end of what was released is good")
	_, err = j.Reader(positionOf(99, 8))
	require.ErrorIs(t, err, ErrAhead)
	require.Equal(t, j.before, j.Oldest())
}

// TestCrowded checks that the oldest segment may be released if the journal is nearly full, and if the disk is smaller
// than its limit (D2).
func TestCrowded(t *testing.T) {
	for name, bound := range map[string]func(*disktest.Memory, *Options){
		"bytes": func(_ *disktest.Memory, o *Options) { o.MaxBytes = 60 << 10 },
		"disk":  func(fs *disktest.Memory, _ *Options) { fs.SetRoom(60 << 10) },
	} {
		t.Run(name, func(t *testing.T) {
			fs := disktest.NewMemory(1)
			o := smallOptions(fs)
			bound(fs, &o)
			j, err := Open("/journal", o)
			require.NoError(t, err)
			defer j.Close()
			_, nearlyFull := j.NearlyFull()
			require.False(t, nearlyFull)
			sequence := uint64(1)
			for ; !nearlyFull; sequence++ {
				appended(t, j, oneBatch(t, j, sequence)) // it is accepted, because nothing is full yet
				_, nearlyFull = j.NearlyFull()
			}
			for segments := len(j.segments); nearlyFull; segments-- {
				require.Len(t, j.segments, segments)
				end, _ := j.NearlyFull()
				require.NoError(t, j.Release(end))
				_, nearlyFull = j.NearlyFull()
			}
			appended(t, j, oneBatch(t, j, sequence))
		})
	}
}

// TestDiskIsFullForAMoment checks that no segment is requested while another program fills the disk for a moment. The
// same holds if releasing all segments would not free enough space.
func TestDiskIsFullForAMoment(t *testing.T) {
	fs := disktest.NewMemory(1)
	o := smallOptions(fs)
	now := time.Unix(1_700_000_000, 0)
	o.MakeRoomAfter, o.Now = 5*time.Minute, func() time.Time { return now }
	j, err := Open("/journal", o)
	require.NoError(t, err)
	defer j.Close()
	for sequence := uint64(1); len(j.segments) < 20; sequence++ {
		appended(t, j, oneBatch(t, j, sequence))
	}
	look := func(seconds int) (asked int) {
		for range seconds {
			now = now.Add(time.Second)
			if _, nearlyFull := j.NearlyFull(); nearlyFull {
				asked++
			}
		}
		return asked
	}
	for range 3 {
		fs.Fill()
		require.Zero(t, look(200))
		fs.SetRoom(0)
		require.Zero(t, look(2))
	}
	fs.Fill()
	require.Zero(t, look(300))
	require.Equal(t, 10, look(10))
	j.fs, j.o.SegmentBytes = fullDisk{fs}, j.bytes
	require.Zero(t, look(400), "all of them would not be enough")
}

type fullDisk struct{ disk.FS }

func (fullDisk) Free(string) (free, size uint64, err error) { return 0, 1 << 40, nil }

// TestASegmentIsASmallPartOfTheJournal covers a journal that is small compared with its segments. A lagging store still
// loses only a part of it at a time.
func TestASegmentIsASmallPartOfTheJournal(t *testing.T) {
	o := smallOptions(disktest.NewMemory(1))
	o.MaxBytes, o.SegmentBytes = 256<<10, 128<<10
	j, err := Open("/journal", o)
	require.NoError(t, err)
	defer j.Close()
	for sequence := uint64(1); ; sequence++ {
		appended(t, j, oneBatch(t, j, sequence))
		if end, nearlyFull := j.NearlyFull(); nearlyFull {
			before := j.bytes
			require.NoError(t, j.Release(end))
			require.Less(t, before-j.bytes, before/4)
			return
		}
	}
}

// TestIdleSeriesAreForgotten checks that a start frees capacity in the dictionary, and that ids are not reused.
func TestIdleSeriesAreForgotten(t *testing.T) {
	fs := disktest.NewMemory(1)
	o := smallOptions(fs)
	o.MaxSeries = 10
	j, err := Open("/journal", o)
	require.NoError(t, err)
	old := &Batch{Epoch: Epoch{1}, Sequence: 1, ReceivedMs: 1000 * hourMs}
	old.Producer, err = j.DefineProducer(place)
	require.NoError(t, err)
	define := func(i int32) (SeriesID, error) {
		return j.Define(metric.Raw{Worker: metric.Worker{Topology: "t"}, Task: i, Name: "n"})
	}
	for i := range int32(10) {
		id, err := define(i)
		require.NoError(t, err)
		old.IDs, old.TimesMs, old.Values = append(old.IDs, id), append(old.TimesMs, 1), append(old.Values, 1)
	}
	_, err = define(10)
	require.ErrorIs(t, err, ErrSeriesLimit)
	appended(t, j, old)
	fresh := &Batch{Producer: old.Producer, Epoch: Epoch{1}, Sequence: 2, ReceivedMs: 1030 * hourMs, IDs: old.IDs[:3],
		TimesMs: old.TimesMs[:3], Values: old.Values[:3]}
	appended(t, j, fresh)
	require.NoError(t, j.Close())

	j, err = Open("/journal", o)
	require.NoError(t, err)
	defer j.Close()
	require.Equal(t, 3, j.SeriesOf("t"))
	id, err := define(1)
	require.NoError(t, err)
	require.Equal(t, old.IDs[1], id)
	id, err = define(10)
	require.NoError(t, err)
	require.Equal(t, SeriesID(11), id)
}

// TestEpochsAreBounded checks that old epochs are forgotten, and that batches are refused if this frees no capacity.
func TestEpochsAreBounded(t *testing.T) {
	o := smallOptions(disktest.NewMemory(1))
	o.MaxEpochs = 3
	j, err := Open("/journal", o)
	require.NoError(t, err)
	defer j.Close()
	producer, err := j.DefineProducer(place)
	require.NoError(t, err)
	for i := range byte(3) {
		appended(t, j, &Batch{Producer: producer, Epoch: Epoch{i + 1}, Sequence: 1, ReceivedMs: 1000 * hourMs})
	}
	another := &Batch{Producer: producer, Epoch: Epoch{4}, Sequence: 1, ReceivedMs: 1000 * hourMs}
	_, err = j.Append(another, func(error) {})
	require.ErrorIs(t, err, ErrFull)
	require.True(t, appended(t, j, &Batch{Producer: producer, Epoch: Epoch{2}, Sequence: 1, ReceivedMs: 1000 * hourMs}))
	require.NoError(t, j.AppendControl(&Tick{TimeMs: 1003 * hourMs}))
	require.False(t, appended(t, j, another))
}

func TestHistoryRemembersEachSequence(t *testing.T) {
	h := &history{}
	seen := map[uint64]bool{}
	for _, n := range []uint64{5, 1, 2, 9, 3, 4, 8, 7, 6, 20, 22, 21, 20} {
		h.add(n, n)
		seen[n] = true
		for i := range uint64(30) {
			require.Equal(t, seen[i], h.has(i), "%d after %d", i, n)
		}
	}
	require.Equal(t, []span{{1, 9}, {20, 22}}, h.spans)
	h.add(11, 18)
	require.Equal(t, []span{{1, 9}, {11, 18}, {20, 22}}, h.spans)
	h.add(8, 30)
	require.Equal(t, []span{{1, 30}}, h.spans)
	for i := range uint64(1000) {
		h.add(100+2*i, 100+2*i)
	}
	require.Len(t, h.spans, maxSpans)
}

// TestATornHeaderForgetsNothing covers a segment header that a crash interrupted. It lists fewer batches than the
// segment before it contains, because the last write to that segment had failed but was on disk. Found with the
// ledger's seed 935.
func TestATornHeaderForgetsNothing(t *testing.T) {
	torn := epochs{}
	of := origin{epoch: Epoch{1}, topology: "t"}
	torn.add(of, 1, 10)
	recovered := epochs{}
	recovered.add(of, 1, 10)
	recovered.add(of, 2, 20)
	require.NoError(t, recovered.decode(torn.encode()[0], true))
	require.True(t, recovered.has(of, 2))
	require.Equal(t, int64(20), recovered[of].seenMs)
}

func TestAppendRefusesWhatCannotBe(t *testing.T) {
	j, err := Open("/journal", smallOptions(disktest.NewMemory(1)))
	require.NoError(t, err)
	defer j.Close()
	_, err = j.Append(&Batch{Producer: 1}, nil)
	require.ErrorContains(t, err, "undefined")
	b := oneBatch(t, j, 7)
	b.Values = b.Values[:2]
	_, err = j.Append(b, nil)
	require.ErrorContains(t, err, "columns differ in length")
	b = oneBatch(t, j, 7)
	b.Sequence = math.MaxUint64
	_, err = j.Append(b, nil)
	require.ErrorContains(t, err, "sequence")
	b = oneBatch(t, j, 7)
	b.Notes = &bulletmetricsv1.Batch{
		Annotations: []*bulletmetricsv1.Annotation{{Text: string(make([]byte, maxRecordBytes))}}}
	_, err = j.Append(b, nil)
	require.ErrorIs(t, err, ErrTooLarge)
	require.Error(t, j.AppendControl(b))
	o := DefaultOptions()
	o.RetryInterval = -time.Second
	require.ErrorContains(t, o.Validate(), "RetryInterval")
}

// TestNewerVersionIsRefused opens a segment of a future version.
func TestNewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	b := append([]byte(nil), magic[:]...)
	b = appendRecord(b, positionOf(1, int64(len(b))), kindSegment, []byte{formatVersion + 1, 200, 1, 2, 3})
	require.NoError(t, os.WriteFile(filepath.Join(dir, segmentName(1)), b, 0o600))
	_, err := Open(dir, DefaultOptions())
	require.ErrorContains(t, err, "run the newer release")
}
