package part

import (
	"github.com/prometheus/prometheus/model/labels"
)

// Cache keeps the encoded labels of the series of earlier parts. Writing the same series into the same blocks again
// then copies bytes instead of sorting and encoding labels. The cache never changes what is written:
// TestCacheChangesNothing compares parts of changing series byte for byte, with and without a cache.
//
// It takes about 60 bytes for each series, and keeps their labels in memory. It is not safe for concurrent use: only
// one writer at a time may use it. If a writer is abandoned, the cache stays valid.
type Cache struct {
	blocks []cachedBlock // by number; those beyond the newest part's are of earlier parts

	// These fields are the index of values of a part with exactly the first postings blocks.
	postings int // number of blocks; 0 means that there is no index
	lists    [][]byte
	names    []byte
}

// cachedBlock is the labels of a block's series, and their encoding. It is valid only for exactly these series in this
// order.
type cachedBlock struct {
	labels  []labels.Labels
	encoded []byte
}

// knows reports whether series number i of a block had the labels l in an earlier part.
func (c *Cache) knows(block, i int, l labels.Labels) bool {
	return block < len(c.blocks) && i < len(c.blocks[block].labels) && labels.Equal(c.blocks[block].labels[i], l)
}

// encode returns the encoding of a block's labels. hit states that they are those of an earlier part. Otherwise the
// block is encoded and kept, and the index of values becomes invalid.
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

// forgetPostings drops the index of values. It covers all blocks, so it must be made again if one of them changes.
func (c *Cache) forgetPostings() { c.postings, c.lists, c.names = 0, nil, nil }

// index returns the values blocks and the names block for a part with a number of series blocks, encoded as in the
// file.
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
