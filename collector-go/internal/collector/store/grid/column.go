package grid

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// column holds the slices of one kind, numbers or distributions, for all series of a head. Slices of one time arrive
// together for many series, so row and begin take them in bulk. put takes any single slice.
//
// All three behave like a map from series and time to a value, in which the first value for a time stays.
// TestColumnIsAMap compares them with a plain map over random histories.
type column[T any] struct {
	tips    []tip // indexed by the series' id
	chunks  slab[chunk]
	members slab[member]
	values  slab[T]
	spare   [stripSlots * maxMembers]T // a buffer for turn
	slices  int
	series  int // number of series with slices
	same    func(a, b T) bool
}

// tip refers to the newest chunk of a series. Its older chunks follow in a list, newest first. A slice usually belongs
// to the newest one.
type tip struct {
	link
	mixed bool // its chunks differ in distance or phase, so they may overlap in time
}

// outcome says what happened to a slice.
type outcome int

const (
	taken    outcome = iota
	repeated         // the column has the same slice
	conflict         // the column has another slice at this time, which stays
)

// row is the fast path for the next slices of series with a chunk. It takes slices from the front while they have one
// time, their series have adjacent members in one chunk, and the chunk does not have them yet. It returns how many it
// took, which may be 0; put takes the rest. ids maps a Ref to its series' id plus one.
func (c *column[T]) row(ids []uint32, refs []slice.Ref, endsMs []int64, values []T) (n int) {
	ref, endMs := refs[0], endsMs[0]
	if int(ref) >= len(ids) {
		return 0
	}
	id := ids[ref]
	if int(id-1) >= len(c.tips) {
		return 0
	}
	t := &c.tips[id-1]
	if t.chunk == 0 {
		return 0
	}
	ch := c.chunks.at(t.chunk)
	if ch.openMs != endMs && !c.advance(ch, endMs) {
		return 0
	}
	there := (ch.got | ch.apart) >> t.member
	row := c.values.from(ch.row+uint32(t.member), uint32(ch.n-t.member))
	row = row[:min(len(row), len(refs))]
	endsMs, values = endsMs[:len(refs)], values[:len(refs)]
	for n < len(row) {
		ref := refs[n]
		if there&1 != 0 || endsMs[n] != endMs || int(ref) >= len(ids) || ids[ref] != id {
			break
		}
		row[n] = values[n]
		there >>= 1
		id++
		n++
	}
	ch.got |= (1<<n - 1) << t.member
	c.slices += n
	return n
}

// begin is the fast path for series that have no chunk for the time of their slices. It makes one chunk with a member
// for each of them, so that row can take their next slices together. stepsMs is indexed by Ref. It returns 0 if the
// first slice must go through put.
func (c *column[T]) begin(ids []uint32, stepsMs []int64, refs []slice.Ref, endsMs []int64, values []T) int {
	n := c.apace(ids, stepsMs, refs, endsMs)
	if n == 0 {
		return 0
	}
	at := c.make(n, stepsMs[refs[0]], endsMs[0])
	ch := c.chunks.at(at)
	first := ids[refs[0]] - 1
	for i := range n {
		t := &c.tips[first+uint32(i)]
		if t.chunk == 0 {
			c.series++
		}
		c.members.at(ch.members + uint32(i)).older = t.link
		t.link = link{at, uint8(i)}
	}
	copy(c.values.from(ch.row, uint32(n)), values)
	ch.got = ch.all()
	c.slices += n
	return n
}

// apace returns how many slices at the front may share a new chunk. They must have one time, consecutive ids and equal
// distances. Their time must be after all chunks of their series, which must be on the same grid.
func (c *column[T]) apace(ids []uint32, stepsMs []int64, refs []slice.Ref, endsMs []int64) (n int) {
	if int(refs[0]) >= len(ids) || endsMs[0] > farthestMs || endsMs[0] < -farthestMs {
		return 0
	}
	id, endMs, stepMs := ids[refs[0]], endsMs[0], stepsMs[refs[0]]
	before := uint32(0) // the chunk of the previous series
	for n < min(len(refs), maxMembers) {
		ref := refs[n]
		if endsMs[n] != endMs || int(ref) >= len(ids) || ids[ref] != id || int(id-1) >= len(c.tips) ||
			stepsMs[ref] != stepMs {
			break
		}
		t := &c.tips[id-1]
		if t.mixed {
			break
		}
		if t.chunk != 0 && t.chunk != before {
			ch := c.chunks.at(t.chunk)
			if ch.lastMs() >= endMs || ch.stepMs != stepMs || (endMs-ch.firstMs)%stepMs != 0 {
				break
			}
			before = t.chunk
		}
		id++
		n++
	}
	return n
}

// put takes any single slice. stepMs is the intended distance between slices of the series. A slice off that grid gets
// a chunk of its own. A second slice for the same time never replaces the first one.
func (c *column[T]) put(id uint32, stepMs, endMs int64, v T) outcome {
	c.grow(int(id) + 1)
	t := &c.tips[id]
	var home link
	insertAt := &t.link // a new chunk is linked here, before the first chunk that is not newer
	for at := t.link; at.chunk != 0; {
		ch := c.chunks.at(at.chunk)
		if p, in := ch.slot(endMs); in {
			if c.present(ch, at.member)>>p&1 == 1 {
				if c.same(*c.value(ch, at.member, p), v) {
					return repeated
				}
				return conflict
			}
			home = at
		}
		if !t.mixed && (home.chunk != 0 || ch.lastMs() < endMs) {
			break
		}
		l := c.members.at(ch.members + uint32(at.member))
		if ch.firstMs > endMs {
			insertAt = &l.older
		}
		at = l.older
	}
	if home.chunk == 0 {
		home = c.open(t, insertAt, stepMs, endMs)
	}
	c.settle(home, endMs, v)
	return taken
}

// grow extends tips to at least n series.
func (c *column[T]) grow(n int) {
	if more := n - len(c.tips); more > 0 {
		c.tips = append(c.tips, make([]tip, more)...)
	}
}

// open makes a chunk for one series, with a slot for endMs.
func (c *column[T]) open(t *tip, insertAt *link, stepMs, endMs int64) link {
	if t.chunk != 0 {
		newest := c.chunks.at(t.chunk)
		t.mixed = t.mixed || newest.stepMs != stepMs || (endMs-newest.firstMs)%stepMs != 0
	}
	if t.chunk == 0 {
		c.series++
	}
	at := c.make(1, stepMs, endMs)
	c.members.at(c.chunks.at(at).members).older = *insertAt
	*insertAt = link{chunk: at}
	if t.mixed {
		c.sort(t)
	}
	return link{chunk: at}
}

// make makes a chunk whose open row is at endMs, and returns its index.
func (c *column[T]) make(members int, stepMs, endMs int64) uint32 {
	at := c.chunks.add(1)
	ch := c.chunks.at(at)
	width := chunkSlots * stepMs
	phase := ((endMs % stepMs) + stepMs) % stepMs
	p := (((endMs-phase)%width + width) % width) / stepMs
	ch.stepMs, ch.firstMs = stepMs, endMs-p*stepMs
	ch.n, ch.members = uint8(members), c.members.add(uint32(members))
	ch.open, ch.openMs = uint8(p), endMs
	ch.strips[p/stripSlots] = c.values.add(stripSlots * uint32(members))
	ch.row = ch.strips[p/stripSlots] + uint32(p%stripSlots*int64(members))
	return at
}

// sort sorts the chunks of a mixed series, newest first. If distances differ, a chunk's first slot can be before the
// slot at which open linked it. The series no longer takes part in rows, since another chunk may have a slice at the
// same time.
func (c *column[T]) sort(t *tip) {
	var all []link
	for at := t.link; at.chunk != 0; at = *c.older(at) {
		c.chunks.at(at.chunk).apart |= 1 << at.member
		all = append(all, at)
	}
	slices.SortStableFunc(all, func(a, b link) int {
		return cmp.Compare(c.chunks.at(b.chunk).firstMs, c.chunks.at(a.chunk).firstMs)
	})
	insertAt := &t.link
	for _, at := range all {
		*insertAt = at
		insertAt = c.older(at)
	}
	*insertAt = link{}
}

// older returns the link to the series' next older chunk.
func (c *column[T]) older(at link) *link {
	return &c.members.at(c.chunks.at(at.chunk).members + uint32(at.member)).older
}

// settle stores a slice at a slot without one. If possible it becomes part of the open row, and otherwise it is
// recorded for its own member.
func (c *column[T]) settle(home link, endMs int64, v T) {
	ch := c.chunks.at(home.chunk)
	p, _ := ch.slot(endMs)
	if ch.openMs == endMs || ch.apart>>home.member&1 == 0 && c.advance(ch, endMs) {
		ch.got |= 1 << home.member
	} else {
		if strip := &ch.strips[p/stripSlots]; *strip == 0 {
			*strip = c.values.add(stripSlots * uint32(ch.n))
		}
		c.members.at(ch.members + uint32(home.member)).own |= 1 << p
		ch.touched |= 1 << p
	}
	*c.value(ch, home.member, p) = v
	c.slices++
}

// value returns where the value of a member at a slot is stored.
func (c *column[T]) value(ch *chunk, member uint8, p int) *T {
	first, distance := ch.where(p/stripSlots, member)
	return c.values.at(first + uint32(p%stripSlots)*distance)
}

// bytes returns the memory that the column takes, except what histograms take themselves.
func (c *column[T]) bytes() int {
	return cap(c.tips)*int(unsafe.Sizeof(tip{})) + c.chunks.bytes() + c.members.bytes() + c.values.bytes()
}
