package grid

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// order is a table's series by their labels, kept from one flush to the next: only what is new is sorted in.
type order struct {
	table *table
	ids   []uint32 // by their labels
}

// of is all ids of a table, whose labels so far are all, by their labels. It is valid until the next call.
func (o *order) of(t *table, all []labels.Labels) []uint32 {
	if o.table != t {
		o.table, o.ids = t, nil
	}
	known := len(o.ids)
	if known == len(all) {
		return o.ids
	}
	for id := known; id < len(all); id++ {
		o.ids = append(o.ids, uint32(id))
	}
	compare := func(a, b uint32) int { return labels.Compare(all[a], all[b]) }
	slices.SortFunc(o.ids[known:], compare)
	if known > 0 {
		o.ids = merged(o.ids[:known], o.ids[known:], compare)
	}
	return o.ids
}

// merged is two lists in order as one.
func merged(a, b []uint32, compare func(a, b uint32) int) []uint32 {
	all := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if compare(a[0], b[0]) < 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}
