package feed

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

type batchName struct {
	epoch    journal.Epoch
	sequence uint64
}

// sent is a batch as its sender sees it: it has names of series instead of the journal's ids.
type sent struct {
	name       batchName
	receivedMs int64
	samples    []sentSample
	blocks     []sentBlock
	histograms []sentSample // the value is the count
}

// count returns the number of samples.
func (b *sent) count() int {
	n := len(b.samples) + len(b.histograms)
	for _, x := range b.blocks {
		n += len(x.values)
	}
	return n
}

type sentSample struct {
	series metric.Raw
	timeMs int64
	value  float64
}

// sentBlock has one row per second.
type sentBlock struct {
	layout  []metric.Raw
	firstMs int64
	values  []float64 // column by column
}

// all returns the batch's samples in the order in which they are journaled.
func (b *sent) all() []sentSample {
	all := slices.Clone(b.samples)
	for _, x := range b.blocks {
		rows := len(x.values) / len(x.layout)
		for cell, v := range x.values {
			all = append(all, sentSample{x.layout[cell/rows], x.firstMs + 1000*int64(cell%rows), v})
		}
	}
	return append(all, b.histograms...)
}

// journaled is everything that was ever durable in the journal. It is read by a reader that misses nothing, like a
// process that never dies.
type journaled struct {
	t         *testing.T
	at        journal.Position
	entries   []journal.Entry
	sent      map[batchName]*sent
	batches   map[batchName]int
	samples   int
	forgotten int
	// rejects selects the samples that ingest rejects at a time; nil: none.
	rejects func(s sentSample, receivedMs int64) bool
	turned  int // samples that were

	series    map[journal.SeriesID]metric.Raw
	layouts   map[journal.LayoutID][]journal.SeriesID
	producers map[journal.ProducerID]bool
}

func newJournaled(t *testing.T) *journaled {
	return &journaled{t: t, sent: map[batchName]*sent{}, batches: map[batchName]int{},
		series:  map[journal.SeriesID]metric.Raw{},
		layouts: map[journal.LayoutID][]journal.SeriesID{}, producers: map[journal.ProducerID]bool{}}
}

// catchUp reads all that is durable, and allows the journal to release it.
func (j *journaled) catchUp(from *journal.Journal, retention *Retention) {
	reader, err := from.Reader(j.at)
	require.NoError(j.t, err)
	defer reader.Close()
	for {
		at, entry, err := reader.Next(nothingToWaitFor)
		if errors.Is(err, journal.ErrRead) {
			continue
		}
		if errors.Is(err, context.Canceled) || errors.Is(err, journal.ErrClosed) {
			break
		}
		if err != nil {
			require.NoError(j.t, err)
		}
		if at < j.at {
			require.GreaterOrEqual(j.t, at, j.at)
		}
		j.at = at
		j.take(entry)
	}
	_ = retention.Need("journaled", j.at) // may fail with the disk
}

// take stores an entry. A new reader receives definitions again.
func (j *journaled) take(entry journal.Entry) {
	switch e := entry.(type) {
	case *journal.SeriesDefined:
		if known, is := j.series[e.ID]; is {
			if known != e.Series {
				require.Equal(j.t, known, e.Series)
			}
			return
		}
		j.series[e.ID] = e.Series
	case *journal.LayoutDefined:
		if known, is := j.layouts[e.ID]; is {
			if !slices.Equal(known, e.Series) {
				require.Equal(j.t, known, e.Series)
			}
			return
		}
		j.layouts[e.ID] = e.Series
	case *journal.ProducerDefined:
		if j.producers[e.ID] {
			return
		}
		j.producers[e.ID] = true
	case *journal.Forgotten:
		j.forget(e)
	case *journal.Batch:
		j.batch(e)
		entry = e.Retained()
	}
	j.entries = append(j.entries, entry)
}

func (j *journaled) forget(e *journal.Forgotten) {
	j.forgotten += len(e.Series) + len(e.Layouts) + len(e.Producers)
	for _, id := range e.Series {
		delete(j.series, id)
	}
	for _, id := range e.Layouts {
		delete(j.layouts, id)
	}
	for _, id := range e.Producers {
		delete(j.producers, id)
	}
}

// batch compares a batch with what its sender sent, without what ingest rejected.
func (j *journaled) batch(b *journal.Batch) {
	name := batchName{b.Epoch, b.Sequence}
	j.batches[name]++
	j.samples += b.Samples()
	if j.sent[name] == nil {
		require.Fail(j.t, "a batch was never sent", "%v", name)
	}
	want := j.sent[name].all()
	if j.rejects != nil {
		all := len(want)
		want = slices.DeleteFunc(want, func(s sentSample) bool { return j.rejects(s, b.ReceivedMs) })
		j.turned += all - len(want)
	}
	if got := j.named(b); !slices.Equal(want, got) {
		require.Equal(j.t, want, got, "batch %v", name)
	}
}

// named returns a batch's samples with the names of their series.
func (j *journaled) named(b *journal.Batch) []sentSample {
	all := make([]sentSample, 0, b.Samples())
	for i, id := range b.IDs {
		all = append(all, sentSample{j.series[id], b.TimesMs[i], b.Values[i]})
	}
	var values []float64
	for i := range b.Blocks {
		x := &b.Blocks[i]
		values = x.Floats(values[:0])
		next := 0
		for cell := range x.Cells() {
			if x.Present(cell) {
				all = append(all, sentSample{j.series[j.layouts[x.Layout][cell/x.Rows]], x.TimeMs(cell % x.Rows),
					values[next]})
				next++
			}
		}
	}
	for _, h := range b.Histograms {
		all = append(all, sentSample{j.series[journal.SeriesID(h.GetSeriesId())], h.GetTimeMs(), float64(h.GetCount())})
	}
	return all
}

// slicesByName are slices by the labels of their series and by their end.
type slicesByName map[string]map[int64]storetest.Point

func (s slicesByName) put(name string, p storetest.Point) {
	if s[name] == nil {
		s[name] = map[int64]storetest.Point{}
	}
	s[name][p.EndMs] = p
}

// names maps the refs of a store to the names of series.
type names map[slice.Ref]string

// each calls do with every slice of some columns, by name.
func (n names) each(c *slice.Columns, do func(name string, p storetest.Point)) {
	for _, d := range c.Definitions {
		n[d.Ref] = d.Series.Labels.String()
	}
	for i := range c.Refs {
		do(n[c.Refs[i]], numberOf(c, i))
	}
	for i := range c.HistogramRefs {
		do(n[c.HistogramRefs[i]], distributionOf(c, i))
	}
}

func numberOf(c *slice.Columns, i int) storetest.Point {
	return storetest.Number(c.EndsMs[i], c.Values[i])
}

func distributionOf(c *slice.Columns, i int) storetest.Point {
	if h := c.Histograms[i]; h != nil {
		return storetest.Distribution(c.HistogramEndsMs[i], h.ToFloat(nil))
	}
	return storetest.Distribution(c.HistogramEndsMs[i], nil)
}

// plainRun returns what the journal's entries give without any faults, but with a restart from a checkpoint after each
// restartTicks ticks; 0 for none.
func (j *journaled) plainRun(t require.TestingT, o Options, restartTicks int) (*pipeline, slicesByName) {
	p, err := newPipeline(o)
	require.NoError(t, err)
	known, want := names{}, slicesByName{}
	take := func() {
		known.each(p.closed(), func(name string, point storetest.Point) {
			if _, there := want[name][point.EndMs]; !there {
				want.put(name, point)
			}
		})
		p.closed().Reset()
	}
	ticks := 0
	for i, entry := range j.entries {
		p.apply(entry)
		if _, tick := entry.(*journal.Tick); tick {
			take()
			if ticks++; restartTicks > 0 && ticks%restartTicks == 0 {
				p = restarted(t, p, o, j.entries[:i+1])
			}
		}
	}
	if o.CloseAtEnd {
		p.slicer.CloseAll()
	}
	take()
	return p, want
}

// restarted returns a pipeline that continues from another's checkpoint. It receives the definitions again, as from a
// journal.
func restarted(t require.TestingT, p *pipeline, o Options, past []journal.Entry) *pipeline {
	next, err := restorePipeline(slices.Concat(p.snapshot()...), o)
	require.NoError(t, err)
	layouts := map[journal.LayoutID]journal.Entry{}
	for _, entry := range past {
		switch e := entry.(type) {
		case *journal.LayoutDefined:
			layouts[e.ID] = e
		case *journal.Forgotten:
			for _, id := range e.Layouts {
				delete(layouts, id)
			}
		}
	}
	for _, producer := range p.producers {
		next.apply(&producer)
	}
	for _, layout := range layouts {
		next.apply(layout)
	}
	return next
}
