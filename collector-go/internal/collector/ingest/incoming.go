package ingest

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"  // senders may compress
	_ "google.golang.org/grpc/encoding/proto" // registers what newCodec looks up
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// incoming is a decoded request, or the reason why it was refused. gRPC itself would end the stream with INTERNAL,
// which does not show a sender that a retry is useless.
//
// Each stream reuses one incoming. After forget, only the block bytes of the message and the objects that
// proto.Unmarshal created may still be in use.
type incoming struct {
	request pb.ExportRequest
	refused error
	decoded time.Duration // duration of decoding

	// Memory into which a request with blocks is decoded.
	wrapped pb.ExportRequest_Batch
	batch   pb.Batch
	blocks  []*pb.Block // all allocated blocks
	used    int         // number of blocks in use
}

// receive reads the next request of a stream. An error means that the stream has ended.
func (in *incoming) receive(g grpc.ServerStream) error { return g.RecvMsg(in) }

// codec is gRPC's protobuf codec, except that it checks requests against their bounds before it decodes them.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*incoming)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	in.decode(owned(data))
	return nil
}

// owned returns a message in memory that no pool reuses. It copies the message only if necessary. The journal keeps the
// bytes of blocks for as long as readers need them, and pooled memory would change meanwhile.
func owned(data mem.BufferSlice) []byte {
	if len(data) != 1 {
		return joined(data)
	}
	if only, unpooled := data[0].(mem.SliceBuffer); unpooled {
		return only
	}
	return bytes.Clone(data[0].ReadOnlyData())
}

// joined returns a message in one piece. Unlike data.Materialize, bytes.Join does not clear the memory before it fills
// it.
func joined(data mem.BufferSlice) []byte {
	var some [16]([]byte) // enough for a batch of 256 KiB without a heap allocation
	parts := some[:0]
	for _, part := range data {
		parts = append(parts, part.ReadOnlyData())
	}
	return bytes.Join(parts, nil)
}

// decode decodes a request and takes ownership of its bytes. It reports errors only in refused, because an error of a
// codec would end the stream with a status that does not name the reason.
func (in *incoming) decode(encoded []byte) {
	begun := time.Now()
	defer func() { in.decoded = time.Since(begun) }()
	in.forget()
	if in.refused = checkBounds(encoded); in.refused != nil {
		return
	}
	if batch, is := onlyBatch(encoded); is {
		in.refused = in.decodeBatch(batch)
	} else if proto.Unmarshal(encoded, &in.request) != nil {
		in.refused = errWire
	}
}

// forget releases a request, but keeps the memory of its blocks for reuse.
func (in *incoming) forget() {
	in.request.Reset()
	list := in.batch.Blocks[:0]
	in.batch.Reset()
	in.batch.Blocks = list
	for _, b := range in.blocks[:in.used] {
		b.Reset()
	}
	if len(in.blocks) > maxSpareBlocks {
		in.blocks, in.batch.Blocks = nil, nil
	}
	in.refused, in.used = nil, 0
}

const maxSpareBlocks = 64

// largestFrame is the largest HTTP/2 frame that gRPC accepts. gRPC does not allow changing it.
const largestFrame = 16 << 10

// frameSizes are the sizes of the pooled buffers. With two sizes, a small frame does not occupy a buffer for a large
// one.
var frameSizes = [...]int{4 << 10, largestFrame}

// FramePool is a pool of memory for the frames that the gRPC server reads. It implements mem.BufferPool. gRPC's own
// pool clears each buffer of 16 KiB, although the frame overwrites it at once and nobody reads it before.
//
// This pool returns buffers with their old content, so use it for reading only. The zero value is ready for use. It is
// safe for concurrent use.
type FramePool struct{ kept [len(frameSizes)]sync.Pool }

// Get returns a buffer of the given length. A buffer that is larger than a frame is newly allocated and zero.
func (p *FramePool) Get(length int) *[]byte {
	for i, size := range frameSizes {
		if length > size {
			continue
		}
		b, is := p.kept[i].Get().(*[]byte)
		if !is {
			fresh := make([]byte, size)
			b = &fresh
		}
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length)
	return &b
}

// Put returns a buffer to the pool. The caller must not use it afterwards.
func (p *FramePool) Put(b *[]byte) {
	if i := slices.Index(frameSizes[:], cap(*b)); i >= 0 {
		p.kept[i].Put(b) // from here on another goroutine may use it
	}
}
