package feed

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

// ordered checks that order does not matter: the slices equal those of the same batches arriving in order as soon as
// they were made. It applies only if nothing was too late, and if no series was silent for a day and forgotten.
//
// Quiet hours, in which series report more rarely than they state, are left out, because silence then depends on the
// ticks. Gap markers and the metrics about the collection depend on arrival times, and are left out too.
func (w *simulated) ordered() {
	if w.happen["calm_hours"] > 0 {
		return
	}
	o := w.feedOptions("ordered")
	o.CloseAtEnd = true
	real, got := w.journaled.plainRun(w.t, o, 0)
	if counts := real.accounting(); counts[fate{"late", ""}] > 0 || w.journaled.turned > 0 || w.journaled.forgotten > 0 {
		return
	}
	w.happen["ordered"]++
	again := *w.journaled
	again.entries = sorted(w.journaled)
	_, want := again.plainRun(w.t, o, 0)
	have, shall := plainly(got), plainly(want)
	if !maps.Equal(have, shall) {
		require.Equal(w.t, shall, have)
	}
}

// plainly returns the slices of a topology's own series, as text that can be compared.
func plainly(all slicesByName) map[string]string {
	plain := map[string]string{}
	for name, points := range all {
		if strings.Contains(name, `"`+catalog.CollectionPrefix) {
			continue
		}
		for endMs, p := range points {
			if p.Bits != value.StaleNaN && p.Histogram != storetest.Distribution(0, nil).Histogram {
				plain[fmt.Sprint(name, " at ", endMs)] = fmt.Sprintf("%x %s", p.Bits, p.Histogram)
			}
		}
	}
	return plain
}

// sorted returns a journal in which all definitions and connections come first, and each batch arrives when it was
// made.
func sorted(j *journaled) []journal.Entry {
	o := &ordering{journaled: j, raw: map[journal.SeriesID]metric.Raw{}, series: map[metric.Raw]journal.SeriesID{},
		layoutOf: map[journal.LayoutID]journal.LayoutID{},
		layouts:  map[string]journal.LayoutID{}, producerOf: map[journal.ProducerID]journal.ProducerID{},
		producers: map[journal.ProducerDefined]journal.ProducerID{}}
	for _, entry := range j.entries {
		o.take(entry)
	}
	slices.SortStableFunc(o.batches, func(a, b *journal.Batch) int {
		return cmp.Or(cmp.Compare(a.ReceivedMs, b.ReceivedMs), cmp.Compare(a.Producer, b.Producer))
	})
	tickMs := int64(t0)
	for _, b := range o.batches {
		if b.ReceivedMs-tickMs > 600_000 {
			tickMs = b.ReceivedMs // the world stood still
		}
		for ; tickMs < b.ReceivedMs; tickMs += 1000 {
			o.entries = append(o.entries, &journal.Tick{TimeMs: tickMs})
		}
		o.entries = append(o.entries, b)
	}
	return o.entries
}

// ordering sorts a journal's entries. What is defined more than once keeps its first id.
type ordering struct {
	*journaled
	entries []journal.Entry
	batches []*journal.Batch

	raw        map[journal.SeriesID]metric.Raw
	series     map[metric.Raw]journal.SeriesID
	layoutOf   map[journal.LayoutID]journal.LayoutID
	layouts    map[string]journal.LayoutID
	producerOf map[journal.ProducerID]journal.ProducerID
	producers  map[journal.ProducerDefined]journal.ProducerID
}

func (o *ordering) take(entry journal.Entry) {
	switch e := entry.(type) {
	case *journal.SeriesDefined:
		o.raw[e.ID] = e.Series
		if o.series[e.Series] == 0 {
			o.series[e.Series] = e.ID
			o.entries = append(o.entries, e)
		}
	case *journal.LayoutDefined:
		d := &journal.LayoutDefined{ID: e.ID}
		for _, id := range e.Series {
			d.Series = append(d.Series, o.first(id))
		}
		key := fmt.Sprint(d.Series)
		if o.layouts[key] == 0 {
			o.layouts[key] = e.ID
			o.entries = append(o.entries, d)
		}
		o.layoutOf[e.ID] = o.layouts[key]
	case *journal.ProducerDefined:
		place := *e
		place.ID = 0
		if o.producers[place] == 0 {
			o.producers[place] = e.ID
			o.entries = append(o.entries, e, &journal.Connected{Producer: e.ID, TimeMs: t0})
		}
		o.producerOf[e.ID] = o.producers[place]
	case *journal.Batch:
		o.batches = append(o.batches, o.renamed(e))
	}
}

func (o *ordering) first(id journal.SeriesID) journal.SeriesID { return o.series[o.raw[id]] }

// renamed returns a batch with the first ids, which arrives when it was made.
func (o *ordering) renamed(of *journal.Batch) *journal.Batch {
	b := *of
	b.Notes, b.ReceivedMs, b.Producer = nil, o.sent[batchName{b.Epoch, b.Sequence}].receivedMs, o.producerOf[b.Producer]
	b.IDs, b.Blocks, b.Histograms = slices.Clone(b.IDs), slices.Clone(b.Blocks), slices.Clone(b.Histograms)
	for i, id := range b.IDs {
		b.IDs[i] = o.first(id)
	}
	for i := range b.Blocks {
		b.Blocks[i].Layout = o.layoutOf[b.Blocks[i].Layout]
	}
	for i, h := range b.Histograms {
		h = proto.Clone(h).(*bulletmetricsv1.HistogramSample)
		h.SeriesId = uint32(o.first(journal.SeriesID(h.GetSeriesId())))
		b.Histograms[i] = h
	}
	return &b
}
