package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/sender"
)

// client is one sender: a stream, and the hosts whose rows it sends. One goroutine sends. Another one handles the
// collector's answers; what it writes is read after await(0).
type client struct {
	load   Load
	hosts  []int
	walk   *Walk
	stream *sender.Stream
	epoch  []byte

	sequence uint64
	sent     []time.Time // when the batches in flight were first sent, by sequence modulo their number
	at       int         // number of steps sent; the fleet's mu guards changes

	acknowledged uint64
	fulls        uint64
	rejected     uint64
	example      string
	latency      *hdrhistogram.Histogram // µs, from the first sending of a batch to its acknowledgement
}

// longestLatency is the upper bound of recorded latencies, in µs.
const longestLatency = int64(10 * time.Minute / time.Microsecond)

// open opens the stream of the n-th client of a fleet. The collector limits the batches in flight; the load may limit
// them further. If the collector has no capacity for another stream, the error is ResourceExhausted (Full).
func (c *client) open(ctx context.Context, target Target, n int, options ...grpc.DialOption) (err error) {
	open := &pb.Open{Topology: c.load.Topology, TopologyId: c.load.Topology + "-1-1", Host: "sender",
		Port: uint32((6700 + n) % 65000)}
	if c.stream, err = sender.Dial(ctx, target.Address, target.TokenFile, open, c.answered, options...); err != nil {
		return err
	}
	if !c.stream.Opened.GetTakesBlocks() {
		c.stream.Close()
		return errors.New("the collector does not accept blocks: it is older than this program")
	}
	inFlight := int(c.stream.Opened.GetWindow())
	if c.load.InFlight > 0 {
		inFlight = min(inFlight, c.load.InFlight)
	}
	c.sent = make([]time.Time, inFlight)
	return nil
}

// answered processes an answer of the collector. An acknowledgement is for all batches up to a sequence: their
// latencies and the permanently rejected samples are recorded.
func (c *client) answered(response *pb.ExportResponse) {
	if response.GetFull() != nil {
		c.fulls++
	}
	now, a := time.Now(), response.GetAcknowledgement()
	for ; c.acknowledged < a.GetSequence(); c.acknowledged++ {
		sent := c.sent[(c.acknowledged+1)%uint64(len(c.sent))]
		_ = c.latency.RecordValue(min(now.Sub(sent).Microseconds(), longestLatency))
	}
	for _, r := range a.GetRejections() {
		c.rejected += r.GetSamples()
		c.example = r.GetReason().String() + ": " + r.GetExample()
	}
}

// await returns when at most inFlight batches are in flight. Meanwhile it sends again the batches that the collector
// refused for lack of capacity, so that a full collector costs only time.
func (c *client) await(inFlight int) error {
	for {
		refused, err := c.stream.Await(context.Background(), inFlight)
		if err != nil || len(refused) == 0 {
			return err
		}
		for _, b := range refused {
			if err := c.stream.Send(b); err != nil {
				return err
			}
		}
	}
}

// send numbers a batch, and sends it when fewer batches are in flight than the collector and the load allow.
func (c *client) send(b *pb.Batch) error {
	if err := c.await(len(c.sent) - 1); err != nil {
		return err
	}
	c.sequence++
	b.Epoch, b.Sequence = c.epoch, c.sequence
	c.sent[c.sequence%uint64(len(c.sent))] = time.Now()
	return c.stream.Send(b)
}

// definedAtOnce bounds the series in a batch of definitions.
const definedAtOnce = 10_000

// define sends the definitions that the samples refer to: all series, and a layout for each message, so that a message
// of values needs no names. It returns when the collector has acknowledged them, before anything is measured. Their
// latencies do not count.
func (c *client) define() error {
	id := uint32(0)
	for hosts := range slices.Chunk(c.hosts, max(1, definedAtOnce/c.walk.rows.Metrics)) {
		b := &pb.Batch{}
		for _, host := range hosts {
			b.Series = append(b.Series, c.definitions(host, id)...)
			id += uint32(c.walk.rows.Metrics)
		}
		if err := c.send(b); err != nil {
			return err
		}
	}
	for m := range c.messages() {
		layout := &pb.Layout{Id: uint32(m) + 1}
		for cell, end := c.cells(m); cell < end; cell++ {
			layout.SeriesIds = append(layout.SeriesIds, uint32(cell)+1)
		}
		if err := c.send(&pb.Batch{Layouts: []*pb.Layout{layout}}); err != nil {
			return err
		}
	}
	if err := c.await(0); err != nil {
		return err
	}
	c.latency.Reset()
	return nil
}

// definitions returns the series of a host, with ids after the given one. With tags, each series has TSBS' tags as its
// key, so that a collector must store and index them as other stores do.
func (c *client) definitions(host int, id uint32) (all []*pb.SeriesDefinition) {
	for metric := range c.walk.rows.Metrics {
		id++
		d := &pb.SeriesDefinition{Id: id, Host: fmt.Sprintf("host_%d", host), Port: 6700, Component: "__system",
			Task: -1, Name: Field(metric), IntervalMs: uint32(c.load.Step.Milliseconds()),
			Temporality: pb.Temporality_TEMPORALITY_GAUGE, Shape: pb.Shape_SHAPE_NUMBER}
		if c.load.Tags {
			d.Key, d.Shape = []string{Tags(host)}, pb.Shape_SHAPE_MAP
		}
		all = append(all, d)
	}
	return all
}

// messages returns the number of messages per step, each with at most RowsPerBatch hosts.
func (c *client) messages() int {
	return (len(c.hosts) + c.load.RowsPerBatch - 1) / c.load.RowsPerBatch
}

// cells returns which of the walk's values a message has. They belong to the same hosts in each step, so that one
// layout describes all batches of the message. A cell's series has the cell's number plus one as its id.
func (c *client) cells(m int) (begin, end int) {
	size := c.load.RowsPerBatch * c.walk.rows.Metrics
	return m * size, min((m+1)*size, len(c.walk.Values))
}

// sendMessage sends the current values of a message's hosts as a block of one row.
func (c *client) sendMessage(m int, timeMs int64) error {
	begin, end := c.cells(m)
	values := c.walk.Values[begin:end]
	b := &pb.Block{LayoutId: uint32(m) + 1, FirstTimeMs: timeMs, Count: 1, Values: make([]byte, 0, 9*len(values))}
	if c.load.Trimmed {
		b.Codec, b.Values = pb.ValueCodec_VALUE_CODEC_TRIMMED, block.AppendTrimmed(b.Values, values)
	} else {
		b.Codec, b.Values = pb.ValueCodec_VALUE_CODEC_DOUBLES, block.AppendDoubles(b.Values, values)
	}
	return c.send(&pb.Batch{Blocks: []*pb.Block{b}})
}

// close waits until everything is acknowledged, and ends the stream. Permanently rejected samples are an error,
// because a benchmark sends only valid ones.
func (c *client) close() error {
	if err := c.await(0); err != nil {
		return err
	}
	c.stream.Close()
	if c.rejected > 0 {
		return fmt.Errorf("the collector rejected %d samples: %s", c.rejected, c.example)
	}
	return nil
}
