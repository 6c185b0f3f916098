package ingest

import (
	"errors"
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// receiveStatus is the status for a failed Recv. gRPC's own words for what cannot be decoded, or is too large, do not tell a
// sender that sending it again is useless; ours do.
func receiveStatus(err error, maxBatchBytes int) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	st := status.Convert(err)
	switch {
	case st.Code() == codes.ResourceExhausted:
		return status.Errorf(codes.InvalidArgument, "a request is larger than max_batch_bytes, %d: %s", maxBatchBytes, st.Message())
	case st.Code() == codes.Internal && strings.Contains(st.Message(), "unmarshal"):
		return status.Errorf(codes.InvalidArgument, "a request is no ExportRequest: %s", st.Message())
	}
	return err
}
