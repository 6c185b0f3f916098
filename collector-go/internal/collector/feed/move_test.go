package feed

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
)

// A simulation of decision 18. The senders, the order of the journal and the engine are simplified. The catalog, the
// slicer and the transferred states are the real ones. Collectors are killed, lost permanently, cut off and left. No
// slice may ever get two values. In the end each slice must have the value that a collector without faults gives it.

// moveBroken disables rules of the protocol, one at a time, to show that each is needed.
type moveBroken struct {
	early        bool // a state is exported before the store has the closed slices
	noState      bool // the sender transfers no state
	noGeneration bool // a collector to which a sender returns continues from its old state
	ownTime      bool // a collector's clock advances the topology's time
}

const (
	moveTopology = "t"
	moveWorkers  = 4
)

// moveEngine is the store of all collectors. The first value of a slice stays.
type moveEngine struct {
	values  map[string]string // by series and end
	changed []string
	away    bool // nobody answers
}

func newMoveEngine() *moveEngine { return &moveEngine{values: map[string]string{}} }

func (e *moveEngine) write(key, value string) {
	if was, is := e.values[key]; is && was != value {
		e.changed = append(e.changed, fmt.Sprintf("%s: %s, then %s", key, was, value))
		return
	}
	e.values[key] = value
}

type moveRow struct{ key, value string }

// moveCollector rebuilds everything from its journal after a kill.
type moveCollector struct {
	t       *testing.T
	broken  moveBroken
	ids     map[metric.Raw]journal.SeriesID
	nextID  journal.SeriesID
	journal []journal.Entry
	known   map[journal.Epoch]uint64 // generations, and the last batch of each
	applied int
	up      bool

	pipeline *pipeline
	names    map[slice.Ref]string
	outbox   []moveRow
	saved    []byte // a checkpoint after savedAt entries
	savedAt  int
}

func newMoveCollector(t *testing.T, broken moveBroken, random *rand.Rand) *moveCollector {
	c := &moveCollector{t: t, broken: broken, ids: map[metric.Raw]journal.SeriesID{},
		nextID: 1 + journal.SeriesID(random.IntN(50)),
		known:  map[journal.Epoch]uint64{}}
	c.journal = append(c.journal, &journal.ProducerDefined{ID: 7, Topology: moveTopology, TopologyID: "t-1",
		Host: "h", Port: 6700})
	c.start()
	return c
}

func (c *moveCollector) start() {
	var err error
	if c.saved == nil {
		c.pipeline, err = newPipeline(DefaultOptions("memory", ""))
	} else {
		c.pipeline, err = restorePipeline(c.saved, DefaultOptions("memory", ""))
	}
	require.NoError(c.t, err)
	for _, entry := range c.journal[:c.savedAt] { // as the journal defines them again for every reader
		switch entry.(type) {
		case *journal.SeriesDefined, *journal.ProducerDefined:
			c.pipeline.apply(entry)
		}
	}
	c.names, c.outbox, c.applied, c.up = map[slice.Ref]string{}, nil, c.savedAt, true
	c.journal = append(c.journal, &journal.Started{})
}

// save writes a checkpoint if no closed slices are waiting.
func (c *moveCollector) save() {
	if len(c.outbox) == 0 {
		c.saved, c.savedAt = bytes.Join(c.pipeline.snapshot(), nil), c.applied
	}
}

func (c *moveCollector) define(raw metric.Raw) journal.SeriesID {
	id := c.ids[raw]
	if id == 0 {
		id = c.nextID
		c.nextID += 1 + c.nextID%3
		c.ids[raw] = id
		c.journal = append(c.journal, &journal.SeriesDefined{ID: id, Series: raw})
	}
	return id
}

// open starts a stream. It returns the last batch that need not be sent again.
func (c *moveCollector) open(generation byte, state []byte, nowMs int64) uint64 {
	epoch := journal.Epoch{generation}
	c.journal = append(c.journal, &journal.Connected{Producer: 7, TimeMs: nowMs})
	if taken, known := c.known[epoch]; known {
		return taken
	}
	c.known[epoch] = 0
	if c.broken.noGeneration && len(c.known) > 1 {
		return 0
	}
	m := &journal.Moved{Producer: 7, Epoch: epoch, First: generation == 1, TimeMs: nowMs}
	if len(state) > 0 && !c.broken.noState {
		series, err := Arriving(moveTopology, state, slicerOptions())
		require.NoError(c.t, err)
		m.State = state
		for _, raw := range series {
			m.Series = append(m.Series, c.define(raw))
		}
	}
	c.journal = append(c.journal, m)
	return 0
}

func (c *moveCollector) take(generation byte, b moveBatch, nowMs int64) {
	epoch := journal.Epoch{generation}
	if b.sequence <= c.known[epoch] {
		return
	}
	c.known[epoch] = b.sequence
	if b.notes, b.sentMs = proto.CloneOf(b.notes), nowMs; b.firstMs != nowMs {
		if b.notes == nil {
			b.notes = &bulletmetricsv1.Batch{}
		}
		b.notes.FirstSendTimeMs = b.firstMs
	}
	e := &journal.Batch{Producer: 7, Epoch: epoch, Sequence: b.sequence, SentMs: b.sentMs,
		ReceivedMs: nowMs, Notes: b.notes}
	for _, x := range b.samples {
		e.IDs, e.TimesMs, e.Values = append(e.IDs, c.define(x.raw)), append(e.TimesMs, x.timeMs),
			append(e.Values, x.value)
	}
	c.journal = append(c.journal, e)
}

// tick advances the collector's clock.
func (c *moveCollector) tick(nowMs int64) {
	c.journal = append(c.journal, &journal.Tick{TimeMs: nowMs})
}

// step hands a row to the engine, or applies an entry.
func (c *moveCollector) step(engine *moveEngine) {
	if len(c.outbox) > 0 && engine.away {
		return
	}
	if len(c.outbox) > 0 {
		engine.write(c.outbox[0].key, c.outbox[0].value)
		c.outbox = c.outbox[1:]
		return
	}
	if c.applied == len(c.journal) {
		return
	}
	entry := c.journal[c.applied]
	c.applied++
	if tick, is := entry.(*journal.Tick); is && c.broken.ownTime {
		c.pipeline.slicer.AdvanceTopology(7, tick.TimeMs)
	} else {
		c.pipeline.apply(entry)
	}
	c.outbox = append(c.outbox, c.rows()...)
}

func (c *moveCollector) rows() (rows []moveRow) {
	closed := c.pipeline.closed()
	for _, d := range closed.Definitions {
		c.names[d.Ref] = d.Series.Labels.String()
	}
	add := func(ref slice.Ref, endMs int64, value string) {
		name := c.names[ref]
		require.NotEmpty(c.t, name)
		rows = append(rows, moveRow{fmt.Sprintf("%s @%d", name, endMs), value})
	}
	for i, ref := range closed.Refs {
		add(ref, closed.EndsMs[i], fmt.Sprintf("%x", math.Float64bits(closed.Values[i])))
	}
	for i, ref := range closed.HistogramRefs {
		add(ref, closed.HistogramEndsMs[i], fmt.Sprintf("%+v", closed.Histograms[i]))
	}
	closed.Reset()
	return rows
}

// state returns the state for the sender, if there is one.
func (c *moveCollector) state(generation byte) (state []byte, sequence uint64, there bool) {
	r := c.pipeline.reached[moveTopology]
	if r == nil || r.epoch != (journal.Epoch{generation}) || len(c.outbox) > 0 && !c.broken.early {
		return nil, 0, false
	}
	return c.pipeline.exportTopology(moveTopology, r), r.sequence, true
}

type moveSample struct {
	raw    metric.Raw
	timeMs int64
	value  float64
}

type moveBatch struct {
	sequence uint64
	sentMs   int64
	firstMs  int64 // when it was first sent; 0 if it was not
	samples  []moveSample
	notes    *bulletmetricsv1.Batch
}

// moveSource is a topology. It has workers with a counter that restarts, a counter that both Storm and the sampler
// report, a gauge and a start time. Some workers fall silent, and some samples are late.
type moveSource struct {
	random  *rand.Rand
	nowMs   int64
	batches uint64
	started [moveWorkers]int64
	counter [moveWorkers]float64
	silent  [moveWorkers]int
	late    []moveSample
	dropped uint64
}

func (s *moveSource) next() moveBatch {
	s.nowMs += 1000
	s.batches++
	b := moveBatch{sequence: s.batches, sentMs: s.nowMs + 20}
	for w := range moveWorkers {
		worker := metric.Worker{Topology: moveTopology, Host: fmt.Sprint("h", w), Port: 6700}
		sampler := func(name string, temporality metric.Temporality) metric.Raw {
			return metric.Raw{Worker: worker, Component: "__system", Task: -1, Name: name, Shape: metric.ShapeSampler,
				Temporality: temporality, IntervalMs: 1000}
		}
		if s.started[w] == 0 || s.random.IntN(60) == 0 {
			s.started[w], s.counter[w] = s.nowMs-500, 0
		}
		if s.silent[w] > 0 {
			s.silent[w]--
			continue
		}
		if s.random.IntN(80) == 0 {
			s.silent[w] = s.random.IntN(90)
		}
		s.counter[w] += float64(s.random.IntN(1000))
		for _, x := range []moveSample{
			{sampler("cpu.seconds", metric.Cumulative), s.nowMs, s.counter[w]},
			{sampler("heap.used_bytes", metric.Gauge), s.nowMs, float64(s.random.IntN(1 << 20))},
			{sampler("process.start_time_seconds", metric.Gauge), s.nowMs, float64(s.started[w]) / 1000},
			{metric.Raw{Worker: worker, Component: "a", Task: int32(w), Name: "own", Shape: metric.ShapeNumber,
				Temporality: metric.Delta, IntervalMs: 1000}, s.nowMs, float64(s.random.IntN(9))},
		} {
			switch s.random.IntN(40) {
			case 0:
				s.late = append(s.late, x)
			case 1: // lost
			default:
				b.samples = append(b.samples, x)
			}
		}
	}
	for len(s.late) > 0 && s.random.IntN(12) == 0 {
		b.samples = append(b.samples, s.late[0])
		s.late = s.late[1:]
	}
	if s.random.IntN(30) == 0 {
		s.dropped += uint64(s.random.IntN(5))
		b.notes = &bulletmetricsv1.Batch{Drops: []*bulletmetricsv1.Drop{
			{Reason: bulletmetricsv1.DropReason_DROP_REASON_QUEUE_FULL, TotalSamples: s.dropped}}}
	}
	return b
}

// moveSender keeps batches until a state contains them.
type moveSender struct {
	held       []moveBatch
	sent       int // number of held batches that were sent on this connection
	at         *moveCollector
	generation byte
	state      []byte
}

// move connects to a collector, either another one or the same again.
func (s *moveSender) move(to *moveCollector, nowMs int64) {
	if to != s.at {
		s.generation++
	}
	s.at, s.sent = to, 0
	taken := to.open(s.generation, s.state, nowMs)
	for s.sent < len(s.held) && s.held[s.sent].sequence <= taken {
		s.sent++
	}
}

func (s *moveSender) receive(state []byte, sequence uint64) {
	s.state = state
	for len(s.held) > 0 && s.held[0].sequence <= sequence {
		s.held, s.sent = s.held[1:], max(0, s.sent-1)
	}
}

// collectorsOwn matches series about the offset to the collector's clock, which differs between collectors.
func collectorsOwn(key string) bool {
	for _, name := range []string{catalog.CollectionSkew, catalog.CollectionSkewLeast, catalog.CollectionSkewMost} {
		if strings.Contains(key, `"`+name+`"`) {
			return true
		}
	}
	return false
}

// playMove simulates a history with faults. It returns what is wrong at its end.
func playMove(t *testing.T, broken moveBroken, seed uint64, seconds int) []string {
	random := rand.New(rand.NewPCG(seed, 18))
	engine, alone := newMoveEngine(), newMoveEngine()
	fresh := func() *moveCollector { return newMoveCollector(t, broken, random) }
	collectors := []*moveCollector{fresh(), fresh()}
	one := newMoveCollector(t, moveBroken{}, random)
	one.open(1, nil, t0)
	source, sender := &moveSource{random: random, nowMs: t0}, &moveSender{}
	nowMs := func() int64 { return source.nowMs + 20 }
	other := func() *moveCollector {
		for _, c := range collectors {
			if c.up && c != sender.at {
				return c
			}
		}
		return nil
	}
	send := func() {
		if sender.at != nil && sender.sent < len(sender.held) {
			b := &sender.held[sender.sent]
			if b.firstMs == 0 {
				b.firstMs = nowMs()
				one.take(1, *b, nowMs())
			}
			sender.at.take(sender.generation, *b, nowMs())
			sender.sent++
		}
	}
	hear := func() {
		if sender.at == nil {
			return
		}
		if state, sequence, there := sender.at.state(sender.generation); there {
			sender.receive(state, sequence)
		}
	}
	for source.batches < uint64(seconds) {
		switch n := random.IntN(200); {
		case n < 30:
			b := source.next()
			sender.held = append(sender.held, b)
			for _, c := range collectors {
				if c.up {
					c.tick(nowMs())
				}
			}
		case n < 80:
			send()
		case n < 180:
			for _, c := range collectors {
				for range 12 {
					if c.up {
						c.step(engine)
					}
				}
			}
		case n < 182:
			if c := collectors[random.IntN(2)]; c.up {
				c.save()
			}
		case n < 188:
			hear()
		case n < 191:
			if c := other(); c != nil {
				sender.move(c, nowMs())
			}
		case n < 192: // a cut connection
			if sender.at != nil {
				sender.move(sender.at, nowMs())
			}
		case n < 193:
			engine.away = !engine.away
		case n < 196:
			if c := collectors[random.IntN(2)]; c.up && other() != nil {
				c.up = false
				if sender.at == c {
					sender.at = nil
				}
			}
		default:
			for i, c := range collectors {
				if !c.up && random.IntN(4) == 0 { // its machine is lost permanently
					collectors[i] = fresh()
				} else if !c.up {
					c.start()
				}
			}
		}
		if sender.at == nil && random.IntN(4) == 0 {
			if c := other(); c != nil {
				sender.move(c, nowMs())
			}
		}
	}
	engine.away = false
	for _, c := range collectors { // a quiet end
		if !c.up {
			c.start()
		}
	}
	sender.move(collectors[0], nowMs())
	for sender.sent < len(sender.held) {
		send()
	}
	for _, c := range []*moveCollector{collectors[1], collectors[0]} {
		for c.applied < len(c.journal) || len(c.outbox) > 0 {
			c.step(engine)
		}
	}
	for one.applied < len(one.journal) || len(one.outbox) > 0 {
		one.step(alone)
	}
	wrong := engine.changed
	for _, key := range slices.Sorted(maps.Keys(alone.values)) {
		if got, is := engine.values[key]; !collectorsOwn(key) && (!is || got != alone.values[key]) {
			wrong = append(wrong, fmt.Sprintf("%s is %s (there: %v), alone %s", key, got, is, alone.values[key]))
		}
	}
	for key := range engine.values {
		if _, is := alone.values[key]; !is && !collectorsOwn(key) {
			wrong = append(wrong, key+" is not there alone")
		}
	}
	for _, c := range append(collectors, one) {
		requireBalance(t, c.pipeline)
	}
	require.Greater(t, len(alone.values), 100)
	return wrong
}

func TestAMoveGivesEverySliceOneValue(t *testing.T) {
	for seed := range uint64(cases.Number(200, 20)) {
		require.Empty(t, playMove(t, moveBroken{}, seed, 400), "seed %d", seed)
	}
}

func TestAMoveNeedsEachOfItsRules(t *testing.T) {
	for _, broken := range []moveBroken{{early: true}, {noState: true}, {noGeneration: true}, {ownTime: true}} {
		wrong := 0
		for seed := range uint64(12) {
			if len(playMove(t, broken, seed, 300)) > 0 {
				wrong++
			}
		}
		assert.NotZero(t, wrong, "%+v", broken)
		t.Logf("%+v: %d of 12 lives go wrong", broken, wrong)
	}
}
