package catalog

import "slices"

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
