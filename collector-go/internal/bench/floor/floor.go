// Package floor is the least that a collector could do: a gRPC stream, a log with fsync, dense sums. What it takes is what the machine and gRPC
// leave to a collector. It owns its wire format and nothing else; it knows no series but by their number.
package floor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// A message is a header of 32 bytes, little-endian: sequence, first series, samples, bytes a sample (8 or 12), slice, each 4 bytes, the rest zero; then
// the samples. One of 8 bytes is a double, of the series that follows the one before; one of 12 has its series' number before it. An answer is the
// sequence up to which all is on disk.
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

// DefaultLogBytes bounds a log as the collector's journal is bounded.
const DefaultLogBytes = 1 << 30

// server is a floor that runs.
type server struct {
	Options
	log *os.File

	mu      sync.Mutex // guards what follows
	waiting []entry
	written int64
	arrived sync.Cond

	cells sync.Mutex
	sums  []cell // series by slice
}

// cell is a series' slice.
type cell struct {
	sum   float64
	count uint32
}

// entry is a message that waits for the log.
type entry struct {
	buffer mem.Buffer // nil ends a stream
	done   chan<- uint32
	number uint32
}

// Run serves until the listener fails.
func Run(o Options) error {
	log, err := os.OpenFile(o.Log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	defer log.Close()
	s := &server{Options: o, log: log, sums: make([]cell, o.Series*o.Slices)}
	s.arrived.L = &s.mu
	listener, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return err
	}
	web := http.NewServeMux()
	web.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ready") })
	web.HandleFunc("/sums", s.answer)
	g := grpc.NewServer(grpc.ForceServerCodecV2(rawCodec{}), grpc.MaxRecvMsgSize(16<<20), grpc.ReadBufferSize(1<<20), grpc.WriteBufferSize(32<<10),
		grpc.InitialWindowSize(16<<20), grpc.InitialConnWindowSize(64<<20))
	g.RegisterService(&grpc.ServiceDesc{ServiceName: "bench.Floor", HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{{StreamName: "Export", Handler: s.export,
		ServerStreams: true, ClientStreams: true}}}, s)
	failed := make(chan error, 3)
	go func() { failed <- s.write() }()
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

// receive takes a stream's messages; it closes done once all of them have been answered for.
func (s *server) receive(stream grpc.ServerStream, done chan uint32) error {
	for {
		var m message
		if err := stream.RecvMsg(&m); err != nil {
			s.enqueue(entry{done: done})
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		number, err := s.add(m.buffer.ReadOnlyData())
		if err != nil {
			s.enqueue(entry{done: done})
			return err
		}
		s.enqueue(entry{m.buffer, done, number})
	}
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

func (s *server) enqueue(e entry) {
	s.mu.Lock()
	s.waiting = append(s.waiting, e)
	s.mu.Unlock()
	s.arrived.Signal()
}

// write writes what waits, syncs it once, and answers for all of it.
func (s *server) write() error {
	var batch []entry
	for {
		s.mu.Lock()
		for len(s.waiting) == 0 {
			s.arrived.Wait()
		}
		batch, s.waiting = s.waiting, batch[:0]
		s.mu.Unlock()
		if err := s.writeBatch(batch); err != nil {
			return err
		}
		for i, e := range batch {
			if e.buffer == nil {
				close(e.done)
			} else {
				e.buffer.Free()
				e.done <- e.number
			}
			batch[i] = entry{}
		}
	}
}

// writeBatch puts messages into the log, which is on disk afterwards.
func (s *server) writeBatch(batch []entry) error {
	if s.written > s.LogBytes {
		if _, err := s.log.Seek(0, io.SeekStart); err != nil {
			return err
		}
		s.written = 0
	}
	for _, e := range batch {
		if e.buffer == nil {
			continue
		}
		n, err := s.log.Write(e.buffer.ReadOnlyData())
		s.written += int64(n)
		if err != nil {
			return err
		}
	}
	return toDisk(s.log)
}
