package journal

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// journalFixture is a journal with short methods for the operations of these tests.
type journalFixture struct {
	t        *testing.T
	fs       *disktest.Memory
	o        Options
	j        *Journal
	sequence uint64
}

const firstHour = 400_000

func newJournalFixture(t *testing.T, change func(*Options)) *journalFixture {
	h := &journalFixture{t: t, fs: disktest.NewMemory(1)}
	h.o = smallOptions(h.fs)
	if change != nil {
		change(&h.o)
	}
	h.open()
	h.tick(0)
	return h
}

func (h *journalFixture) open() {
	var err error
	h.j, err = Open("/journal", h.o)
	require.NoError(h.t, err)
	h.t.Cleanup(func() { require.NoError(h.t, h.j.Close()) })
}

func (h *journalFixture) restart() {
	require.NoError(h.t, h.j.Close())
	h.open()
}

// tick moves the clock to an hour.
func (h *journalFixture) tick(hour int64) {
	require.NoError(h.t, h.j.AppendControl(&Tick{TimeMs: (firstHour + hour) * hourMs}))
}

func (h *journalFixture) series(names ...string) (ids []SeriesID) {
	for _, name := range names {
		id, err := h.j.Define(metric.Raw{Worker: metric.Worker{Topology: "t"}, Name: name})
		require.NoError(h.t, err)
		ids = append(ids, id)
	}
	return ids
}

func (h *journalFixture) layout(ids ...SeriesID) LayoutID {
	id, err := h.j.DefineLayout(ids)
	require.NoError(h.t, err)
	return id
}

func (h *journalFixture) producer(topologyID string) ProducerID {
	id, err := h.j.DefineProducer(ProducerDefined{Topology: "t", TopologyID: topologyID, Host: "h", Port: 1})
	require.NoError(h.t, err)
	return id
}

// batch returns a batch of a producer at an hour.
func (h *journalFixture) batch(hour int64, p ProducerID, ids []SeriesID, layouts ...Block) *Batch {
	h.sequence++
	return &Batch{Producer: p, Epoch: Epoch{7}, Sequence: h.sequence, ReceivedMs: (firstHour + hour) * hourMs, IDs: ids,
		TimesMs: make([]int64, len(ids)), Values: make([]float64, len(ids)), Blocks: layouts}
}

func row(layout LayoutID, columns int) Block {
	return Block{Layout: layout, Block: block.Block{Columns: columns, Rows: 1, Codec: block.Doubles,
		Values: make([]byte, 8*columns)}}
}

func (h *journalFixture) refused(b *Batch) error {
	_, err := h.j.Append(b, func(error) { h.t.Error("answered") })
	return err
}

// awaitWritten waits until the queue is empty.
func (h *journalFixture) awaitWritten() {
	for {
		h.j.mu.Lock()
		changed, waiting := h.j.changed, h.j.queue.bytes
		h.j.mu.Unlock()
		if waiting == 0 {
			return
		}
		<-changed
	}
}

// forgotten returns everything that a reader from the beginning receives as forgotten.
func (h *journalFixture) forgotten() (all Forgotten) {
	h.awaitWritten()
	for _, p := range fromTheStart(h.t, h.j) {
		if f, ok := p.entry.(*Forgotten); ok {
			all.Series, all.Layouts, all.Producers = append(all.Series, f.Series...), append(all.Layouts, f.Layouts...),
				append(all.Producers, f.Producers...)
		}
	}
	return all
}

// TestIdleWhileRunning checks that ids which are idle for a day are forgotten, reported to readers and senders, and
// never used again.
func TestIdleWhileRunning(t *testing.T) {
	h := newJournalFixture(t, nil)
	ids := h.series("a", "b", "c", "d")
	inUse, idle := h.layout(ids[0], ids[1]), h.layout(ids[2], ids[3])
	p, killed, connected := h.producer("t-1"), h.producer("t-0"), h.producer("t-2")
	require.NoError(t, h.j.AppendControl(&Connected{Producer: connected, TimeMs: firstHour * hourMs}))
	appended(t, h.j, h.batch(0, p, nil, row(inUse, 2), row(idle, 2)))
	appended(t, h.j, h.batch(0, killed, ids))
	appended(t, h.j, h.batch(20, p, nil, row(inUse, 2)))
	h.tick(24)
	require.Equal(t, 4, h.j.SeriesOf("t"), "idle for no more than a day")
	h.tick(25)
	require.Equal(t, 2, h.j.SeriesOf("t"), "the layout in use keeps its series")
	layouts, columns := h.j.LayoutsOf("t")
	require.Equal(t, [2]int{1, 2}, [2]int{layouts, columns})

	require.ErrorIs(t, h.refused(h.batch(25, p, ids)), ErrForgotten)
	require.ErrorIs(t, h.refused(h.batch(25, p, nil, row(idle, 2))), ErrForgotten)
	require.ErrorIs(t, h.refused(h.batch(25, killed, ids[:1])), ErrForgotten)
	require.ErrorIs(t, h.j.AppendControl(&Connected{Producer: killed}), ErrForgotten)
	_, err := h.j.DefineLayout(ids)
	require.ErrorIs(t, err, ErrForgotten)
	_, err = h.j.Append(h.batch(25, 99, nil), nil)
	require.NotErrorIs(t, err, ErrForgotten, "was never defined")

	again := h.series("a", "b", "c", "d")
	require.Equal(t, []SeriesID{1, 2, 5, 6}, again)
	require.Equal(t, LayoutID(3), h.layout(again[2], again[3]))
	require.Equal(t, ProducerID(4), h.producer("t-0"))
	appended(t, h.j, h.batch(25, h.producer("t-0"), again, row(3, 2)))
	want := Forgotten{Series: []SeriesID{3, 4}, Layouts: []LayoutID{2}, Producers: []ProducerID{2}}
	require.Equal(t, want, h.forgotten())
	h.restart()
	want.Producers = append(want.Producers, connected) // no stream continues after the process
	require.Equal(t, want, h.forgotten(), "read again it is the same")
	require.Equal(t, again, h.series("a", "b", "c", "d"))
	require.ErrorIs(t, h.refused(h.batch(25, p, ids)), ErrForgotten)
}

// TestIdleAtTheStart checks that readers receive what the start forgets.
func TestIdleAtTheStart(t *testing.T) {
	h := newJournalFixture(t, nil)
	ids := h.series("a", "b")
	p := h.producer("t-1")
	connected := h.producer("t-2")
	require.NoError(t, h.j.AppendControl(&Connected{Producer: connected, TimeMs: firstHour * hourMs}))
	appended(t, h.j, h.batch(0, p, ids))
	appended(t, h.j, h.batch(30, p, ids[:1]))
	h.restart()
	h.tick(30)
	appended(t, h.j, h.batch(30, p, ids[:1]))
	require.Equal(t, Forgotten{Series: ids[1:], Producers: []ProducerID{connected}}, h.forgotten())
}

// TestWhatIsForgottenBeforeAReadersPlace checks that ids which were forgotten before a reader's start are not defined
// for it.
func TestWhatIsForgottenBeforeAReadersPlace(t *testing.T) {
	h := newJournalFixture(t, func(o *Options) { o.SegmentBytes = 1 << 20 })
	ids := h.series("a", "b")
	layout := h.layout(ids...)
	p := h.producer("t-1")
	appended(t, h.j, h.batch(0, p, nil, row(layout, 2)))
	h.tick(30)
	p, again := h.producer("t-1"), h.series("a")
	appended(t, h.j, h.batch(30, p, again))
	place := h.j.Durable()
	appended(t, h.j, h.batch(30, p, again))
	reader, err := h.j.Reader(place)
	require.NoError(t, err)
	defer reader.Close()
	_, _, definitions := next(t, reader)
	require.Len(t, definitions, 2)
	require.Equal(t, again[0], definitions[0].(*SeriesDefined).ID)
	require.Equal(t, p, definitions[1].(*ProducerDefined).ID)
}

// TestLimitsGiveWay checks that at a limit the longest idle ids are forgotten first, but never those that were used in
// the last two hours.
func TestLimitsGiveWay(t *testing.T) {
	h := newJournalFixture(t, func(o *Options) {
		o.MaxSeries, o.MaxProducers, o.MaxLayouts, o.MaxLayoutColumns = 32, 4, 4, 100
	})
	p := h.producer("t-1")
	require.NoError(t, h.j.AppendControl(&Connected{Producer: p, TimeMs: firstHour * hourMs}))
	name := func(i int) string { return fmt.Sprint(i) }
	var ids []SeriesID
	for i := range 32 {
		id := h.series(name(i))
		appended(t, h.j, h.batch(int64(i/8), p, id)) // eight per hour, at hours 0 to 3
		ids = append(ids, id...)
	}
	h.tick(3)
	h.series(name(32))
	require.Equal(t, ids[:8], h.forgotten().Series, "of the first hour")
	for i := 33; i < 40; i++ {
		h.series(name(i))
	}
	_, err := h.j.Define(metric.Raw{Worker: metric.Worker{Topology: "t"}, Name: "no room"})
	require.ErrorIs(t, err, ErrSeriesLimit)

	for i := range 3 {
		h.producer(fmt.Sprintf("t-%d", i+2))
	}
	_, err = h.j.DefineProducer(ProducerDefined{Topology: "t", TopologyID: "t-9"})
	require.ErrorIs(t, err, ErrProducerLimit)
	h.tick(6)
	_, err = h.j.DefineProducer(ProducerDefined{Topology: "t", TopologyID: "t-9"})
	require.NoError(t, err)
	appended(t, h.j, h.batch(6, p, nil)) // it has a stream, so it was never idle

	fresh := h.series(name(38), name(39))
	for _, list := range [][]SeriesID{{fresh[0]}, {fresh[1]}, {fresh[0], fresh[1]}, {fresh[1], fresh[0]}} {
		h.layout(list...)
	}
	require.Equal(t, LayoutID(3), h.layout(fresh...), "the same for the same list")
	_, err = h.j.DefineLayout([]SeriesID{fresh[0], fresh[0]})
	require.ErrorIs(t, err, ErrLayoutLimit)
	h.tick(9)
	fresh = h.series(name(38), name(39)) // used
	require.Equal(t, LayoutID(5), h.layout(fresh[0], fresh[0]))
	_, err = h.j.DefineLayout(nil)
	require.ErrorContains(t, err, "1 to")
}

// TestProducersOfAKillAndSubmitLoop checks that they never exhaust the limit for others.
func TestProducersOfAKillAndSubmitLoop(t *testing.T) {
	h := newJournalFixture(t, func(o *Options) { o.MaxProducers = 100 })
	for i := range 1000 {
		hour := int64(i / 20)
		h.tick(hour)
		p := h.producer(fmt.Sprintf("t-%d", i))
		at := (firstHour + hour) * hourMs
		require.NoError(t, h.j.AppendControl(&Connected{Producer: p, TimeMs: at}))
		require.NoError(t, h.j.AppendControl(&Disconnected{Producer: p, TimeMs: at}))
	}
	require.LessOrEqual(t, len(h.j.state.dict.byProducer), 100)
}

// TestForgettingSurvivesAFailingDisk checks that what is forgotten while nothing can be written is reported when the
// disk works again.
func TestForgettingSurvivesAFailingDisk(t *testing.T) {
	h := newJournalFixture(t, nil)
	ids := h.series("a", "b")
	p := h.producer("t-1")
	appended(t, h.j, h.batch(0, p, ids))
	h.fs.SetFault(func(_ int, op, name string) error {
		if op == "sync" || op == "create" {
			return disktest.ErrInputOutput
		}
		return nil
	})
	h.tick(30)
	require.Zero(t, h.j.SeriesOf("t"))
	h.fs.SetFault(nil)
	awaitReady(h.j)
	p = h.producer("t-1")
	appended(t, h.j, h.batch(30, p, h.series("c")))
	require.Equal(t, ids, h.forgotten().Series)
}

// TestTwoTopologiesOfOneEpoch checks that two topologies with one epoch are two senders.
func TestTwoTopologiesOfOneEpoch(t *testing.T) {
	h := newJournalFixture(t, nil)
	one := h.producer("t-1")
	other, err := h.j.DefineProducer(ProducerDefined{Topology: "other", TopologyID: "other-1", Host: "h", Port: 1})
	require.NoError(t, err)
	b := h.batch(0, one, nil)
	require.False(t, appended(t, h.j, b))
	of := *b
	of.Producer = other
	require.False(t, appended(t, h.j, &of))
	require.True(t, appended(t, h.j, b))
	require.True(t, appended(t, h.j, &of))
	h.restart()
	require.True(t, appended(t, h.j, b))
	require.True(t, appended(t, h.j, &of))
}

// LayoutsOf returns the number of defined layouts of a topology, and the number of their columns. A layout belongs to
// the topology of its first series.
func (j *Journal) LayoutsOf(topology string) (layouts, columns int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	count := j.state.dict.layoutsByName[topology]
	return count.layouts, count.columns
}
