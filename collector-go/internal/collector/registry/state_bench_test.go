package registry

import (
	"fmt"
	"testing"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// BenchmarkApplyTick applies one tick of a topology of 1,162 tasks on 100 workers with 20 numbers each, from the
// batches of one producer.
func BenchmarkApplyTick(b *testing.B) {
	o := DefaultOptions("x")
	s := newState(o.Limits, o.Times)
	s.apply(&journal.ProducerDefined{ID: 1, Topology: "t", TopologyID: "t-1-1799999990", Host: "worker-0", Port: 6700,
		Task: 5000})
	var ids []journal.SeriesID
	for task := range 1162 {
		for n := range 20 {
			id := journal.SeriesID(len(ids) + 1)
			s.apply(&journal.SeriesDefined{ID: id,
				Series: metric.Raw{Worker: metric.Worker{Topology: "t", Host: fmt.Sprintf("worker-%d", task%100),
					Port: 6700},
					Component: "FilterBolt", Task: int32(task), Name: fmt.Sprint(n), IntervalMs: 10_000}})
			ids = append(ids, id)
		}
	}
	b.Run("columns", func(b *testing.B) { batch, at := columnsOf(ids); applyTicks(b, s, batch, at) })
	b.Run("blocks", func(b *testing.B) { batch, at := blocksOf(s, ids); applyTicks(b, s, batch, at) })
}

// columnsOf returns a batch with one sample of each series.
func columnsOf(ids []journal.SeriesID) (*journal.Batch, func(now int64)) {
	times := make([]int64, len(ids))
	batch := &journal.Batch{Producer: 1, IDs: ids, TimesMs: times, Values: make([]float64, len(ids))}
	return batch, func(now int64) {
		for i := range times {
			times[i] = now
		}
	}
}

// blocksOf returns the same samples with a block for each task.
func blocksOf(s *state, ids []journal.SeriesID) (*journal.Batch, func(now int64)) {
	batch := &journal.Batch{Producer: 1}
	for first := 0; first < len(ids); first += 20 {
		layout := journal.LayoutID(first + 1)
		s.apply(&journal.LayoutDefined{ID: layout, Series: ids[first : first+20]})
		batch.Blocks = append(batch.Blocks,
			journal.Block{Layout: layout, Block: block.Block{Columns: 20, Rows: 1, Codec: block.Doubles,
				Values: make([]byte, 160)}})
	}
	return batch, func(now int64) {
		for i := range batch.Blocks {
			batch.Blocks[i].FirstMs = now
		}
	}
}

func applyTicks(b *testing.B, s *state, batch *journal.Batch, at func(now int64)) {
	b.ReportAllocs()
	samples := batch.Samples()
	now := t0
	for b.Loop() {
		now += 10_000
		at(now)
		batch.SentMs, batch.ReceivedMs = now, now
		s.apply(batch)
		s.apply(&journal.Tick{TimeMs: now})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*samples), "ns/sample")
}

// BenchmarkNewWorkers applies batches of 4,096 workers. They are unknown workers without tasks, unknown workers to
// which a task moves in each batch, or new processes of the same workers.
func BenchmarkNewWorkers(b *testing.B) {
	for name, describe := range map[string]func(batch, i int) *bulletmetricsv1.WorkerInfo{
		"bare": func(batch, i int) *bulletmetricsv1.WorkerInfo {
			return &bulletmetricsv1.WorkerInfo{Host: fmt.Sprintf("h-%d-%d", batch, i), Port: 6700}
		},
		"tasks": func(batch, i int) *bulletmetricsv1.WorkerInfo {
			return &bulletmetricsv1.WorkerInfo{Host: fmt.Sprintf("h-%d-%d", batch, i), Port: 6700,
				Tasks: []int32{int32(i)}, TaskTimesMs: []int64{t0 + int64(batch)}}
		},
		"processes": func(batch, i int) *bulletmetricsv1.WorkerInfo {
			return &bulletmetricsv1.WorkerInfo{Host: fmt.Sprintf("h-%d", i), Port: 6700, Pid: uint64(batch + 1),
				StartTimeMs: t0 + int64(batch)}
		},
	} {
		b.Run(name, func(b *testing.B) {
			o := DefaultOptions("x")
			s := newState(o.Limits, o.Times)
			s.apply(&journal.ProducerDefined{ID: 1, Topology: "t", TopologyID: "t-1-1799999990", Host: "w", Port: 6700,
				Task: 5})
			for batch := 0; b.Loop(); batch++ {
				notes := &bulletmetricsv1.Batch{}
				for i := range o.Limits.Workers {
					notes.Workers = append(notes.Workers, describe(batch, i))
				}
				now := t0 + int64(batch)*1000
				s.apply(&journal.Batch{Producer: 1, Sequence: uint64(batch + 1), SentMs: now, ReceivedMs: now,
					Notes: notes})
				s.apply(&journal.Tick{TimeMs: now})
			}
		})
	}
}
