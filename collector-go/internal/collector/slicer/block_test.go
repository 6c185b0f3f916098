package slicer

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// rectangle returns a block of some samples, with a column for each of the series and a row for each of their times.
// Times that are not on the step become offsets.
func rectangle(series []uint32, samples []worldSample, stepMs int64) (*block.Block, []float64) {
	var times []int64
	byPlace := map[worldSample]float64{}
	for _, x := range samples {
		times = append(times, x.timeMs)
		byPlace[worldSample{id: x.id, timeMs: x.timeMs}] = x.value
	}
	slices.Sort(times)
	times = slices.Compact(times)
	b := &block.Block{Columns: len(series), Rows: len(times), FirstMs: times[0], StepMs: stepMs,
		Presence: make([]byte, (len(series)*len(times)+7)/8), Codec: block.Doubles}
	for row, ms := range times {
		b.OffsetsMs = append(b.OffsetsMs, int32(ms-b.FirstMs-int64(row)*stepMs))
	}
	var values []float64
	for column, id := range series {
		for row, ms := range times {
			if v, there := byPlace[worldSample{id: id, timeMs: ms}]; there {
				cell := column*len(times) + row
				b.Presence[cell/8] |= 1 << (cell % 8)
				values = append(values, v)
			}
		}
	}
	if b.Samples() == b.Cells() {
		b.Presence = nil
	}
	if !slices.ContainsFunc(b.OffsetsMs, func(ms int32) bool { return ms != 0 }) {
		b.OffsetsMs = nil
	}
	b.Values = block.AppendDoubles(nil, values)
	return b, values
}

// collected is the slices of a slicer across its restarts.
type collected struct {
	slicer *Slicer
	out    stored
	names  map[uint32]string
}

func (c *collected) collect() {
	closed := c.slicer.Closed()
	for _, d := range closed.Definitions {
		c.names[uint32(d.Ref)] = d.Series.Labels.String()
	}
	for i, ref := range closed.Refs {
		name := c.names[uint32(ref)]
		c.out[name] = append(c.out[name], fmt.Sprintf("%d %x", closed.EndsMs[i], math.Float64bits(closed.Values[i])))
	}
	closed.Reset()
}

// TestBlocksAreTheirSamples checks that samples in blocks give exactly the same slices and counts as samples one by
// one. It varies which samples are in blocks, their order, and repetitions by several producers. It also includes late
// and invalid samples, and restarts.
func TestBlocksAreTheirSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		aligned := rapid.Bool().Draw(t, "aligned")
		for i := range w.batches {
			for j := range w.batches[i].samples {
				x := &w.batches[i].samples[j]
				if aligned {
					x.timeMs = (x.timeMs + 999) / 1000 * 1000
				}
				if rapid.IntRange(0, 300).Draw(t, "nonsense") == 0 {
					x.value = -1
				}
			}
			seen := map[worldSample]bool{}
			w.batches[i].samples = slices.DeleteFunc(w.batches[i].samples, func(x worldSample) bool {
				place := worldSample{id: x.id, timeMs: x.timeMs}
				twice := seen[place]
				seen[place] = true
				return twice
			})
		}
		batches := w.shuffled(t, rapid.SampledFrom([]int64{30_000, 200_000}).Draw(t, "lateness"))
		for n, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(batches)-1), 0, 5, rapid.ID[int]).Draw(t,
			"sent twice") {
			again := batches[i]
			again.producer, again.sequence = 1-again.producer, again.sequence+uint64(n+1)*1000
			batches = slices.Insert(batches, i, again)
		}
		o := withHealth()
		if rapid.IntRange(0, 3).Draw(t, "bounded") == 0 {
			o.MaxOpenSamples = 40
		}
		plain, blocks := &collected{out: stored{}, names: map[uint32]string{}},
			&collected{out: stored{}, names: map[uint32]string{}}
		for _, c := range []*collected{plain, blocks} {
			var err error
			c.slicer, err = New(o)
			require.NoError(t, err)
			for _, id := range sortedIDs(w.rules) {
				c.slicer.Define(id, w.rules[id])
			}
		}
		for _, b := range batches {
			send(t, plain.slicer, b)
			plain.collect()
			sendBlocks(t, blocks.slicer, b, o.MaxOpenSamples == 40)
			blocks.collect()
			if rapid.IntRange(0, 10).Draw(t, "restart") == 0 {
				restored, err := Restore(blocks.slicer.Snapshot(), o)
				require.NoError(t, err)
				require.Equal(t, blocks.slicer.Snapshot(), restored.Snapshot())
				blocks.slicer = restored
			}
		}
		for _, c := range []*collected{plain, blocks} {
			c.slicer.CloseAll()
			c.collect()
			require.Zero(t, c.slicer.pages)
			for _, r := range c.slicer.topologyStates {
				require.Zero(t, r.open+r.pages)
				require.Empty(t, r.infos)
			}
		}
		require.Equal(t, plain.slicer.Counts(), blocks.slicer.Counts())
		require.Equal(t, plain.out, blocks.out)
	})
}

// sendBlocks sends a batch's samples in up to three blocks of random columns, and the rest one by one. If inOrder is
// set, it keeps their order, because the order decides which of them fit into the limits.
func sendBlocks(t *rapid.T, s *Slicer, b testBatch, inOrder bool) {
	s.beginBatch(b.producer, b.sequence)
	defer s.endBatch()
	if inOrder {
		for i, x := range b.samples {
			r, values := rectangle([]uint32{x.id}, b.samples[i:i+1], 1000)
			s.DefineLayout(x.id, []uint32{x.id})
			require.True(t, s.AddBlock(x.id, r, values, nil))
		}
		return
	}
	parts, partOf := make([][]worldSample, 4), map[uint32]int{}
	for _, x := range b.samples { // those of a series stay together, so that they are added in order
		part, drawn := partOf[x.id]
		if !drawn {
			part = rapid.IntRange(0, 3).Draw(t, "part")
			partOf[x.id] = part
		}
		parts[part] = append(parts[part], x)
	}
	for _, x := range parts[0] {
		require.True(t, s.Add(x.id, x.timeMs, x.value))
	}
	for n, samples := range parts[1:] {
		if len(samples) == 0 {
			continue
		}
		var series []uint32
		for _, x := range samples {
			series = append(series, x.id)
		}
		slices.Sort(series)
		series = rapid.Permutation(slices.Compact(series)).Draw(t, "columns")
		r, values := rectangle(series, samples, 1000)
		require.NoError(t, r.Check())
		s.DefineLayout(uint32(n), series)
		require.True(t, s.AddBlock(uint32(n), r, values, nil))
	}
}

// TestLayoutsFollowTheirSeries checks that the targets of a layout's columns are looked up again, whatever happens to
// its series between two blocks or during one.
func TestLayoutsFollowTheirSeries(t *testing.T) {
	w := &world{rules: map[uint32]metric.Rule{}}
	for kind := range 4 {
		w.rules[uint32(kind)] = worldSeries[kind].rule(0)
	}
	s, err := New(DefaultOptions())
	require.NoError(t, err)
	s.DefineLayout(9, []uint32{0, 1, 2, 3})
	var asked []string
	leftOut := map[uint32]bool{2: true}
	define := func(id uint32, samples int) bool {
		asked = append(asked, fmt.Sprintf("%d: %d", id, samples))
		if leftOut[id] {
			return false
		}
		s.Define(id, w.rules[id])
		return true
	}
	sequence := uint64(0)
	add := func() {
		sequence++
		s.beginBatch(1, sequence)
		require.True(t, s.AddBlock(9, &block.Block{Columns: 4, Rows: 2, FirstMs: worldStartMs + int64(sequence)*2000,
			StepMs: 1000},
			[]float64{1, 2, 3, 4, 5, 6, 7, 8}, define))
		s.endBatch()
	}
	add()
	require.Equal(t, []string{"0: 2", "1: 2", "2: 2", "3: 2"}, asked)
	require.EqualValues(t, 6, s.Counts().Open)
	asked = nil
	add()
	require.Equal(t, []string{"2: 2"}, asked, "what is defined is not asked for again")
	require.EqualValues(t, 12, s.Counts().Open)
	require.Equal(t, 4, s.Retract(1))
	s.Detach(3)
	leftOut = map[uint32]bool{1: true}
	asked = nil
	add()
	require.Equal(t, []string{"1: 2", "2: 2", "3: 2"}, asked)
	require.EqualValues(t, 8+6, s.Counts().Open)
	require.False(t, s.AddBlock(8, &block.Block{Columns: 4, Rows: 1}, make([]float64, 4), define), "no such layout")
	require.False(t, s.AddBlock(9, &block.Block{Columns: 3, Rows: 1}, make([]float64, 3), define), "of another width")
	s.ForgetLayout(9)
	require.False(t, s.AddBlock(9, &block.Block{Columns: 4, Rows: 1}, make([]float64, 4), define), "forgotten")
}

// TestASeriesTakesAnothersPlaceWithinABlock checks that a series which replaces another one during its block counts for
// both. Samples that are counted are not added, and samples of the replaced series are counted.
func TestASeriesTakesAnothersPlaceWithinABlock(t *testing.T) {
	first, second := worldSeries[0].rule(0), worldSeries[0].rule(0)
	second.PackSpanMs = 0
	for _, order := range [][]uint32{{0, 1}, {1, 0}} {
		s, err := New(DefaultOptions())
		require.NoError(t, err)
		s.DefineLayout(9, order)
		counted := map[uint32]int{}
		missing := func(id uint32, samples int) bool {
			if id == 0 && s.inputs.get(1) == nil {
				s.Define(0, first)
				return true
			}
			if id == 0 {
				counted[0] += samples
				return false
			}
			counted[0] += s.Retract(0)
			s.Define(1, second)
			return true
		}
		s.beginBatch(1, 1)
		s.AddBlock(9, &block.Block{Columns: 2, Rows: 3, FirstMs: worldStartMs, StepMs: 1000},
			make([]float64, 6), missing)
		s.endBatch()
		require.Equal(t, map[uint32]int{0: 3}, counted)
		require.EqualValues(t, 3, s.Counts().Open)
	}
}

// TestATopologyCannotTakeTheCapacityOfAll checks that one topology's open samples leave capacity for another's.
func TestATopologyCannotTakeTheCapacityOfAll(t *testing.T) {
	o := DefaultOptions()
	o.MaxOpenSamples, o.MaxTopologyOpenSamples = 100, 60
	s, err := New(o)
	require.NoError(t, err)
	for worker := range 3 {
		rule := worldSeries[0].rule(worker)
		rule.Worker.Topology = fmt.Sprint("t", worker)
		s.Define(uint32(worker), rule)
		s.DefineLayout(uint32(worker), []uint32{uint32(worker)})
	}
	s.beginBatch(1, 1)
	for worker := range uint32(3) {
		s.AddBlock(worker, &block.Block{Columns: 1, Rows: 70, FirstMs: worldStartMs, StepMs: 500},
			make([]float64, 70), nil)
	}
	s.endBatch()
	c := s.Counts()
	require.EqualValues(t, 60+27+9, c.Open)
	require.Equal(t, map[Reason]uint64{RefusedOpenLimit: 10 + 43 + 61}, c.Refused)
}

// TestFewSamplesDoNotTakeManyPages checks that samples are stored beside the grid if pages would take too much memory,
// and that this changes nothing else.
func TestFewSamplesDoNotTakeManyPages(t *testing.T) {
	o := DefaultOptions()
	o.MaxOpenSamples, o.MaxTopologyOpenSamples = 4600, 4600
	s, err := New(o)
	require.NoError(t, err)
	const workers = 1000
	for worker := range workers {
		s.Define(uint32(worker), worldSeries[0].rule(worker))
	}
	s.beginBatch(1, 1)
	for second := range 3 {
		for worker := range uint32(workers) {
			s.Add(worker, worldStartMs+int64(second)*1000, 1)
		}
	}
	s.endBatch()
	require.EqualValues(t, 3*workers, s.Counts().Open)
	require.LessOrEqual(t, s.pages, o.pages(o.MaxOpenSamples))
	restored, err := Restore(s.Snapshot(), o)
	require.NoError(t, err)
	require.Equal(t, s.pages, restored.pages)
	less := o
	less.MaxOpenSamples = 1000
	lesser, err := Restore(s.Snapshot(), less)
	require.NoError(t, err, "with less room")
	require.LessOrEqual(t, lesser.pages, less.pages(less.MaxOpenSamples))
	lesser.CloseAll()
	require.EqualValues(t, 3*workers, lesser.Counts().InSlices)
	restored.CloseAll()
	require.EqualValues(t, 3*workers, restored.Counts().InSlices)
	require.Zero(t, restored.pages)
}

// TestTheDefaultsHoldAMinuteOfPacks checks that 90,000 samples per second in packs of 10 s, with slices of a minute,
// are in time and fit into the limits.
func TestTheDefaultsHoldAMinuteOfPacks(t *testing.T) {
	o := DefaultOptions()
	o.WidthMs = 60_000
	s, err := New(o)
	require.NoError(t, err)
	const workers, columns = 450, 200
	for worker := range uint32(workers) {
		var series []uint32
		for column := range uint32(columns) {
			id := worker*columns + column
			s.Define(id, benchRule(int(worker), int(id), 1000))
			series = append(series, id)
		}
		s.DefineLayout(worker, series)
	}
	values := make([]float64, columns*10)
	var most uint64
	for pack := range 12 {
		for worker := range uint32(workers) {
			s.beginBatch(1, uint64(pack*workers)+uint64(worker))
			s.AddBlock(worker, &block.Block{Columns: columns, Rows: 10, FirstMs: 960_000_000 + 1000 +
				int64(pack)*10_000, StepMs: 1000}, values, nil)
			s.endBatch()
		}
		s.Closed().Reset()
		most = max(most, s.Counts().Open)
	}
	require.Empty(t, s.Counts().Refused)
	require.Zero(t, s.Counts().Late)
	require.GreaterOrEqual(t, most, uint64(workers*columns*90))
}
