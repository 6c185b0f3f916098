package feed

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

const (
	corePartition = time.Hour
	coreRetention = 30 * time.Hour
	// as long as the journal promises to know a batch; the plugin holds it for an hour
	coreHold = 24 * time.Hour
)

// core consists of senders, one disk with a journal, a feed's checkpoints and a store, and a record of what was
// acknowledged.
type core struct {
	t      *testing.T
	random *rand.Rand
	disk   *disktest.Memory
	clock  atomic.Int64

	journal    *journal.Journal
	store      *grid.Store
	retention  *Retention
	feed       *Feed
	end        context.CancelFunc
	ran        chan error
	closeAtEnd bool

	senders   []*coreSender
	epochs    uint64
	journaled *journaled

	mu            sync.Mutex
	acknowledged  map[batchName]bool
	refused       int
	refusedBefore int   // when refusedNow was last called
	refusal       error // the last immediate refusal
	waiting       sync.WaitGroup

	kills, powerLosses, closes, abandoned int

	// from this acknowledgement on senders receive none, as if the process ended before it is sent; 0 if they receive
	// all
	acks, deafFrom int
	fault          func(call int, op, name string) error // for every disk from its start on; nil for none
	boots          atomic.Int32                          // starts, including failed ones
	offLoses       bool                                  // whether a machine that dies while it closes loses its power
}

// coreSender is one producer. It holds what is not acknowledged, and sends it again.
type coreSender struct {
	place    journal.ProducerDefined
	epoch    journal.Epoch
	sequence uint64
	held     []*sent
	cpuMs    float64
	count    uint64
}

func newCore(t *testing.T, seed uint64) *core {
	c := &core{t: t, random: rand.New(rand.NewPCG(seed, 11)), disk: disktest.NewMemory(seed),
		acknowledged: map[batchName]bool{}}
	c.journaled = newJournaled(t)
	c.clock.Store(t0)
	c.epochs = seed << 16
	for i := range 1 + c.random.IntN(3) {
		c.senders = append(c.senders,
			&coreSender{place: journal.ProducerDefined{Topology: "t", TopologyID: "t-1", Host: "h",
				Port: 6700 + uint32(i), Task: int32(i)}})
		c.newEpoch(c.senders[i])
	}
	c.open()
	t.Cleanup(func() {
		c.end()
		_ = c.journal.Close()
		c.dropStore()
	})
	return c
}

func (c *core) newEpoch(s *coreSender) {
	c.epochs++
	binary.BigEndian.PutUint64(s.epoch[:], c.epochs)
	s.sequence, s.held, s.cpuMs, s.count = 0, nil, 0, 0
}

// newProducer replaces a sender by a new process. What the old one held is lost, unless it was journaled.
func (c *core) newProducer(i int) {
	c.settle()
	s := c.senders[i]
	if id, err := c.journal.DefineProducer(s.place); err == nil {
		_ = c.journal.AppendControl(&journal.Disconnected{Producer: id, TimeMs: c.clock.Load()})
	}
	c.newEpoch(s)
	c.connect(s)
}

func (c *core) feedOptions() Options {
	o := DefaultOptions("store", "/feeds")
	o.FS, o.CheckpointTicks, o.CloseAtEnd = c.disk, 6, c.closeAtEnd
	o.Slicer.LatenessMs, o.Slicer.BacklogMs, o.Slicer.KeepMs = 12_000, 40_000, 90_000
	return o
}

func (c *core) openStore() { require.NoError(c.t, c.tryOpenStore()) }

func (c *core) tryOpenStore() (err error) {
	o := grid.DefaultOptions()
	o.FS, o.Partition, o.RetentionTime, o.RetentionBytes, o.MinFreeBytes, o.ReclaimAfter = c.disk, corePartition,
		coreRetention, 0, 0, 0
	o.FlushHandOvers, o.IdleHandOvers = 9, 12
	o.Now = func() time.Time { return time.UnixMilli(c.clock.Load()) }
	c.store, err = grid.Open("/store", o)
	return err
}

// dropStore ends the store without writing what it holds.
func (c *core) dropStore() {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	_ = c.store.Close(done)
}

// open starts a collector, and its senders reconnect. If the machine dies meanwhile, or its disk prevents the start, it
// tries again.
func (c *core) open() {
	for {
		err := c.tryOpen()
		if err == nil {
			break
		}
		off := c.disk.Off()
		require.True(c.t, off || errors.Is(err, disktest.ErrInputOutput), "%v", err)
		c.disk = c.disk.Reboot(off && c.offLoses)
	}
	for _, s := range c.senders {
		c.connect(s)
		c.resend(s)
	}
}

// tryOpen starts a collector. After an error, none of its parts runs.
func (c *core) tryOpen() error {
	c.boots.Add(1)
	if c.fault != nil {
		c.disk.SetFault(c.fault)
	}
	o := journal.DefaultOptions()
	o.FS, o.SegmentBytes, o.MaxBytes, o.RetryInterval, o.MakeRoomAfter = c.disk, 8<<10, 512<<10, time.Millisecond, 0
	o.RingBytes = []int64{0, 2 << 10, 1 << 20}[c.random.IntN(3)]
	var err error
	if c.journal, err = journal.Open("/journal", o); err != nil {
		return err
	}
	c.retention = NewRetention(c.journal.Release)
	c.retention.Join("journaled", nil)
	if err := c.tryOpenStore(); err != nil {
		_ = c.journal.Close()
		return err
	}
	if c.feed, err = New(c.journal, c.store, c.retention, c.feedOptions()); err != nil {
		_ = c.journal.Close()
		c.dropStore()
		return err
	}
	c.feed.patience = journal.Backoff{First: 100 * time.Microsecond, Last: time.Millisecond, SkipAfter: time.Minute}
	c.ran = make(chan error, 1)
	var ctx context.Context
	ctx, c.end = context.WithCancel(context.Background())
	go func(f *Feed, ran chan error) { ran <- f.Run(ctx) }(c.feed, c.ran)
	c.disk.SetReadFault(nil)
	if err := c.journal.AppendControl(&journal.Started{TimeMs: c.clock.Load()}); err != nil {
		c.end()
		_ = c.journal.Close()
		require.NoError(c.t, <-c.ran)
		c.dropStore()
		return err
	}
	return nil
}

func (c *core) connect(s *coreSender) {
	id, err := c.journal.DefineProducer(s.place)
	require.NoError(c.t, err)
	require.NoError(c.t, c.journal.AppendControl(&journal.Connected{Producer: id, TimeMs: c.clock.Load()}))
}

// second lets a second pass. Some senders send, partly late or out of order, and then the tick follows.
func (c *core) second() {
	c.clock.Add(1000)
	for _, s := range c.senders {
		if c.random.IntN(12) > 0 {
			c.send(s)
		}
		if c.random.IntN(25) == 0 {
			c.settle()
			c.resend(s) // a new stream
		}
	}
	_ = c.journal.AppendControl(&journal.Tick{TimeMs: c.clock.Load()})
}

func (s *coreSender) series(name, component string, task int32, shape metric.Shape, temporality metric.Temporality,
	intervalMs, spanMs int64) metric.Raw {
	return metric.Raw{Worker: metric.Worker{Topology: s.place.Topology, Host: s.place.Host, Port: s.place.Port},
		Name: name, Component: component,
		Task: task, Shape: shape, Temporality: temporality, IntervalMs: intervalMs, PackSpanMs: spanMs}
}

// send creates a batch and offers it.
func (c *core) send(s *coreSender) {
	nowMs := c.clock.Load()
	s.sequence++
	b := &sent{name: batchName{s.epoch, s.sequence}, receivedMs: nowMs}
	add := func(series metric.Raw, v float64) {
		at := nowMs
		switch c.random.IntN(30) {
		case 0:
			at -= c.random.Int64N(60_000) // late, or too late
		case 1:
			at += c.random.Int64N(1000) // off the grid
		}
		b.samples = append(b.samples, sentSample{series, at, v})
	}
	s.cpuMs += float64(c.random.IntN(700)) / 3
	add(s.series("cpu.user_ms", "__system", -1, metric.ShapeSampler, metric.Cumulative, 1000, 10_000), s.cpuMs)
	add(s.series("heap.committed_bytes", "__system", -1, metric.ShapeSampler, metric.Gauge, 1000, 10_000),
		float64(c.random.IntN(1<<30)))
	if c.random.IntN(8) == 0 {
		add(s.series("workerCpuUsage", "__system", -1, metric.ShapeNumber, 0, 10_000, 0), 0.25)
	}
	if c.random.IntN(6) == 0 {
		task := int32(c.random.IntN(12))
		add(s.series("rare", "FilterBolt", task, metric.ShapeNumber, 0, 10_000, 0), float64(c.random.IntN(100)))
	}
	if nowMs%5000 == 0 {
		b.blocks = append(b.blocks, c.block(s, nowMs))
	}
	if nowMs%10_000 == 0 {
		s.count += uint64(c.random.IntN(50))
		b.histograms = append(b.histograms,
			sentSample{s.series("bullet_filter_latency_seconds", "FilterBolt", 9, metric.ShapeHistogram,
				metric.Cumulative, 10_000, 0), nowMs, float64(s.count)})
	}
	s.held = append(s.held, b)
	c.journaled.sent[b.name] = b
	c.offer(s, b)
}

// block returns a pack of five seconds with two series, or for a while with three.
func (c *core) block(s *coreSender, nowMs int64) sentBlock {
	b := sentBlock{firstMs: nowMs - 4000, layout: []metric.Raw{
		s.series("heap.used_bytes", "__system", -1, metric.ShapeSampler, metric.Gauge, 1000, 10_000),
		s.series("cpu.system_ms", "__system", -1, metric.ShapeSampler, metric.Cumulative, 1000, 10_000)}}
	if nowMs/100_000%2 == 0 {
		b.layout = append(b.layout, s.series("bullet_active_queries", "JoinBolt", 7, metric.ShapeNumber, 0, 1000, 0))
	}
	if c.random.IntN(20) == 0 {
		b.firstMs -= c.random.Int64N(60_000)
	}
	for column := range b.layout {
		for row := range 5 {
			v := float64(c.random.IntN(1000))
			if column == 1 {
				v = s.cpuMs/2 + float64(row)
			}
			b.values = append(b.values, v)
		}
	}
	return b
}

// resend offers what a sender holds, from the oldest batch. The sender abandons what it held for too long, because the
// journal may no longer know it.
func (c *core) resend(s *coreSender) {
	held := len(s.held)
	s.held = slices.DeleteFunc(s.held, func(b *sent) bool {
		return c.clock.Load()-b.receivedMs > coreHold.Milliseconds()
	})
	c.abandoned += held - len(s.held)
	for _, b := range slices.Clone(s.held) {
		c.offer(s, b)
	}
}

// offer appends a batch with the ids that are defined at this moment.
func (c *core) offer(s *coreSender, b *sent) {
	c.waiting.Add(1)
	_, err := c.journal.Append(c.translate(s, b), func(err error) {
		defer c.waiting.Done()
		c.mu.Lock()
		defer c.mu.Unlock()
		if err == nil {
			if c.acks++; c.deafFrom == 0 || c.acks < c.deafFrom {
				c.acknowledged[b.name] = true
			}
		} else if c.refused++; !errors.Is(err, journal.ErrFull) {
			c.t.Error(err)
		}
	})
	if err != nil {
		c.mu.Lock() // the journal's goroutine may be refusing an earlier batch at this moment
		c.refused++
		c.refusal = err
		c.mu.Unlock()
		c.waiting.Done()
		require.ErrorIs(c.t, err, journal.ErrFull)
	}
}

func (c *core) translate(s *coreSender, b *sent) *journal.Batch {
	producer, err := c.journal.DefineProducer(s.place)
	require.NoError(c.t, err)
	to := &journal.Batch{Producer: producer, Epoch: b.name.epoch, Sequence: b.name.sequence, SentMs: b.receivedMs,
		ReceivedMs: c.clock.Load()}
	define := func(series metric.Raw) journal.SeriesID {
		id, err := c.journal.Define(series)
		require.NoError(c.t, err)
		return id
	}
	for _, sample := range b.samples {
		to.IDs, to.TimesMs, to.Values = append(to.IDs, define(sample.series)), append(to.TimesMs, sample.timeMs),
			append(to.Values, sample.value)
	}
	for _, x := range b.blocks {
		var ids []journal.SeriesID
		for _, series := range x.layout {
			ids = append(ids, define(series))
		}
		layout, err := c.journal.DefineLayout(ids)
		require.NoError(c.t, err)
		to.Blocks = append(to.Blocks,
			journal.Block{Layout: layout, Block: block.Block{Columns: len(ids), Rows: 5, FirstMs: x.firstMs,
				StepMs: 1000,
				Codec:  block.Trimmed, Values: block.AppendTrimmed(nil, x.values)}})
	}
	for _, h := range b.histograms {
		n := uint64(h.value)
		to.Histograms = append(to.Histograms, &bulletmetricsv1.HistogramSample{SeriesId: uint32(define(h.series)),
			TimeMs: h.timeMs, Schema: 3,
			ZeroThreshold: 0.0005, Count: n, ZeroCount: n - n/2, Sum: h.value / 10,
			PositiveSpans: []*bulletmetricsv1.BucketSpan{{Offset: 2, Length: 1}}, PositiveCounts: []uint64{n / 2}})
	}
	return to
}

// readJournal reads all that is durable, and allows the journal to release it.
func (c *core) readJournal() { c.journaled.catchUp(c.journal, c.retention) }

// settle waits for every answer, and lets senders forget what was acknowledged.
func (c *core) settle() {
	c.waiting.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.senders {
		s.held = slices.DeleteFunc(s.held, func(b *sent) bool { return c.acknowledged[b.name] })
	}
}
