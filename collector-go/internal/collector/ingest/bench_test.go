package ingest

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// BenchmarkAcknowledge sends batches of one stream with a full window over loopback, to a journal in the temporary
// directory, and waits for the acknowledgements. The CPU time is that of both sides.
func BenchmarkAcknowledge(b *testing.B) {
	for _, size := range []int{100, 5000} {
		b.Run(fmt.Sprintf("samples=%d", size), func(b *testing.B) { benchmarkAcknowledge(b, size) })
	}
}

func benchmarkAcknowledge(b *testing.B, size int) {
	c := start(b, nil)
	s := opened(b, c.dial())
	batch := &pb.Batch{Sequence: 1, Samples: &pb.SampleColumns{BaseTimeMs: time.Now().UnixMilli()}}
	for i := range size {
		batch.Series = append(batch.Series, series(uint32(i+1), fmt.Sprintf("metric-%d", i)))
		batch.Samples.SeriesIds = append(batch.Samples.SeriesIds, uint32(i+1))
		batch.Samples.TimeOffsetsMs = append(batch.Samples.TimeOffsetsMs, int64(i%10))
		batch.Samples.Values = append(batch.Samples.Values, float64(i)*1.5)
	}
	s.batch(batch)
	s.acknowledged(1)
	batch.Series = nil
	used := cpuTime(b)
	b.ResetTimer()
	sent, acknowledged := uint64(1), uint64(1)
	for acknowledged < uint64(b.N)+1 {
		for sent < uint64(b.N)+1 && sent-acknowledged < 64 {
			sent++
			batch.Sequence, batch.OldestHeldSequence = sent, acknowledged+1
			s.batch(batch)
		}
		acknowledged = s.receive().GetAcknowledgement().GetSequence()
	}
	b.StopTimer()
	total := float64(b.N * size)
	b.ReportMetric(total/b.Elapsed().Seconds(), "samples/s")
	b.ReportMetric(float64((cpuTime(b)-used).Nanoseconds())/total, "cpu-ns/sample")
}

// cpuTime returns the CPU time that the process has used so far.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkStreams sends small messages over many streams with one connection each, as the workers of a cluster do. In
// each tick every stream sends one message, and then all acknowledgements arrive. The CPU time includes both sides and
// the journal.
func BenchmarkStreams(b *testing.B) {
	for _, form := range []string{"columns", "blocks"} {
		b.Run(form, func(b *testing.B) { benchmarkStreams(b, 500, 100, form == "blocks") })
	}
}

func benchmarkStreams(b *testing.B, streams, size int, blocks bool) {
	c := start(b, func(o *Options) { o.MaxStreams, o.MaxStreamsPerConnection = streams, 16 })
	var service pb.IngestServiceClient
	var all []*client
	var batches []*pb.Batch
	for n := range streams {
		if n%16 == 0 {
			service = c.dial()
		}
		s := opened(b, service)
		batch := &pb.Batch{Sequence: 1, SendTimeMs: time.Now().UnixMilli()}
		values := make([]float64, size)
		layout := &pb.Layout{Id: 1}
		for i := range size {
			d := series(uint32(i+1), fmt.Sprintf("metric-%d", i))
			d.Port = uint32(n)
			batch.Series = append(batch.Series, d)
			layout.SeriesIds = append(layout.SeriesIds, uint32(i+1))
			values[i] = float64(i)
		}
		if blocks {
			batch.Layouts = []*pb.Layout{layout}
			batch.Blocks = []*pb.Block{{LayoutId: 1, FirstTimeMs: time.Now().UnixMilli(), Count: 1, Codec: 2,
				Values: block.AppendTrimmed(nil, values)}}
		} else {
			batch.Samples = &pb.SampleColumns{BaseTimeMs: time.Now().UnixMilli(), SeriesIds: layout.SeriesIds,
				TimeOffsetsMs: make([]int64, size), Values: values}
		}
		s.batch(batch)
		s.acknowledged(1)
		batch.Series, batch.Layouts = nil, nil
		all, batches = append(all, s), append(batches, batch)
	}
	used := cpuTime(b)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		tick := min(streams, b.N-n)
		for i, s := range all[:tick] {
			batches[i].Sequence++
			batches[i].OldestHeldSequence = batches[i].Sequence
			s.batch(batches[i])
		}
		for i, s := range all[:tick] {
			s.acknowledged(batches[i].Sequence)
		}
		n += tick
	}
	b.StopTimer()
	b.ReportMetric(float64((cpuTime(b)-used).Nanoseconds())/float64(b.N), "cpu-ns/message")
}

// BenchmarkAdmit measures ingest's own part of a message, from its bytes to the batch for the journal.
func BenchmarkAdmit(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		for _, form := range []string{"columns", "doubles", "trimmed"} {
			b.Run(fmt.Sprintf("samples=%d/%s", size, form), func(b *testing.B) { benchmarkAdmit(b, size, form) })
		}
	}
}

func benchmarkAdmit(b *testing.B, size int, form string) {
	now := time.Now()
	first, batch := &pb.Batch{Epoch: make([]byte, 16), Sequence: 1, OldestHeldSequence: 1},
		&pb.Batch{Epoch: make([]byte, 16), Sequence: 2, OldestHeldSequence: 1}
	columns, layout, values := &pb.SampleColumns{BaseTimeMs: now.UnixMilli()}, &pb.Layout{Id: 1}, make([]float64, size)
	for i := range size {
		first.Series = append(first.Series, series(uint32(i+1), fmt.Sprintf("metric-%d", i)))
		layout.SeriesIds = append(layout.SeriesIds, uint32(i+1))
		values[i] = float64(i % 1000)
	}
	first.Layouts = []*pb.Layout{layout}
	of := &pb.Block{LayoutId: 1, FirstTimeMs: now.UnixMilli(), Count: 1, Codec: 1,
		Values: block.AppendDoubles(nil, values)}
	first.Blocks = []*pb.Block{of}
	switch form {
	case "columns":
		columns.SeriesIds, columns.TimeOffsetsMs, columns.Values = layout.SeriesIds, make([]int64, size), values
		batch.Samples = columns
	case "doubles":
		batch.Blocks = first.Blocks
	default:
		batch.Blocks = []*pb.Block{{LayoutId: 1, FirstTimeMs: now.UnixMilli(), Count: 1, Codec: 2,
			Values: block.AppendTrimmed(nil, values)}}
	}
	table := testTable(newSlowJournal(), tableLimits{series: size, layouts: 1, layoutColumns: size})
	allowed := timeRange{newestMs: now.UnixMilli()}
	var a admission
	pass := func(raw []byte) {
		in := &incoming{}
		in.decode(raw)
		if in.refused != nil || a.check(in.request.GetBatch(), table) != nil ||
			a.admit(in.request.GetBatch(), table, allowed, now) != nil || a.rejected != nil {
			b.Fatal("not taken")
		}
		a.release()
	}
	pass(encoded(b, first))
	raw := encoded(b, batch)
	b.ReportAllocs()
	used := cpuTime(b)
	for b.Loop() {
		pass(raw)
	}
	b.ReportMetric(float64((cpuTime(b)-used).Nanoseconds())/float64(b.N*size), "cpu-ns/sample")
}
