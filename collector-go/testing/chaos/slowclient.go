package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
)

// slow client is a connection that sends a byte a second of something that never ends, and does everything else as it
// should: it reads, and answers pings between its frames.
type slowClient struct {
	connection net.Conn
	drip       func(ctx context.Context) error // sends the next byte

	mu     sync.Mutex // of what is written
	framer *http2.Framer
	inside bool // of a frame: nothing else may be written
}

// slowClientKind is how one is slow.
type slowClientKind struct {
	name  string
	http  bool
	begin func(l *slowClient) error
}

const dripEvery = time.Second

var slowClientKinds = []slowClientKind{
	{name: "gRPC, the preface", begin: func(l *slowClient) error {
		l.inside = true
		l.drips([]byte(http2.ClientPreface))
		return nil
	}},
	{name: "gRPC, a frame", begin: func(l *slowClient) error {
		if err := l.preface(); err != nil {
			return err
		}
		l.inside = true
		l.drips([]byte{0, 0x40, 0, byte(http2.FrameHeaders), 0, 0, 0, 0, 1})
		return nil
	}},
	{name: "gRPC, pings of no stream", begin: func(l *slowClient) error {
		if err := l.preface(); err != nil {
			return err
		}
		l.drips([]byte{0, 0, 8, byte(http2.FramePing), 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8})
		return nil
	}},
	{name: "gRPC, the Open", begin: func(l *slowClient) error {
		if err := errors.Join(l.preface(), l.headers()); err != nil {
			return err
		}
		l.drip = func(context.Context) error { return l.data([]byte{0}) }
		return l.data([]byte{0, 0, 0, 0x40})
	}},
	{name: "gRPC, a batch", begin: func(l *slowClient) error {
		open, err := proto.Marshal(
			&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: &pb.Open{Topology: "slow-client", Host: "h"}}})
		if err != nil {
			return err
		}
		if err := errors.Join(l.preface(), l.headers(), l.data(append([]byte{0, 0, 0, 0, byte(len(open))}, open...)),
			l.data([]byte{0, 0, 0x20, 0, 0})); err != nil {
			return err
		}
		l.drip = func(context.Context) error { return l.data([]byte{0}) }
		return nil
	}},
	{name: "HTTP, a header", http: true, begin: func(l *slowClient) error {
		l.inside = true
		l.drips([]byte("GET /api/v1/query?query=1 HTTP/1.1\r\nHost: localhost\r\nX-Slow: x"))
		return nil
	}},
	{name: "HTTP, a body", http: true, begin: func(l *slowClient) error {
		l.inside = true
		l.drips([]byte("x"))
		_, err := l.connection.Write(
			[]byte("POST /api/v1/annotations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"))
		return err
	}},
}

// drips sends these bytes one by one, and the last one over and over.
func (l *slowClient) drips(text []byte) {
	l.drip = func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, err := l.connection.Write(text[:1])
		if len(text) > 1 {
			text = text[1:]
		}
		return err
	}
}

func (l *slowClient) preface() error {
	_, err := l.connection.Write([]byte(http2.ClientPreface))
	return errors.Join(err, l.framer.WriteSettings())
}

func (l *slowClient) headers() error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{{":method", "POST"}, {":scheme", "http"},
		{":path", pb.IngestService_Export_FullMethodName}, {":authority", "localhost"},
		{"content-type", "application/grpc"}, {"te", "trailers"}} {
		if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			return err
		}
	}
	return l.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
}

func (l *slowClient) data(piece []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.framer.WriteData(1, false, piece)
}

// newSlowClient connects from an address.
func newSlowClient(ctx context.Context, from, to string) (*slowClient, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	connection, err := dialer.DialContext(ctx, "tcp", to)
	if err != nil {
		return nil, err
	}
	return &slowClient{connection: connection, framer: http2.NewFramer(connection, connection)}, nil
}

// live begins, drips until the collector closes the connection, and returns how long that took.
func (l *slowClient) live(ctx context.Context, kind slowClientKind) (time.Duration, error) {
	defer l.connection.Close()
	begun := time.Now()
	if err := kind.begin(l); err != nil {
		return time.Since(begun), nil //nolint:nilerr // it was cut at once
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		l.read(kind)
	}()
	for {
		select {
		case <-closed:
			return time.Since(begun), nil
		case <-time.After(dripEvery):
		case <-ctx.Done():
			return time.Since(begun), fmt.Errorf("%s: not cut: %w", kind.name, ctx.Err())
		}
		if err := l.drip(ctx); err != nil {
			return time.Since(begun), nil //nolint:nilerr // it was cut
		}
	}
}

// read takes what the collector sends until it closes the connection, and answers pings where a frame may be written.
func (l *slowClient) read(kind slowClientKind) {
	if kind.http {
		buffer := make([]byte, 4096)
		for {
			if _, err := l.connection.Read(buffer); err != nil {
				return
			}
		}
	}
	for {
		frame, err := l.framer.ReadFrame()
		if err != nil {
			return
		}
		if l.inside {
			continue
		}
		l.mu.Lock()
		switch f := frame.(type) {
		case *http2.PingFrame:
			if !f.IsAck() {
				_ = l.framer.WritePing(true, f.Data)
			}
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = l.framer.WriteSettingsAck()
			}
		}
		l.mu.Unlock()
	}
}
