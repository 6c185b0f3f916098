package grid

import (
	"cmp"
	"math"
	mathbits "math/bits"
	"slices"
	"unsafe"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

const (
	chunkPlaces = 64 // of a chunk: ten minutes of 10 s slices, and a bit each in one word
	blockPlaces = 8  // of a block: a cache line of numbers, and what a short series takes at least
)

// chunk is 64 places of a series at even distances. Its first place lies on a multiple of 64 distances, so that slices fill it in any
// order, and that chunks of one distance and phase do not overlap.
type chunk struct {
	firstMs int64 // of place 0, whether it holds a slice or not
	stepMs  int64
	present uint64
	blocks  [chunkPlaces / blockPlaces]uint32 // 0: no place of it holds a slice
	older   uint32                            // the series' next chunk; its firstMs is not above this one's
}

// place is where endMs lies, if it lies in the chunk at all.
func (c *chunk) place(endMs int64) (p int, in bool) {
	from := endMs - c.firstMs
	if from < 0 || from >= chunkPlaces*c.stepMs || from%c.stepMs != 0 {
		return 0, false
	}
	return int(from / c.stepMs), true
}

func (c *chunk) lastMs() int64 { return c.firstMs + (chunkPlaces-1)*c.stepMs }

// tip is a series' newest chunk, and where its next slice belongs if it comes in order. What came in order is in the chunk's block at once,
// and in its presence when the block ends: so that a slice touches its tip and its block, and nothing else.
type tip struct {
	nextMs int64 // the end of a slice that goes to place of chunk without further ado; noNext where there is no such
	stepMs uint32
	chunk  uint32
	block  uint32 // of place; 0 where it is not made yet
	place  uint8
	from   uint8 // places from it up to place hold slices that the chunk's presence lacks
	until  uint8 // the place at which the block ends, or another slice stands
	mixed  bool  // its chunks differ in distance or phase, so that two may cover one time
}

// pending is the bits that the chunk's presence lacks.
func (t *tip) pending() uint64 { return 1<<t.place - 1<<t.from }

const noNext = math.MinInt64

// column is the slices of one kind of all series in a head. T is float64 or a histogram.
type column[T any] struct {
	tips   []tip // by the series' id
	chunks slab[chunk]
	blocks slab[[blockPlaces]T]
	slices int
	same   func(a, b T) bool

	expected int // series; for no more than the first growth of tips
}

// outcome is what became of a slice.
type outcome int

const (
	taken    outcome = iota
	repeated         // the same slice is there
	conflict         // another slice is there; it stays
)

// put takes a slice. stepMs is how far apart the series' slices are meant to be; a slice off that grid gets a chunk of its own.
func (c *column[T]) put(id uint32, stepMs, endMs int64, v T) outcome {
	if int(id) < len(c.tips) {
		if t := &c.tips[id]; t.nextMs == endMs {
			c.next(t, v)
			return taken
		}
	}
	return c.find(id, stepMs, endMs, v)
}

// next puts a slice where it is expected; handing.take has the same by hand, which takes a third less time.
func (c *column[T]) next(t *tip, v T) {
	if t.block == 0 {
		c.begin(t)
	}
	c.blocks.at(t.block)[t.place%blockPlaces] = v
	c.slices++
	t.place++
	t.nextMs += int64(t.stepMs)
	if t.place == t.until {
		c.turn(t)
	}
}

// turn goes on behind the end of a block.
func (c *column[T]) turn(t *tip) {
	c.commit(t)
	c.expect(t, t.nextMs)
}

// begin makes the block of the place that is next.
func (c *column[T]) begin(t *tip) {
	t.block = c.blocks.add()
	c.chunks.at(t.chunk).blocks[t.place/blockPlaces] = t.block
}

// commit brings the presence of the newest chunk up to date.
func (c *column[T]) commit(t *tip) {
	if t.from != t.place {
		c.chunks.at(t.chunk).present |= t.pending()
		t.from = t.place
	}
}

// present is which places of a chunk of a series hold slices.
func (c *column[T]) present(t *tip, at uint32) uint64 {
	bits := c.chunks.at(at).present
	if at == t.chunk {
		bits |= t.pending()
	}
	return bits
}

// expect waits for the slice of endMs, which is that of place, in the newest chunk, if there is room for it.
func (c *column[T]) expect(t *tip, endMs int64) {
	ch := c.chunks.at(t.chunk)
	t.nextMs, t.from = noNext, t.place
	if t.place >= chunkPlaces || ch.present>>t.place&1 == 1 || ch.stepMs > math.MaxUint32 {
		return
	}
	t.nextMs, t.stepMs, t.block = endMs, uint32(ch.stepMs), ch.blocks[t.place/blockPlaces]
	t.until = t.place/blockPlaces*blockPlaces + blockPlaces
	t.until = min(t.until, t.place+uint8(mathbits.TrailingZeros64(ch.present>>t.place)))
}

// find puts a slice where it belongs, wherever that is.
func (c *column[T]) find(id uint32, stepMs, endMs int64, v T) outcome {
	if int(id) >= len(c.tips) {
		c.grow(int(id) + 1)
	}
	t := &c.tips[id]
	c.commit(t)
	var home uint32
	behind := &t.chunk // where a new chunk is linked in: before the first that is not newer
	for at := t.chunk; at != 0; {
		ch := c.chunks.at(at)
		if p, in := ch.place(endMs); in {
			if ch.present>>p&1 == 1 {
				if c.same(*c.slot(ch, p), v) {
					return repeated
				}
				return conflict
			}
			home = at
		}
		if !t.mixed && (home != 0 || ch.lastMs() < endMs) {
			break
		}
		if ch.firstMs > endMs {
			behind = &ch.older
		}
		at = ch.older
	}
	if home == 0 {
		home = c.open(t, behind, stepMs, endMs)
	}
	c.settle(t, home, endMs, v)
	return taken
}

// grow makes tips for n series, and for as many as are expected if that is more.
func (c *column[T]) grow(n int) {
	if c.tips == nil && n <= c.expected {
		c.tips = make([]tip, 0, c.expected)
	}
	for len(c.tips) < n {
		c.tips = append(c.tips, tip{nextMs: noNext})
	}
}

// open makes a chunk for endMs.
func (c *column[T]) open(t *tip, behind *uint32, stepMs, endMs int64) uint32 {
	width := chunkPlaces * stepMs
	phase := ((endMs % stepMs) + stepMs) % stepMs
	firstMs := endMs - ((endMs-phase)%width+width)%width
	if t.chunk != 0 {
		newest := c.chunks.at(t.chunk)
		t.mixed = t.mixed || newest.stepMs != stepMs || (newest.firstMs-firstMs)%width != 0
	}
	at := c.chunks.add()
	ch := c.chunks.at(at)
	ch.firstMs, ch.stepMs, ch.older = firstMs, stepMs, *behind
	*behind = at
	if t.mixed {
		c.sort(t)
	}
	return at
}

// sort brings the chunks of a series into order, newest first; where distances differ, the place to link one in is not where its first
// slice is.
func (c *column[T]) sort(t *tip) {
	var all []uint32
	for at := t.chunk; at != 0; at = c.chunks.at(at).older {
		all = append(all, at)
	}
	slices.SortStableFunc(all, func(a, b uint32) int { return cmp.Compare(c.chunks.at(b).firstMs, c.chunks.at(a).firstMs) })
	behind := &t.chunk
	for _, at := range all {
		*behind = at
		behind = &c.chunks.at(at).older
	}
	*behind = 0
}

// settle puts a slice into its chunk, and expects the next one behind it.
func (c *column[T]) settle(t *tip, home uint32, endMs int64, v T) {
	ch := c.chunks.at(home)
	p, _ := ch.place(endMs)
	if ch.blocks[p/blockPlaces] == 0 {
		ch.blocks[p/blockPlaces] = c.blocks.add()
	}
	*c.slot(ch, p) = v
	ch.present |= 1 << p
	c.slices++
	t.nextMs = noNext
	if home == t.chunk && !t.mixed {
		t.place = uint8(p) + 1
		c.expect(t, endMs+ch.stepMs)
	}
}

func (c *column[T]) slot(ch *chunk, p int) *T {
	return &c.blocks.at(ch.blocks[p/blockPlaces])[p%blockPlaces]
}

// bytes is what the column takes of memory, but for what histograms hold.
func (c *column[T]) bytes() int {
	return cap(c.tips)*int(unsafe.Sizeof(tip{})) + c.chunks.bytes() + c.blocks.bytes()
}

// holds reports whether a series may have slices within [minMs, maxMs].
func (c *column[T]) holds(id uint32, minMs, maxMs int64) bool {
	if int(id) >= len(c.tips) {
		return false
	}
	for at := c.tips[id].chunk; at != 0; {
		ch := c.chunks.at(at)
		if ch.firstMs <= maxMs && ch.lastMs() >= minMs {
			return true
		}
		at = ch.older
	}
	return false
}

// times calls each with the ends of a series' slices in no order; where a chunk's slices all lie between two multiples of widthMs, with one
// of them for all.
func (c *column[T]) times(id uint32, widthMs int64, each func(endMs int64)) {
	if int(id) >= len(c.tips) {
		return
	}
	for at := c.tips[id].chunk; at != 0; {
		ch := c.chunks.at(at)
		if floor(ch.firstMs, widthMs) == floor(ch.lastMs(), widthMs) {
			each(ch.firstMs)
		} else {
			for bits := c.present(&c.tips[id], at); bits != 0; bits &= bits - 1 {
				each(ch.firstMs + int64(mathbits.TrailingZeros64(bits))*ch.stepMs)
			}
		}
		at = ch.older
	}
}

// within is those bits of a chunk's places that end within [minMs, maxMs].
func (c *chunk) within(bits uint64, minMs, maxMs int64) uint64 {
	if minMs > c.lastMs() || maxMs < c.firstMs {
		return 0
	}
	if minMs > c.firstMs {
		bits &= ^uint64(0) << ((minMs - c.firstMs + c.stepMs - 1) / c.stepMs)
	}
	if maxMs < c.lastMs() {
		bits &= 1<<((maxMs-c.firstMs)/c.stepMs+1) - 1
	}
	return bits
}

// maxRunPlaces bounds a run that is made of chunks.
const maxRunPlaces = 8192

// collector makes runs of chunks; its memory may be used again once they are no longer needed.
type collector[T any] struct {
	chunks []held
	values []T
	bits   []uint64
}

// held is a chunk, and those of its places that are wanted and hold slices.
type held struct {
	*chunk
	bits uint64
}

func (k *collector[T]) reset() {
	clear(k.values)
	clear(k.bits)
	clear(k.chunks)
	k.chunks, k.values, k.bits = k.chunks[:0], k.values[:0], k.bits[:0]
}

// collect calls made for each run of a series' slices within [minMs, maxMs], ascending by its first place.
func (c *column[T]) collect(k *collector[T], id uint32, minMs, maxMs int64, made func(r run.Run, values []T)) {
	if int(id) >= len(c.tips) {
		return
	}
	t := &c.tips[id]
	first := len(k.chunks)
	for at := t.chunk; at != 0; {
		ch := c.chunks.at(at)
		if bits := ch.within(c.present(t, at), minMs, maxMs); bits != 0 {
			k.chunks = append(k.chunks, held{ch, bits})
		}
		at = ch.older
	}
	found := k.chunks[first:]
	slices.Reverse(found)
	for len(found) > 0 {
		n := 1
		for n < len(found) && n < maxRunPlaces/chunkPlaces && found[n].follows(found[n-1].chunk) {
			n++
		}
		c.join(k, found[:n], made)
		found = found[n:]
	}
}

// follows reports whether a chunk lies right behind another on one grid.
func (c *chunk) follows(other *chunk) bool {
	return c.stepMs == other.stepMs && c.firstMs == other.firstMs+chunkPlaces*other.stepMs
}

// join makes one run of chunks that follow each other.
func (c *column[T]) join(k *collector[T], chunks []held, made func(r run.Run, values []T)) {
	skip := mathbits.TrailingZeros64(chunks[0].bits)
	n := len(chunks)*chunkPlaces - skip - mathbits.LeadingZeros64(chunks[len(chunks)-1].bits)
	values, bits := k.take(n)
	holding := 0
	for i, ch := range chunks {
		holding += mathbits.OnesCount64(ch.bits)
		at := i*chunkPlaces - skip // of the chunk's place 0
		for b, block := range ch.blocks {
			here := uint8(ch.bits >> (b * blockPlaces))
			from := at + b*blockPlaces
			if here == math.MaxUint8 {
				copy(values[from:from+blockPlaces], c.blocks.at(block)[:])
				continue
			}
			for ; here != 0; here &= here - 1 {
				p := mathbits.TrailingZeros8(here)
				values[from+p] = c.blocks.at(block)[p]
			}
		}
		if at < 0 {
			bits[0] |= ch.bits >> skip
			continue
		}
		bits[at/64] |= ch.bits << (at % 64)
		if over := at % 64; over > 0 && ch.bits>>(64-over) != 0 {
			bits[at/64+1] |= ch.bits >> (64 - over)
		}
	}
	if holding == n {
		bits = nil
	}
	first := chunks[0]
	made(run.Run{FirstMs: first.firstMs + int64(skip)*first.stepMs, StepMs: first.stepMs, Present: bits}, values)
}

// take is memory for n places, zero.
func (k *collector[T]) take(n int) (values []T, bits []uint64) {
	k.values = slices.Grow(k.values, n)
	values = k.values[len(k.values) : len(k.values)+n : len(k.values)+n]
	k.values = k.values[:len(k.values)+n]
	words := (n + 63) / 64
	k.bits = slices.Grow(k.bits, words)
	bits = k.bits[len(k.bits) : len(k.bits)+words : len(k.bits)+words]
	k.bits = k.bits[:len(k.bits)+words]
	clear(values)
	clear(bits)
	return values, bits
}
