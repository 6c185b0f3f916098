package ingest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/mem"
)

func TestAPoolGivesWhatIsAskedFor(t *testing.T) {
	var p mem.BufferPool = &FramePool{}
	for _, length := range []int{0, 1, 4095, 4096, 4097, largestFrame, largestFrame + 1, 1 << 20} {
		for range 3 {
			b := p.Get(length)
			assert.Len(t, *b, length)
			assert.LessOrEqual(t, cap(*b), max(4*length, 4096), "%d", length)
			*b = (*b)[:length/2] // the previous user may have shortened it
			p.Put(b)
		}
	}
	foreign := make([]byte, 10)
	p.Put(&foreign)
	assert.Len(t, *p.Get(4096), 4096)
}

// TestAPoolIsSharedByGoroutines checks that a returned buffer is reused at once. The race detector finds late accesses.
func TestAPoolIsSharedByGoroutines(t *testing.T) {
	var p FramePool
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for k := range 10_000 {
				b := p.Get(1 + k%largestFrame)
				(*b)[0] = byte(k)
				p.Put(b)
			}
		})
	}
	all.Wait()
}

func BenchmarkFrame(b *testing.B) {
	for _, pool := range []struct {
		name string
		mem.BufferPool
	}{{"gRPC", mem.DefaultBufferPool()}, {"ours", &FramePool{}}} {
		b.Run(pool.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pool.Put(pool.Get(largestFrame))
			}
		})
	}
}
