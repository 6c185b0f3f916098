package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc"

	pb "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// client is one sender: a stream, the hosts whose rows it sends, and the batches in flight. One goroutine sends and
// one receives; mu guards what they share. Batches stay in slots until they are acknowledged, so that a batch that the
// collector refuses can be sent again without being generated again.
type client struct {
	load   Load
	hosts  []int
	walk   *Walk
	export pb.IngestService_ExportClient
	conn   *grpc.ClientConn
	epoch  [16]byte

	sequence uint64
	slots    []slot // batches in flight, by sequence modulo their number

	mu           sync.Mutex
	moved        sync.Cond
	acknowledged uint64
	back         uint64        // the first sequence that the collector wants again; 0 if none
	rest         time.Duration // the pause before sending again
	fulls        uint64
	rejected     uint64
	example      string
	failure      error
	latency      *hdrhistogram.Histogram // µs, from the first sending of a batch to its acknowledgement
	received     chan struct{}

	at atomic.Int64 // number of steps sent
}

// slot is a batch in flight, in memory that is reused. sent is zero if the latency of the batch does not count.
type slot struct {
	batch  *pb.Batch
	block  *pb.Block
	values []byte
	sent   time.Time
}

// longestLatency is the upper bound of recorded latencies, in µs.
const longestLatency = int64(10 * time.Minute / time.Microsecond)

// open opens the stream of a topology and waits until the collector has admitted it. The collector limits the batches
// in flight; the load may limit them further. If the collector has no capacity for another stream, the error is
// ResourceExhausted (Full).
func (c *client) open(ctx context.Context, topology string, number int) error {
	var err error
	if c.export, err = pb.NewIngestServiceClient(c.conn).Export(ctx); err != nil {
		return err
	}
	open := &pb.Open{Topology: topology, TopologyId: topology + "-1-1", Host: "sender", Port: uint32(number % 65000)}
	if err := c.export.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Open{Open: open}}); err != nil &&
		!errors.Is(err, io.EOF) {
		return err // on EOF, Recv returns the status
	}
	answer, err := c.export.Recv()
	if err != nil {
		return err
	}
	if !answer.GetOpened().GetTakesBlocks() {
		return errors.New("the collector does not accept blocks: it is older than this program")
	}
	inFlight := int(answer.GetOpened().GetWindow())
	if c.load.InFlight > 0 {
		inFlight = min(inFlight, c.load.InFlight)
	}
	c.slots = make([]slot, inFlight)
	go c.receive()
	return nil
}

// receive reads the collector's answers until the stream ends. It only stores what they say and signals it. The
// sending goroutine sends refused batches again, in await.
func (c *client) receive() {
	defer close(c.received)
	for {
		answer, err := c.export.Recv()
		c.mu.Lock()
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			c.failure = err
		case answer.GetFull() != nil:
			c.fulls++
			c.back, c.rest = answer.GetFull().GetSequence(),
				time.Duration(answer.GetFull().GetRetryAfterMs())*time.Millisecond
		case err == nil:
			c.acknowledge(answer.GetAcknowledgement())
		}
		c.moved.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// acknowledge processes the acknowledgement of all batches up to a sequence: it records their latencies and the
// permanently rejected samples. The caller must hold the lock.
func (c *client) acknowledge(a *pb.Acknowledgement) {
	now := time.Now()
	for ; c.acknowledged < a.GetSequence(); c.acknowledged++ {
		if s := &c.slots[(c.acknowledged+1)%uint64(len(c.slots))]; !s.sent.IsZero() {
			_ = c.latency.RecordValue(min(now.Sub(s.sent).Microseconds(), longestLatency))
		}
	}
	for _, r := range a.GetRejections() {
		c.rejected += r.GetSamples()
		c.example = r.GetReason().String() + ": " + r.GetExample()
	}
}

// await returns when at most inFlight batches are in flight. Meanwhile it sends again the batches that the collector
// refused for lack of capacity, so that a full collector costs only time. It returns the first failure of the stream.
func (c *client) await(inFlight uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.failure != nil:
			return c.failure
		case c.back > c.acknowledged && c.back <= c.sequence:
			from, rest := c.back, c.rest
			c.back = 0
			c.mu.Unlock()
			err := c.again(from, rest)
			c.mu.Lock()
			if err != nil {
				return err
			}
		case c.sequence-c.acknowledged <= inFlight:
			return nil
		default:
			c.moved.Wait()
		}
	}
}

// again sends batches again from a sequence on, after the pause that the collector requested. The batches are still in
// their slots, because a slot is reused only after its batch was acknowledged.
func (c *client) again(from uint64, rest time.Duration) error {
	select {
	case <-time.After(rest):
	case <-c.export.Context().Done():
	}
	for n := from; n <= c.sequence; n++ {
		if err := c.put(c.slots[n%uint64(len(c.slots))].batch); err != nil {
			return err
		}
	}
	return nil
}

// put sends one batch. If the stream has ended, gRPC returns only EOF, so put waits for receive, which gets the
// reason.
func (c *client) put(b *pb.Batch) error {
	err := c.export.Send(&pb.ExportRequest{Message: &pb.ExportRequest_Batch{Batch: b}})
	if errors.Is(err, io.EOF) { // the stream has ended, and receive got the reason
		<-c.received
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.failure
	}
	return err
}

// next returns the slot for the next batch, after the previous batch in that slot was acknowledged.
func (c *client) next() (*slot, error) {
	if err := c.await(uint64(len(c.slots)) - 1); err != nil {
		return nil, err
	}
	return &c.slots[(c.sequence+1)%uint64(len(c.slots))], nil
}

// send numbers and sends a slot's batch. measured states whether its latency counts. Definitions do not count, because
// they are sent before the measured time.
func (c *client) send(s *slot, measured bool) error {
	c.mu.Lock()
	if s.sent = (time.Time{}); measured {
		s.sent = time.Now()
	}
	oldest := c.acknowledged + 1
	c.mu.Unlock()
	c.sequence++
	s.batch.Epoch, s.batch.Sequence, s.batch.OldestHeldSequence = c.epoch[:], c.sequence, min(oldest, c.sequence)
	return c.put(s.batch)
}

// sendBatch sends a batch of definitions, whose latency does not count.
func (c *client) sendBatch(b *pb.Batch) error {
	s, err := c.next()
	if err != nil {
		return err
	}
	*s = slot{batch: b}
	return c.send(s, false)
}

// hostsDefinedAtOnce bounds the hosts in a batch of definitions.
const hostsDefinedAtOnce = 1000

// define sends the definitions that the samples refer to: all series, and a layout for each message, so that a message
// of values needs no names. It returns when the collector has acknowledged them, before anything is measured.
func (c *client) define() error {
	metrics := c.walk.rows.Metrics
	for m := range c.messages() {
		hosts, first := c.part(m)
		for from := 0; from < len(hosts); from += hostsDefinedAtOnce {
			b := &pb.Batch{}
			for i, h := range hosts[from:min(from+hostsDefinedAtOnce, len(hosts))] {
				b.Series = append(b.Series, c.definitions(h, first+from+i)...)
			}
			if err := c.sendBatch(b); err != nil {
				return err
			}
		}
		layout := &pb.Layout{Id: uint32(m) + 1}
		for i := range len(hosts) * metrics {
			layout.SeriesIds = append(layout.SeriesIds, uint32(first*metrics+i)+1)
		}
		if err := c.sendBatch(&pb.Batch{Layouts: []*pb.Layout{layout}}); err != nil {
			return err
		}
	}
	return c.await(0)
}

// definitions returns the series of a host, which is the n-th host of the client. With tags, each series has TSBS'
// tags as its key, so that a collector must store and index them as other stores do.
func (c *client) definitions(host, n int) (all []*pb.SeriesDefinition) {
	metrics := c.walk.rows.Metrics
	for metric := range metrics {
		d := &pb.SeriesDefinition{Id: uint32(n*metrics+metric) + 1, Host: fmt.Sprintf("host_%d", host), Port: 6700,
			Component: "__system", Task: -1,
			Name: Field(metric), IntervalMs: uint32(c.load.Step.Milliseconds()),
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

// part returns the hosts of a message, and the index of the first among the client's hosts. A message has the same
// hosts in each step, so that one layout describes all of its batches.
func (c *client) part(m int) (hosts []int, first int) {
	first = m * c.load.RowsPerBatch
	return c.hosts[first:min(first+c.load.RowsPerBatch, len(c.hosts))], first
}

// sendStep sends the current values of all hosts, one message after the other.
func (c *client) sendStep(timeMs int64, measured bool) error {
	for m := range c.messages() {
		if err := c.sendMessage(m, timeMs, measured); err != nil {
			return err
		}
	}
	return nil
}

// sendMessage sends the current values of a message's hosts when a slot is free. Its latency counts if measured is
// set.
func (c *client) sendMessage(m int, timeMs int64, measured bool) error {
	s, err := c.next()
	if err != nil {
		return err
	}
	hosts, first := c.part(m)
	metrics := c.walk.rows.Metrics
	values := c.walk.Values[first*metrics : (first+len(hosts))*metrics]
	s.fill(values, uint32(m)+1, timeMs, c.load.Trimmed)
	return c.send(s, measured)
}

// fill makes the slot's batch a block of one row. It reuses the slot's memory, because a client that allocates for
// each batch would compete with the collector for the CPU.
func (s *slot) fill(values []float64, layout uint32, timeMs int64, trimmed bool) {
	if s.block == nil {
		s.block = &pb.Block{Count: 1, Codec: pb.ValueCodec_VALUE_CODEC_DOUBLES}
		if trimmed {
			s.block.Codec = pb.ValueCodec_VALUE_CODEC_TRIMMED
		}
		s.batch = &pb.Batch{Blocks: []*pb.Block{s.block}}
	}
	if s.values = s.values[:0]; trimmed {
		s.values = block.AppendTrimmed(s.values, values)
	} else {
		for _, v := range values {
			s.values = binary.LittleEndian.AppendUint64(s.values, math.Float64bits(v))
		}
	}
	s.block.LayoutId, s.block.FirstTimeMs, s.block.Values = layout, timeMs, s.values
}

// close waits until everything is acknowledged, and ends the stream. Permanently rejected samples are an error,
// because a benchmark sends only valid ones.
func (c *client) close() error {
	if err := c.await(0); err != nil {
		return err
	}
	if err := c.export.CloseSend(); err != nil {
		return err
	}
	<-c.received
	switch {
	case c.failure != nil:
		return c.failure
	case c.rejected > 0:
		return fmt.Errorf("the collector rejected %d samples: %s", c.rejected, c.example)
	}
	return c.conn.Close()
}
