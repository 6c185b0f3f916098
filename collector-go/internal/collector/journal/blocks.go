package journal

import (
	"encoding/binary"
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// The parts of the byte that describes a block's form: its codec, and flags for what follows. A block without offsets
// or gaps, which is the usual one, takes no byte for either.
const (
	formCodec    = 0x3f
	formOffsets  = 0x40
	formPresence = 0x80
	minBlock     = 7 // bytes
)

// appendBlocks appends the blocks of a batch. Presence and values are copied as the sender encoded them, because
// decoding and encoding every sample would take most of the time of an append.
func appendBlocks(to []byte, b *Batch) []byte {
	to = binary.AppendUvarint(to, uint64(len(b.Blocks)))
	for i := range b.Blocks {
		x := &b.Blocks[i]
		form := byte(x.Codec) & formCodec
		if x.OffsetsMs != nil {
			form |= formOffsets
		}
		if x.Presence != nil {
			form |= formPresence
		}
		to = binary.AppendUvarint(to, uint64(x.Layout))
		to = append(to, form)
		to = binary.AppendUvarint(to, uint64(x.Columns))
		to = binary.AppendUvarint(to, uint64(x.Rows))
		to = binary.AppendVarint(to, x.FirstMs-b.SentMs)
		to = binary.AppendVarint(to, x.StepMs)
		for _, offset := range x.OffsetsMs {
			to = binary.AppendVarint(to, int64(offset))
		}
		to = append(to, x.Presence...)
		to = binary.AppendUvarint(to, uint64(len(x.Values)))
		to = append(to, x.Values...)
	}
	return to
}

// sizesHold reports whether the parts of a block are as long as its columns and rows require. It does not check the
// values, which ingest has already checked.
func sizesHold(x *block.Block) bool {
	switch {
	case x.Columns < 1 || x.Columns > block.MaxColumns, x.Rows < 1 || x.Rows > block.MaxRows,
		x.Cells() > block.MaxCells,
		x.OffsetsMs != nil && len(x.OffsetsMs) != x.Rows,
		x.Presence != nil && len(x.Presence) != (x.Cells()+7)/8,
		x.Codec > formCodec:
		return false
	}
	return x.Codec != block.Doubles || len(x.Values) == 8*x.Samples()
}

// decodeBlocks is the inverse of appendBlocks. Presence and values refer to the payload, so that a reader copies no
// values.
func decodeBlocks(c *varint.Reader, b *Batch) {
	n := c.Count(minBlock)
	b.Blocks = slices.Grow(b.Blocks[:0], n)[:n]
	for i := range b.Blocks {
		x := &b.Blocks[i]
		*x = Block{Layout: LayoutID(c.Uint32())}
		form := c.Byte()
		x.Codec = block.Codec(form & formCodec)
		x.Columns, x.Rows = int(c.Uint32()), int(c.Uint32())
		x.FirstMs, x.StepMs = b.SentMs+c.Int(), c.Int()
		if x.Columns > block.MaxColumns || x.Rows > block.MaxRows || x.Rows > c.Len() && form&formOffsets != 0 {
			c.Fail(errPayload)
		}
		if c.Err() == nil && form&formOffsets != 0 {
			decodeOffsets(c, x)
		}
		if form&formPresence != 0 {
			x.Presence = c.Bytes((x.Cells() + 7) / 8)
		}
		x.Values = c.Sized()
		if c.Err() != nil || !sizesHold(&x.Block) {
			c.Fail(errPayload)
			return
		}
	}
}

func decodeOffsets(c *varint.Reader, x *Block) {
	x.OffsetsMs = make([]int32, x.Rows)
	for row := range x.OffsetsMs {
		x.OffsetsMs[row] = c.Int32()
	}
}
