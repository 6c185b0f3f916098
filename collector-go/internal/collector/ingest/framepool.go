package ingest

import (
	"slices"
	"sync"
)

// largestFrame is the largest HTTP/2 frame that gRPC accepts. gRPC does not allow changing it.
const largestFrame = 16 << 10

// frameSizes are the sizes of the pooled buffers. With two sizes, a small frame does not occupy a buffer for a large
// one.
var frameSizes = [...]int{4 << 10, largestFrame}

// FramePool is a pool of memory for the frames that the gRPC server reads. It implements mem.BufferPool. gRPC's own
// pool clears each buffer of 16 KiB, although the frame overwrites it at once and nobody reads it before.
//
// This pool returns buffers with their old content, so use it for reading only. The zero value is ready for use. It is
// safe for concurrent use.
type FramePool struct{ kept [len(frameSizes)]sync.Pool }

// Get returns a buffer of the given length. A buffer that is larger than a frame is newly allocated and zero.
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

// Put returns a buffer to the pool. The caller must not use it afterwards.
func (p *FramePool) Put(b *[]byte) {
	if i := slices.Index(frameSizes[:], cap(*b)); i >= 0 {
		p.kept[i].Put(b) // from here on another goroutine may use it
	}
}
