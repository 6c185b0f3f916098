package part

import (
	"github.com/prometheus/prometheus/model/labels"
)

// Cache remembers how the labels of series were written into the part before. Writing the same series again in the same
// blocks then copies their bytes instead of sorting and encoding the labels. The cache never changes what is written:
// TestCacheChangesNothing compares parts of changing series, with and without it, byte for byte.
//
// It takes about 60 bytes for each series, and keeps their labels in memory. It is not safe for concurrent use, and one
// writer at a time may use it. A writer that is abandoned leaves it valid.
type Cache struct {
	blocks []cachedBlock // by number; beyond those of the newest part, those of earlier ones

	// Of a part with exactly the first blocks, as they are now.
	postings int // how many blocks; 0: none
	lists    [][]byte
	names    []byte
}

// cachedBlock is the labels of a block's series, and how they are written. It is valid only for exactly these series in
// this order.
type cachedBlock struct {
	labels  []labels.Labels
	encoded []byte
}

// knows reports whether series number i of a block is l, as it was in an earlier part.
func (c *Cache) knows(block, i int, l labels.Labels) bool {
	return block < len(c.blocks) && i < len(c.blocks[block].labels) && labels.Equal(c.blocks[block].labels[i], l)
}

// encode is how a block's labels are written. hit reports that they are those of an earlier part; otherwise the block
// is encoded and remembered, and the index of values is no longer valid.
func (c *Cache) encode(block int, all []labels.Labels, hit bool) []byte {
	for block >= len(c.blocks) {
		c.blocks = append(c.blocks, cachedBlock{})
	}
	b := &c.blocks[block]
	if !hit || len(b.labels) != len(all) {
		b.labels = append(b.labels[:0], all...)
		b.encoded = appendLabels(b.encoded[:0], all)
		c.forgetPostings()
	}
	return b.encoded
}

// forgetPostings drops the index of values, which covers all blocks and must be made again when one of them changed.
func (c *Cache) forgetPostings() { c.postings, c.lists, c.names = 0, nil, nil }

// index is the values blocks and the names block of a part of so many blocks, each as it is kept in the file.
func (c *Cache) index(blocks int) (lists [][]byte, names []byte) {
	if c.postings == blocks && blocks > 0 {
		return c.lists, c.names
	}
	var p postings
	for number, b := range c.blocks[:blocks] {
		for _, l := range b.labels {
			p.add(uint64(number), l)
		}
	}
	c.lists, c.names = p.write()
	c.postings = blocks
	return c.lists, c.names
}
