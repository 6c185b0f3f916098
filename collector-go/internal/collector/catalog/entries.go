package catalog

import (
	"iter"
	"maps"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// entry is what State keeps of a series, in 24 bytes. With two million series this is most of the catalogue's memory,
// so the rule and the labels are computed again when they are needed.
type entry struct {
	raw  *metric.Raw // the definer's; nil where there is no entry
	hash uint64      // of the labels

	outcome Outcome
	reason  uint8
	traits  uint8
	source  int8 // as reading has it
}

// Traits of an entry. All but inactive are copied from its template, so that the checks that run for each candidate
// need no lookup of the template.
const (
	yields uint8 = 1 << iota
	makes        // others yield to it
	unknown
	exact
	spread // its name may be one that is made from another
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

// entries holds the series by id. Ids rise and are dense, so chunks of 256 entries take far less memory than a map with
// an element for each series, and walk in the order of ids.
type entries struct {
	chunks map[uint32]*entryChunk
	known  int
}

const chunkEntries = 256

// entryChunk holds the entries of 256 neighbouring ids. It is dropped when its last entry is removed, so a State's
// memory follows the number of series that it knows and not the highest id.
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

// add makes the entry of an id that has none yet.
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

// all iterates over the entries by rising id. The loop may remove the entry that it was given.
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
