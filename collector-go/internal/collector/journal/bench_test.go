package journal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/disk"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// benchBatch returns a batch like a worker's tick: ids in order, few different times, and mostly integer values.
func benchBatch(b *testing.B, j *Journal, size int) *Batch {
	producer, err := j.DefineProducer(place)
	require.NoError(b, err)
	batch := &Batch{Producer: producer, Epoch: Epoch{1}, SentMs: 1_500_000_000_000, ReceivedMs: 1_500_000_000_005}
	for i := range size {
		id, err := j.Define(metric.Raw{Worker: metric.Worker{Topology: "bullet", Host: "h", Port: 6700},
			Component: "FilterBolt",
			Task:      int32(i), Name: "bullet_filter_latency"})
		require.NoError(b, err)
		value := float64(i * 37 % 5000)
		if i%5 == 0 {
			value /= 7
		}
		batch.IDs, batch.TimesMs, batch.Values = append(batch.IDs, id),
			append(batch.TimesMs, batch.SentMs-int64(i%3)*1000), append(batch.Values, value)
	}
	return batch
}

// BenchmarkAppend appends with 64 batches in flight, to the disk of the temporary directory, until all are durable.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1, 100, 5000} {
		b.Run(fmt.Sprintf("samples=%d", size), func(b *testing.B) {
			j, err := Open(b.TempDir(), DefaultOptions())
			require.NoError(b, err)
			batch := benchBatch(b, j, size)
			under := make(chan struct{}, 64)
			done := func(err error) {
				if err != nil {
					b.Error(err)
				}
				<-under
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				under <- struct{}{}
				sent := *batch
				batch.Sequence++
				sent.Sequence = batch.Sequence
				if _, err := j.Append(&sent, done); err != nil {
					b.Fatal(err)
				}
				if j.Durable().Segment() > 20 {
					require.NoError(b, j.Release(j.Durable()))
				}
			}
			require.NoError(b, j.Close())
			b.StopTimer()
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "samples/s")
			b.ReportMetric(float64(j.bytes)/float64(b.N*size), "bytes/sample")
		})
	}
}

// BenchmarkRead reads a million samples.
func BenchmarkRead(b *testing.B) {
	j, err := Open(b.TempDir(), DefaultOptions())
	require.NoError(b, err)
	batch := benchBatch(b, j, 5000)
	for range 200 {
		sent := *batch
		batch.Sequence++
		sent.Sequence = batch.Sequence
		appended(b, j, &sent)
	}
	require.NoError(b, j.Close())
	b.ReportAllocs()
	for b.Loop() {
		reader, err := j.Reader(0)
		require.NoError(b, err)
		samples := 0
		for {
			_, entry, err := reader.Next(context.Background())
			if errors.Is(err, ErrClosed) {
				break
			}
			if got, ok := entry.(*Batch); ok {
				samples += got.Samples()
			}
		}
		require.Equal(b, 1_000_000, samples)
		require.NoError(b, reader.Close())
	}
	b.ReportMetric(1e6*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
}

// BenchmarkOpen opens a journal of a million samples in one segment, as a restart after a crash does.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		b.StopTimer()
		j, err := Open(dir, DefaultOptions())
		require.NoError(b, err)
		batch := benchBatch(b, j, 5000)
		batch.Epoch[1]++
		for range 200 {
			sent := *batch
			batch.Sequence++
			sent.Sequence = batch.Sequence
			appended(b, j, &sent)
		}
		require.NoError(b, j.Release(j.Durable()))
		require.NoError(b, j.Close())
		b.StartTimer()
		j, err = Open(dir, DefaultOptions())
		require.NoError(b, err)
		require.NoError(b, j.Close())
	}
}

// flatFS is a disk that only keeps what is written. A write costs one copy.
type flatFS struct {
	mu    sync.Mutex
	files map[string]*flatFile
	spare [][]byte
}

type flatFile struct {
	fs   *flatFS
	data []byte
	size atomic.Int64
}

func newFlatFS() *flatFS { return &flatFS{files: map[string]*flatFile{}} }

const flatFileBytes = 80 << 20

func (f *flatFS) Create(name string) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := &flatFile{fs: f}
	if n := len(f.spare); n > 0 {
		file.data, f.spare = f.spare[n-1], f.spare[:n-1]
	} else {
		file.data = make([]byte, flatFileBytes)
	}
	f.files[name] = file
	return file, nil
}

func (f *flatFS) Open(name string) (disk.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.files[name], nil
}

func (f *flatFS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spare = append(f.spare, f.files[name].data)
	delete(f.files, name)
	return nil
}

func (f *flatFS) MkdirAll(string) error                  { return nil }
func (f *flatFS) Rename(string, string) error            { return nil }
func (f *flatFS) SyncDir(string) error                   { return nil }
func (f *flatFS) ReadDir(string) ([]string, error)       { return nil, nil }
func (f *flatFS) Free(string) (uint64, uint64, error)    { return 1 << 40, 1 << 40, nil }
func (f *flatFS) Lock(string, string) (disk.Lock, error) { return &flatFile{}, nil }
func (f *flatFile) Close() error                         { return nil }
func (f *flatFile) Sync() error                          { return nil }
func (f *flatFile) Truncate(size int64) error            { f.size.Store(size); return nil }
func (f *flatFile) Size() (int64, error)                 { return f.size.Load(), nil }
func (f *flatFile) Linked() (bool, error)                { return true, nil }
func (f *flatFile) ReadAt(p []byte, off int64) (int, error) {
	return copy(p, f.data[off:f.size.Load()]), nil
}

func (f *flatFile) WriteAt(p []byte, off int64) (int, error) {
	f.size.Store(max(f.size.Load(), off+int64(len(p))))
	return copy(f.data[off:], p), nil
}

// benchBlock returns a producer's batch with one block of one row, with integer and other values.
func benchBlock(b *testing.B, j *Journal, port uint32, columns int) *Batch {
	producer, err := j.DefineProducer(ProducerDefined{Topology: "bullet", TopologyID: "bullet-1", Host: "h",
		Port: port, Task: 4})
	require.NoError(b, err)
	ids, values := make([]SeriesID, columns), make([]float64, columns)
	for i := range ids {
		ids[i], err = j.Define(metric.Raw{Worker: metric.Worker{Topology: "bullet", Host: "h", Port: port},
			Component: "FilterBolt",
			Task:      int32(i), Name: "bullet_filter_latency"})
		require.NoError(b, err)
		values[i] = float64(i*37%5000) / 7
	}
	layout, err := j.DefineLayout(ids)
	require.NoError(b, err)
	return &Batch{Producer: producer, Epoch: Epoch{byte(port), byte(port >> 8)}, SentMs: 1_500_000_000_000,
		ReceivedMs: 1_500_000_000_005,
		Blocks: []Block{{Layout: layout, Block: block.Block{Columns: columns, Rows: 1, FirstMs: 1_500_000_000_000,
			Codec:  block.Doubles,
			Values: block.AppendDoubles(nil, values)}}}}
}

// benchAppend makes each producer append in turn, with one batch per producer in flight, until all are durable.
func benchAppend(b *testing.B, producers, columns int) {
	o := DefaultOptions()
	o.FS = newFlatFS()
	j, err := Open("/journal", o)
	require.NoError(b, err)
	batches := make([]*Batch, producers)
	free := make([]chan struct{}, producers)
	dones := make([]func(error), producers)
	for i := range batches {
		batches[i] = benchBlock(b, j, uint32(i+1), columns)
		free[i] = make(chan struct{}, 8)
		dones[i] = func(err error) {
			if err != nil {
				b.Error(err)
			}
			<-free[i]
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	spent := processorTime(b)
	for n := range b.N {
		i := n % producers
		free[i] <- struct{}{}
		sent := *batches[i] // ingest allocates one too
		sent.Sequence = uint64(n/producers) + 1
		if _, err := j.Append(&sent, dones[i]); err != nil {
			b.Fatal(err)
		}
		if n%1024 == 0 {
			require.NoError(b, j.Release(j.Durable()))
		}
	}
	require.NoError(b, j.Close())
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*columns), "ns/sample")
	b.ReportMetric(float64(processorTime(b)-spent)/float64(b.N*columns), "cpu-ns/sample")
}

// processorTime returns the CPU time of the process, which depends less on the load of the machine than wall time.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkAppendSmall measures 500 producers with 100 samples per batch.
func BenchmarkAppendSmall(b *testing.B) { benchAppend(b, 500, 100) }

// BenchmarkAppendLarge measures a topology's tick of 10,000 series.
func BenchmarkAppendLarge(b *testing.B) { benchAppend(b, 2, 10_000) }

// BenchmarkReader reads 400 batches of 10,000 samples, from memory like a reader that keeps up, and from the file.
func BenchmarkReader(b *testing.B) {
	for name, ringBytes := range map[string]int64{"ring": 1 << 30, "file": 0} {
		b.Run(name, func(b *testing.B) {
			o := DefaultOptions()
			o.FS, o.RingBytes = newFlatFS(), ringBytes
			j, err := Open("/journal", o)
			require.NoError(b, err)
			defer j.Close()
			batch := benchBlock(b, j, 1, 10_000)
			require.NoError(b, j.AppendControl(&Tick{TimeMs: batch.SentMs}))
			first := j.Durable()
			for range 400 {
				sent := *batch
				batch.Sequence++
				sent.Sequence = batch.Sequence
				appended(b, j, &sent)
			}
			b.ReportAllocs()
			samples := 0
			for b.Loop() {
				r, err := j.Reader(0)
				require.NoError(b, err)
				if ringBytes > 0 { // like a reader that has kept up
					r.at, r.from, r.complete = first, first, true
				}
				for n := 0; n < 400; {
					_, entry, err := r.Next(context.Background())
					if err != nil {
						b.Fatal(err)
					}
					if got, ok := entry.(*Batch); ok {
						samples += got.Samples()
						n++
					}
				}
				require.NoError(b, r.Close())
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(samples), "ns/sample")
		})
	}
}

// BenchmarkSegmentHeader measures a segment header of 500,000 series: the part for which the journal's lock is held,
// and the rest.
func BenchmarkSegmentHeader(b *testing.B) {
	s := newState()
	for i := range 500_000 {
		raw := metric.Raw{Worker: metric.Worker{Topology: "bullet", Host: "h", Port: uint32(i % 500)},
			Component: "FilterBolt", Task: int32(i), Name: "bullet_filter_latency"}
		s.dict.addSeries(seriesRow{SeriesDefined: SeriesDefined{ID: SeriesID(i + 1), Series: raw}, usedHour: 400_000},
			s.dict.hashSeries(&raw))
	}
	b.Run("locked", func(b *testing.B) {
		for b.Loop() {
			s.snapshot(1, 0)
		}
	})
	b.Run("unlocked", func(b *testing.B) {
		snapshot := s.snapshot(1, 0)
		for b.Loop() {
			snapshot.encode()
		}
	})
}

// BenchmarkDefineSeries measures defining new series, a message at a time, and defining them again.
func BenchmarkDefineSeries(b *testing.B) {
	const workers, each = 1000, 100
	raws := make([]metric.Raw, 0, workers*each)
	for i := range workers * each {
		raws = append(raws, metric.Raw{Worker: metric.Worker{Topology: "bullet", Host: fmt.Sprint("host_", i/each),
			Port: 6700}, Component: "__system",
			Task: -1, Name: fmt.Sprint("cpu.field_", i%each), Shape: metric.ShapeNumber, IntervalMs: 10_000})
	}
	var j *Journal
	define := func() {
		ids := make([]SeriesID, 0, 1000)
		for at := 0; at < len(raws); at += 1000 {
			ids = j.DefineAll(ids[:0], raws[at:at+1000], 1000)
		}
		require.NotZero(b, ids[999])
	}
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			j = newJournal("", DefaultOptions())
			define()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(raws)), "ns/series")
	})
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			define()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(raws)), "ns/series")
	})
}
