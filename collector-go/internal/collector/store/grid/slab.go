package grid

import (
	"math/bits"
	"unsafe"
)

// slab is an array that grows without moving its entries. A Go slice would copy the whole head whenever it grows. The
// garbage collector sees a few large pages instead of millions of small objects. Index 0 means "none" and is never
// returned.
type slab[T any] struct {
	pages [][]T
	used  uint32 // entries in use, including index 0
	shift uint8  // a page has 1<<shift entries
}

// pageBytes is the largest size of a page. It must have room for the values of a strip.
const pageBytes = 64 << 10

// add returns the index of n adjacent zero entries. n is at most the number of values in a strip.
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

// at returns a pointer to an entry. The entry never moves, so the pointer may be kept.
func (s *slab[T]) at(i uint32) *T { return &s.pages[i>>s.shift][i&(1<<s.shift-1)] }

// from returns n entries from index i on, which one call of add returned.
func (s *slab[T]) from(i, n uint32) []T {
	at := i & (1<<s.shift - 1)
	return s.pages[i>>s.shift][at : at+n]
}

// bytes returns the memory that the slab takes.
func (s *slab[T]) bytes() int {
	var entry T
	return len(s.pages) << s.shift * int(unsafe.Sizeof(entry))
}
