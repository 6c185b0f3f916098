package grid

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// table holds the series of a head. It gives each series an id, so that the columns can be indexed by small numbers,
// and maps the caller's Refs to ids.
//
// An id means the same series as long as the table lives, because frozen heads and queries use it. Unused series can
// therefore not be removed individually. Instead, renewed makes a new table without them for the next head.
type table struct {
	labels []labels.Labels // by id; entries never change
	uses   []int32         // by id: number of Refs that are bound to it
	byHash map[uint64]uint32
	chain  []uint32 // by id: one more than the next id with the same hash
	dead   int      // number of ids without a Ref
	index  index
	bytes  int // estimate of the memory that it takes

	bound
	waiting map[slice.Ref]slice.Definition // definitions of the Refs that are bound to nothing
}

// bound maps each Ref to a series and to the distance of its slices, in ms. Refs are small numbers that the feed
// chooses, so both are slices that are indexed by Ref. renewed passes bound to the next table, so that the feed need
// not define its series again.
type bound struct {
	ids     []uint32 // by Ref: the series' id plus 1, or a constant below, or 0 if the Ref is undefined
	stepsMs []int64
}

// These values of bound.ids stand for Refs without a series.
const (
	boundToInvalid = ^uint32(0) - iota
	boundToNothing // the table was full
	firstUnbound   = boundToNothing
)

func newTable() *table {
	return &table{byHash: map[uint64]uint32{}, index: newIndex(), waiting: map[slice.Ref]slice.Definition{}}
}

// live returns the number of series that have a Ref.
func (t *table) live() int { return len(t.labels) - t.dead }

// maxStepMs limits the distance between slices to two years, so that times computed from it cannot overflow.
const maxStepMs = 1 << 36

// define binds a Ref to the series of a definition, and adds the series if it is new. limit is the largest number of
// series that the table may hold. A Ref beyond the limit waits, and gets its series when a renewed table has room.
func (t *table) define(d slice.Definition, limit int) {
	for int(d.Ref) >= len(t.ids) {
		t.ids, t.stepsMs = append(t.ids, 0), append(t.stepsMs, 0)
	}
	b := &t.ids[d.Ref]
	t.stepsMs[d.Ref] = min(max(d.IntervalMs, 1), maxStepMs)
	if *b != 0 && *b < firstUnbound && labels.Equal(t.labels[*b-1], d.Series.Labels) {
		return
	}
	t.unbind(b)
	delete(t.waiting, d.Ref)
	l := d.Series.Labels.WithoutEmpty()
	if _, twice := l.HasDuplicateLabelNames(); twice || l.IsEmpty() {
		*b = boundToInvalid
		return
	}
	id, known := t.find(l)
	switch {
	case !known && len(t.labels) >= limit:
		*b = boundToNothing
		if len(t.waiting) < limit {
			t.waiting[d.Ref] = d
		}
		return
	case !known:
		id = t.add(l)
	case t.uses[id] == 0:
		t.dead--
	}
	t.uses[id]++
	*b = id + 1
}

// unbind removes the binding of a Ref to its series. A series without a Ref stays in the table, because its slices are
// still in the head, but it counts as dead.
func (t *table) unbind(id *uint32) {
	if *id != 0 && *id < firstUnbound {
		if t.uses[*id-1]--; t.uses[*id-1] == 0 {
			t.dead++
		}
	}
	*id = 0
}

// retire ends a Ref. The feed will define it again before it uses it again.
func (t *table) retire(ref slice.Ref) {
	if int(ref) < len(t.ids) {
		t.unbind(&t.ids[ref])
		delete(t.waiting, ref)
	}
}

// find returns the id of a series if the table has it. Labels with the same hash are compared, so a collision only
// costs time.
func (t *table) find(l labels.Labels) (id uint32, known bool) {
	for next := t.byHash[l.Hash()]; next != 0; next = t.chain[next-1] {
		if labels.Equal(t.labels[next-1], l) {
			return next - 1, true
		}
	}
	return 0, false
}

// add gives a new series the next id. Options.HeadBytes does not limit the memory of series. The estimate is exported
// as series_bytes.
func (t *table) add(l labels.Labels) uint32 {
	id := uint32(len(t.labels))
	hash := l.Hash()
	t.labels = append(t.labels, l)
	t.uses = append(t.uses, 0)
	t.chain = append(t.chain, t.byHash[hash])
	t.byHash[hash] = id + 1
	// According to memory_test.go, this is 16 bytes for the labels' header, 8 for uses and chain, 24 in the map and 12
	// for the Ref.
	t.bytes += 64 + int(l.ByteSize()) + t.index.add(l, id)
	return id
}

// renewed returns a table for the next head with only those series that are in use. Refs stay bound. Refs that waited
// because the table was full are bound if there is room now. The old table must not be used for further slices.
func (t *table) renewed(limit int) *table {
	next := newTable()
	next.bound = t.bound
	ids := make([]uint32, len(t.labels))
	for id, l := range t.labels {
		if t.uses[id] > 0 {
			ids[id] = next.add(l)
			next.uses[ids[id]] = t.uses[id]
		}
	}
	for i, id := range next.ids {
		if id != 0 && id < firstUnbound {
			next.ids[i] = ids[id-1] + 1
		}
	}
	t.bound = bound{}
	for _, ref := range slices.Sorted(maps.Keys(t.waiting)) {
		next.define(t.waiting[ref], limit)
	}
	return next
}

// memory returns an estimate of the bytes that the table takes.
func (t *table) memory() int { return t.bytes + 4*cap(t.ids) + 8*cap(t.stepsMs) }
