package grid

import (
	"context"
	"math"
	mathbits "math/bits"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
)

// holds reports whether a series may have slices within [minMs, maxMs].
func (c *column[T]) holds(id uint32, minMs, maxMs int64) bool {
	if int(id) >= len(c.tips) {
		return false
	}
	for at := c.tips[id].link; at.chunk != 0; at = *c.older(at) {
		if ch := c.chunks.at(at.chunk); ch.firstMs <= maxMs && ch.lastMs() >= minMs {
			return true
		}
	}
	return false
}

// times calls each with the ends of all slices, in no particular order. If all slots of a chunk are between two
// multiples of widthMs, it calls each only once for the chunk.
func (c *column[T]) times(widthMs int64, each func(endMs int64)) {
	for at := uint32(1); at < c.chunks.used; at++ {
		ch := c.chunks.at(at)
		if floor(ch.firstMs, widthMs) == floor(ch.lastMs(), widthMs) {
			each(ch.firstMs)
			continue
		}
		for bits := ch.some(); bits != 0; bits &= bits - 1 {
			each(ch.firstMs + int64(mathbits.TrailingZeros64(bits))*ch.stepMs)
		}
	}
}

// within returns those bits of a chunk's slots that end within [minMs, maxMs].
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

// maxRunSlots limits the length of a run that is made from chunks.
const maxRunSlots = 8192

// collector makes runs from the chunks of a series. Its buffers are reused for the next series once the runs are no
// longer needed.
type collector[T any] struct {
	chunks []memberSlices
	values []T
	bits   []uint64
}

// memberSlices is one series' member in a chunk, with a bit for each slot that holds a wanted slice.
type memberSlices struct {
	*chunk
	member uint8
	bits   uint64
}

func (k *collector[T]) reset() {
	clear(k.values)
	clear(k.bits)
	clear(k.chunks)
	k.chunks, k.values, k.bits = k.chunks[:0], k.values[:0], k.bits[:0]
}

// collect calls made for each run of a series' slices within [minMs, maxMs], in the order of the runs' first slots.
func (c *column[T]) collect(k *collector[T], id uint32, minMs, maxMs int64, made func(r run.Run, values []T)) {
	if int(id) >= len(c.tips) {
		return
	}
	first := len(k.chunks)
	for at := c.tips[id].link; at.chunk != 0; at = *c.older(at) {
		ch := c.chunks.at(at.chunk)
		if bits := ch.within(c.present(ch, at.member), minMs, maxMs); bits != 0 {
			k.chunks = append(k.chunks, memberSlices{ch, at.member, bits})
		}
	}
	found := k.chunks[first:]
	slices.Reverse(found)
	for len(found) > 0 {
		n := 1
		for n < len(found) && n < maxRunSlots/chunkSlots && found[n].follows(found[n-1].chunk) {
			n++
		}
		c.join(k, found[:n], made)
		found = found[n:]
	}
}

// follows reports whether a chunk begins where another one ends, with the same distance and phase.
func (c *chunk) follows(other *chunk) bool {
	return c.stepMs == other.stepMs && c.firstMs == other.firstMs+chunkSlots*other.stepMs
}

// join makes one run from chunks that follow each other, and passes it to made.
func (c *column[T]) join(k *collector[T], chunks []memberSlices, made func(r run.Run, values []T)) {
	skip := mathbits.TrailingZeros64(chunks[0].bits)
	n := len(chunks)*chunkSlots - skip - mathbits.LeadingZeros64(chunks[len(chunks)-1].bits)
	values, bits := k.take(n)
	holding := 0
	for i, ch := range chunks {
		holding += mathbits.OnesCount64(ch.bits)
		at := i*chunkSlots - skip // slot in the run of the chunk's slot 0
		for strip := range ch.strips {
			here := uint8(ch.bits >> (strip * stripSlots))
			if here == 0 {
				continue
			}
			from := at + strip*stripSlots
			first, distance := ch.where(strip, ch.member)
			if here == math.MaxUint8 && distance == 1 {
				copy(values[from:from+stripSlots], c.values.from(first, stripSlots))
				continue
			}
			for ; here != 0; here &= here - 1 {
				p := mathbits.TrailingZeros8(here)
				values[from+p] = *c.values.at(first + uint32(p)*distance)
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

// take returns zeroed memory for n slots. It comes from the collector's buffers, so it needs no allocation once these
// have grown.
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

// Extent writes what is in memory, and returns the ends of the oldest and newest slice in parts, gap markers included.
// ok is false if the store is empty. It reads no part, because the manifest has the times of each.
func (s *Store) Extent(ctx context.Context) (oldestMs, newestMs int64, ok bool, err error) {
	if err := s.Flush(ctx); err != nil {
		return 0, 0, false, err
	}
	s.lock.RLock()
	defer s.lock.RUnlock()
	for i, p := range s.pieces {
		if i == 0 {
			oldestMs, newestMs, ok = p.minMs, p.maxMs, true
		}
		oldestMs, newestMs = min(oldestMs, p.minMs), max(newestMs, p.maxMs)
	}
	return oldestMs, newestMs, ok, nil
}
