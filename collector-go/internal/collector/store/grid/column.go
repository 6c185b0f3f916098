package grid

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// column is the slices of one kind of all series in a head. T is float64 or a histogram.
type column[T any] struct {
	tips   []tip // by the series' id
	chunks slab[chunk]
	lanes  slab[lane]
	values slab[T]
	spare  [stripPlaces * maxLanes]T // for turn
	slices int
	series int // that have slices
	same   func(a, b T) bool
}

// tip is a series' newest chunk.
type tip struct {
	link
	mixed bool // its chunks differ in distance or phase, so that two may cover one time
}

// outcome is what became of a slice.
type outcome int

const (
	taken    outcome = iota
	repeated         // the same slice is there
	conflict         // another slice is there; it stays
)

// row takes the first slices as far as they lie side by side: of one time, of series whose lanes in one chunk follow
// each other, and none of them there yet. It returns how many those are; of what comes otherwise none, and put takes
// it. ids is by Ref one more than a series' id.
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
	there := (ch.got | ch.apart) >> t.lane
	row := c.values.from(ch.row+uint32(t.lane), uint32(ch.n-t.lane))
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
	ch.got |= (1<<n - 1) << t.lane
	c.slices += n
	return n
}

// begin is row for series that have no chunk in which the slices lie: it makes one, whose lanes they become. stepsMs is
// by Ref. It takes none where put has to see what becomes of the first.
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
		c.lanes.at(ch.lanes + uint32(i)).older = t.link
		t.link = link{at, uint8(i)}
	}
	copy(c.values.from(ch.row, uint32(n)), values)
	ch.got = ch.all()
	c.slices += n
	return n
}

// apace is how many of the first slices are of one time, of series whose ids follow each other, at one distance, and
// behind all chunks of theirs, which are on the same grid.
func (c *column[T]) apace(ids []uint32, stepsMs []int64, refs []slice.Ref, endsMs []int64) (n int) {
	if int(refs[0]) >= len(ids) || endsMs[0] > farthestMs || endsMs[0] < -farthestMs {
		return 0
	}
	id, endMs, stepMs := ids[refs[0]], endsMs[0], stepsMs[refs[0]]
	before := uint32(0) // the chunk that the one before is in
	for n < min(len(refs), maxLanes) {
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

// put takes a slice. stepMs is how far apart the series' slices are meant to be; a slice off that grid gets a chunk of
// its own.
func (c *column[T]) put(id uint32, stepMs, endMs int64, v T) outcome {
	c.grow(int(id) + 1)
	t := &c.tips[id]
	var home link
	behind := &t.link // where a new chunk is linked in: before the first that is not newer
	for at := t.link; at.chunk != 0; {
		ch := c.chunks.at(at.chunk)
		if p, in := ch.place(endMs); in {
			if c.present(ch, at.lane)>>p&1 == 1 {
				if c.same(*c.slot(ch, at.lane, p), v) {
					return repeated
				}
				return conflict
			}
			home = at
		}
		if !t.mixed && (home.chunk != 0 || ch.lastMs() < endMs) {
			break
		}
		l := c.lanes.at(ch.lanes + uint32(at.lane))
		if ch.firstMs > endMs {
			behind = &l.older
		}
		at = l.older
	}
	if home.chunk == 0 {
		home = c.open(t, behind, stepMs, endMs)
	}
	c.settle(home, endMs, v)
	return taken
}

// grow makes tips for n series.
func (c *column[T]) grow(n int) {
	if more := n - len(c.tips); more > 0 {
		c.tips = append(c.tips, make([]tip, more)...)
	}
}

// open makes a chunk for one series, in which endMs lies.
func (c *column[T]) open(t *tip, behind *link, stepMs, endMs int64) link {
	if t.chunk != 0 {
		newest := c.chunks.at(t.chunk)
		t.mixed = t.mixed || newest.stepMs != stepMs || (endMs-newest.firstMs)%stepMs != 0
	}
	if t.chunk == 0 {
		c.series++
	}
	at := c.make(1, stepMs, endMs)
	c.lanes.at(c.chunks.at(at).lanes).older = *behind
	*behind = link{chunk: at}
	if t.mixed {
		c.sort(t)
	}
	return link{chunk: at}
}

// make makes a chunk with the row of endMs open.
func (c *column[T]) make(lanes int, stepMs, endMs int64) uint32 {
	at := c.chunks.add(1)
	ch := c.chunks.at(at)
	width := chunkPlaces * stepMs
	phase := ((endMs % stepMs) + stepMs) % stepMs
	p := (((endMs-phase)%width + width) % width) / stepMs
	ch.stepMs, ch.firstMs = stepMs, endMs-p*stepMs
	ch.n, ch.lanes = uint8(lanes), c.lanes.add(uint32(lanes))
	ch.open, ch.openMs = uint8(p), endMs
	ch.strips[p/stripPlaces] = c.values.add(stripPlaces * uint32(lanes))
	ch.row = ch.strips[p/stripPlaces] + uint32(p%stripPlaces*int64(lanes))
	return at
}

// sort brings the chunks of a mixed series into order, newest first; where distances differ, the place to link one in
// is not where its first slice is. They take part in no rows, since a slice of another may stand at the same time.
func (c *column[T]) sort(t *tip) {
	var all []link
	for at := t.link; at.chunk != 0; at = *c.older(at) {
		c.chunks.at(at.chunk).apart |= 1 << at.lane
		all = append(all, at)
	}
	slices.SortStableFunc(all, func(a, b link) int {
		return cmp.Compare(c.chunks.at(b.chunk).firstMs, c.chunks.at(a.chunk).firstMs)
	})
	behind := &t.link
	for _, at := range all {
		*behind = at
		behind = c.older(at)
	}
	*behind = link{}
}

// older is the series' next chunk.
func (c *column[T]) older(at link) *link {
	return &c.lanes.at(c.chunks.at(at.chunk).lanes + uint32(at.lane)).older
}

// settle puts a slice where there is none: into the open row, or else for itself.
func (c *column[T]) settle(home link, endMs int64, v T) {
	ch := c.chunks.at(home.chunk)
	p, _ := ch.place(endMs)
	if ch.openMs == endMs || ch.apart>>home.lane&1 == 0 && c.advance(ch, endMs) {
		ch.got |= 1 << home.lane
	} else {
		if strip := &ch.strips[p/stripPlaces]; *strip == 0 {
			*strip = c.values.add(stripPlaces * uint32(ch.n))
		}
		c.lanes.at(ch.lanes + uint32(home.lane)).own |= 1 << p
		ch.touched |= 1 << p
	}
	*c.slot(ch, home.lane, p) = v
	c.slices++
}

func (c *column[T]) slot(ch *chunk, lane uint8, p int) *T {
	first, distance := ch.where(p/stripPlaces, lane)
	return c.values.at(first + uint32(p%stripPlaces)*distance)
}

// bytes is what the column takes of memory, but for what histograms hold.
func (c *column[T]) bytes() int {
	return cap(c.tips)*int(unsafe.Sizeof(tip{})) + c.chunks.bytes() + c.lanes.bytes() + c.values.bytes()
}
