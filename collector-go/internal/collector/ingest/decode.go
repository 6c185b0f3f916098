package ingest

import (
	"bytes"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// Field numbers of what this file decodes: the few numbers of a batch, and its blocks. The bytes of blocks stay in the
// message, whereas proto.Unmarshal would copy them. It decodes all other fields of a batch. Tests compare the result
// with that of proto.Unmarshal for the whole message.
const (
	requestBatch = 2

	batchEpoch      = 1
	batchSequence   = 2
	batchOldestHeld = 3
	batchSendTime   = 4
	batchBlocks     = 14

	blockLayout    = 1
	blockFirstTime = 2
	blockStep      = 3
	blockCount     = 4
	blockOffsets   = 5
	blockPresence  = 6
	blockCodec     = 7
	blockValues    = 8
)

// onlyBatch returns the encoded Batch of a request that contains nothing else, which is true of nearly all requests.
func onlyBatch(request []byte) (batch []byte, is bool) {
	number, wire, n := protowire.ConsumeTag(request)
	if n < 0 || number != requestBatch || wire != protowire.BytesType {
		return nil, false
	}
	batch, m := protowire.ConsumeBytes(request[n:])
	return batch, m >= 0 && n+m == len(request)
}

// decodeBatch decodes a Batch that has passed checkBounds. The values of blocks stay in the message, because
// proto.Unmarshal would copy each of them. It returns errWire if the bytes cannot be decoded.
func (in *incoming) decodeBatch(encoded []byte) error {
	b := &in.batch
	in.wrapped.Batch = b
	in.request.Message = &in.wrapped
	inBlocks := 0
	rest := encoded // starts with the fields that no case below has handled yet
	for at := encoded; ; {
		number, wire, n := protowire.ConsumeTag(at)
		if len(at) > 0 && n < 0 {
			return errWire
		}
		own := wire == protowire.VarintType && number >= batchSequence && number <= batchSendTime ||
			wire == protowire.BytesType && (number == batchEpoch || number == batchBlocks)
		if len(at) > 0 && !own {
			if m := protowire.ConsumeFieldValue(number, wire, at[n:]); m >= 0 {
				at = at[n+m:]
				continue
			}
			return errWire
		}
		if between := len(rest) - len(at); between > 0 { // consecutive fields are merged as one message
			if (proto.UnmarshalOptions{Merge: true}).Unmarshal(rest[:between], b) != nil {
				return errWire
			}
		}
		if len(at) == 0 {
			break
		}
		at = at[n:]
		if wire == protowire.VarintType {
			v, m := protowire.ConsumeVarint(at)
			if m < 0 {
				return errWire
			}
			setNumber(b, number, v)
			at = at[m:]
		} else {
			value, m := protowire.ConsumeBytes(at)
			if m < 0 {
				return errWire
			}
			if number == batchEpoch {
				b.Epoch = value
			} else {
				next := in.nextBlock()
				if decodeBlock(value, next) != nil {
					return errWire
				}
				b.Blocks = append(b.Blocks, next)
				inBlocks += len(next.Values) + len(next.Presence)
			}
			at = at[m:]
		}
		rest = at
	}
	// the journal keeps blocks for a while: they must not keep a much larger message in memory
	if 2*inBlocks < len(encoded) {
		for _, of := range b.Blocks {
			of.Values, of.Presence = bytes.Clone(of.Values), bytes.Clone(of.Presence)
		}
	}
	return nil
}

// setNumber sets one of the numeric fields of a batch.
func setNumber(b *pb.Batch, number protowire.Number, v uint64) {
	switch number {
	case batchSequence:
		b.Sequence = v
	case batchOldestHeld:
		b.OldestHeldSequence = v
	case batchSendTime:
		b.SendTimeMs = int64(v)
	}
}

// nextBlock returns an unused block. A stream reuses its blocks, so it allocates none after its first batches.
func (in *incoming) nextBlock() *pb.Block {
	if in.used == len(in.blocks) {
		in.blocks = append(in.blocks, &pb.Block{})
	}
	in.used++
	return in.blocks[in.used-1]
}

// decodeBlock decodes into an empty block, which then refers to the encoded bytes. It leaves blocks with an unknown
// field or an unusual encoding to proto.Unmarshal, so that both accept the same messages.
func decodeBlock(encoded []byte, b *pb.Block) error {
	for at := encoded; len(at) > 0; {
		number, wire, n := protowire.ConsumeTag(at)
		if n < 0 {
			return errWire
		}
		at = at[n:]
		var number64 uint64
		var value []byte
		switch wire {
		case protowire.VarintType:
			number64, n = protowire.ConsumeVarint(at)
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(at)
		default:
			return proto.Unmarshal(encoded, b)
		}
		if n < 0 {
			return errWire
		}
		at = at[n:]
		switch {
		case wire == protowire.VarintType && setBlockNumber(b, number, number64):
		case wire == protowire.BytesType && number == blockPresence:
			b.Presence = value
		case wire == protowire.BytesType && number == blockValues:
			b.Values = value
		case wire == protowire.BytesType && number == blockOffsets:
			if b.TimeOffsetsMs, n = appendZigZag(b.TimeOffsetsMs, value); n < 0 {
				return errWire
			}
		default:
			return proto.Unmarshal(encoded, b)
		}
	}
	return nil
}

// setBlockNumber sets a numeric field of a block. It returns false if a block has no such field.
func setBlockNumber(b *pb.Block, number protowire.Number, v uint64) bool {
	switch number {
	case blockLayout:
		b.LayoutId = uint32(v)
	case blockFirstTime:
		b.FirstTimeMs = int64(v)
	case blockStep:
		b.StepMs = uint32(v)
	case blockCount:
		b.Count = uint32(v)
	case blockCodec:
		b.Codec = pb.ValueCodec(v)
	default:
		return false
	}
	return true
}

// appendZigZag appends a packed field of sint32. n is negative if the field cannot be decoded.
func appendZigZag(to []int32, packed []byte) (_ []int32, n int) {
	if to == nil {
		to = make([]int32, 0, numbers(packed))
	}
	for len(packed) > 0 {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return nil, n
		}
		to = append(to, int32(protowire.DecodeZigZag(v&math.MaxUint32)))
		packed = packed[n:]
	}
	return to, 0
}
