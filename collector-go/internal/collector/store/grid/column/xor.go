package column

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// sparse decides whether a block gets a bitmap of its XORs that are not 0. It does if at least one in sparse XORs is 0.
// A bitmap costs one bit for each value, and unchanged values then take nothing else.
const sparse = 16

// appendXOR writes the XOR of each value's bits with those of the value before. Neighbouring values of a series share
// sign, exponent and often digits, so few bits of the XOR are set. Low bits that are 0 in all XORs of a block are cut
// off, and the rest is packed like integers. The first value is compared with 0. If many XORs of a block are 0, a
// bitmap says which are not, and only those are packed.
func appendXOR(dst []byte, values []float64) []byte {
	last := uint64(0)
	var block, packed [blockLen]uint64
	for len(values) > 0 {
		n := min(len(values), blockLen)
		or, zeros, changed := uint64(0), 0, uint64(0)
		for i, v := range values[:n] {
			b := math.Float64bits(v)
			x := b ^ last
			last = b
			block[i] = x
			or |= x
			if x == 0 {
				zeros++
			} else {
				changed |= 1 << i
			}
		}
		values = values[n:]
		cut := bits.TrailingZeros64(or) & 63 // 0 if all XORs are 0
		head := byte(cut)
		if zeros*sparse < n {
			for i := range block[:n] {
				packed[i] = block[i] >> cut
			}
			dst = appendBlock(append(dst, head), packed[:n])
			continue
		}
		dst = append(dst, head|hasPatches)
		var bitmap [8]byte
		binary.LittleEndian.PutUint64(bitmap[:], changed)
		dst = append(dst, bitmap[:(n+7)/8]...)
		k := 0
		for _, x := range block[:n] {
			if x != 0 {
				packed[k] = x >> cut
				k++
			}
		}
		if k > 0 {
			dst = appendBlock(dst, packed[:k])
		}
	}
	return dst
}

// readXOR fills values, and returns the bytes after them. It returns ErrDamaged if an unused bit is set in a block's
// first byte, or a bit of the bitmap after the block.
func readXOR(src []byte, values []float64) (rest []byte, err error) {
	last := uint64(0)
	var block [blockLen]uint64
	for len(values) > 0 {
		n := min(len(values), blockLen)
		if len(src) == 0 {
			return nil, ErrDamaged
		}
		head := src[0]
		src = src[1:]
		cut := head & 63
		if head&0x40 != 0 {
			return nil, ErrDamaged
		}
		if head&hasPatches == 0 {
			if src, err = readBlock(src, block[:n]); err != nil {
				return nil, err
			}
			for i, x := range block[:n] {
				last ^= x << cut
				values[i] = math.Float64frombits(last)
			}
			values = values[n:]
			continue
		}
		size := (n + 7) / 8
		if len(src) < size {
			return nil, ErrDamaged
		}
		var bitmap [8]byte
		copy(bitmap[:], src[:size])
		src = src[size:]
		changed := binary.LittleEndian.Uint64(bitmap[:])
		if n < 64 && changed>>n != 0 {
			return nil, ErrDamaged
		}
		if k := bits.OnesCount64(changed); k > 0 {
			if src, err = readBlock(src, block[:k]); err != nil {
				return nil, err
			}
		}
		k := 0
		for i := range values[:n] {
			if changed>>i&1 == 1 {
				last ^= block[k] << cut
				k++
			}
			values[i] = math.Float64frombits(last)
		}
		values = values[n:]
	}
	return src, nil
}
