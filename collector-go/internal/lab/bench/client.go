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

// await returns when at most inFlight batches are in flight.
func (c *client) await(inFlight int) error {
	return c.stream.AwaitResending(context.Background(), inFlight)
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

// define sends the definitions that the samples refer to: all series, and a layout for each host, as the plugin has one
// for each worker and source. It returns when the collector has acknowledged them, before anything is measured. Their
// latencies do not count.
func (c *client) define() error {
	id := uint32(0)
	for hosts := range slices.Chunk(c.hosts, max(1, definedAtOnce/c.walk.rows.Metrics)) {
		b := &pb.Batch{}
		for _, host := range hosts {
			layout := &pb.Layout{Id: id/uint32(c.walk.rows.Metrics) + 1}
			for _, d := range c.definitions(host, id) {
				b.Series, layout.SeriesIds = append(b.Series, d), append(layout.SeriesIds, d.GetId())
			}
			b.Layouts = append(b.Layouts, layout)
			id += uint32(c.walk.rows.Metrics)
		}
		if err := c.send(b); err != nil {
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

// sendMessage sends the current values of a message's hosts, a block of one row for each host. Each value takes as few
// bytes as it needs, as the plugin sends it. The block of a host has the host's number plus one as its layout.
func (c *client) sendMessage(m int, timeMs int64) error {
	b, metrics := &pb.Batch{}, c.walk.rows.Metrics
	for host := m * c.load.RowsPerBatch; host < min((m+1)*c.load.RowsPerBatch, len(c.hosts)); host++ {
		b.Blocks = append(b.Blocks, &pb.Block{LayoutId: uint32(host) + 1, FirstTimeMs: timeMs, Count: 1,
			Codec:  pb.ValueCodec_VALUE_CODEC_TRIMMED,
			Values: block.AppendTrimmed(nil, c.walk.Values[host*metrics:(host+1)*metrics])})
	}
	return c.send(b)
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
