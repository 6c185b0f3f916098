package metric

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// encoder writes the types of this package as bytes, for checkpoints (docs/formats/checkpoint.md). Integers have
// variable length, floats have eight bytes, and a string is written once and then referred to by its number. The same
// calls produce the same bytes.
type encoder struct {
	full    [][]byte // completed pieces; one growing slice would be copied repeatedly
	bytes   []byte   // the current piece
	strings map[string]uint64
}

// pieceBytes is the size at which a piece is complete.
const pieceBytes = 1 << 20

// newEncoder returns an encoder that has written the magic and the version of the format.
func newEncoder(magic string, version uint64) *encoder {
	e := &encoder{bytes: []byte(magic), strings: make(map[string]uint64)}
	e.Uint(version)
	return e
}

// Uint, Int, Float, Bool and String write one value.
func (e *encoder) Uint(v uint64) {
	if len(e.bytes) >= pieceBytes {
		e.full, e.bytes = append(e.full, e.bytes), make([]byte, 0, pieceBytes+pieceBytes/8)
	}
	e.bytes = binary.AppendUvarint(e.bytes, v)
}
func (e *encoder) Int(v int64) { e.bytes = binary.AppendVarint(e.bytes, v) }
func (e *encoder) Float(v float64) {
	e.bytes = binary.LittleEndian.AppendUint64(e.bytes, math.Float64bits(v))
}

// Bool writes a boolean as one byte.
func (e *encoder) Bool(v bool) {
	if v {
		e.Uint(1)
	} else {
		e.Uint(0)
	}
}

// String writes 0, the length and the bytes if the string is new, and otherwise its number, which is at least 1.
func (e *encoder) String(s string) {
	if number, ok := e.strings[s]; ok {
		e.Uint(number)
		return
	}
	e.strings[s] = uint64(len(e.strings) + 1)
	e.Uint(0)
	e.Uint(uint64(len(s)))
	e.bytes = append(e.bytes, s...)
}

// Finish returns everything that was written, followed by its checksum (CRC32C, four bytes, little-endian). It can be
// called only once.
func (e *encoder) Finish() []byte {
	size, sum := len(e.bytes)+crc32.Size, uint32(0)
	for _, piece := range e.full {
		size += len(piece)
		sum = crc32.Update(sum, castagnoli, piece)
	}
	all := make([]byte, 0, size)
	for i, piece := range e.full {
		all = append(all, piece...)
		e.full[i] = nil
	}
	return binary.LittleEndian.AppendUint32(append(all, e.bytes...), crc32.Update(sum, castagnoli, e.bytes))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
