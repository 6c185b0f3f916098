package feed

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// apart returns a pipeline without a journal's files, which has received the definitions of some series.
func apart(t *testing.T, raws ...metric.Raw) *pipeline {
	p, err := newPipeline(DefaultOptions("memory", ""))
	require.NoError(t, err)
	p.apply(&journal.ProducerDefined{ID: 1, Topology: "t", TopologyID: "t-1", Host: "h", Port: 6700})
	p.apply(&journal.Connected{Producer: 1})
	for i, raw := range raws {
		raw.Worker = metric.Worker{Topology: "t", Host: "h", Port: 6700}
		p.apply(&journal.SeriesDefined{ID: journal.SeriesID(i), Series: raw})
	}
	return p
}

func sampled(name string) metric.Raw {
	return metric.Raw{Name: name, Component: "__system", Task: -1, Shape: metric.ShapeSampler,
		Temporality: metric.Gauge, IntervalMs: 1000, PackSpanMs: 10_000}
}

// requireBalance checks that the samples read are the sum of all other counts.
func requireBalance(t *testing.T, p *pipeline) map[fate]uint64 {
	counts := p.accounting()
	var others uint64
	for fate, n := range counts {
		if fate.name != "read" {
			others += n
		}
	}
	require.Equal(t, counts[fate{"read", ""}], others, "%v", counts)
	return counts
}

// TestBlocksComeThroughThePipeline checks that a pack in a block gives the same result as its samples. Series that the
// sampler overrules are left out, even if a block contains nothing else, and the accounting balances. The batch is not
// changed, because other feeds read it too.
func TestBlocksComeThroughThePipeline(t *testing.T) {
	storms := metric.Raw{Name: "memory.heap.used", Component: "__system", Task: -1, Shape: metric.ShapeNumber,
		IntervalMs: 10_000}
	raws := []metric.Raw{sampled("heap.used_bytes"), storms, sampled("heap.committed_bytes")}
	blocks, plain := apart(t, raws...), apart(t, raws...)
	layout := &journal.LayoutDefined{ID: 4, Series: []journal.SeriesID{0, 1, 2}}
	blocks.apply(layout)
	values := []float64{1, 2, 3, 10, 11, 12, 5, 6, 7}
	for sequence := range uint64(20) {
		first := t0 + int64(sequence)*3000
		b := block.Block{Columns: 3, Rows: 3, FirstMs: first, StepMs: 1000, Codec: block.Trimmed,
			Values: block.AppendTrimmed(nil, values)}
		raw := append([]byte(nil), b.Values...)
		blocks.apply(&journal.Batch{Producer: 1, Sequence: sequence, ReceivedMs: first,
			Blocks: []journal.Block{{Layout: 4, Block: b}, {Layout: 9, Block: b}}})
		require.Equal(t, raw, b.Values)
		batch := &journal.Batch{Producer: 1, Sequence: sequence, ReceivedMs: first}
		for column := range 3 {
			for row := range 3 {
				batch.IDs = append(batch.IDs, journal.SeriesID(column))
				batch.TimesMs = append(batch.TimesMs, first+int64(row)*1000)
				batch.Values = append(batch.Values, values[column*3+row])
			}
		}
		plain.apply(batch)
	}
	counts, want := requireBalance(t, blocks), requireBalance(t, plain)
	assert.EqualValues(t, 20*9, counts[fate{"refused", "undefined"}], "of a layout that is not known")
	assert.EqualValues(t, 20*3, counts[fate{"left_out", "sampler"}])
	delete(counts, fate{"refused", "undefined"})
	counts[fate{"read", ""}] -= 20 * 9
	assert.Equal(t, want, counts)
	assert.NotZero(t, want[fate{"in_slices", ""}])
	assert.Equal(t, plain.closed(), blocks.closed())
}

// TestCollidingNamesAreCounted checks that the second of two names that become the same one is refused, and that the
// metrics about the collection count it.
func TestCollidingNamesAreCounted(t *testing.T) {
	first, second := metric.Raw{Name: "a.x", Component: "c", Task: 3, Shape: metric.ShapeNumber, IntervalMs: 10_000},
		metric.Raw{Name: "a_x", Component: "c", Task: 3, Shape: metric.ShapeNumber, IntervalMs: 10_000}
	p := apart(t, first, second)
	refused := map[slice.Ref]string{}
	var counted float64
	for sequence := range uint64(12) {
		at := t0 + int64(sequence)*10_000
		p.apply(&journal.Batch{Producer: 1, Sequence: sequence, IDs: []journal.SeriesID{0, 1}, TimesMs: []int64{at, at},
			Values: []float64{1, 2}})
		for _, d := range p.closed().Definitions {
			if ls := d.Series.Labels; d.Series.Name() == "bullet_metrics_collection_refused_samples_total" {
				refused[d.Ref] = ls.Get("metric") + " " + ls.Get("reason")
			}
		}
		for i, ref := range p.closed().Refs {
			if refused[ref] != "" {
				counted = max(counted, p.closed().Values[i])
			}
		}
		p.closed().Reset()
	}
	counts := requireBalance(t, p)
	assert.EqualValues(t, 12, counts[fate{"refused", "collision"}])
	assert.Positive(t, counted)
	for _, what := range refused {
		assert.Equal(t, "storm_a_x collision", what)
	}
}

// TestWhatTheJournalForgetsGivesWay checks that a series that the journal forgot is replaced by its successor with
// another id. The refs of the first one are retired when it is a day old.
func TestWhatTheJournalForgetsGivesWay(t *testing.T) {
	p := apart(t, sampled("heap.used_bytes"))
	p.apply(&journal.LayoutDefined{ID: 1, Series: []journal.SeriesID{0}})
	values := block.AppendDoubles(nil, []float64{5})
	send := func(layout journal.LayoutID, sequence uint64, atMs int64) {
		p.apply(&journal.Batch{Producer: 1, Sequence: sequence, Blocks: []journal.Block{{Layout: layout,
			Block: block.Block{Columns: 1, Rows: 1, FirstMs: atMs, Codec: block.Doubles, Values: values}}}})
	}
	send(1, 1, t0)
	p.apply(&journal.Forgotten{Series: []journal.SeriesID{0}, Layouts: []journal.LayoutID{1}})
	raw := sampled("heap.used_bytes")
	raw.Worker = metric.Worker{Topology: "t", Host: "h", Port: 6700}
	p.apply(&journal.SeriesDefined{ID: 7, Series: raw})
	p.apply(&journal.LayoutDefined{ID: 2, Series: []journal.SeriesID{7}})
	send(2, 2, t0+90_000)
	counts := requireBalance(t, p)
	assert.Zero(t, counts[fate{"left_out", "repeat"}])
	assert.EqualValues(t, 1, counts[fate{"open", ""}])
	restored, err := restorePipeline(func() []byte { p.closed().Reset(); return slices.Concat(p.snapshot()...) }(),
		DefaultOptions("memory", ""))
	require.NoError(t, err)
	assert.Equal(t, counts, restored.accounting())

	p.closed().Reset()
	var refs []slice.Ref
	for now := t0; now < t0+30*3600*1000 && len(refs) == 0; now += 5000 {
		p.apply(&journal.Tick{TimeMs: now})
		refs = append(refs, p.closed().Retired...)
		p.closed().Reset()
	}
	assert.Contains(t, refs, slice.Ref(0), "the heap's mean")
}

// TestARestartWakesNothing checks that a restart does not define series that the slicer has forgotten. Otherwise their
// worker would be known from then on, and would close slices that stay open without the restart.
func TestARestartWakesNothing(t *testing.T) {
	p := apart(t, sampled("heap.used_bytes"), sampled("heap.committed_bytes"))
	p.apply(&journal.Batch{Producer: 1, Sequence: 1, IDs: []journal.SeriesID{0, 1}, TimesMs: []int64{t0, t0},
		Values: []float64{1, 1}})
	restarted := func() *pipeline {
		p.closed().Reset()
		restored, err := restorePipeline(slices.Concat(p.snapshot()...), DefaultOptions("memory", ""))
		require.NoError(t, err)
		require.Equal(t, p.snapshot(), restored.snapshot())
		return restored
	}
	require.EqualValues(t, 2, restarted().slicer.Counts().Series)
	for now := t0; p.slicer.Counts().Series > 0; now += 5000 {
		require.Less(t, now, t0+30*3600*1000)
		p.apply(&journal.Tick{TimeMs: now})
	}
	p = restarted()
	p.apply(&journal.Batch{Producer: 1, Sequence: 2, IDs: []journal.SeriesID{0}, TimesMs: []int64{t0},
		Values: []float64{1}})
	require.EqualValues(t, 1, p.accounting()[fate{"open", ""}])
}
