package ingest

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip"  // senders may compress
	_ "google.golang.org/grpc/encoding/proto" // registers what newCodec looks up
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// incoming is a request as it was decoded, or why it was not. gRPC itself would end the stream with INTERNAL, which does not tell a
// sender that sending it again is useless.
type incoming struct {
	request pb.ExportRequest
	refused error
}

// receive takes the next request of a stream. The error is the stream's end.
func receive(g grpc.ServerStream) (*incoming, error) {
	in := &incoming{}
	return in, g.RecvMsg(in)
}

// codec is gRPC's for protobuf, but for requests: these are held to their bounds before they are decoded.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*incoming)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	in.decode(buffer.ReadOnlyData())
	return nil
}

func (in *incoming) decode(encoded []byte) {
	if in.refused = checkBounds(encoded); in.refused != nil {
		return
	}
	if proto.Unmarshal(encoded, &in.request) != nil {
		in.refused = errWire
	}
}
