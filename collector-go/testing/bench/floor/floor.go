// Package floor is the least that a collector could do: a gRPC stream, a log with fsync, dense sums. What it takes is
// what the machine and gRPC leave to a collector. It owns its wire format and nothing else; it knows no series but by
// their number.
package floor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/ingest"
)

// A message is a header of 32 bytes, little-endian: sequence, first series, samples, bytes a sample (8 or 12), slice,
// each 4 bytes, the rest zero; then the samples. One of 8 bytes is a double, of the series that follows the one before;
// one of 12 has its series' number before it. An answer is the sequence up to which all is on disk.
const header = 32

// Options are how a floor runs.
type Options struct {
	// Listen is where it takes streams, HTTP where it answers /ready and /sums, host:port.
	Listen, HTTP string
	// Log is the file of its log. LogBytes bounds it: it begins from its start again.
	Log      string
	LogBytes int64
	// Series and Slices are how many there can be.
	Series, Slices int
}

// readBuffer is how much of a connection is read at once: it stays in the processor's nearer caches with what is made
// of it.
const readBuffer = 256 << 10

// DefaultLogBytes bounds a log as the collector's journal is bounded.
const DefaultLogBytes = 1 << 30

// server is a floor that runs.
type server struct {
	Options
	log *log

	mu    sync.Mutex // guards what follows
	cells []*cells
}

// Run serves until the listener fails.
func Run(o Options) error {
	log, err := newLog(o.Log, o.LogBytes)
	if err != nil {
		return err
	}
	defer log.file.Close()
	s := &server{Options: o, log: log}
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return err
	}
	web := http.NewServeMux()
	web.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	web.HandleFunc("/sums", s.answer)
	web.HandleFunc("/debug/pprof/profile", pprof.Profile)
	g := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}), grpc.MaxRecvMsgSize(chunkBytes),
		grpc.ReadBufferSize(readBuffer), grpc.WriteBufferSize(32<<10),
		experimental.BufferPool(&ingest.FramePool{}),
		grpc.InitialWindowSize(16<<20), grpc.InitialConnWindowSize(64<<20))
	g.RegisterService(&grpc.ServiceDesc{ServiceName: "bench.Floor", HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{StreamName: "Export", Handler: s.export,
			ServerStreams: true, ClientStreams: true}}}, s)
	failed := make(chan error, 3)
	go func() { failed <- log.write() }()
	go func() { failed <- http.ListenAndServe(o.HTTP, web) }()
	go func() { failed <- g.Serve(listener) }()
	return <-failed
}

// export is one stream.
func (s *server) export(_ any, stream grpc.ServerStream) error {
	done := make(chan uint32, 1024)
	var answering sync.WaitGroup
	answering.Go(func() { answerAll(stream, done) })
	err := s.receive(stream, done)
	answering.Wait()
	return err
}

// receive takes a stream's messages; done is closed once all of them have been answered for.
func (s *server) receive(stream grpc.ServerStream, done chan uint32) error {
	defer func() {
		_, filled := s.log.reserve(0, answer{to: done, last: true})
		filled()
	}()
	cells := s.newCells()
	for {
		var m message
		if err := stream.RecvMsg(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.take(m.parts, done, cells); err != nil {
			return err
		}
	}
}

// take puts a message into the log and into the stream's cells.
func (s *server) take(parts mem.BufferSlice, done chan<- uint32, cells *cells) error {
	defer parts.Free()
	number, ok := numberOf(parts)
	if !ok {
		return errMalformed
	}
	room, filled := s.log.reserve(parts.Len(), answer{to: done, number: number})
	defer filled()
	parts.CopyTo(room)
	return cells.add(room)
}

// answerAll answers with the newest number that is on disk.
func answerAll(stream grpc.ServerStream, done <-chan uint32) {
	for number := range done {
		for more := true; more; {
			select {
			case next, open := <-done:
				if more = open; open {
					number = next
				}
			default:
				more = false
			}
		}
		answer := binary.LittleEndian.AppendUint32(nil, number)
		if stream.SendMsg(&answer) != nil {
			for range done { // the stream has ended: nobody wants to know
			}
		}
	}
}
