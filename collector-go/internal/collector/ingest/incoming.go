package ingest

import (
	"bytes"
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
// which does not show a sender that a retry is useless. Each stream reuses one. After forget, only the block bytes of
// the message and the objects that proto.Unmarshal made may still be in use.
type incoming struct {
	request pb.ExportRequest
	refused error
	decoded time.Duration // what decoding took

	// What a request of blocks is decoded into.
	wrapped pb.ExportRequest_Batch
	batch   pb.Batch
	blocks  []*pb.Block // all that there are
	used    int         // of blocks
}

// receive takes the next request of a stream. The error is the stream's end.
func (in *incoming) receive(g grpc.ServerStream) error { return g.RecvMsg(in) }

// codec is gRPC's protobuf codec, except that requests are checked against their bounds before they are decoded.
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

// owned returns a message in memory that no pool reuses, and copies it only when necessary. The journal keeps block
// bytes for as long as readers need them, so pooled memory would change under them.
func owned(data mem.BufferSlice) []byte {
	if len(data) != 1 {
		return joined(data)
	}
	if only, unpooled := data[0].(mem.SliceBuffer); unpooled {
		return only
	}
	return bytes.Clone(data[0].ReadOnlyData())
}

// joined is a message in one piece. bytes.Join does not clear the memory that it fills, as data.Materialize does.
func joined(data mem.BufferSlice) []byte {
	var some [16]([]byte) // enough for a batch of a quarter of a MiB without memory from the heap
	parts := some[:0]
	for _, part := range data {
		parts = append(parts, part.ReadOnlyData())
	}
	return bytes.Join(parts, nil)
}

// decode takes over the encoded request: its bytes are the request's from now on. It fails in no other way than by
// setting refused, because an error of a codec would end the stream with a status that does not name the reason.
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

// forget releases a request, but keeps the memory of its blocks for the next one.
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
