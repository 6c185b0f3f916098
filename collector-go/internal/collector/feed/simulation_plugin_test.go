package feed

import (
	"encoding/binary"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// The plugin's ExportOptions.
const (
	keepMs             = 3_600_000
	openTimeoutMs      = 6_000
	answerTimeoutMs    = 10_000
	minBackoffMs       = 250
	maxBackoffMs       = 3_000
	maxBrokenBackoffMs = 8_000
	steadyMs           = 10_000
	maxWindow          = 64
)

// plugin is the sender in a worker, like plugin-java's Exporter and Outbox. Batches are held until they are
// acknowledged or an hour old. The window limits those in flight. After Full or a lost stream all of them are sent
// again, oldest first.
type plugin struct {
	*simulated
	link    *link
	place   journal.ProducerDefined
	clockMs int64 // how far its clock is ahead
	driftPM int64 // drift of its clock, in ms per million ms

	epoch    journal.Epoch
	sequence uint64
	held     []*sent // oldest first; the first ones are in flight
	sending  int
	batches  int64
	cpuMs    float64
	count    uint64
	expired  uint64
	gone     bool

	conn        *conn // nil if there is none
	opened      bool
	beganMs     int64
	deadlineMs  int64
	fullUntilMs int64
	retryAtMs   int64
	rounds      int
	window      int
	allowed     int
	series      map[metric.Raw]uint32
	layouts     map[string]uint32
	ids         uint32
	wire        bulletmetricsv1.Batch
}

func (w *simulated) newPlugin(place journal.ProducerDefined) *plugin {
	p := &plugin{simulated: w, place: place, link: &link{simulated: w, delayMs: 1 + w.upTo(30)},
		driftPM: w.upTo(400) - 200}
	p.begin()
	w.plugins = append(w.plugins, p)
	w.at(w.upTo(1000), "make", p.make)
	w.at(w.upTo(1000), "step", p.stepAgain)
	return p
}

// begin starts a worker. What the one before it held is lost.
func (p *plugin) begin() {
	p.epochs++
	binary.BigEndian.PutUint64(p.epoch[:], p.epochs)
	p.sequence, p.held, p.sending, p.cpuMs, p.count, p.expired = 0, nil, 0, 0, 0, 0
}

// now returns the plugin's clock.
func (p *plugin) now() int64 { return p.nowMs + p.clockMs + (p.nowMs-t0)*p.driftPM/1_000_000 }

func (p *plugin) stepAgain() {
	if p.gone {
		return
	}
	p.step()
	p.at(900+p.upTo(200), "step", p.stepAgain)
}

// step does everything that is scheduled.
func (p *plugin) step() {
	p.expire()
	switch {
	case p.conn == nil && p.nowMs >= p.retryAtMs:
		p.conn, p.opened, p.sending = p.dial(), false, 0
		p.series, p.layouts, p.ids = map[metric.Raw]uint32{}, map[string]uint32{}, 0
		p.beganMs, p.deadlineMs, p.fullUntilMs, p.allowed = p.nowMs, p.nowMs+openTimeoutMs, 0, 1
	case p.conn == nil:
	case p.nowMs >= p.deadlineMs && (!p.opened || p.sending > 0):
		p.happen["timeouts"]++
		p.lost(p.conn, 0)
	case p.opened && p.nowMs >= p.fullUntilMs:
		for p.sending < min(p.allowed, p.window) && p.sending < len(p.held) {
			if p.sending == 0 {
				p.deadlineMs = p.nowMs + answerTimeoutMs
			}
			p.sending++
			p.transmit(p.held[p.sending-1])
		}
	}
}

// expire abandons what was held for too long.
func (p *plugin) expire() {
	for len(p.held) > 0 && p.nowMs-p.held[0].receivedMs > keepMs {
		p.happen["expired"]++
		p.expired += uint64(len(p.held[0].all()))
		p.held = p.held[1:]
		if p.sending > 0 {
			p.sending--
			clear(p.layouts) // it may never have been processed, with definitions that later batches need
			clear(p.series)
		}
	}
}

// lost handles the end of a connection, or that it was abandoned.
func (p *plugin) lost(c *conn, retryMs int64) {
	if p.conn != c {
		return
	}
	p.note("lost")
	c.finish()
	p.conn, p.sending = nil, 0
	longest := int64(maxBackoffMs)
	if p.opened && p.nowMs-p.beganMs < openTimeoutMs {
		longest = maxBrokenBackoffMs
	}
	p.retryAtMs = p.nowMs + max(retryMs, p.backoff(longest))
	p.at(p.retryAtMs-p.nowMs, "again", p.step)
}

func (p *plugin) backoff(longest int64) int64 {
	pause := min(longest, int64(minBackoffMs)<<min(p.rounds, 20))
	p.rounds++
	return pause - p.upTo(pause/2+1)
}

// hear handles an answer.
func (p *plugin) hear(c *conn, said *bulletmetricsv1.ExportResponse) {
	if p.conn != c {
		return
	}
	switch {
	case said.GetOpened() != nil:
		p.opened, p.window, p.deadlineMs = true, int(said.GetOpened().GetWindow()), p.nowMs+answerTimeoutMs
	case said.GetAcknowledgement() != nil:
		p.acknowledged(said.GetAcknowledgement())
	case said.GetFull() != nil:
		p.full(said.GetFull())
	}
	p.step()
}

func (p *plugin) acknowledged(a *bulletmetricsv1.Acknowledgement) {
	require.Equal(p.t, p.epoch[:], a.GetEpoch())
	news := false
	for p.sending > 0 && p.held[0].name.sequence <= a.GetSequence() {
		p.simulated.acknowledged[p.held[0].name] = p.nowMs
		p.note("acknowledged", p.held[0].name.sequence)
		p.held, p.sending, news = p.held[1:], p.sending-1, true
	}
	if news {
		p.deadlineMs, p.allowed = p.nowMs+answerTimeoutMs, min(maxWindow, 2*p.allowed)
		if p.nowMs-p.beganMs >= steadyMs {
			p.rounds = 0
		}
	}
}

func (p *plugin) full(f *bulletmetricsv1.Full) {
	p.happen["fulls"]++
	before := p.sending
	for p.sending > 0 && p.held[p.sending-1].name.sequence >= f.GetSequence() {
		p.sending--
	}
	if p.sending < before {
		p.allowed = 1
		p.fullUntilMs = p.nowMs +
			max(p.backoff(maxBackoffMs), min(max(int64(f.GetRetryAfterMs()), minBackoffMs), 60_000))
		p.deadlineMs = p.fullUntilMs + answerTimeoutMs
		p.at(p.fullUntilMs-p.nowMs, "full is over", p.step)
	}
}

// make creates the samples of a second, or, while the world is quiet, of a minute.
func (p *plugin) make() {
	if p.gone {
		return
	}
	if p.quiet {
		p.at(60_000, "make", p.make)
	} else {
		p.at(1000, "make", p.make)
	}
	if p.sequence > 0 && p.chance(12) {
		return
	}
	p.sequence++
	b := p.batch()
	p.held = append(p.held, b)
	p.journaled.sent[b.name] = b
	p.happen["batches"]++
}

func (p *plugin) raw(name, component string, task int32, shape metric.Shape, temporality metric.Temporality, intervalMs,
	spanMs int64) metric.Raw {
	return metric.Raw{Worker: metric.Worker{Topology: p.place.Topology, Host: p.place.Host, Port: p.place.Port},
		Name: name, Component: component,
		Task: task, Shape: shape, Temporality: temporality, IntervalMs: intervalMs, PackSpanMs: spanMs}
}

func (p *plugin) batch() *sent {
	b := &sent{name: batchName{p.epoch, p.sequence}, receivedMs: p.nowMs}
	now := p.now() / 1000 * 1000
	add := func(series metric.Raw, v float64) {
		at := now
		switch {
		case p.chance(30):
			at += p.upTo(1000) // off the grid
		case !p.strict && p.chance(30):
			at -= p.upTo(60_000) // late, or too late
		}
		b.samples = append(b.samples, sentSample{series, at, v})
	}
	p.batches++
	p.cpuMs += float64(p.upTo(700)) / 3
	add(p.raw("cpu.user_ms", "__system", -1, metric.ShapeSampler, metric.Cumulative, 1000, 10_000), p.cpuMs)
	add(p.raw("heap.committed_bytes", "__system", -1, metric.ShapeSampler, metric.Gauge, 1000, 10_000),
		float64(p.upTo(1<<30)))
	if p.chance(6) {
		add(p.raw("rare", "FilterBolt", int32(p.upTo(12)), metric.ShapeNumber, 0, 10_000, 0), float64(p.upTo(100)))
	}
	if p.batches%5 == 0 {
		b.blocks = append(b.blocks, p.block(now))
	}
	if p.batches%10 == 0 {
		p.count += uint64(p.upTo(50))
		b.histograms = append(b.histograms,
			sentSample{p.raw("bullet_filter_latency_seconds", "FilterBolt", 9, metric.ShapeHistogram, metric.Cumulative,
				10_000, 0), now, float64(p.count)})
	}
	return b
}

// block returns a pack of the last five seconds, of two or three series.
func (p *plugin) block(now int64) sentBlock {
	b := sentBlock{firstMs: now - 4000, layout: []metric.Raw{
		p.raw("heap.used_bytes", "__system", -1, metric.ShapeSampler, metric.Gauge, 1000, 10_000),
		p.raw("cpu.system_ms", "__system", -1, metric.ShapeSampler, metric.Cumulative, 1000, 10_000)}}
	if p.batches/50%2 == 0 {
		b.layout = append(b.layout, p.raw("bullet_active_queries", "JoinBolt", 7, metric.ShapeNumber, 0, 1000, 0))
	}
	for column := range b.layout {
		for row := range 5 {
			v := float64(p.upTo(1000))
			if column == 1 {
				v = p.cpuMs/2 + float64(row)
			}
			b.values = append(b.values, v)
		}
	}
	return b
}

// transmit encodes a batch for the current stream, and sends it.
func (p *plugin) transmit(b *sent) {
	wire := &p.wire
	proto.Reset(wire)
	wire.Epoch, wire.Sequence, wire.OldestHeldSequence, wire.SendTimeMs = p.epoch[:], b.name.sequence,
		p.held[0].name.sequence, p.now()
	if p.expired > 0 {
		wire.Drops = []*bulletmetricsv1.Drop{{Reason: bulletmetricsv1.DropReason_DROP_REASON_EXPIRED,
			TotalSamples: p.expired}}
	}
	wire.Samples = &bulletmetricsv1.SampleColumns{BaseTimeMs: b.receivedMs}
	for _, s := range b.samples {
		wire.Samples.SeriesIds = append(wire.Samples.SeriesIds, p.define(s.series))
		wire.Samples.TimeOffsetsMs = append(wire.Samples.TimeOffsetsMs, s.timeMs-b.receivedMs)
		wire.Samples.Values = append(wire.Samples.Values, s.value)
	}
	for _, x := range b.blocks {
		wire.Blocks = append(wire.Blocks, &bulletmetricsv1.Block{LayoutId: p.layout(x.layout), FirstTimeMs: x.firstMs,
			StepMs: 1000, Count: 5,
			Codec: bulletmetricsv1.ValueCodec_VALUE_CODEC_TRIMMED, Values: block.AppendTrimmed(nil, x.values)})
	}
	for _, h := range b.histograms {
		n := uint64(h.value)
		wire.Histograms = append(wire.Histograms, &bulletmetricsv1.HistogramSample{SeriesId: p.define(h.series),
			TimeMs: h.timeMs, Schema: 3,
			ZeroThreshold: 0.0005, Count: n, ZeroCount: n - n/2, Sum: h.value / 10,
			PositiveSpans: []*bulletmetricsv1.BucketSpan{{Offset: 2, Length: 1}}, PositiveCounts: []uint64{n / 2}})
	}
	encoded, err := proto.Marshal(
		&bulletmetricsv1.ExportRequest{Message: &bulletmetricsv1.ExportRequest_Batch{Batch: wire}})
	require.NoError(p.t, err)
	p.note("send", b.name.sequence)
	p.happen["sent"]++
	p.conn.send(encoded)
}

// define returns the stream's number of a series.
func (p *plugin) define(r metric.Raw) uint32 {
	id, known := p.series[r]
	if !known {
		p.ids++
		id = p.ids
		p.series[r] = id
		p.wire.Series = append(p.wire.Series, &bulletmetricsv1.SeriesDefinition{Id: id, Host: r.Worker.Host,
			Port: r.Worker.Port, Component: r.Component,
			Task: r.Task, Name: r.Name, IntervalMs: uint32(r.IntervalMs), PackSpanMs: uint32(r.PackSpanMs),
			Shape: bulletmetricsv1.Shape(r.Shape), Temporality: bulletmetricsv1.Temporality(r.Temporality)})
	}
	return id
}

// layout returns the stream's number of a layout.
func (p *plugin) layout(series []metric.Raw) uint32 {
	var key []byte
	ids := make([]uint32, 0, len(series))
	for _, r := range series {
		ids = append(ids, p.define(r))
		key = binary.BigEndian.AppendUint32(key, ids[len(ids)-1])
	}
	id, known := p.layouts[string(key)]
	if !known {
		p.ids++
		id = p.ids
		p.layouts[string(key)] = id
		p.wire.Layouts = append(p.wire.Layouts, &bulletmetricsv1.Layout{Id: id, SeriesIds: ids})
	}
	return id
}

// kill ends the worker. Another one starts in its place, immediately or later.
func (p *plugin) kill() {
	p.happen["workers"]++
	if p.conn != nil {
		c := p.conn
		p.conn = nil
		c.finish()
	}
	p.begin()
	p.retryAtMs = p.nowMs + p.upTo(20_000)
}
