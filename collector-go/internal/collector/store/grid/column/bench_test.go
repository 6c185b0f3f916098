package column

import (
	"fmt"
	"testing"
)

func benchmarkEach(b *testing.B, do func(b *testing.B, values []float64)) {
	for _, name := range []string{"constant", "walk", "counter", "heap", "seconds", "gaps", "doubles"} {
		for _, slots := range []int{60, 1024} {
			b.Run(fmt.Sprintf("%s/%d", name, slots), func(b *testing.B) {
				do(b, series[name](newRandom(), slots))
			})
		}
	}
}

func perValue(b *testing.B, slots, size int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*slots), "ns/value")
	b.ReportMetric(float64(size)/float64(slots), "B/value")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkEncode(b *testing.B) {
	benchmarkEach(b, func(b *testing.B, values []float64) {
		var e Encoder
		var dst []byte
		for b.Loop() {
			dst = e.Floats(dst[:0], values, nil)
		}
		perValue(b, len(values), len(dst))
	})
}

func BenchmarkDecode(b *testing.B) {
	benchmarkEach(b, func(b *testing.B, values []float64) {
		var e Encoder
		src := e.Floats(nil, values, nil)
		for b.Loop() {
			if _, err := Floats(src, values); err != nil {
				b.Fatal(err)
			}
		}
		perValue(b, len(values), len(src))
	})
}
