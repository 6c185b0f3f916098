package journal

import (
	"iter"
	"math/bits"
)

// maxID bounds the ids of series, layouts and producers. A damaged id therefore cannot make a reader allocate memory
// for billions of rows.
const maxID = 1 << 30

const chunkIDs = 1024

// byID stores rows by id in chunks. Ids increase and are never reused. Old chunks therefore become empty as their rows
// are forgotten, and their memory is freed. A plain slice would grow for as long as the journal exists.
type byID[T any] struct {
	chunks []*chunk[T]
	known  int
}

// chunk holds the rows of adjacent ids. known is the number of rows; at 0 the chunk can be freed.
type chunk[T any] struct {
	rows  [chunkIDs]*T
	known int
}

// get returns the row of an id, or nil if there is none.
func (l *byID[T]) get(id uint32) *T {
	if i := int(id / chunkIDs); i < len(l.chunks) && l.chunks[i] != nil {
		return l.chunks[i].rows[id%chunkIDs]
	}
	return nil
}

// put stores a row under an id that has none. An id is never assigned to another row, so readers may keep the pointer.
func (l *byID[T]) put(id uint32, row *T) {
	i := int(id / chunkIDs)
	for len(l.chunks) <= i {
		l.chunks = append(l.chunks, nil)
	}
	if l.chunks[i] == nil {
		l.chunks[i] = new(chunk[T])
	}
	l.chunks[i].rows[id%chunkIDs] = row
	l.chunks[i].known++
	l.known++
}

// drop removes the row of an id, if there is one.
func (l *byID[T]) drop(id uint32) {
	if l.get(id) == nil {
		return
	}
	c := l.chunks[id/chunkIDs]
	c.rows[id%chunkIDs] = nil
	l.known--
	if c.known--; c.known == 0 {
		l.chunks[id/chunkIDs] = nil
	}
}

// all iterates over the rows in ascending order of id. A segment header lists them in that order, so that equal
// dictionaries give equal bytes.
func (l *byID[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, c := range l.chunks {
			if c == nil {
				continue
			}
			for _, row := range c.rows {
				if row != nil && !yield(row) {
					return
				}
			}
		}
	}
}

const setIDs = 4096

// idSet is a set of ids with one bit for each. Every reader has such sets, so a map would be too large. Empty chunks
// are freed like those of byID.
type idSet []*[setIDs / 64]uint64

func (s idSet) has(id uint32) bool {
	i := int(id / setIDs)
	return i < len(s) && s[i] != nil && s[i][id%setIDs/64]>>(id%64)&1 == 1
}

// add adds an id to the set, and reports whether it was new.
func (s *idSet) add(id uint32) bool {
	i := int(id / setIDs)
	for len(*s) <= i {
		*s = append(*s, nil)
	}
	if (*s)[i] == nil {
		(*s)[i] = new([setIDs / 64]uint64)
	}
	word, bit := &(*s)[i][id%setIDs/64], uint64(1)<<(id%64)
	isNew := *word&bit == 0
	*word |= bit
	return isNew
}

// remove removes an id from the set, and reports whether it was there.
func (s idSet) remove(id uint32) bool {
	if !s.has(id) {
		return false
	}
	words := s[id/setIDs]
	words[id%setIDs/64] &^= 1 << (id % 64)
	left := 0
	for _, word := range words {
		left += bits.OnesCount64(word)
	}
	if left == 0 {
		s[id/setIDs] = nil
	}
	return true
}
