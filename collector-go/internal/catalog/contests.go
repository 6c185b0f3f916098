package catalog

import "slices"

// contests are the ids of series that may have the same labels, by the labels' hash. Nearly all hashes have one id
// alone; a list for each would take three times the memory.
type contests struct {
	alone map[uint64]uint32
	lists map[uint64][]uint32 // of two and more
}

func newContests() contests {
	return contests{alone: make(map[uint64]uint32), lists: make(map[uint64][]uint32)}
}

// of is the ids of a hash.
func (c *contests) of(hash uint64) []uint32 {
	if id, is := c.alone[hash]; is {
		return []uint32{id}
	}
	return c.lists[hash]
}

func (c *contests) add(hash uint64, id uint32) {
	_, rivals := c.alone[hash]
	if !rivals && len(c.lists[hash]) == 0 {
		c.alone[hash] = id
		return
	}
	c.set(hash, append(slices.Clone(c.of(hash)), id))
}

func (c *contests) remove(hash uint64, id uint32) {
	c.set(hash, slices.DeleteFunc(slices.Clone(c.of(hash)), func(other uint32) bool { return other == id }))
}

// prune removes the ids that are gone.
func (c *contests) prune(gone func(uint32) bool) {
	for hash, id := range c.alone {
		if gone(id) {
			delete(c.alone, hash)
		}
	}
	for hash, ids := range c.lists {
		c.set(hash, slices.DeleteFunc(ids, gone))
	}
}

func (c *contests) set(hash uint64, ids []uint32) {
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
