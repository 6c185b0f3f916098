package journal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// placed is an entry with its position, as a reader received it.
type placed struct {
	at    Position
	entry Entry
}

// available returns the entries that a reader receives without waiting.
func available(t testing.TB, r *Reader) (all []placed) {
	nothingToWaitFor, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		at, entry, err := r.Next(nothingToWaitFor)
		if errors.Is(err, context.Canceled) || errors.Is(err, ErrClosed) {
			return all
		}
		require.NoError(t, err)
		if b, is := entry.(*Batch); is {
			entry = b.Retained()
		}
		all = append(all, placed{at, entry})
	}
}

// fromTheStart returns all entries as a new reader receives them.
func fromTheStart(t testing.TB, j *Journal) []placed {
	r, err := j.Reader(0)
	require.NoError(t, err)
	defer r.Close()
	return available(t, r)
}

// fromTheFiles returns all entries of a closed journal, read only from files.
func fromTheFiles(t testing.TB, j *Journal) []placed {
	all := fromTheStart(t, j)
	for _, p := range all {
		switch p.entry.(type) {
		case *SeriesDefined, *LayoutDefined: // the dictionary's own rows, wherever they were read
			continue
		}
		for _, g := range j.ring.groups {
			for _, item := range g.items {
				if item.entry == p.entry {
					require.Fail(t, "is of the memory", "%v", p)
				}
			}
		}
	}
	return all
}

// plain returns entries without meaningless differences: empty against nil, and the internals of messages.
func plain(t testing.TB, all []placed) (plain []any) {
	for _, p := range all {
		b, is := p.entry.(*Batch)
		if !is {
			plain = append(plain, p)
			continue
		}
		c := *b
		c.IDs, c.TimesMs, c.Values = append([]SeriesID{}, b.IDs...), append([]int64{}, b.TimesMs...),
			append([]float64{}, b.Values...)
		c.Blocks = append([]Block{}, b.Blocks...)
		c.Histograms, c.Notes = nil, nil
		plain = append(plain, p.at, c, len(b.Histograms))
		for _, h := range b.Histograms {
			plain = append(plain, h.GetSeriesId(), h.GetCount())
		}
		if b.Notes != nil {
			raw, err := protojson.Marshal(b.Notes)
			require.NoError(t, err)
			plain = append(plain, len(raw) > 2)
		}
	}
	return plain
}

// unplaced leaves out the positions of definitions, which from memory are those of a whole segment header.
func unplaced(all []placed) (rest []placed) {
	for _, p := range all {
		switch p.entry.(type) {
		case *SeriesDefined, *ProducerDefined, *LayoutDefined:
			p.at = 0
		}
		rest = append(rest, p)
	}
	return rest
}

// TestMemoryAndFileAgree checks that all readers receive equal entries. Some keep up, some lag and catch up, and some
// start at 0. There are rotations, failures and forgotten ids.
func TestMemoryAndFileAgree(t *testing.T) {
	eachSeed(t, uint64(cases.Number(40, 8)), func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 6))
		h := newJournalFixture(t, func(o *Options) { o.RingBytes = []int64{0, 3 << 10, 64 << 20}[seed%3] })
		type follower struct {
			reader *Reader
			had    []placed
		}
		followers := []*follower{{}, {}}
		for _, f := range followers {
			var err error
			f.reader, err = h.j.Reader(0)
			require.NoError(t, err)
			defer f.reader.Close()
		}
		hour := int64(0)
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
		for range 150 {
			switch random.IntN(12) {
			case 0:
				hour += int64(random.IntN(20))
				h.tick(hour)
			case 1:
				calls := h.fs.Calls()
				h.fs.SetFault(func(call int, op, name string) error {
					if call == calls+2 {
						return disktest.ErrInputOutput
					}
					return nil
				})
			default:
				awaitReady(h.j)
				p, ids := h.producer(names[random.IntN(4)]), h.series(names[random.IntN(4):4+random.IntN(5)]...)
				b := h.batch(hour, p, nil)
				if random.IntN(2) == 0 && len(ids) > 0 {
					layout, err := h.j.DefineLayout(ids)
					require.NoError(t, err)
					b.Blocks = []Block{row(layout, len(ids))}
				} else {
					b.IDs, b.TimesMs, b.Values = ids, make([]int64, len(ids)), make([]float64, len(ids))
					for _, id := range ids {
						b.Histograms = append(b.Histograms,
							&bulletmetricsv1.HistogramSample{SeriesId: uint32(id), Count: 3})
					}
					b.Notes = &bulletmetricsv1.Batch{Drops: []*bulletmetricsv1.Drop{{TotalSamples: 4}}}
				}
				answer := make(chan error, 1)
				if _, err := h.j.Append(b, func(err error) { answer <- err }); err == nil {
					<-answer
				} else {
					require.ErrorIs(t, err, ErrFull)
				}
			}
			followers[0].had = append(followers[0].had, available(t, followers[0].reader)...)
			if random.IntN(10) == 0 {
				followers[1].had = append(followers[1].had, available(t, followers[1].reader)...)
			}
		}
		h.fs.SetFault(nil)
		awaitReady(h.j)
		require.NoError(t, h.j.Close())
		want := unplaced(fromTheFiles(t, h.j))
		for _, f := range followers {
			f.had = append(f.had, available(t, f.reader)...)
			require.Equal(t, plain(t, want), plain(t, unplaced(f.had)))
		}
	})
}

// TestDefinitionsHaveOnePlace covers definitions for a batch that is queued while a segment begins. They are in the
// header of that segment, before all queued records. A reader that keeps up receives them in the same place.
func TestDefinitionsHaveOnePlace(t *testing.T) {
	o := smallOptions(disktest.NewMemory(1))
	o.GatherInterval = time.Hour
	j, err := Open("/journal", o)
	require.NoError(t, err)
	r, err := j.Reader(0)
	require.NoError(t, err)
	defer r.Close()
	full := oneBatch(t, j, 1)
	full.Notes = &bulletmetricsv1.Batch{
		Annotations: []*bulletmetricsv1.Annotation{{Text: strings.Repeat("a segment", 1000)}}}
	appended(t, j, full)
	had := available(t, r)
	for sequence := range uint64(3) {
		b := oneBatch(t, j, 2+sequence)
		id, err := j.Define(metric.Raw{Worker: metric.Worker{Topology: "t"}, Name: fmt.Sprint("series ", sequence)})
		require.NoError(t, err)
		b.IDs, b.TimesMs, b.Values = []SeriesID{id}, []int64{1}, []float64{1}
		if sequence == 1 {
			layout, err := j.DefineLayout(b.IDs)
			require.NoError(t, err)
			b.Blocks = []Block{row(layout, 1)}
		}
		_, err = j.Append(b, func(err error) { require.NoError(t, err) })
		require.NoError(t, err)
	}
	before := len(j.segments)
	require.NoError(t, j.Close())
	require.Greater(t, len(j.segments), before)
	had = append(had, available(t, r)...)
	j.ring.clear()
	require.Equal(t, plain(t, unplaced(fromTheFiles(t, j))), plain(t, unplaced(had)))
}

// TestReadersThatKeepUpShareEntries checks that for such readers nothing is decoded or read from disk.
func TestReadersThatKeepUpShareEntries(t *testing.T) {
	fs := &badDisk{Memory: disktest.NewMemory(1)}
	j, err := Open("/journal", smallOptions(fs))
	require.NoError(t, err)
	defer j.Close()
	one, err := j.Reader(0)
	require.NoError(t, err)
	defer one.Close()
	other, err := j.Reader(0)
	require.NoError(t, err)
	defer other.Close()
	appended(t, j, oneBatch(t, j, 1))
	available(t, one)
	available(t, other)
	fs.from.Store(1)
	for sequence := uint64(2); sequence < 100; sequence++ { // over many segments
		b := oneBatch(t, j, sequence)
		appended(t, j, b)
		_, first, _ := next(t, one)
		_, second, _ := next(t, other)
		require.Same(t, b, first)
		require.Same(t, b, second)
	}
	require.Greater(t, len(j.segments), 5)
}

// badDisk fails to read a stretch of each file.
type badDisk struct {
	*disktest.Memory
	from, to atomic.Int64 // from 0 means nothing; to 0 means the rest of the file
	opens    atomic.Bool  // opening fails too
}

func (d *badDisk) Create(name string) (disk.File, error) {
	f, err := d.Memory.Create(name)
	return &badFile{f, d}, err
}

func (d *badDisk) Open(name string) (disk.File, error) {
	if d.opens.Load() {
		return nil, disktest.ErrInputOutput
	}
	f, err := d.Memory.Open(name)
	return &badFile{f, d}, err
}

type badFile struct {
	disk.File
	disk *badDisk
}

func (f *badFile) ReadAt(p []byte, off int64) (int, error) {
	from, to := f.disk.from.Load(), f.disk.to.Load()
	if from == 0 || off+int64(len(p)) <= from || to != 0 && off >= to {
		return f.File.ReadAt(p, off)
	}
	n := max(from-off, 0)
	if n > 0 {
		if got, err := f.File.ReadAt(p[:n], off); err != nil {
			return got, err
		}
	}
	return int(n), disktest.ErrInputOutput
}

// TestAReadErrorCanBeTriedAgain checks retries, and that a permanently unreadable record or segment can be skipped.
func TestAReadErrorCanBeTriedAgain(t *testing.T) {
	w := writeJournal(t, 600, true)
	for _, retireIDs := range []bool{false, true} {
		fs := &badDisk{Memory: disktest.NewMemory(1)}
		fs.Put(filepath.Join("/journal", segmentName(1)), w.file)
		j, err := Open("/journal", smallOptions(fs))
		require.NoError(t, err)
		appended(t, j, oneBatch(t, j, 1))
		r, err := j.Reader(0)
		require.NoError(t, err)
		bad := w.batches[batchKey{Epoch{1}, 300}]
		fs.from.Store(bad[0] + headerBytes + 3)
		fs.to.Store(bad[1] - 5)
		had := newReading()
		for len(had.batches) < 299 {
			_, entry, err := r.Next(t.Context())
			require.NoError(t, err)
			had.take(t, entry)
		}
		_, entry, err := r.Next(t.Context())
		for err == nil { // control records
			had.take(t, entry)
			_, entry, err = r.Next(t.Context())
		}
		require.ErrorIs(t, err, ErrRead)
		_, _, err = r.Next(t.Context())
		require.ErrorIs(t, err, ErrRead, "again")
		if retireIDs {
			r.Skip()
			r.Skip()
		}
		if fs.from.Store(0); retireIDs {
			fs.from.Store(bad[0] + headerBytes + 3)
		}
		want := 601
		if retireIDs {
			want -= 2
		}
		for _, p := range available(t, r) {
			had.take(t, p.entry)
		}
		require.Len(t, had.batches, want)
		require.NoError(t, r.Close())
		require.NoError(t, j.Close())
	}
}

// TestASegmentThatCannotBeOpened checks that opening is retried, and that the whole segment can be skipped.
func TestASegmentThatCannotBeOpened(t *testing.T) {
	for _, retireIDs := range []bool{false, true} {
		w := writeJournal(t, 60, true)
		fs := &badDisk{Memory: w.fs}
		j, err := Open("/journal", smallOptions(fs))
		require.NoError(t, err)
		s := &sender{producer: place, epoch: Epoch{9}}
		for sequence := uint64(1); sequence <= 40; sequence++ {
			appended(t, j, batchOf(t, j, s, sequence))
		}
		r, err := j.Reader(0)
		require.NoError(t, err)
		fs.opens.Store(true)
		for range 2 {
			_, _, err = r.Next(t.Context())
			require.ErrorIs(t, err, ErrRead)
		}
		want := 100
		if retireIDs {
			r.Skip()
			want = 40
		}
		fs.opens.Store(false)
		had := newReading()
		for _, p := range available(t, r) {
			had.take(t, p.entry)
		}
		require.Len(t, had.batches, want)
		require.NoError(t, r.Close())
		require.NoError(t, j.Close())
	}
}

// The gauge of the ring's size follows what is in memory.
func TestTheSizeOfTheRingIsReported(t *testing.T) {
	j, err := Open("/journal", smallOptions(disktest.NewMemory(1)))
	require.NoError(t, err)
	defer j.Close()
	require.Zero(t, testutil.ToFloat64(j.figures.ringBytes))
	reader, err := j.Reader(0) // entries that all readers have received leave the ring
	require.NoError(t, err)
	defer reader.Close()
	appended(t, j, oneBatch(t, j, 1))
	require.Positive(t, testutil.ToFloat64(j.figures.ringBytes))
}
