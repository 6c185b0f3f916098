package ingest

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// BenchmarkAcknowledge sends batches of one stream with a full window over loopback, to a journal on the disk of the
// temporary directory, and waits for the acknowledgements. CPU is that of both sides.
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

// cpuTime is what the process has used so far.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
