package floor

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/bench"
)

// Load is how rows are sent to a floor.
type Load struct {
	Streams, PerMessage int
	Steps, StepsASlice  int
	// SampleBytes is 8, or 12 with each sample's series before it.
	SampleBytes int
	// InFlight is how many messages of a stream are not answered yet at most.
	InFlight int
	// Pace is the time from one step to the next, over which a step's messages are spread; 0 sends as fast as possible.
	Pace time.Duration
}

// openSlices bounds the slices that have cells. The next slice takes the cells of the oldest one.
const openSlices = 6

// Slices is how many slices its rows are in at once.
func (l Load) Slices() int { return min((l.Steps+l.StepsASlice-1)/l.StepsASlice, openSlices) }

// Sent is what was sent, and how long answers took.
type Sent struct {
	Sum   float64 // of all samples
	Bytes int64   // of all messages
	Ack   bench.Quantiles
}

// longest is the longest time to an answer that is measured, in us.
const longest = 60_000_000

// Send sends rows, and returns when all are on disk.
func Send(ctx context.Context, address string, rows *bench.Rows, l Load) (sent Sent, err error) {
	conns := make([]*grpc.ClientConn, l.Streams)
	for i := range conns {
		if conns[i], err = grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithReadBufferSize(32<<10), grpc.WithWriteBufferSize(1<<20)); err != nil {
			return sent, err
		}
		defer conns[i].Close()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var running sync.WaitGroup
	var mu sync.Mutex
	took := hdrhistogram.New(1, longest, 3)
	for i, conn := range conns {
		running.Go(func() {
			first, last := rows.Hosts*i/l.Streams, rows.Hosts*(i+1)/l.Streams
			c := &client{load: l, metrics: rows.Metrics, first: first, walk: rows.Walk(hosts(first, last)),
				took: hdrhistogram.New(1, longest, 3)}
			wrong := c.send(ctx, conn)
			mu.Lock()
			defer mu.Unlock()
			if wrong != nil && err == nil {
				err = wrong
				cancel()
			}
			for _, v := range c.walk.Sums {
				sent.Sum += v
			}
			sent.Bytes += c.sent
			took.Merge(c.took)
		})
	}
	running.Wait()
	at := func(q float64) float64 { return float64(took.ValueAtQuantile(q)) / 1000 }
	sent.Ack = bench.Quantiles{P50: at(50), P99: at(99), P999: at(99.9)}
	return sent, err
}

func hosts(from, to int) (all []int) {
	for h := from; h < to; h++ {
		all = append(all, h)
	}
	return all
}

// client is one stream.
type client struct {
	load    Load
	metrics int
	first   int // its first host
	walk    *bench.Walk
	number  uint32
	sent    int64
	took    *hdrhistogram.Histogram // us to the answers; read once send has returned

	mu      sync.Mutex
	waiting []time.Time // when each message that is not answered was sent
}

// answered notes how long the messages took that are on disk now.
func (c *client) answered(messages uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range c.waiting[:messages] {
		_ = c.took.RecordValue(min(time.Since(at).Microseconds(), longest))
	}
	c.waiting = c.waiting[messages:]
}

// waitUntil waits until a message is due.
func (c *client) waitUntil(ctx context.Context, due time.Time) error {
	select {
	case <-time.After(time.Until(due)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *client) send(ctx context.Context, conn *grpc.ClientConn) error {
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{StreamName: "Export", ServerStreams: true, ClientStreams: true},
		"/bench.Floor/Export", grpc.ForceCodecV2(rawCodec{}))
	if err != nil {
		return err
	}
	room := make(chan uint32, 1024)
	var answers sync.WaitGroup
	var ended error
	answers.Go(func() {
		defer close(room)
		for last := uint32(0); ; {
			var m message
			if ended = stream.RecvMsg(&m); ended != nil {
				return
			}
			number, _ := numberOf(m.parts)
			m.parts.Free()
			c.answered(number - last)
			last = number
			room <- number
		}
	})
	acknowledged := uint32(0)
	await := func(inFlight int) error {
		for int(c.number-acknowledged) > inFlight {
			next, open := <-room
			if !open {
				return fmt.Errorf("the floor ended the stream: %w", ended)
			}
			acknowledged = next
		}
		return nil
	}
	begun := time.Now()
	for step := range c.load.Steps {
		c.walk.Next()
		for from := 0; from < len(c.walk.Values); from += c.load.PerMessage * c.metrics {
			if err := await(c.load.InFlight - 1); err != nil {
				return err
			}
			if c.load.Pace > 0 {
				part := c.load.Pace * time.Duration(from) / time.Duration(len(c.walk.Values))
				if err := c.waitUntil(ctx, begun.Add(time.Duration(step)*c.load.Pace+part)); err != nil {
					return err
				}
			}
			to := min(from+c.load.PerMessage*c.metrics, len(c.walk.Values))
			body := c.encode(from, to, step/c.load.StepsASlice%c.load.Slices())
			c.sent += int64(len(body))
			c.mu.Lock()
			c.waiting = append(c.waiting, time.Now())
			c.mu.Unlock()
			if err := stream.SendMsg(&body); err != nil {
				return err
			}
		}
	}
	if err := await(0); err != nil {
		return err
	}
	err = stream.CloseSend()
	for range room { // until the other side has ended it too
	}
	answers.Wait()
	return err
}

// encode makes a message of some of the present values.
func (c *client) encode(from, to, slice int) []byte {
	size, first := c.load.SampleBytes, c.first*c.metrics+from
	c.number++
	body := make([]byte, header+(to-from)*size)
	for i, v := range []int{int(c.number), first, to - from, size, slice} {
		binary.LittleEndian.PutUint32(body[4*i:], uint32(v))
	}
	at := body[header:]
	for i, v := range c.walk.Values[from:to] {
		if size == 12 {
			binary.LittleEndian.PutUint32(at, uint32(first+i))
			at = at[4:]
		}
		binary.LittleEndian.PutUint64(at, math.Float64bits(v))
		at = at[8:]
	}
	return body
}
