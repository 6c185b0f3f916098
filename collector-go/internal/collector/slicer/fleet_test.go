package slicer

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// fleet is a set of workers that one sender reports, in one or two layouts, with random events. The same samples go
// into one slicer as blocks and into another one by one.
type fleet struct {
	random           *rand.Rand
	options          Options
	workers, metrics int
	everyMs          int64
	layouts          [][]uint32
	nowMs, clockMs   int64
	sequence         uint64
	plain, blocks    *collected
	rules            map[uint32]metric.Rule
	counted          map[uint32]float64
}

// drawFleet returns a fleet whose series have the ids worker*metrics+number.
func drawFleet(t *rapid.T) *fleet {
	f := &fleet{
		random:  rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
		workers: rapid.SampledFrom([]int{8, 12, 21}).Draw(t, "workers"),
		metrics: rapid.SampledFrom([]int{1, 3, 10, pageSlots + 5}).Draw(t, "metrics"),
		everyMs: rapid.SampledFrom([]int64{1000, 5000, 10_000, 15_000}).Draw(t, "everyMs"),
		nowMs:   worldStartMs, clockMs: worldStartMs, rules: map[uint32]metric.Rule{}, counted: map[uint32]float64{},
		plain:  &collected{out: stored{}, names: map[uint32]string{}},
		blocks: &collected{out: stored{}, names: map[uint32]string{}},
	}
	f.options = withHealth()
	if rapid.IntRange(0, 4).Draw(t, "unhealthy") == 0 {
		f.options = DefaultOptions()
	}
	f.options.WidthMs = rapid.SampledFrom([]int64{10_000, 30_000}).Draw(t, "width")
	f.options.Health.Steady = map[string]bool{"cpu_0": true, "cpu_2": true}
	f.options.KeepMs = f.options.BacklogMs
	counters := rapid.Bool().Draw(t, "counters")
	perUnit := rapid.SampledFrom([]float64{1, 7}).Draw(t, "perUnit")
	all := make([]uint32, f.workers*f.metrics)
	for i := range all {
		all[i] = uint32(i)
		rule := fleetRule(i/f.metrics, i%f.metrics, f.everyMs)
		rule.Least = -5
		switch {
		case i%f.metrics%5 == 3 && counters:
			rule.Temporality, rule.Series.Kind, rule.MinName, rule.MaxName = metric.Cumulative,
				metric.KindCounter, "", ""
		case i%f.metrics%5 == 4 && counters:
			rule.Temporality, rule.Series.Kind, rule.MinName, rule.MaxName = metric.Delta, metric.KindCounter, "", ""
		}
		if i%f.metrics%2 == 1 {
			rule.PerUnit = perUnit
		}
		f.rules[uint32(i)] = rule
	}
	f.layouts = [][]uint32{all}
	if f.workers >= 16 && rapid.Bool().Draw(t, "two layouts") {
		half := 8 * f.metrics
		f.layouts = [][]uint32{all[:half], all[half:]}
	}
	for _, c := range []*collected{f.plain, f.blocks} {
		var err error
		c.slicer, err = New(f.options)
		require.NoError(t, err)
		c.slicer.Connect(1)
	}
	f.both(func(s *Slicer) {
		for _, id := range all {
			s.Define(id, f.rules[id])
		}
	})
	f.defineLayouts()
	return f
}

func (f *fleet) both(do func(*Slicer)) {
	do(f.plain.slicer)
	do(f.blocks.slicer)
}

func (f *fleet) defineLayouts() {
	for n, series := range f.layouts {
		f.blocks.slicer.DefineLayout(uint32(n), series)
	}
}

// value returns one of a few values, so that equal values and both zeros occur.
func (f *fleet) value() float64 {
	return []float64{0, math.Copysign(0, -1), 1, 2.5, -3, f.random.Float64() * 100}[f.random.IntN(6)]
}

// step sends a batch with one block per layout. odd is called with each block before it is sent.
func (f *fleet) step(t *rapid.T, producer uint32, odd func(b *block.Block, values []float64)) {
	rows := 1 + f.random.IntN(2)*f.random.IntN(4)
	f.nowMs += int64(rows) * f.everyMs
	f.sequence++
	f.both(func(s *Slicer) {
		s.beginBatch(producer, f.sequence)
		s.received(f.nowMs + 250)
	})
	for n, series := range f.layouts {
		b := &block.Block{Columns: len(series), Rows: rows, FirstMs: f.nowMs - int64(rows-1)*f.everyMs,
			StepMs: f.everyMs, Codec: block.Doubles}
		values := make([]float64, b.Cells())
		for i := range values {
			values[i] = f.value()
			if id := series[i/rows]; f.rules[id].Temporality == metric.Cumulative {
				f.counted[id] += math.Abs(values[i])
				if f.random.IntN(2_000) == 0 {
					f.counted[id] = 0
				}
				values[i] = f.counted[id]
			}
		}
		if odd != nil {
			odd(b, values)
		}
		for column, id := range series { // as in AddBlock
			there := slices.ContainsFunc(slices.Collect(f.cells(b, column)), b.Present)
			if there && f.plain.slicer.inputs.get(id) == nil {
				f.plain.slicer.Define(id, f.rules[id])
			}
		}
		for cell, v := range values {
			if b.Present(cell) {
				require.True(t, f.plain.slicer.Add(series[cell/rows], b.TimeMs(cell%rows), v))
			}
		}
		var present []float64
		for cell, v := range values {
			if b.Present(cell) {
				present = append(present, v)
			}
		}
		require.True(t, f.blocks.slicer.AddBlock(uint32(n), b, present, func(id uint32, _ int) bool {
			f.blocks.slicer.Define(id, f.rules[id])
			return true
		}))
	}
	f.both((*Slicer).endBatch)
	f.clockMs += int64(rows) * 1000
	f.both(func(s *Slicer) { s.Tick(f.clockMs) })
}

// cells returns the cells of a column.
func (f *fleet) cells(b *block.Block, column int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for row := range b.Rows {
			if !yield(column*b.Rows + row) {
				return
			}
		}
	}
}

// happen performs an event other than a block without anomalies.
func (f *fleet) happen(t *rapid.T) {
	worker := f.random.IntN(f.workers)
	id := uint32(worker*f.metrics + f.random.IntN(f.metrics))
	place := f.rules[id].Worker
	switch rapid.IntRange(0, 18).Draw(t, "what") {
	case 0: // a cell is missing
		f.step(t, 1, func(b *block.Block, _ []float64) {
			b.Presence = slices.Repeat([]byte{0xff}, (b.Cells()+7)/8)
			for range 1 + f.random.IntN(5) {
				cell := f.random.IntN(b.Cells())
				b.Presence[cell/8] &^= 1 << (cell % 8)
			}
		})
	case 1: // invalid values
		f.step(t, 1, func(_ *block.Block, values []float64) { values[f.random.IntN(len(values))] = -6 })
	case 2: // late or early times
		f.step(t, 1, func(b *block.Block, _ []float64) { b.FirstMs += int64(f.random.IntN(400_000)) - 200_000 })
	case 3: // times off the step, or two in one row of the slice
		f.step(t, 1, func(b *block.Block, _ []float64) { b.FirstMs -= int64(f.random.IntN(int(f.everyMs))) })
	case 4:
		f.step(t, 1, func(b *block.Block, _ []float64) {
			for range b.Rows {
				b.OffsetsMs = append(b.OffsetsMs, int32(f.random.IntN(900)))
			}
		})
	case 5: // another sender
		f.both(func(s *Slicer) { s.Connect(2) })
		f.step(t, 2, nil)
	case 6: // a batch of one sample, possibly with the time of the next block
		f.sequence++
		timeMs := f.nowMs - 30_000 + int64(f.random.IntN(60_000))
		f.both(func(s *Slicer) {
			s.beginBatch(1, f.sequence)
			if !s.Add(id, timeMs, 42) {
				s.Define(id, f.rules[id])
				s.Add(id, timeMs, 42)
			}
			s.endBatch()
		})
	case 7:
		f.both(func(s *Slicer) { s.Retract(id) })
	case 8:
		f.both(func(s *Slicer) { s.Detach(id) })
	case 9: // a further series, without samples in these layouts
		more := fleetRule(worker, 100+f.random.IntN(2), f.everyMs)
		f.both(func(s *Slicer) { s.Define(uint32(100_000+worker), more) })
	case 10:
		pid := fmt.Sprint(f.random.IntN(3))
		info := labels.FromStrings("__name__", "info", "worker", place.String(), "pid", pid)
		if f.random.IntN(2) == 0 {
			info = labels.FromStrings("__name__", "topology_info", "id", pid)
		}
		f.both(func(s *Slicer) { s.Describe(place, metric.Series{Kind: metric.KindGauge, Labels: info}) })
	case 11:
		n := uint64(f.random.IntN(3))
		f.both(func(s *Slicer) { s.Dropped(place, "full", n) })
	case 12:
		f.both(func(s *Slicer) { s.Refused(f.rules[id], RefusedCollision, 2) })
	case 13: // silence for a while, with or without a connected sender
		if f.random.IntN(2) == 0 {
			f.both(func(s *Slicer) { s.Disconnect(1) })
		}
		for range f.random.IntN(200) {
			f.clockMs += 4000
			f.both(func(s *Slicer) {
				s.Tick(f.clockMs)
				s.beginBatch(1, 0)
				s.endBatch()
			})
		}
		f.both(func(s *Slicer) { s.Connect(1) })
	case 14: // event time advances without the samples of some intervals
		f.nowMs += f.everyMs * int64(f.random.IntN(30))
	case 15: // several hours
		f.clockMs += 20_000
		for range 300 {
			f.clockMs += 5000
			f.both(func(s *Slicer) { s.Tick(f.clockMs) })
		}
	case 16:
		for key, want := range f.plain.slicer.outputs {
			require.Equal(t, remembered(want), remembered(f.blocks.slicer.outputs[key]), want.owner.rule.Series.Labels)
		}
		restored, err := Restore(f.blocks.slicer.Snapshot(), f.options)
		require.NoError(t, err)
		f.blocks.slicer = restored
		f.defineLayouts()
	case 18: // clock reports
		f.sequence++
		sender := metric.Worker{Topology: "bench", Host: "sender", Port: 1}
		if f.random.IntN(2) == 0 {
			sender = place
		}
		skewMs := int64(f.random.IntN(3)) * 700
		f.both(func(s *Slicer) {
			s.beginBatch(1, f.sequence)
			s.received(f.nowMs + 250)
			s.sent(sender, f.nowMs+240+skewMs)
			s.answered(sender, f.nowMs+100+skewMs, f.nowMs+90)
			s.handedOver(place, sender, f.nowMs+200+skewMs, f.nowMs+210+skewMs)
			s.endBatch()
		})
	case 17:
		f.both(func(s *Slicer) { s.Define(id, f.rules[id]) })
	}
	f.plain.collect()
	f.blocks.collect()
}

// remembered returns the state that an output needs for its next slice.
func remembered(o *output) string {
	l, c := *o.slot, o.counter
	l.ref, l.flow, l.announced = 0, nil, false
	c.from = nil
	c.order >>= 1 // whether it arrived in a block
	falls := ""
	for _, f := range []*fallen{c.fell, c.past} {
		if falls += " none"; f != nil {
			falls += fmt.Sprintf(" %v %d %d %d", f.value, f.timeMs, f.untilMs, f.order>>1)
		}
	}
	c.fell, c.past = nil, nil
	return fmt.Sprintf("%+v %+v %d%s", l, c, o.owner.id, falls)
}

// TestBlocksOfAFleetAreTheirSamples checks samples in blocks of a few lasting layouts. They give exactly the same
// slices and counts as samples one by one, whatever happens to the workers.
func TestBlocksOfAFleetAreTheirSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFleet(t)
		for range rapid.IntRange(1, 12).Draw(t, "happenings") {
			for range f.random.IntN(40) {
				f.step(t, 1, nil)
				f.plain.collect()
				f.blocks.collect()
				require.Equal(t, f.plain.slicer.Counts(), f.blocks.slicer.Counts())
			}
			f.happen(t)
			require.Equal(t, f.plain.slicer.Counts(), f.blocks.slicer.Counts())
		}
		for _, c := range []*collected{f.plain, f.blocks} {
			c.slicer.CloseAll()
			c.collect()
			require.Zero(t, c.slicer.open)
			require.Zero(t, c.slicer.pages)
			for _, r := range c.slicer.topologyStates {
				require.Zero(t, r.open+r.pages)
			}
		}
		require.Equal(t, sortedKeys(f.plain.out), sortedKeys(f.blocks.out))
		for name := range f.plain.out {
			require.Equal(t, f.plain.out[name], f.blocks.out[name], name)
		}
	})
}
