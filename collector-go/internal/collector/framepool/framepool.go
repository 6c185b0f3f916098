// Package framepool is memory for the frames that a gRPC server reads. gRPC's own pool clears what it hands out, 16 KiB
// a frame, though a frame is written over at once and none of it is read before. It owns nothing but that memory, and
// will never know what a frame holds.
package framepool

import (
	"slices"
	"sync"
)

// Largest is the largest frame of HTTP/2 that gRPC takes; it cannot be set.
const Largest = 16 << 10

// sizes are those of the memory that is kept: a small frame does not hold what a large one takes.
var sizes = [...]int{4 << 10, Largest}

// Pool implements mem.BufferPool for experimental.BufferPool; what it hands out holds what was there before. Its zero
// value is empty. It is safe from any goroutine.
type Pool struct{ kept [len(sizes)]sync.Pool }

// Get returns memory of a length. What is larger than a frame is new, and zero.
func (p *Pool) Get(length int) *[]byte {
	for i, size := range sizes {
		if length > size {
			continue
		}
		b, is := p.kept[i].Get().(*[]byte)
		if !is {
			whole := make([]byte, size)
			b = &whole
		}
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length)
	return &b
}

// Put takes memory back that nobody looks at any more.
func (p *Pool) Put(b *[]byte) {
	if i := slices.Index(sizes[:], cap(*b)); i >= 0 {
		p.kept[i].Put(b) // from here on another may have it
	}
}
