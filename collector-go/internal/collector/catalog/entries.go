package catalog

import (
	"iter"
	"maps"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// entry is the state of a series, in 24 bytes. With two million series this is most of the catalog's memory. The rule
// and the labels are therefore computed again when they are needed.
type entry struct {
	raw  *metric.Raw // the caller's of Define; nil if there is no entry
	hash uint64      // of the labels

	outcome Outcome
	reason  uint8
	traits  uint8
	source  int8 // reading.source
}

// Traits of an entry. All but inactive are copied from its template, so that the checks for each candidate need no
// lookup of the template.
const (
	yields uint8 = 1 << iota
	makes        // other series yield to it
	unknown
	exact
	spread // its name may be one that is derived from another metric
	inactive
)

func (e *entry) is(trait uint8) bool { return e.traits&trait != 0 }

func (e *entry) set(trait uint8, is bool) {
	e.traits &^= trait
	if is {
		e.traits |= trait
	}
}

func (e *entry) verdict() Verdict {
	return Verdict{Outcome: e.outcome, Reason: reasons[e.reason], Unknown: e.outcome == Stored && e.is(unknown)}
}

func (e *entry) decide(v Verdict) { e.outcome, e.reason = v.Outcome, reasonCode(v.Reason) }

// entries holds the series by id. Ids are assigned in ascending order and are dense. Chunks of 256 entries take far
// less memory than a map with an element for each series. They can also be iterated in the order of ids.
type entries struct {
	chunks map[uint32]*entryChunk
	known  int
}

const chunkEntries = 256

// entryChunk holds the entries of 256 adjacent ids. It is dropped when its last entry is removed. The memory of a State
// therefore depends on the number of series that it knows and not on the highest id.
type entryChunk struct {
	rows  [chunkEntries]entry
	known int
}

func newEntries() entries { return entries{chunks: make(map[uint32]*entryChunk)} }

// get returns the entry of an id, or nil if there is none. The pointer is valid until the entry is removed.
func (es *entries) get(id uint32) *entry {
	if c := es.chunks[id/chunkEntries]; c != nil && c.rows[id%chunkEntries].raw != nil {
		return &c.rows[id%chunkEntries]
	}
	return nil
}

// add creates the entry of an id that has none yet.
func (es *entries) add(id uint32, raw *metric.Raw) *entry {
	c := es.chunks[id/chunkEntries]
	if c == nil {
		c = &entryChunk{}
		es.chunks[id/chunkEntries] = c
	}
	c.known++
	es.known++
	e := &c.rows[id%chunkEntries]
	e.raw = raw
	return e
}

// remove deletes an entry that exists.
func (es *entries) remove(id uint32) {
	c := es.chunks[id/chunkEntries]
	c.rows[id%chunkEntries] = entry{}
	es.known--
	if c.known--; c.known == 0 {
		delete(es.chunks, id/chunkEntries)
	}
}

// all iterates over the entries in ascending order of id. The loop may remove the entry that it received.
func (es *entries) all() iter.Seq2[uint32, *entry] {
	return func(yield func(uint32, *entry) bool) {
		for _, number := range slices.Sorted(maps.Keys(es.chunks)) {
			c := es.chunks[number]
			for i := range c.rows {
				if c.rows[i].raw != nil && !yield(number*chunkEntries+uint32(i), &c.rows[i]) {
					return
				}
			}
		}
	}
}

// idsByHash maps a hash to the ids of all series that have it. These may have the same labels, or yield to the same
// claim. Nearly every hash has one id, which is stored without a list. A list for each hash would take three times the
// memory.
type idsByHash struct {
	alone map[uint64]uint32
	lists map[uint64][]uint32 // of two or more ids
}

func newIDsByHash() idsByHash {
	return idsByHash{alone: make(map[uint64]uint32), lists: make(map[uint64][]uint32)}
}

// of returns the ids of a hash. The index owns the list, so a caller must copy it before it changes an element.
func (c *idsByHash) of(hash uint64) []uint32 {
	if id, is := c.alone[hash]; is {
		return []uint32{id}
	}
	return c.lists[hash]
}

func (c *idsByHash) add(hash uint64, id uint32) {
	_, taken := c.alone[hash]
	if !taken && len(c.lists[hash]) == 0 {
		c.alone[hash] = id
		return
	}
	c.set(hash, append(slices.Clone(c.of(hash)), id))
}

func (c *idsByHash) remove(hash uint64, id uint32) {
	c.set(hash, slices.DeleteFunc(slices.Clone(c.of(hash)), func(other uint32) bool { return other == id }))
}

// prune removes the ids for which gone returns true, in one pass over the whole index. It is for removing many series
// at once, where remove would copy each list repeatedly.
func (c *idsByHash) prune(gone func(uint32) bool) {
	for hash, id := range c.alone {
		if gone(id) {
			delete(c.alone, hash)
		}
	}
	for hash, ids := range c.lists {
		c.set(hash, slices.DeleteFunc(ids, gone))
	}
}

// set stores the ids of a hash in the map for their number, so that no hash is ever in both maps.
func (c *idsByHash) set(hash uint64, ids []uint32) {
	delete(c.alone, hash)
	delete(c.lists, hash)
	switch len(ids) {
	case 0:
	case 1:
		c.alone[hash] = ids[0]
	default:
		c.lists[hash] = ids
	}
}
