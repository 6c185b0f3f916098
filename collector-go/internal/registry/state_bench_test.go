package registry

import (
	"fmt"
	"testing"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
)

// One tick of a topology of 1,162 tasks on 100 workers, 20 numbers each, as one producer's batches bring it.
func BenchmarkApplyTick(b *testing.B) {
	o := DefaultOptions("x")
	s := newState(o.Limits, o.Times)
	s.apply(&journal.ProducerDefined{ID: 1, Topology: "t", TopologyID: "t-1-1799999990", Host: "worker-0", Port: 6700, Task: 5000})
	var ids []journal.SeriesID
	for task := range 1162 {
		for n := range 20 {
			id := journal.SeriesID(len(ids) + 1)
			s.apply(&journal.SeriesDefined{ID: id, Series: metric.Raw{Worker: metric.Worker{Topology: "t", Host: fmt.Sprintf("worker-%d", task%100), Port: 6700},
				Component: "FilterBolt", Task: int32(task), Name: fmt.Sprint(n), IntervalMs: 10_000}})
			ids = append(ids, id)
		}
	}
	times := make([]int64, len(ids))
	batch := &journal.Batch{Producer: 1, IDs: ids, TimesMs: times, Values: make([]float64, len(ids))}
	b.ReportAllocs()
	now := t0
	for b.Loop() {
		now += 10_000
		for i := range times {
			times[i] = now
		}
		batch.SentMs, batch.ReceivedMs = now, now
		s.apply(batch)
		s.apply(&journal.Tick{TimeMs: now})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ids)), "ns/sample")
}
