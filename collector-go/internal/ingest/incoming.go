package ingest

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers what newCodec looks up
	"google.golang.org/grpc/mem"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// incoming is a stream's requests on a channel, so that a stream can wait for several things at once. Its goroutine ends
// when the handler has returned, since gRPC then ends Recv.
type incoming struct {
	messages chan message
	stopped  chan struct{}
}

// message is a request, or the error that ended the stream.
type message struct {
	request *pb.ExportRequest
	err     error
}

func receive(g grpc.BidiStreamingServer[pb.ExportRequest, pb.ExportResponse]) *incoming {
	in := &incoming{messages: make(chan message), stopped: make(chan struct{})}
	go in.run(g)
	return in
}

func (in *incoming) run(g grpc.BidiStreamingServer[pb.ExportRequest, pb.ExportResponse]) {
	for {
		request, err := g.Recv()
		select {
		case in.messages <- message{request, err}:
		case <-in.stopped:
			return
		}
		if err != nil {
			return
		}
	}
}

func (in *incoming) stop() { close(in.stopped) }

// codec is gRPC's for protobuf, but that an ExportRequest which cannot be decoded arrives empty: gRPC itself would end the
// stream with INTERNAL, which does not tell a sender that sending it again is useless.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	err := c.CodecV2.Unmarshal(data, v)
	if request, ok := v.(*pb.ExportRequest); ok && err != nil {
		request.Reset()
		return nil
	}
	return err
}
