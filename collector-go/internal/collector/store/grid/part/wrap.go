package part

import (
	"encoding/binary"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/varint"
)

// These are the ways in which a page or block is stored.
const (
	plain      byte = iota
	compressed      // with Zstandard, after its length
)

// maxUnpacked limits the size of what is compressed, so that damaged bytes cannot make a reader reserve much memory.
const maxUnpacked = 1 << 20

// encoder and decoder are shared, because making one costs more than using it.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(128<<10))
		if err != nil {
			panic(err) // an option is invalid
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxUnpacked),
			zstd.IgnoreChecksum(true))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// wrap appends a page or block in its stored form. It is compressed if that saves at least a quarter; otherwise
// decompressing it would not be worthwhile. This is decided for each page or block alone, and its first byte records
// it.
func wrap(dst, b []byte) []byte {
	if len(b) > maxUnpacked {
		return append(append(dst, plain), b...)
	}
	start := len(dst)
	dst = binary.AppendUvarint(append(dst, compressed), uint64(len(b)))
	body := len(dst)
	dst = encoder().EncodeAll(b, dst)
	if len(dst)-body <= len(b)/4*3 {
		return dst
	}
	return append(append(dst[:start], plain), b...)
}

// unwrap is the inverse of wrap. The decompressed length is stored twice, before the compressed data and in it. Both
// must agree and be at most maxUnpacked before memory is reserved.
func unwrap(b []byte) ([]byte, error) {
	if len(b) == 0 || b[0] > compressed {
		return nil, errContent
	}
	if b[0] == plain {
		return b[1:], nil
	}
	r := varint.Of(b[1:])
	size := r.Length(maxUnpacked)
	var head zstd.Header
	if r.Err() != nil || head.Decode(r.Rest()) != nil || head.HasFCS && head.FrameContentSize != uint64(size) {
		return nil, errContent
	}
	out, err := decoder().DecodeAll(r.Rest(), make([]byte, 0, size))
	if err != nil || len(out) != size {
		return nil, errContent
	}
	return out, nil
}
