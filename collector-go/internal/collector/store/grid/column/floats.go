package column

import (
	"encoding/binary"
	"math"
)

// These are the kinds of columns, and the bits of a column's first byte.
const (
	// kindConstant has one value for all slices. A column without slices has this kind too.
	kindConstant byte = iota
	// kindIntegers has decimal numbers as whole numbers, and exceptions.
	kindIntegers
	// kindXOR has each number as the XOR of its bits with those of the number before.
	kindXOR
	// kindPlain has eight bytes for each number.
	kindPlain
	// kindDistributions has native histograms. A column has either these or numbers.
	kindDistributions

	// The first byte of a column contains the kind, whether presence follows, and the exponent.
	kindMask      = 0x07
	hasPresence   = 0x08
	exponentShift = 4
)

// shortConstant limits the constants that are shorter as whole numbers than as eight bytes.
const shortConstant = 1 << 33

// staleBits are the bits of Prometheus' staleness marker. The first exception is compared with it, so that a gap marker
// among integers costs only a byte or two.
const staleBits = 0x7ff0000000000002

// Encoder compresses columns. Its zero value is ready for use. It keeps its buffers between calls, so use one Encoder
// for many columns. It is not safe for concurrent use. The same input always gives the same bytes, whatever was encoded
// before.
type Encoder struct {
	dense      []float64
	integers   []int64
	exceptions []exception
	histograms histogramBuffers
}

// exception is a value that is not decimal. It has the value's position among the slices, and its bits.
type exception struct {
	slot int
	bits uint64
}

// Floats appends a column of at most MaxSlots numbers. present has a bit for each slot that holds a slice; nil means
// that all do. Values at absent slots are ignored. It cannot fail, because every float64 can be stored, including all
// bits of NaNs.
func (e *Encoder) Floats(dst []byte, values []float64, present []uint64) []byte {
	head := len(dst)
	dst = append(dst, 0)
	if present != nil && count(present, len(values)) < len(values) {
		dst = appendPresence(dst, present, len(values))
		dst[head] = hasPresence
		e.dense = gather(e.dense[:0], values, present)
		values = e.dense
	}
	return e.append(dst, head, values)
}

// append writes the values, and their kind at head. It tries the kinds in the order constant, integers, XOR, and uses
// plain if XOR would be longer. The choice depends only on the values, so the same slices always give the same bytes.
func (e *Encoder) append(dst []byte, head int, values []float64) []byte {
	if len(values) == 0 {
		return dst // a constant without values
	}
	if isConstant(values) {
		if x, ok := integer(values[0], 0); ok && x > -shortConstant && x < shortConstant {
			dst[head] |= kindIntegers
			return appendIntegers(append(dst, 0), []int64{x})
		}
		return appendBits64(dst, math.Float64bits(values[0]))
	}
	if exponent, ok := e.decimals(values); ok {
		dst[head] |= kindIntegers | exponent<<exponentShift
		dst = appendExceptions(dst, e.exceptions)
		return appendIntegers(dst, e.integers)
	}
	body := len(dst)
	dst = appendXOR(dst, values)
	if len(dst)-body < 8*len(values) {
		dst[head] |= kindXOR
		return dst
	}
	dst[head] |= kindPlain
	dst = dst[:body]
	for _, v := range values {
		dst = appendBits64(dst, math.Float64bits(v))
	}
	return dst
}

// isConstant compares bits, so that -0 does not become 0, nor one NaN another.
func isConstant(values []float64) bool {
	first := math.Float64bits(values[0])
	for _, v := range values {
		if math.Float64bits(v) != first {
			return false
		}
	}
	return true
}

// appendExceptions writes the slots of the exceptions as the gaps between them. It writes their bits only if they
// differ from those of the exception before.
func appendExceptions(dst []byte, exceptions []exception) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(exceptions)))
	next, last := 0, uint64(staleBits)
	for _, x := range exceptions {
		gap := uint64(x.slot-next) << 1
		if x.bits == last {
			dst = binary.AppendUvarint(dst, gap|1)
		} else {
			dst = appendBits64(binary.AppendUvarint(dst, gap), x.bits)
		}
		next, last = x.slot+1, x.bits
	}
	return dst
}

// Floats decodes a column of numbers into values. The length of values is the number of slots, which the index of a
// part has and the column does not. The value at a slot without a slice is undefined. present is nil if all slots
// hold one. After an error the values are undefined.
func Floats(src []byte, values []float64) (present []uint64, err error) {
	if len(src) == 0 || len(values) > MaxSlots {
		return nil, ErrDamaged
	}
	head := src[0]
	src = src[1:]
	stored := len(values)
	if head&hasPresence != 0 {
		if present, stored, src, err = readPresence(src, len(values)); err != nil {
			return nil, err
		}
	}
	dense := values[:stored]
	switch head & kindMask {
	case kindConstant:
		src, err = readConstant(src, dense)
	case kindIntegers:
		src, err = readDecimals(src, dense, head>>exponentShift)
	case kindXOR:
		src, err = readXOR(src, dense)
	case kindPlain:
		src, err = readPlain(src, dense)
	default:
		err = ErrDamaged
	}
	if err != nil {
		return nil, err
	}
	if len(src) != 0 {
		return nil, ErrDamaged
	}
	if present != nil {
		scatter(values, present, stored)
	}
	return present, nil
}

// readConstant fills values with one number, and returns the bytes after it.
func readConstant(src []byte, values []float64) ([]byte, error) {
	if len(values) == 0 {
		return src, nil
	}
	b, src, err := readBits64(src)
	v := math.Float64frombits(b)
	for i := range values {
		values[i] = v
	}
	return src, err
}

// readPlain fills values from eight bytes each, in the order of the slots that hold a slice.
func readPlain(src []byte, values []float64) ([]byte, error) {
	if len(src) < 8*len(values) {
		return nil, ErrDamaged
	}
	for i := range values {
		values[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
	}
	return src[8*len(values):], nil
}

// IsDistributions reports whether a column has distributions, according to its first byte. A reader that expects
// numbers must refuse such a column, and vice versa.
func IsDistributions(src []byte) bool { return len(src) > 0 && src[0]&kindMask == kindDistributions }

// Stored returns how many of a column's slots hold a slice. It does not decode the values. A merge needs it for
// columns that it copies.
func Stored(src []byte, slots int) (int, error) {
	if len(src) == 0 || slots > MaxSlots {
		return 0, ErrDamaged
	}
	if src[0]&hasPresence == 0 {
		return slots, nil
	}
	_, stored, _, err := readPresence(src[1:], slots)
	return stored, err
}
