package feed

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// played returns a collector that has received a topology's first batches, and its exported state.
func played(t *testing.T, batches int) (*moveCollector, []byte) {
	random := rand.New(rand.NewPCG(3, 18))
	c := newMoveCollector(t, moveBroken{}, random)
	c.open(1, nil, t0)
	source := &moveSource{random: random, nowMs: t0}
	for range batches {
		b := source.next()
		c.take(1, b, b.sentMs)
	}
	for engine := newMoveEngine(); c.applied < len(c.journal) || len(c.outbox) > 0; {
		c.step(engine)
	}
	state, _, there := c.state(1)
	require.True(t, there)
	return c, state
}

func TestWhatArrivesIsLookedAt(t *testing.T) {
	_, state := played(t, 100)
	series, err := Arriving(moveTopology, state, slicerOptions())
	require.NoError(t, err)
	assert.Len(t, series, 4*moveWorkers)
	_, err = Arriving("another", state, slicerOptions())
	require.ErrorContains(t, err, `it belongs to topology "t"`)
	_, err = Arriving(moveTopology, state[:len(state)-3], slicerOptions())
	require.ErrorContains(t, err, "decode transferred state")
	_, err = Arriving(moveTopology, packer.EncodeAll([]byte("something"), nil), slicerOptions())
	require.ErrorContains(t, err, "does not begin with BMTOPOL")
	_, err = Arriving(moveTopology, packer.EncodeAll(append([]byte(transferMagic), 9), nil), slicerOptions())
	require.ErrorContains(t, err, "run the same release on all collectors")
	c, err := unpackTransfer(moveTopology, state)
	require.NoError(t, err)
	others := packed("u", c.names, c.slices)
	_, err = Arriving("u", others, slicerOptions())
	require.ErrorContains(t, err, "it names another topology")
	unnamed := packed(moveTopology, sealed([]byte("BMCATALG\x01\x00\x00\x00\x00")), c.slices)
	_, err = Arriving(moveTopology, unnamed, slicerOptions())
	require.ErrorContains(t, err, "has no owner")
}

// TestUnpackingIsBoundedByWhatIsSent checks that the memory for a state is bounded by the bytes that are sent, however
// large it unpacks.
func TestUnpackingIsBoundedByWhatIsSent(t *testing.T) {
	zeros := make([]byte, 200<<20)
	begun := appendText(append([]byte(transferMagic), transferVersion), moveTopology)
	long := binary.AppendUvarint(slices.Clone(begun), uint64(len(zeros)))
	for name, data := range map[string][]byte{
		"zeros":                   zeros,
		"zeros behind the magic":  append(slices.Clone(begun[:len(transferMagic)+1]), zeros...),
		"a name of zeros":         append(binary.AppendUvarint(slices.Clone(begun[:len(transferMagic)+1]), 200<<20), zeros...),
		"names of zeros":          append(slices.Clone(long), zeros...),
		"names that begin well":   append(append(slices.Clone(long), "BMCATALG\x01"...), zeros...),
		"names of a newer format": append(append(slices.Clone(long), "BMCATALG\x09"...), zeros...),
	} {
		bomb := packer.EncodeAll(data, nil)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Arriving(moveTopology, bomb, slicerOptions())
		runtime.ReadMemStats(&after)
		require.Error(t, err, name)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(24<<20), "%s, packed into %d bytes", name, len(bomb))
	}
}

// packed returns a state with the given parts.
func packed(topology string, names, slices []byte) []byte {
	data := appendText(append([]byte(transferMagic), transferVersion), topology)
	for _, part := range [][]byte{names, slices} {
		data = append(binary.AppendUvarint(data, uint64(len(part))), part...)
	}
	return packer.EncodeAll(append(data, 0), nil)
}

func sealed(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// FuzzArriving imports arbitrary states, because the owner of a topology may send anything. An import must not break
// anything, and must not change another topology.
func FuzzArriving(f *testing.F) {
	for _, batches := range []int{1, 40} {
		_, state := played(&testing.T{}, batches)
		c, err := unpackTransfer(moveTopology, state)
		require.NoError(f, err)
		f.Add(c.names[:len(c.names)-4], c.slices[:len(c.slices)-4])
	}
	f.Fuzz(func(t *testing.T, names, slices []byte) {
		state := packed(moveTopology, sealed(names), sealed(slices))
		series, err := Arriving(moveTopology, state, slicerOptions())
		if err != nil {
			return
		}
		assert.Equal(t, ofAnother(t, nil, 0), ofAnother(t, state, len(series)))
	})
}

// ofAnother returns the slices of a topology that close while another one is imported; nil imports none.
func ofAnother(t *testing.T, state []byte, series int) (rows []moveRow) {
	c := newMoveCollector(t, moveBroken{}, rand.New(rand.NewPCG(1, 1)))
	apply := func(entries ...journal.Entry) {
		for _, e := range entries {
			c.pipeline.apply(e)
		}
	}
	other := metric.Raw{Worker: metric.Worker{Topology: "u", Host: "h", Port: 1}, Component: "a", Name: "own",
		Shape: metric.ShapeNumber, Temporality: metric.Delta, IntervalMs: 1000}
	apply(c.journal...)
	apply(&journal.ProducerDefined{ID: 8, Topology: "u"}, &journal.Connected{Producer: 8},
		&journal.SeriesDefined{ID: 9000, Series: other})
	batch := func(sequence uint64) {
		at := int64(t0) + int64(sequence)*10_000
		apply(&journal.Batch{Producer: 8, Sequence: sequence, SentMs: at, ReceivedMs: at, IDs: []journal.SeriesID{9000},
			TimesMs: []int64{at}, Values: []float64{1}})
	}
	batch(1)
	if state != nil {
		m := &journal.Moved{Producer: 7, Epoch: journal.Epoch{1}, State: state, TimeMs: t0}
		for i := range series {
			m.Series = append(m.Series, journal.SeriesID(i+1))
		}
		require.NoError(t, c.pipeline.takeUp(moveTopology, m))
		source := &moveSource{random: rand.New(rand.NewPCG(2, 2)), nowMs: t0}
		c.applied, c.nextID = len(c.journal), 5000
		for range 20 {
			b := source.next()
			c.take(1, b, b.sentMs)
		}
		apply(c.journal[c.applied:]...)
	}
	batch(2)
	c.pipeline.slicer.CloseAll()
	for _, row := range c.rows() {
		if strings.Contains(row.key, `topology="u"`) {
			rows = append(rows, row)
		}
	}
	require.NotEmpty(t, rows)
	_, err := restorePipeline(bytes.Join(c.pipeline.snapshot(), nil), DefaultOptions("memory", ""))
	require.NoError(t, err)
	return rows
}

// TestASenderThatCarriesNothingTakesATopologyOver checks that a topology follows the collector's clock again when a
// sender without state transfer replaces the owner.
func TestASenderThatCarriesNothingTakesATopologyOver(t *testing.T) {
	c, _ := played(t, 40)
	require.Equal(t, moveTopology, c.pipeline.slicer.Owner(7))
	newest := int64(t0 + 41_000)
	older := &journal.Batch{Producer: 9, Sequence: 1, SentMs: newest, ReceivedMs: newest}
	for raw, id := range c.ids {
		if raw.Worker.Host == "h0" && raw.Name == "heap.used_bytes" {
			older.IDs, older.TimesMs, older.Values = []journal.SeriesID{id}, []int64{newest}, []float64{5}
		}
	}
	require.Len(t, older.IDs, 1)
	for _, e := range []journal.Entry{&journal.ProducerDefined{ID: 9, Topology: moveTopology, Host: "h"},
		&journal.Connected{Producer: 9}, &journal.Tick{TimeMs: newest}, older} {
		c.pipeline.apply(e)
	}
	assert.Empty(t, c.pipeline.slicer.Owner(7))
	open := c.pipeline.slicer.Counts().Open
	require.Positive(t, open)
	for second := range int64(3_700) {
		c.pipeline.apply(&journal.Tick{TimeMs: newest + second*1000})
	}
	assert.Zero(t, c.pipeline.slicer.Counts().Open, "nobody speaks for the workers: their slices close after an hour")
	c.pipeline.closed().Reset()
	requireBalance(t, c.pipeline)
}

// BenchmarkExport measures exporting and importing a topology of 500 workers with 100 series each, in the middle of a
// slice.
func BenchmarkExport(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	c := newMoveCollector(&testing.T{}, moveBroken{}, random)
	c.open(1, nil, t0)
	for second := range int64(25) {
		batch := moveBatch{sequence: uint64(second) + 1, sentMs: t0 + second*1000}
		for w := range 500 {
			for n := range 100 {
				batch.samples = append(batch.samples, moveSample{metric.Raw{
					Worker:    metric.Worker{Topology: moveTopology, Host: fmt.Sprint("h", w), Port: 6700},
					Component: "a", Task: int32(n), Name: "own", Shape: metric.ShapeNumber, Temporality: metric.Cumulative,
					IntervalMs: 1000}, batch.sentMs, float64(int(second)*10_000*n + random.IntN(10_000))})
			}
		}
		c.take(1, batch, batch.sentMs)
	}
	for _, e := range c.journal {
		c.pipeline.apply(e)
	}
	c.pipeline.closed().Reset()
	var state []byte
	b.Run("out", func(b *testing.B) {
		for b.Loop() {
			state, _, _ = c.state(1)
		}
		b.ReportMetric(float64(len(state)), "bytes")
		b.ReportMetric(float64(len(state))/50_000, "bytes/series")
	})
	b.Run("in", func(b *testing.B) {
		for b.Loop() {
			_, err := Arriving(moveTopology, state, slicerOptions())
			require.NoError(b, err)
		}
	})
}
