package slicer

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// BenchmarkSlicer measures samples through the slicer, including closing. Workers have a sampler (1 s in packs of 10)
// and tasks that report every 60 s and 10 s. It runs with and without collection health. The goal is 1 M rows per
// second on two cores.
func BenchmarkSlicer(b *testing.B) {
	for _, shape := range []struct {
		name    string
		workers int
		series  int // per worker
		every   int64
		width   int64
	}{
		{"sampler", 100, 12, 1000, 10_000},
		{"tasks", 100, 1000, 10_000, 10_000},
	} {
		bench := func(b *testing.B, o Options) {
			s, _ := New(o)
			s.Connect(1)
			for id := range shape.workers * shape.series {
				s.Define(uint32(id), benchRule(id/shape.series, id, shape.every))
			}
			b.ReportAllocs()
			now, id, sequence := int64(1_000_000_000), 0, uint64(0)
			b.ResetTimer()
			for n := 0; n < b.N; {
				sequence++
				s.beginBatch(1, sequence)
				for i := 0; i < 1000 && n < b.N; i, n = i+1, n+1 {
					s.Add(uint32(id), now, float64(n))
					if id++; id == shape.workers*shape.series {
						id, now = 0, now+shape.every
					}
				}
				s.endBatch()
				s.Closed().Reset()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		}
		b.Run(shape.name, func(b *testing.B) { bench(b, DefaultOptions()) })
		b.Run(shape.name+" and their health", func(b *testing.B) {
			o := DefaultOptions()
			o.Health = testHealth(30_000)
			o.Health.Steady["m"] = true
			bench(b, o)
		})
	}
}

func benchRule(worker, id int, everyMs int64) metric.Rule {
	rule := metric.Rule{Worker: metric.Worker{Topology: "t", Host: fmt.Sprint("w", worker), Port: 6700}, PerUnit: 1,
		Most: 1e300, IntervalMs: everyMs,
		Temporality: metric.Gauge, MinName: "m_min", MaxName: "m_max",
		Series: metric.Series{Kind: metric.KindGauge, Labels: labels.FromStrings("__name__", "m", "worker",
			fmt.Sprint(worker), "id", fmt.Sprint(id))}}
	if id%2 == 0 {
		rule.Temporality, rule.Series.Kind, rule.MinName, rule.MaxName = metric.Cumulative, metric.KindCounter, "", ""
	}
	return rule
}

// BenchmarkBlocks measures blocks through the slicer, including closing, per sample. The goals are 12 ns if 60 rows
// become one slice, and 35 ns if each sample becomes a slice of its own. Nothing may be allocated.
func BenchmarkBlocks(b *testing.B) {
	for _, shape := range []struct {
		name         string
		layouts      int // each of one worker
		columns      int
		rows         int
		every, width int64
	}{
		{"60 to a slice, 40,000 series", 1, 40_000, 1, 1000, 60_000},
		{"60 to a slice, packs of 10", 500, 20, 10, 1000, 60_000},
		{"10 to a slice, packs of 10", 500, 20, 10, 1000, 10_000},
		{"each its own slice", 1, 40_000, 1, 10_000, 10_000},
		{"each its own slice, 500 workers of 100", 500, 100, 1, 1000, 1000},
	} {
		bench := func(b *testing.B, o Options) {
			o.WidthMs = shape.width
			s, _ := New(o)
			s.Connect(1)
			id := uint32(0)
			for worker := range shape.layouts {
				var series []uint32
				for range shape.columns {
					s.Define(id, benchRule(worker, int(id), shape.every))
					series = append(series, id)
					id++
				}
				s.DefineLayout(uint32(worker), series)
			}
			values := make([]float64, shape.columns*shape.rows)
			rectangle := &block.Block{Columns: shape.columns, Rows: shape.rows, StepMs: shape.every,
				FirstMs: 1_000_000_000}
			sequence := uint64(0)
			send := func() (samples int) {
				for i := range values {
					values[i] = float64(sequence)
				}
				for worker := range shape.layouts {
					sequence++
					s.beginBatch(1, sequence)
					s.AddBlock(uint32(worker), rectangle, values, nil)
					s.endBatch()
					samples += len(values)
				}
				if s.Closed().Len() > 1<<16 {
					s.Closed().Reset()
				}
				rectangle.FirstMs += int64(shape.rows) * shape.every
				return samples
			}
			for range max(4, 240_000/int(shape.every)/shape.rows) {
				send()
			}
			b.ReportAllocs()
			before := processorTime()
			b.ResetTimer()
			n := 0
			best := math.Inf(1)
			for n < b.N {
				began, samples := time.Now(), 0
				for range max(1, int(shape.width/shape.every)/shape.rows) {
					samples += send()
				}
				best = min(best, float64(time.Since(began).Nanoseconds())/float64(samples))
				n += samples
			}
			b.StopTimer()
			b.ReportMetric(float64(processorTime()-before)/float64(n), "cpu-ns/sample")
			b.ReportMetric(best, "best-ns/sample") // of the slice widths that were sent
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "samples/s")
			if c := s.Counts(); c.Late > 0 || len(c.Refused) > 0 {
				b.Fatalf("%+v", c)
			}
		}
		b.Run(shape.name, func(b *testing.B) { bench(b, DefaultOptions()) })
		b.Run(shape.name+" and their health", func(b *testing.B) {
			o := DefaultOptions()
			o.Health = testHealth(30_000)
			o.Health.Steady["m"] = true
			bench(b, o)
		})
	}
}

// BenchmarkManyWorkers measures blocks with ten series of each of 1,000 workers, including closing and collection
// health, per sample. Only the clients of bench send this shape. The goal is 70 ns where each sample becomes its own
// slice. Before groups were removed it was 20 ns where 60 rows become one; now it takes 40 (decision 0012).
func BenchmarkManyWorkers(b *testing.B) {
	const workers, metrics, perBlock = 4000, 10, 1000
	for _, shape := range []struct {
		name         string
		every, width int64
	}{
		{"each its own slice", 10_000, 10_000},
		{"60 to a slice", 1000, 60_000},
	} {
		b.Run(shape.name, func(b *testing.B) {
			o := DefaultOptions()
			o.WidthMs = shape.width
			o.Health = testHealth(30_000)
			o.Health.MaxMetrics = 256
			s, _ := New(o)
			for part := range uint32(workers / perBlock) {
				s.Connect(part)
				var series []uint32
				for i := range uint32(perBlock * metrics) {
					id := part*perBlock*metrics + i
					s.Define(id, fleetRule(int(id/metrics), int(id%metrics), shape.every))
					series = append(series, id)
				}
				s.DefineLayout(part, series)
			}
			now := int64(1_000_000_000)
			sequence := uint64(0)
			values := make([]float64, perBlock*metrics)
			send := func() int {
				sequence++
				now += shape.every
				for i := range values {
					values[i] = float64(sequence*31+uint64(i)*17) / 8
				}
				for part := range uint32(workers / perBlock) {
					s.beginBatch(part, sequence)
					s.received(now + 300)
					s.AddBlock(part, &block.Block{Columns: len(values), Rows: 1, FirstMs: now}, values, nil)
					s.endBatch()
				}
				if s.Closed().Len() > 1<<16 {
					s.Closed().Reset()
				}
				return workers * metrics
			}
			warmUp := int(360_000 / shape.every)
			for range warmUp {
				send()
			}
			b.ReportAllocs()
			before := processorTime()
			b.ResetTimer()
			n := 0
			best := math.Inf(1)
			for n < b.N {
				began, samples := time.Now(), 0
				for range 60_000 / shape.every { // including collection health
					samples += send()
				}
				best = min(best, float64(time.Since(began).Nanoseconds())/float64(samples))
				n += samples
			}
			b.StopTimer()
			b.ReportMetric(float64(processorTime()-before)/float64(n), "cpu-ns/sample")
			b.ReportMetric(best, "best-ns/sample") // of the minutes that were sent
			if c := s.Counts(); c.Late > 0 || len(c.Refused) > 0 {
				b.Fatalf("%+v", c)
			}
		})
	}
}

func fleetRule(worker, number int, everyMs int64) metric.Rule {
	name := fmt.Sprint("cpu_", number)
	return metric.Rule{Worker: metric.Worker{Topology: "bench", Host: fmt.Sprint("host_", worker), Port: 6700},
		PerUnit: 1, Least: -math.MaxFloat64, Most: math.MaxFloat64,
		IntervalMs: everyMs, Temporality: metric.Gauge, MinName: name + "_min", MaxName: name + "_max",
		Series: metric.Series{Kind: metric.KindGauge, Labels: labels.FromStrings("__name__", name, "topology", "bench",
			"worker", fmt.Sprint("host_", worker))}}
}

// processorTime returns the CPU time of the process in ns. On a busy machine it is a better measure than wall time.
func processorTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

// BenchmarkSnapshot measures a checkpoint of 100,000 series with 50 s of open samples.
func BenchmarkSnapshot(b *testing.B) {
	s, _ := New(DefaultOptions())
	const series = 100_000
	for id := range series {
		s.Define(uint32(id), benchRule(id/1000, id, 10_000))
	}
	for sequence := range uint64(6) {
		s.beginBatch(1, sequence)
		for id := range uint32(series) {
			s.Add(id, 1_000_000_000+int64(sequence)*10_000, 1)
		}
		s.endBatch()
		s.Closed().Reset()
	}
	b.ReportAllocs()
	for b.Loop() {
		data := s.Snapshot()
		b.ReportMetric(float64(len(data))/1e6, "MB")
		if _, err := Restore(data, DefaultOptions()); err != nil {
			b.Fatal(err)
		}
	}
}
