package block

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
)

// AppendTrimmed appends values in the codec Trimmed: first the width of each value in half a byte, then its leading
// bytes in big-endian order. Trailing zero bytes are omitted. Most samples are whole numbers, which have six of them.
func AppendTrimmed(to []byte, values []float64) []byte {
	widths := len(to)
	to = append(to, make([]byte, (len(values)+1)/2)...)
	for i, v := range values {
		raw := math.Float64bits(v)
		width := 8 - bits.TrailingZeros64(raw)/8
		to[widths+i/2] |= byte(width) << (4 * (i % 2))
		var big [8]byte
		binary.BigEndian.PutUint64(big[:], raw)
		to = append(to, big[:width]...)
	}
	return to
}

// checkTrimmed checks the encoded values of n samples. It adds up the widths, so that decoding never reads beyond the
// end.
func checkTrimmed(values []byte, n int) error {
	head := (n + 1) / 2
	if len(values) < head {
		return fmt.Errorf("values has %d bytes, but the widths of %d samples alone need %d", len(values), n, head)
	}
	total := head
	for i := range n {
		width := int(values[i/2] >> (4 * (i % 2)) & 0xf)
		if width > 8 {
			return fmt.Errorf("value %d is %d bytes wide; the maximum is 8", i, width)
		}
		total += width
	}
	if n%2 == 1 && values[n/2]>>4 != 0 {
		return fmt.Errorf("values has a width after its last one")
	}
	if total != len(values) {
		return fmt.Errorf("values has %d bytes, but its widths add up to %d", len(values), total)
	}
	return nil
}

// appendTrimmed decodes n values that were checked.
func appendTrimmed(to []float64, values []byte, n int) []float64 {
	at := (n + 1) / 2
	for i := range n {
		width := int(values[i/2] >> (4 * (i % 2)) & 0xf)
		to = append(to, math.Float64frombits(bigEndian(values[at:], width)))
		at += width
	}
	return to
}

// bigEndian returns the number whose first width bytes are in b; the other bytes are 0.
func bigEndian(b []byte, width int) uint64 {
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b) &^ (1<<(64-8*width) - 1)
	}
	var padded [8]byte
	copy(padded[:], b[:width])
	return binary.BigEndian.Uint64(padded[:])
}

// nonNumberTrimmed returns the index of the first value that is NaN or infinite, or -1. It reads only the first two
// bytes of a value, because they contain the whole exponent.
func nonNumberTrimmed(values []byte, n int) int {
	at := (n + 1) / 2
	for i := range n {
		width := int(values[i/2] >> (4 * (i % 2)) & 0xf)
		if width >= 2 && values[at]&0x7f == 0x7f && values[at+1]&0xf0 == 0xf0 {
			return i
		}
		at += width
	}
	return -1
}
