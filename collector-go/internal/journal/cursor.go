package journal

import (
	"encoding/binary"
	"errors"
	"math"
)

var errPayload = errors.New("payload does not hold what its record says")

// cursor reads a payload from front to back. After the first failure everything it returns is zero, and err tells.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) fail() { c.rest, c.err = nil, errPayload }

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) uint32() uint32 {
	v := c.uvarint()
	if v > math.MaxUint32 {
		c.fail()
		return 0
	}
	return uint32(v)
}

func (c *cursor) int32() int32 {
	v := c.varint()
	if v > math.MaxInt32 || v < math.MinInt32 {
		c.fail()
		return 0
	}
	return int32(v)
}

// skipNumbers passes over numbers of variable length.
func (c *cursor) skipNumbers(n int) {
	for i, b := range c.rest {
		if b < 0x80 {
			if n--; n == 0 {
				c.rest = c.rest[i+1:]
				return
			}
		}
	}
	c.fail()
}

// bytes are the next n bytes, in place.
func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(len(c.rest)) {
		c.fail()
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) byte() byte {
	b := c.bytes(1)
	if b == nil {
		return 0
	}
	return b[0]
}

func (c *cursor) string() string { return string(c.bytes(c.uvarint())) }

// count is a number of things that take at least size bytes each, so that no damaged count makes us allocate.
func (c *cursor) count(size int) int {
	n := c.uvarint()
	if n > uint64(len(c.rest)/size) {
		c.fail()
		return 0
	}
	return int(n)
}

// id is an id as its difference to the one before.
func (c *cursor) id(before int64) int64 {
	id := before + c.varint()
	if id <= 0 || id >= maxID {
		c.fail()
		return 0
	}
	return id
}

// done is the failure, one of bytes left over included.
func (c *cursor) done() error {
	if c.err == nil && len(c.rest) > 0 {
		return errPayload
	}
	return c.err
}

func appendString(to []byte, s string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(s))), s...)
}
