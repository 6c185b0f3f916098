package grid

import (
	mathbits "math/bits"
)

const (
	chunkPlaces = 64 // of a chunk: ten minutes of 10 s slices, and a bit each in one word
	stripPlaces = 8  // of a strip: a cache line of a series' numbers, and what a short series takes at least
	maxLanes    = 32 // of a chunk
)

// chunk holds 64 places at even distances of up to 32 series, its lanes. The series' ids follow each other, and their
// first slices arrived one after the other. Its first place lies on a multiple of 64 distances. Slices may therefore
// fill it in any order, and two chunks of one series, distance and phase never overlap.
//
// The layout makes the common case cheap. As long as the series arrive in step, their slices form rows: one open row
// takes them side by side, so that ten series of a worker touch the memory of one. A complete row is noted once for all
// lanes when the next row opens. Every other slice is noted with its own lane.
type chunk struct {
	openMs  int64  // end of the open row
	row     uint32 // where the open row's values are
	got     uint32 // the lanes whose slices of the open row are there
	apart   uint32 // lanes that do not take part in rows: of series whose chunks may cover one time twice
	lanes   uint32 // the first of them
	n       uint8  // lanes
	open    uint8  // place of the open row
	stepMs  int64
	firstMs int64  // of place 0, whether it holds a slice or not
	common  uint64 // places at which all lanes hold a slice, but for the open row
	touched uint64 // places at which some lane has a slice of its own
	// strips are where the values of each eight places are; 0: none of them holds a slice. In that of the open row they
	// lie row by row, in the others lane by lane.
	strips [chunkPlaces / stripPlaces]uint32
}

// link names a lane of a chunk. Chunk 0 means none.
type link struct {
	chunk uint32
	lane  uint8
}

// lane is what a chunk knows about one of its series beyond the complete rows.
type lane struct {
	own   uint64 // places that hold a slice, beyond common and the open row
	older link   // the series' next chunk; its firstMs is not above this one's
}

// place is where endMs lies, if it lies in the chunk at all.
func (c *chunk) place(endMs int64) (p int, in bool) {
	from := endMs - c.firstMs
	if from < 0 || from >= chunkPlaces*c.stepMs || from%c.stepMs != 0 {
		return 0, false
	}
	return int(from / c.stepMs), true
}

// lastMs is the end of the chunk's last place, whether it holds a slice or not.
func (c *chunk) lastMs() int64 { return c.firstMs + (chunkPlaces-1)*c.stepMs }

// all is a bit for each lane.
func (c *chunk) all() uint32 { return ^uint32(0) >> (maxLanes - c.n) }

// where is how a strip's values lie: from the first place of a lane on, how far it is to the next place.
func (c *chunk) where(strip int, lane uint8) (first, distance uint32) {
	if strip == int(c.open/stripPlaces) {
		return c.strips[strip] + uint32(lane), uint32(c.n)
	}
	return c.strips[strip] + uint32(lane)*stripPlaces, 1
}

// some returns the places at which any lane holds a slice, as bits.
func (c *chunk) some() uint64 {
	bits := c.common | c.touched
	if c.got != 0 {
		bits |= 1 << c.open
	}
	return bits
}

// present returns the places at which one lane holds a slice, as bits.
func (c *column[T]) present(ch *chunk, lane uint8) uint64 {
	return ch.common | c.lanes.at(ch.lanes+uint32(lane)).own | uint64(ch.got>>lane&1)<<ch.open
}

// advance opens the row of endMs in a chunk. It fails if the row is not after the open one, or if a slice was put there
// already.
func (c *column[T]) advance(ch *chunk, endMs int64) bool {
	p := int(ch.open) + 1
	if endMs != ch.openMs+ch.stepMs || p == chunkPlaces {
		var in bool
		if p, in = ch.place(endMs); !in || p <= int(ch.open) {
			return false
		}
	}
	if (ch.common|ch.touched)>>p&1 == 1 || endMs > farthestMs {
		return false
	}
	c.commit(ch)
	if was, is := ch.open/stripPlaces, uint8(p/stripPlaces); was != is {
		c.turn(ch, was, stripPlaces, int(ch.n))
		if ch.strips[is] == 0 {
			ch.strips[is] = c.values.add(stripPlaces * uint32(ch.n))
		} else {
			c.turn(ch, is, int(ch.n), stripPlaces)
		}
	}
	ch.open, ch.openMs = uint8(p), endMs
	ch.row = ch.strips[p/stripPlaces] + uint32(p%stripPlaces)*uint32(ch.n)
	return true
}

// commit notes what the open row holds; there is none then.
func (c *column[T]) commit(ch *chunk) {
	bit := uint64(1) << ch.open
	if ch.got == ch.all() {
		ch.common |= bit
	} else if ch.got != 0 {
		ch.touched |= bit
		for left := ch.got; left != 0; left &= left - 1 {
			c.lanes.at(ch.lanes + uint32(mathbits.TrailingZeros32(left))).own |= bit
		}
	}
	ch.got = 0
}

// turn transposes a strip between rows and columns. The open strip lies row by row, because slices arrive that way; all
// others lie lane by lane, because queries read them that way.
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
