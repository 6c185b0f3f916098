package column

import (
	"encoding/binary"
	"math/bits"
)

// blockLen is the number of numbers that share one bit width. The last block may have fewer.
const blockLen = 64

// maxPatches is the largest number of numbers in a block that may exceed its width. Their high bits are stored
// separately as patches, so that one outlier does not widen the whole block. More patches would slow decoding and gain
// little. A patch takes one byte for its position and at least one for its bits.
const maxPatches = 15

// hasPatches marks a block that is followed by patches.
const hasPatches = 0x80

// appendBlock packs 1 to 64 numbers with the same number of bits each. A few wider numbers may be stored with patches
// (see maxPatches).
func appendBlock(dst []byte, v []uint64) []byte {
	var or uint64
	for _, x := range v {
		or |= x
	}
	top := bits.Len64(or)
	width, patches := top, 0
	if top > 1 && len(v) >= 8 {
		width, patches = narrow(v, top)
	}
	if patches == 0 {
		dst = append(dst, byte(width))
	} else {
		dst = append(dst, byte(width)|hasPatches)
	}
	dst = appendBits(dst, v, uint(width))
	if patches > 0 {
		dst = append(dst, byte(patches))
		for i, x := range v {
			if x >>= width; x != 0 {
				dst = append(dst, byte(i))
				dst = binary.AppendUvarint(dst, x)
			}
		}
	}
	return dst
}

// narrow returns the width at which a block is shortest, and how many of its numbers then need a patch. It counts
// numbers by their width and tries every smaller width that needs at most maxPatches patches.
func narrow(v []uint64, top int) (width, patches int) {
	var counts [65]uint8
	for _, x := range v {
		counts[bits.Len64(x)]++
	}
	width = top
	best := len(v) * top
	above := 0
	for w := top - 1; w >= 0; w-- {
		if above += int(counts[w+1]); above > maxPatches {
			break
		}
		if cost := len(v)*w + 8 + above*(8+8*((top-w+6)/7)); cost < best {
			best, width, patches = cost, w, above
		}
	}
	return width, patches
}

// appendBits writes the low bits of each number, lowest bit first, and pads the last byte. width may be 0 to 64; for 0
// nothing is written.
func appendBits(dst []byte, v []uint64, width uint) []byte {
	if width == 0 {
		return dst
	}
	mask := ^uint64(0) >> (64 - width)
	var acc uint64
	var n uint
	for _, x := range v {
		x &= mask
		acc |= x << (n & 63)
		if n += width; n >= 64 {
			dst = binary.LittleEndian.AppendUint64(dst, acc)
			n -= 64
			acc = x >> (width - n) // 0 if nothing is left, even for a shift by 64
		}
	}
	for ; n > 0; n -= min(n, 8) {
		dst = append(dst, byte(acc))
		acc >>= 8
	}
	return dst
}

// readBlock unpacks len(out) numbers, from 1 to 64, and returns the bytes after them. It returns ErrDamaged if the
// width is above 64 bits or the block is too short.
func readBlock(src []byte, out []uint64) ([]byte, error) {
	if len(src) == 0 || len(out) > blockLen {
		return nil, ErrDamaged
	}
	head := src[0]
	src = src[1:]
	width := uint(head &^ hasPatches)
	size := (len(out)*int(width) + 7) / 8
	if width > 64 || len(src) < size {
		return nil, ErrDamaged
	}
	// The load of 9 bytes for the last number reads beyond the block. Those bytes do not affect the result.
	if cap(src) >= size+9 {
		unpack(src[:size+9], out, width)
	} else {
		unpackEnd(src[:size], out, width)
	}
	src = src[size:]
	if head&hasPatches == 0 {
		return src, nil
	}
	return patch(src, out, width)
}

// unpackEnd is like unpack, for a block at the end of its memory. It copies the block, because unpack reads up to nine
// bytes beyond the end.
func unpackEnd(data []byte, out []uint64, width uint) {
	var padded [blockLen*8 + 16]byte
	copy(padded[:], data)
	unpack(padded[:], out, width)
}

// unpack reads numbers of one width. For speed it loads whole words, so data must be readable up to nine bytes beyond
// the numbers. Narrow numbers are unrolled eight at a time. Widths up to 56 need one load each, and wider ones a word
// and the byte after it.
func unpack(data []byte, out []uint64, width uint) {
	switch {
	case width == 0:
		clear(out)
	case width <= 8: // eight numbers fit into one word
		mask := uint64(1)<<width - 1
		for len(out) >= 8 {
			word := binary.LittleEndian.Uint64(data)
			data = data[width:]
			to := out[:8]
			to[0] = word & mask
			word >>= width & 63
			to[1] = word & mask
			word >>= width & 63
			to[2] = word & mask
			word >>= width & 63
			to[3] = word & mask
			word >>= width & 63
			to[4] = word & mask
			word >>= width & 63
			to[5] = word & mask
			word >>= width & 63
			to[6] = word & mask
			word >>= width & 63
			to[7] = word & mask
			out = out[8:]
		}
		if len(out) > 0 {
			word := binary.LittleEndian.Uint64(data)
			for i := range out {
				out[i] = word & mask
				word >>= width & 63
			}
		}
	case width <= 56:
		mask := uint64(1)<<width - 1
		pos := uint(0)
		for i := range out {
			out[i] = binary.LittleEndian.Uint64(data[pos>>3:]) >> (pos & 7) & mask
			pos += width
		}
	default:
		mask := ^uint64(0) >> (64 - width)
		pos := uint(0)
		for i := range out {
			at := data[pos>>3:]
			shift := pos & 7
			out[i] = (binary.LittleEndian.Uint64(at)>>shift | uint64(at[8])<<(64-shift)) & mask
			pos += width
		}
	}
}

// patch adds the high bits of the numbers that are wider than the block, and returns the bytes after the patches. It
// returns ErrDamaged if a patch is for a number that the block does not have.
func patch(src []byte, out []uint64, width uint) ([]byte, error) {
	if len(src) == 0 {
		return nil, ErrDamaged
	}
	n := int(src[0])
	src = src[1:]
	for range n {
		if len(src) == 0 || int(src[0]) >= len(out) {
			return nil, ErrDamaged
		}
		i := src[0]
		high, size := binary.Uvarint(src[1:])
		if size <= 0 {
			return nil, ErrDamaged
		}
		out[i] |= high << width
		src = src[1+size:]
	}
	return src, nil
}

// zigzag maps numbers with small absolute values to small unsigned ones, as Protocol Buffers does.
func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// readUvarint reads an unsigned varint, and returns the bytes after it.
func readUvarint(src []byte) (uint64, []byte, error) {
	v, n := binary.Uvarint(src)
	if n <= 0 {
		return 0, nil, ErrDamaged
	}
	return v, src[n:], nil
}

// readVarint reads a signed varint, and returns the bytes after it.
func readVarint(src []byte) (int64, []byte, error) {
	v, rest, err := readUvarint(src)
	return unzigzag(v), rest, err
}
