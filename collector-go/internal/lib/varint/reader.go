// Package varint decodes values that encoding/binary's AppendUvarint and AppendVarint encoded. The journal and the
// checkpoints are decoded with it, and their bytes may be damaged. Therefore every length that it returns is bounded.
package varint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Reader decodes values from the front of a byte slice. After the first missing or too large value it returns zeros,
// and Err returns the error. Whatever the input is, a caller does not allocate more than Length allows.
type Reader struct {
	rest []byte
	err  error
}

// ErrCut means that the bytes end in the middle of a value.
var ErrCut = errors.New("it is truncated")

// Of returns a reader of b. The reader keeps b.
func Of(b []byte) Reader { return Reader{rest: b} }

// Fail sets the reader's error, unless it already has one.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.rest = nil
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Done returns Err, or an error if bytes are left.
func (r *Reader) Done() error {
	if r.err == nil && len(r.rest) > 0 {
		return fmt.Errorf("it has %d bytes after its end", len(r.rest))
	}
	return r.err
}

// Len returns the number of remaining bytes, and Rest returns these without copying.
func (r *Reader) Len() int     { return len(r.rest) }
func (r *Reader) Rest() []byte { return r.rest }

// Uint reads a value that AppendUvarint wrote.
func (r *Reader) Uint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		v := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(v)
	}
	return r.longUint()
}

func (r *Reader) longUint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.Fail(ErrCut)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// Int reads a value that AppendVarint wrote.
func (r *Reader) Int() int64 {
	v := r.Uint()
	return int64(v>>1) ^ -int64(v&1)
}

// Uint8 reads an unsigned number of at most 8 bits in variable-length encoding.
func (r *Reader) Uint8() uint8 { return uint8(r.most(math.MaxUint8)) }

// Uint32 reads an unsigned number of at most 32 bits.
func (r *Reader) Uint32() uint32 { return uint32(r.most(math.MaxUint32)) }

// Int32 reads a signed number of at most 32 bits.
func (r *Reader) Int32() int32 {
	v := r.Int()
	if v != int64(int32(v)) {
		r.Fail(fmt.Errorf("%d has more than 32 bits", v))
		return 0
	}
	return int32(v)
}

// Length reads an unsigned number of at most most.
func (r *Reader) Length(most int) int { return int(r.most(uint64(max(most, 0)))) }

// Count reads the number of elements that follow. Each element takes at least size bytes, so that a larger number than
// the remaining bytes allow is an error.
func (r *Reader) Count(size int) int { return r.Length(len(r.rest) / size) }

func (r *Reader) most(most uint64) uint64 {
	v := r.Uint()
	if v > most {
		r.Fail(tooMuch{v, most})
		return 0
	}
	return v
}

// tooMuch is an error that is formatted only when it is printed.
type tooMuch struct{ number, most uint64 }

func (e tooMuch) Error() string {
	return fmt.Sprintf("it has the number %d where the maximum is %d", e.number, e.most)
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if len(r.rest) == 0 {
		r.Fail(ErrCut)
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// Bytes returns the next n bytes without copying, or nil if there are fewer.
func (r *Reader) Bytes(n int) []byte {
	if n > len(r.rest) {
		r.Fail(ErrCut)
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// Sized returns bytes that are preceded by their number, without copying. Text returns a copy of them.
func (r *Reader) Sized() []byte { return r.Bytes(r.Length(len(r.rest))) }
func (r *Reader) Text() string  { return string(r.Sized()) }

// Float reads a float64 from eight bytes, little-endian.
func (r *Reader) Float() float64 {
	b := r.Bytes(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// SkipUints skips n numbers in variable-length encoding.
func (r *Reader) SkipUints(n int) {
	if n == 0 {
		return
	}
	for i, b := range r.rest {
		if b < 0x80 {
			if n--; n == 0 {
				r.rest = r.rest[i+1:]
				return
			}
		}
	}
	r.Fail(ErrCut)
}
