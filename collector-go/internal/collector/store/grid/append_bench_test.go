package grid

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// BenchmarkDefine defines 40,000 series.
func BenchmarkDefine(b *testing.B) {
	const series = 40_000
	c := cluster(series)
	started := cpu()
	for b.Loop() {
		t := newTable()
		for _, d := range c.Definitions {
			t.define(d, series)
		}
	}
	b.ReportMetric(float64(cpu()-started)/float64(b.N)/series, "cpu-ns/series")
}

// cluster returns one slice for each of a number of series, like those of a large cluster.
func cluster(series int) *slice.Columns {
	c := &slice.Columns{}
	for i := range series {
		l := labels.FromStrings(model.MetricNameLabel, "storm_executed_total", "topology", "bullet", "worker",
			fmt.Sprintf("host-%d:6700", i%500),
			"component", "FilterBolt", "task", fmt.Sprint(i), "stream", "default")
		c.Definitions = append(c.Definitions,
			slice.Definition{Ref: slice.Ref(i), Series: metric.Series{Labels: l, Kind: metric.KindCounter},
				IntervalMs: 10_000})
		c.Refs, c.EndsMs, c.Values = append(c.Refs, slice.Ref(i)), append(c.EndsMs, 0), append(c.Values, 0)
	}
	return c
}

// BenchmarkAppend hands over one slice of each of 40,000 series at a time, 10 s of event time apart. Nothing is
// written. In "step" all series come in the order of their Refs. In "workers" ten series of each worker come together,
// and every third time some more that have distant Refs, like the metrics about the collection.
func BenchmarkAppend(b *testing.B) {
	const series = 40_000
	step := make([]slice.Ref, series)
	for i := range step {
		step[i] = slice.Ref(i)
	}
	var third []slice.Ref
	for worker := range slice.Ref(series / 13) {
		for i := range slice.Ref(10) {
			third = append(third, worker*10+i)
		}
		for i := range slice.Ref(3) {
			third = append(third, series/13*10+worker*3+i)
		}
	}
	var others []slice.Ref
	for _, ref := range third {
		if ref < series/13*10 {
			others = append(others, ref)
		}
	}
	for _, how := range []struct {
		name  string
		times [3][]slice.Ref
	}{{"step", [3][]slice.Ref{step, step, step}}, {"workers", [3][]slice.Ref{others, others, third}}} {
		b.Run(how.name, func(b *testing.B) { benchmarkAppend(b, cluster(series).Definitions, how.times) })
	}
}

func benchmarkAppend(b *testing.B, definitions []slice.Definition, times [3][]slice.Ref) {
	o := DefaultOptions()
	o.FS, o.FlushHandOvers, o.HeadBytes, o.RetentionTime = disktest.NewMemory(1), 1<<30, 1<<40, 0
	s, err := Open("/grid", o)
	require.NoError(b, err)
	_, err = s.Append(b.Context(), 0, &slice.Columns{Definitions: definitions})
	require.NoError(b, err)
	b.ReportAllocs()
	position, used, handed := uint64(0), int64(0), 0
	c := &slice.Columns{}
	for b.Loop() {
		position++
		c.Reset()
		for _, ref := range times[position%3] {
			c.Refs, c.EndsMs = append(c.Refs, ref), append(c.EndsMs, 100*day+int64(position)*10_000)
			c.Values = append(c.Values, float64(position)*float64(ref))
		}
		started := cpu()
		rejected, err := s.Append(b.Context(), position, c)
		used += cpu() - started
		handed += c.Len()
		require.NoError(b, err)
		require.Empty(b, rejected)
		if position%60 == 0 {
			s.lock.Lock()
			s.live = newHead(s.live.table)
			s.lock.Unlock()
		}
	}
	b.ReportMetric(float64(used)/float64(handed), "cpu-ns/slice")
	require.NoError(b, s.Close(b.Context()))
}

// cpu returns the CPU time of this process in ns. On a busy machine it is more meaningful than elapsed time.
func cpu() int64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

const day = int64(86_400_000)

// BenchmarkFlush writes ten minutes of 40,000 series. These are counters that grow unevenly.
func BenchmarkFlush(b *testing.B) {
	const series, ticks = 40_000, 60
	o := DefaultOptions()
	o.FlushHandOvers, o.HeadBytes, o.RetentionTime = 1<<30, 1<<40, 0
	s, err := Open(b.TempDir(), o)
	require.NoError(b, err)
	c := cluster(series)
	position, used, random := uint64(0), int64(0), rand.New(rand.NewPCG(1, 1))
	var written int64
	for b.Loop() {
		b.StopTimer()
		for range ticks {
			position++
			for i := range series {
				c.EndsMs[i] = 100*day + int64(position)*10_000
				c.Values[i] += float64(200 + random.IntN(100))
			}
			_, err := s.Append(b.Context(), position, c)
			require.NoError(b, err)
			c.Definitions = nil
		}
		b.StartTimer()
		started := cpu()
		require.NoError(b, s.flush(b.Context()))
		used += cpu() - started
		written = s.manifest.bytes()
	}
	b.ReportMetric(float64(used)/float64(b.N)/series/ticks, "cpu-ns/slice")
	b.ReportMetric(float64(written)/float64(b.N)/series/ticks, "B/slice")
	require.NoError(b, s.Close(b.Context()))
}

// BenchmarkDay writes 36 parts of ten minutes, which are one partition, with 4,000 series, and merges them as usual.
// This is everything that a slice costs from memory to its final part.
func BenchmarkDay(b *testing.B) {
	const series, ticks, parts = 4_000, 60, 36
	random := rand.New(rand.NewPCG(1, 1))
	used, written := int64(0), int64(0)
	for b.Loop() {
		o := DefaultOptions()
		o.FlushHandOvers, o.HeadBytes, o.RetentionTime = 1<<30, 1<<40, 0
		s, err := Open(b.TempDir(), o)
		require.NoError(b, err)
		c := cluster(series)
		for tick := range ticks * parts {
			for i := range series {
				c.EndsMs[i] = 100*day + int64(tick)*10_000
				c.Values[i] += float64(200 + random.IntN(100))
			}
			_, err := s.Append(b.Context(), uint64(tick+1), c)
			require.NoError(b, err)
			c.Definitions = nil
			if tick%ticks == ticks-1 {
				started := cpu()
				require.NoError(b, s.Flush(b.Context()))
				used += cpu() - started
			}
		}
		written = s.manifest.bytes()
		require.NoError(b, s.Close(b.Context()))
	}
	b.ReportMetric(float64(used)/float64(b.N)/series/ticks/parts, "cpu-ns/slice")
	b.ReportMetric(float64(written)/series/ticks/parts, "B/slice")
}

// BenchmarkOrder sorts 100,000 new series by their labels: 50 of each of 2,000 workers, in the order in which they
// arrive.
func BenchmarkOrder(b *testing.B) {
	const workers, metrics = 2000, 50
	t := newTable()
	for worker := range workers {
		for m := range metrics {
			t.add(labels.FromStrings(model.MetricNameLabel, fmt.Sprintf("storm_metric_%d", m*7%metrics), "topology",
				"bullet", "worker", fmt.Sprintf("host-%d:6700", worker)))
		}
	}
	var lock sync.RWMutex
	started := cpu()
	for b.Loop() {
		var o order
		o.of(&lock, t, t.labels)
	}
	b.ReportMetric(float64(cpu()-started)/float64(b.N)/workers/metrics, "cpu-ns/series")
}
