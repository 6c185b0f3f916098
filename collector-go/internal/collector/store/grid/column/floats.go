package column

import (
	"encoding/binary"
	"math"
)

// What a column begins with.
const (
	// kindConstant is one value for all slices, or a column without any.
	kindConstant byte = iota
	// kindIntegers are decimal numbers as whole numbers, with exceptions beside them.
	kindIntegers
	// kindXOR is the bits of each number as their difference from the number before.
	kindXOR
	// kindPlain is eight bytes for each number.
	kindPlain
	// kindDistributions are native histograms; a column has either these or numbers.
	kindDistributions

	// The first byte of a column: the kind, whether presence follows, and the exponent.
	kindMask      = 0x07
	hasPresence   = 0x08
	exponentShift = 4
)

// shortConstant bounds the constants that are shorter as whole numbers than as eight bytes.
const shortConstant = 1 << 33

// staleBits are Prometheus' staleness marker. The first exception is compared with it, so that a gap's marker among
// integers costs a byte or two.
const staleBits = 0x7ff0000000000002

// Encoder compresses columns. Its zero value is ready for use. It keeps its buffers between calls, so use one Encoder
// for many columns; it is not safe for concurrent use. The same input always gives the same bytes, whatever was encoded
// before.
type Encoder struct {
	dense      []float64
	integers   []int64
	exceptions []exception
	histograms histogramBuffers
}

// exception is a value that is not decimal, by its place among the slices and its bits.
type exception struct {
	place int
	bits  uint64
}

// Floats appends a column of at most MaxPlaces numbers. present has a bit for each place that holds a slice; nil means
// that all do. Values of absent places are ignored. It cannot fail: every float64 can be stored, NaN with all its bits
// too.
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

// append writes the values and their kind at head. It tries the kinds from the shortest on: constant, integers, XOR,
// and plain if XOR would be longer. The choice depends on the values alone, so the same slices always give the same
// bytes.
func (e *Encoder) append(dst []byte, head int, values []float64) []byte {
	if len(values) == 0 {
		return dst // constant, of nothing
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

// isConstant compares bits, so that -0 does not become 0 and one NaN does not become another.
func isConstant(values []float64) bool {
	first := math.Float64bits(values[0])
	for _, v := range values {
		if math.Float64bits(v) != first {
			return false
		}
	}
	return true
}

// appendExceptions writes where the exceptions are, by the gaps between them, and their bits unless they are those of
// the exception before.
func appendExceptions(dst []byte, exceptions []exception) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(exceptions)))
	next, last := 0, uint64(staleBits)
	for _, x := range exceptions {
		gap := uint64(x.place-next) << 1
		if x.bits == last {
			dst = binary.AppendUvarint(dst, gap|1)
		} else {
			dst = appendBits64(binary.AppendUvarint(dst, gap), x.bits)
		}
		next, last = x.place+1, x.bits
	}
	return dst
}

// Floats decodes a column of numbers into values, whose length is the number of places: the index of a part states it,
// not the column. The value of a place without a slice is undefined. present is nil if all places hold one. On an error
// the values are undefined.
func Floats(src []byte, values []float64) (present []uint64, err error) {
	if len(src) == 0 || len(values) > MaxPlaces {
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

// readConstant fills values with one number.
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

// readPlain fills values with eight bytes each, in the order of the places that hold a slice.
func readPlain(src []byte, values []float64) ([]byte, error) {
	if len(src) < 8*len(values) {
		return nil, ErrDamaged
	}
	for i := range values {
		values[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
	}
	return src[8*len(values):], nil
}

// IsDistributions reports whether a column contains distributions, which its first byte shows. A reader that expects
// numbers refuses such a column, and the other way round.
func IsDistributions(src []byte) bool { return len(src) > 0 && src[0]&kindMask == kindDistributions }

// Stored returns how many of a column's places hold a slice. It does not decode the values, and is what a merge needs
// of a column that it copies.
func Stored(src []byte, places int) (int, error) {
	if len(src) == 0 || places > MaxPlaces {
		return 0, ErrDamaged
	}
	if src[0]&hasPresence == 0 {
		return places, nil
	}
	_, stored, _, err := readPresence(src[1:], places)
	return stored, err
}
