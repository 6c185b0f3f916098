package metric

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/prometheus/prometheus/model/labels"
)

// Encoder writes the types of this package as bytes, for checkpoints (docs/formats/checkpoint.md). Integers have
// variable length, floats have eight bytes, and a string is written once and then referred to by its number. The same
// calls produce the same bytes.
type Encoder struct {
	full    [][]byte // completed pieces; one growing slice would be copied repeatedly
	bytes   []byte   // the current piece
	strings map[string]uint64
}

// pieceBytes is the size at which a piece is complete.
const pieceBytes = 1 << 20

// NewEncoder returns an encoder that has written the magic and the version of the format.
func NewEncoder(magic string, version uint64) *Encoder {
	e := &Encoder{bytes: []byte(magic), strings: make(map[string]uint64)}
	e.Uint(version)
	return e
}

// Uint, Int, Float, Bool and String write one value.
func (e *Encoder) Uint(v uint64) {
	if len(e.bytes) >= pieceBytes {
		e.full, e.bytes = append(e.full, e.bytes), make([]byte, 0, pieceBytes+pieceBytes/8)
	}
	e.bytes = binary.AppendUvarint(e.bytes, v)
}
func (e *Encoder) Int(v int64) { e.bytes = binary.AppendVarint(e.bytes, v) }
func (e *Encoder) Float(v float64) {
	e.bytes = binary.LittleEndian.AppendUint64(e.bytes, math.Float64bits(v))
}

// Bool writes a boolean as one byte.
func (e *Encoder) Bool(v bool) {
	if v {
		e.Uint(1)
	} else {
		e.Uint(0)
	}
}

// String writes 0, the length and the bytes if the string is new, and otherwise its number, which is at least 1.
func (e *Encoder) String(s string) {
	if number, ok := e.strings[s]; ok {
		e.Uint(number)
		return
	}
	e.strings[s] = uint64(len(e.strings) + 1)
	e.Uint(0)
	e.Uint(uint64(len(s)))
	e.bytes = append(e.bytes, s...)
}

// Worker writes a worker.
func (e *Encoder) Worker(w Worker) {
	e.String(w.Topology)
	e.String(w.Host)
	e.Uint(uint64(w.Port))
}

// Raw writes a raw series.
func (e *Encoder) Raw(r Raw) {
	e.Worker(r.Worker)
	e.String(r.Component)
	e.Int(int64(r.Task))
	e.String(r.Name)
	e.String(r.Key)
	e.Uint(uint64(r.Shape))
	e.Uint(uint64(r.Temporality))
	e.Int(r.IntervalMs)
	e.Int(r.PackSpanMs)
}

// Series writes a canonical series.
func (e *Encoder) Series(s Series) {
	e.Uint(uint64(s.Kind))
	e.Uint(uint64(s.Labels.Len()))
	s.Labels.Range(func(l labels.Label) {
		e.String(l.Name)
		e.String(l.Value)
	})
}

// Rule writes a rule.
func (e *Encoder) Rule(r Rule) {
	e.Worker(r.Worker)
	e.Series(r.Series)
	e.String(r.MinName)
	e.String(r.MaxName)
	e.String(r.NegativeName)
	e.String(r.RestartsName)
	e.Uint(uint64(r.Temporality))
	e.Float(r.PerUnit)
	e.Float(r.Least)
	e.Float(r.Most)
	e.Int(r.IntervalMs)
	e.Int(r.PackSpanMs)
}

// Finish returns everything that was written, followed by its checksum (CRC32C, four bytes, little-endian). It can be
// called only once.
func (e *Encoder) Finish() []byte {
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
