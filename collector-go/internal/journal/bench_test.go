package journal

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// benchBatch is what a worker's tick looks like: ids in order, few times, most values whole numbers.
func benchBatch(b *testing.B, j *Journal, size int) *Batch {
	producer, err := j.DefineProducer(place)
	require.NoError(b, err)
	batch := &Batch{Producer: producer, Epoch: Epoch{1}, SentMs: 1_500_000_000_000, ReceivedMs: 1_500_000_000_005}
	for i := range size {
		id, err := j.Define(metric.Raw{Worker: metric.Worker{Topology: "bullet", Host: "h", Port: 6700}, Component: "FilterBolt",
			Task: int32(i), Name: "bullet_filter_latency"})
		require.NoError(b, err)
		value := float64(i * 37 % 5000)
		if i%5 == 0 {
			value /= 7
		}
		batch.IDs, batch.TimesMs, batch.Values = append(batch.IDs, id), append(batch.TimesMs, batch.SentMs-int64(i%3)*1000), append(batch.Values, value)
	}
	return batch
}

// BenchmarkAppend appends with 64 batches under way, to the disk of the temporary directory, until all are durable.
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
				batch.Sequence++
				if _, err := j.Append(batch, done); err != nil {
					b.Fatal(err)
				}
				if j.Durable().segment() > 20 {
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

// BenchmarkRead reads back a million samples.
func BenchmarkRead(b *testing.B) {
	j, err := Open(b.TempDir(), DefaultOptions())
	require.NoError(b, err)
	batch := benchBatch(b, j, 5000)
	for range 200 {
		batch.Sequence++
		appended(b, j, batch)
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

// BenchmarkOpen starts on a journal of a million samples in one segment: what a restart after a crash takes.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		b.StopTimer()
		j, err := Open(dir, DefaultOptions())
		require.NoError(b, err)
		batch := benchBatch(b, j, 5000)
		batch.Epoch[1]++
		for range 200 {
			batch.Sequence++
			appended(b, j, batch)
		}
		require.NoError(b, j.Release(j.Durable()))
		require.NoError(b, j.Close())
		b.StartTimer()
		j, err = Open(dir, DefaultOptions())
		require.NoError(b, err)
		require.NoError(b, j.Close())
	}
}
