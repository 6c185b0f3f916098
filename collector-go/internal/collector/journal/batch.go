package journal

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// appendBatch appends the payload of a batch record, of kind kindOf. tail contains the histograms and notes (see
// encodeTail).
func appendBatch(to []byte, b *Batch, tail []byte) []byte {
	to = binary.AppendUvarint(to, uint64(b.Producer))
	to = append(to, b.Epoch[:]...)
	to = binary.AppendUvarint(to, b.Sequence)
	to = binary.AppendVarint(to, b.SentMs)
	to = binary.AppendVarint(to, b.ReceivedMs-b.SentMs)
	to = appendColumns(to, b)
	if len(b.Blocks) > 0 {
		to = appendBlocks(to, b)
	}
	return append(to, tail...)
}

// kindOf returns the kind of a batch's record. A batch without blocks keeps the kind of format version 1, so that its
// record needs no count of blocks.
func kindOf(b *Batch) kind {
	if len(b.Blocks) > 0 {
		return kindBlocks
	}
	return kindBatch
}

// Upper bounds in bytes of the parts of a batch in a record. They are generous. The queue's limit counts a batch by
// these bounds before it is encoded. A bound that is too low would let the queue exceed its memory.
const (
	batchHeaderBytes = 80
	columnCellBytes  = 24
	blockHeaderBytes = 48
	offsetBytes      = 5
)

// payloadBound returns an upper bound of the payload's length in bytes. The batch takes about as much in memory, so the
// queue's limit uses this bound.
func payloadBound(b *Batch, tail []byte) int64 {
	n := int64(batchHeaderBytes + columnCellBytes*len(b.IDs) + len(tail))
	for i := range b.Blocks {
		block := &b.Blocks[i]
		n += int64(blockHeaderBytes + offsetBytes*len(block.OffsetsMs) + len(block.Presence) + len(block.Values))
	}
	return n
}

// appendColumns appends the single samples by column: all ids, then all times, then all values. Neighbours in a column
// are similar, so their differences take a byte each.
func appendColumns(to []byte, b *Batch) []byte {
	to = appendIDs(to, b.IDs)
	before := b.SentMs
	for _, t := range b.TimesMs {
		to = binary.AppendVarint(to, t-before)
		before = t
	}
	return block.AppendTrimmed(to, b.Values)
}

// emptyTail is the tail of a batch without histograms and notes.
var emptyTail = []byte{0, 0}

// encodeTail encodes the last part of a batch's payload: histograms and notes. They stay in protobuf, because they are
// rare and have many fields. It is the only part whose encoding can fail, so Append encodes it before it queues
// anything.
func encodeTail(b *Batch) ([]byte, error) {
	if len(b.Histograms) == 0 && b.Notes == nil {
		return emptyTail, nil
	}
	to := binary.AppendUvarint(nil, uint64(len(b.Histograms)))
	for _, h := range b.Histograms {
		to = binary.AppendUvarint(to, uint64(proto.Size(h)))
		var err error
		if to, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(to, h); err != nil {
			return nil, fmt.Errorf("journal: encode histogram: %w", err)
		}
	}
	if b.Notes == nil {
		return binary.AppendUvarint(to, 0), nil
	}
	to = binary.AppendUvarint(to, uint64(proto.Size(b.Notes)))
	to, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(to, b.Notes)
	if err != nil {
		return nil, fmt.Errorf("journal: encode notes: %w", err)
	}
	return to, nil
}

// decodeBatch fills b from a payload and reuses the memory of b. Only the blocks refer to the payload. An error means
// that appendBatch cannot have written the payload. b is then incomplete and must not be used.
func decodeBatch(k kind, payload []byte, b *Batch) error {
	c := varint.Of(payload)
	b.Producer = ProducerID(c.Uint32())
	copy(b.Epoch[:], c.Bytes(len(b.Epoch)))
	b.Sequence = c.Uint()
	b.SentMs = c.Int()
	b.ReceivedMs = b.SentMs + c.Int()
	decodeColumns(&c, b)
	b.Blocks = b.Blocks[:0]
	if k == kindBlocks {
		decodeBlocks(&c, b)
	}
	if err := decodeHistograms(&c, b); err != nil {
		return err
	}
	if err := decodeNotes(&c, b); err != nil {
		return err
	}
	return payloadError(c.Done())
}

// decodeColumns is the inverse of appendColumns. Ids outside the range of uint32 count as damage and fail the reader.
func decodeColumns(c *varint.Reader, b *Batch) {
	n := c.Count(2)
	b.IDs = slices.Grow(b.IDs[:0], n)[:n]
	b.TimesMs = slices.Grow(b.TimesMs[:0], n)[:n]
	b.Values = slices.Grow(b.Values[:0], n)[:n]
	var before int64
	for i := range b.IDs {
		before += c.Int()
		if before < 0 || before > math.MaxUint32 {
			c.Fail(errPayload)
		}
		b.IDs[i] = SeriesID(before)
	}
	before = b.SentMs
	for i := range b.TimesMs {
		before += c.Int()
		b.TimesMs[i] = before
	}
	decodeValues(c, b.Values)
}

// decodeValues is the inverse of block.AppendTrimmed.
func decodeValues(c *varint.Reader, values []float64) {
	widths := c.Bytes((len(values) + 1) / 2)
	if c.Err() != nil {
		return
	}
	for i := range values {
		width := widths[i/2] >> (4 * (i % 2)) & 0xf
		if width > 8 {
			c.Fail(errPayload)
			return
		}
		var big [8]byte
		copy(big[:], c.Bytes(int(width)))
		values[i] = math.Float64frombits(binary.BigEndian.Uint64(big[:]))
	}
}

func decodeHistograms(c *varint.Reader, b *Batch) error {
	n := c.Count(1)
	b.Histograms = b.Histograms[:0]
	for range n {
		h := new(bulletmetricsv1.HistogramSample)
		if err := proto.Unmarshal(c.Sized(), h); err != nil {
			return fmt.Errorf("%w: histogram: %w", errPayload, err)
		}
		b.Histograms = append(b.Histograms, h)
	}
	return nil
}

func decodeNotes(c *varint.Reader, b *Batch) error {
	b.Notes = nil
	notes := c.Sized()
	if len(notes) == 0 {
		return nil
	}
	b.Notes = new(bulletmetricsv1.Batch)
	if err := proto.Unmarshal(notes, b.Notes); err != nil {
		return fmt.Errorf("%w: notes: %w", errPayload, err)
	}
	return nil
}
