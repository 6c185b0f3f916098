package varint

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestReaderReadsWhatWasAppended(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unsigned, signed := rapid.Uint64().Draw(t, "unsigned"), rapid.Int64().Draw(t, "signed")
		float, text := rapid.Float64().Draw(t, "float"), rapid.String().Draw(t, "text")
		data := binary.AppendVarint(binary.AppendUvarint(nil, unsigned), signed)
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(float))
		data = append(binary.AppendUvarint(data, uint64(len(text))), text...)
		data = append(data, 7)

		r := Of(data)
		assert.Equal(t, unsigned, r.Uint())
		assert.Equal(t, signed, r.Int())
		assert.Equal(t, float, r.Float())
		assert.Equal(t, text, r.Text())
		assert.EqualValues(t, 7, r.Byte())
		require.NoError(t, r.Done())

		r = Of(data)
		r.SkipUints(2)
		assert.Equal(t, float, r.Float())

		r = Of(data[:rapid.IntRange(0, len(data)-1).Draw(t, "cut")])
		r.Uint()
		r.Int()
		r.Float()
		r.Text()
		r.Byte()
		require.Error(t, r.Done(), "something is missing")
		assert.Zero(t, r.Uint())
		assert.Zero(t, r.Len())
	})
}

func TestReaderRefuses(t *testing.T) {
	number := func(v uint64) []byte { return binary.AppendUvarint(nil, v) }
	for name, c := range map[string]struct {
		data []byte
		read func(r *Reader)
		want string
	}{
		"nothing":            {nil, func(r *Reader) { r.Uint() }, ErrCut.Error()},
		"number without end": {[]byte{0x80}, func(r *Reader) { r.Uint() }, ErrCut.Error()},
		"number too long": {[]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 2}, func(r *Reader) { r.Int() },
			ErrCut.Error()},
		"more than 8 bits": {number(256), func(r *Reader) { r.Uint8() }, "256 where the maximum is 255"},
		"more than 32 bits": {number(1 << 32), func(r *Reader) { r.Uint32() },
			"4294967296 where the maximum is 4294967295"},
		"signed, too small": {binary.AppendVarint(nil, math.MinInt32-1), func(r *Reader) { r.Int32() },
			"more than 32 bits"},
		"more than may be": {number(4), func(r *Reader) { r.Length(3) }, "4 where the maximum is 3"},
		"more than there are": {append(number(3), 1, 2, 3, 4), func(r *Reader) { r.Count(2) },
			"3 where the maximum is 2"},
		"bytes":     {[]byte{1}, func(r *Reader) { r.Bytes(2) }, ErrCut.Error()},
		"skipped":   {[]byte{1, 0x81}, func(r *Reader) { r.SkipUints(2) }, ErrCut.Error()},
		"left over": {[]byte{1, 2}, func(r *Reader) { r.Uint() }, "it has 1 bytes after its end"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Of(c.data)
			c.read(&r)
			assert.ErrorContains(t, r.Done(), c.want)
		})
	}
	r := Of([]byte{1})
	r.Fail(assert.AnError)
	r.Fail(ErrCut)
	assert.Equal(t, assert.AnError, r.Err(), "the first error stays")
}
