package ingest

import (
	"slices"
	"sync"
)

// largestFrame is the largest frame of HTTP/2 that gRPC takes; it cannot be set.
const largestFrame = 16 << 10

// frameSizes are those of the memory that is kept: a small frame does not hold what a large one takes.
var frameSizes = [...]int{4 << 10, largestFrame}

// FramePool is memory for the frames that the gRPC server reads; it implements mem.BufferPool. gRPC's own pool clears
// each buffer that it hands out, 16 KiB a frame, although the frame overwrites it at once and nobody reads it before.
// This one hands out buffers with their old content, so use it for reading only. The zero value is ready for use, by
// any number of goroutines.
type FramePool struct{ kept [len(frameSizes)]sync.Pool }

// Get returns memory of a length. What is larger than a frame is new, and zero.
func (p *FramePool) Get(length int) *[]byte {
	for i, size := range frameSizes {
		if length > size {
			continue
		}
		b, is := p.kept[i].Get().(*[]byte)
		if !is {
			fresh := make([]byte, size)
			b = &fresh
		}
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length)
	return &b
}

// Put takes memory back. The caller must not use it afterwards.
func (p *FramePool) Put(b *[]byte) {
	if i := slices.Index(frameSizes[:], cap(*b)); i >= 0 {
		p.kept[i].Put(b) // from here on another may have it
	}
}
