package grid

import (
	mathbits "math/bits"
)

const (
	chunkSlots = 64 // in a chunk: ten minutes of 10 s slices, with a bit for each in one word
	stripSlots = 8  // in a strip: a cache line for the numbers of one series, and the least that a short series takes
	maxMembers = 32 // in a chunk
)

// chunk has 64 slots at equal distances for each of up to 32 series, its members. The ids of the series are
// consecutive, and their first slices arrived one after the other. The time of its first slot is a multiple of 64
// distances, apart from the series' phase. Slices may therefore fill it in any order, and two chunks of one series,
// distance and phase never overlap.
//
// The layout makes the common case cheap. While the series arrive together, their slices form rows. The open row stores
// them side by side, so that ten series of a worker touch as much memory as one. When the next row opens, a complete
// row is recorded once for all members. Every other slice is recorded for its own member.
type chunk struct {
	openMs  int64  // end of the open row
	row     uint32 // index of the open row's values
	got     uint32 // bits of the members that have a slice in the open row
	apart   uint32 // bits of members that take part in no rows, because their series' chunks may overlap in time
	members uint32 // index of the first member
	n       uint8  // number of members
	open    uint8  // slot of the open row
	stepMs  int64
	firstMs int64  // of slot 0, even if it holds no slice
	common  uint64 // slots at which all members hold a slice, except the open row
	touched uint64 // slots at which some member holds a slice that is not in common
	// strips are the indices of the values of each eight slots, or 0 if none of these holds a slice. The strip of the
	// open row is stored row by row, and the others member by member.
	strips [chunkSlots / stripSlots]uint32
}

// link refers to a member of a chunk. Chunk 0 means none.
type link struct {
	chunk  uint32
	member uint8
}

// member is what a chunk records about one of its series in addition to the complete rows.
type member struct {
	own   uint64 // slots that hold a slice, except those in common and the open row
	older link   // the series' next older chunk, whose firstMs is not above this one's
}

// slot returns the slot with the end endMs. in is false if the chunk has no such slot.
func (c *chunk) slot(endMs int64) (p int, in bool) {
	from := endMs - c.firstMs
	if from < 0 || from >= chunkSlots*c.stepMs || from%c.stepMs != 0 {
		return 0, false
	}
	return int(from / c.stepMs), true
}

// lastMs returns the end of the chunk's last slot, even if it holds no slice.
func (c *chunk) lastMs() int64 { return c.firstMs + (chunkSlots-1)*c.stepMs }

// all returns a bit for each member.
func (c *chunk) all() uint32 { return ^uint32(0) >> (maxMembers - c.n) }

// where returns how a strip's values are stored: the index of a member's first value, and the distance to its next one.
func (c *chunk) where(strip int, member uint8) (first, distance uint32) {
	if strip == int(c.open/stripSlots) {
		return c.strips[strip] + uint32(member), uint32(c.n)
	}
	return c.strips[strip] + uint32(member)*stripSlots, 1
}

// some returns the slots at which any member holds a slice, as bits.
func (c *chunk) some() uint64 {
	bits := c.common | c.touched
	if c.got != 0 {
		bits |= 1 << c.open
	}
	return bits
}

// present returns the slots at which one member holds a slice, as bits.
func (c *column[T]) present(ch *chunk, member uint8) uint64 {
	return ch.common | c.members.at(ch.members+uint32(member)).own | uint64(ch.got>>member&1)<<ch.open
}

// advance opens the row of endMs in a chunk. It returns false if the row is not after the open one, or if the slot
// already has a slice.
func (c *column[T]) advance(ch *chunk, endMs int64) bool {
	p := int(ch.open) + 1
	if endMs != ch.openMs+ch.stepMs || p == chunkSlots {
		var in bool
		if p, in = ch.slot(endMs); !in || p <= int(ch.open) {
			return false
		}
	}
	if (ch.common|ch.touched)>>p&1 == 1 || endMs > farthestMs {
		return false
	}
	c.commit(ch)
	if was, is := ch.open/stripSlots, uint8(p/stripSlots); was != is {
		c.turn(ch, was, stripSlots, int(ch.n))
		if ch.strips[is] == 0 {
			ch.strips[is] = c.values.add(stripSlots * uint32(ch.n))
		} else {
			c.turn(ch, is, int(ch.n), stripSlots)
		}
	}
	ch.open, ch.openMs = uint8(p), endMs
	ch.row = ch.strips[p/stripSlots] + uint32(p%stripSlots)*uint32(ch.n)
	return true
}

// commit records the slices of the open row in the chunk and its members. Afterwards no row is open.
func (c *column[T]) commit(ch *chunk) {
	bit := uint64(1) << ch.open
	if ch.got == ch.all() {
		ch.common |= bit
	} else if ch.got != 0 {
		ch.touched |= bit
		for left := ch.got; left != 0; left &= left - 1 {
			c.members.at(ch.members + uint32(mathbits.TrailingZeros32(left))).own |= bit
		}
	}
	ch.got = 0
}

// turn transposes a strip between rows and columns. The strip of the open row is stored row by row, because slices
// arrive that way. All others are stored member by member, because queries read them that way.
func (c *column[T]) turn(ch *chunk, strip uint8, rows, columns int) {
	if ch.n == 1 {
		return
	}
	values := c.values.from(ch.strips[strip], uint32(rows*columns))
	from := c.spare[:len(values)]
	copy(from, values)
	for column := range columns {
		to := values[column*rows : column*rows+rows]
		at := column
		for i := range to {
			to[i] = from[at]
			at += columns
		}
	}
}
