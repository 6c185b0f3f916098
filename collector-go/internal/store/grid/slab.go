package grid

import "unsafe"

// slab is an array that grows without moving what is in it, and without the garbage collector's seeing more than its pages.
// Index 0 means "none" and is never handed out.
type slab[T any] struct {
	pages []*[slabPage]T
	used  uint32 // handed out, index 0 among them
}

const slabPage = 1024

// add hands out a zero entry.
func (s *slab[T]) add() uint32 {
	if s.used == 0 {
		s.used = 1
	}
	i := s.used
	if int(i/slabPage) >= len(s.pages) {
		s.pages = append(s.pages, new([slabPage]T))
	}
	s.used++
	return i
}

func (s *slab[T]) at(i uint32) *T { return &s.pages[i/slabPage][i%slabPage] }

// bytes is what the slab takes of memory.
func (s *slab[T]) bytes() int {
	var entry T
	return len(s.pages) * slabPage * int(unsafe.Sizeof(entry))
}
