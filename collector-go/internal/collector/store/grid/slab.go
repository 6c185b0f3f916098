package grid

import (
	"math/bits"
	"unsafe"
)

// slab is an array that grows without moving its entries. A slice that grows would copy the whole head again and again.
// The garbage collector sees a few large pages instead of millions of small objects. Index 0 means "none" and is never
// handed out.
type slab[T any] struct {
	pages [][]T
	used  uint32 // handed out, index 0 among them
	shift uint8  // a page has 1<<shift entries
}

// pageBytes is what a page takes at most; it has a strip's values at least.
const pageBytes = 64 << 10

// add hands out n zero entries that lie one behind the other: at most as many as a strip has values.
func (s *slab[T]) add(n uint32) uint32 {
	if s.used == 0 {
		var entry T
		s.shift = uint8(bits.Len(uint(pageBytes/unsafe.Sizeof(entry))) - 1)
		s.used = 1
	}
	if left := uint32(len(s.pages))<<s.shift - s.used; left < n || len(s.pages) == 0 {
		if len(s.pages) > 0 {
			s.used += left
		}
		s.pages = append(s.pages, make([]T, 1<<s.shift))
	}
	i := s.used
	s.used += n
	return i
}

// at is an entry. It stays where it is for as long as the slab lives, so a pointer to it may be kept.
func (s *slab[T]) at(i uint32) *T { return &s.pages[i>>s.shift][i&(1<<s.shift-1)] }

// from is n entries from one on that were handed out together.
func (s *slab[T]) from(i, n uint32) []T {
	at := i & (1<<s.shift - 1)
	return s.pages[i>>s.shift][at : at+n]
}

// bytes is what the slab takes of memory.
func (s *slab[T]) bytes() int {
	var entry T
	return len(s.pages) << s.shift * int(unsafe.Sizeof(entry))
}
