package feed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	bulletmetricsv1 "github.com/bullet-metrics/bullet-metrics/collector-go/gen/bulletmetrics/v1"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/catalog"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/storetest"
)

// ordered holds, where nothing came too late, that the slices are those of the same batches had they come at once when they were made: order
// does not matter. Gaps' markers, and what is told of the collection itself, depend on what came when, and are left out.
func (w *simulated) ordered() {
	o := w.feedOptions("ordered")
	o.CloseAtEnd = true
	real, got := w.journaled.plainRun(w.t, o, 0)
	if books := real.books(); books[fate{"late", ""}] > 0 || w.journaled.turned > 0 {
		return
	}
	w.happen["ordered"]++
	again := *w.journaled
	again.entries = sorted(w.journaled)
	_, want := again.plainRun(w.t, o, 0)
	require.Equal(w.t, plainly(want), plainly(got))
}

// plainly is the slices of a topology's own series, as text that can be compared.
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

// sorted is a journal in which all is defined and connected first, and each batch comes when it was made.
func sorted(j *journaled) (entries []journal.Entry) {
	var batches []*journal.Batch
	raw, series := map[journal.SeriesID]metric.Raw{}, map[metric.Raw]journal.SeriesID{}
	layoutOf, layouts := map[journal.LayoutID]journal.LayoutID{}, map[string]journal.LayoutID{}
	producerOf, producers := map[journal.ProducerID]journal.ProducerID{}, map[journal.ProducerDefined]journal.ProducerID{}
	for _, entry := range j.entries {
		switch e := entry.(type) {
		case *journal.SeriesDefined:
			raw[e.ID] = e.Series
			if series[e.Series] == 0 {
				series[e.Series] = e.ID
				entries = append(entries, e)
			}
		case *journal.LayoutDefined:
			d := &journal.LayoutDefined{ID: e.ID}
			for _, id := range e.Series {
				d.Series = append(d.Series, series[raw[id]])
			}
			key := fmt.Sprint(d.Series)
			if layouts[key] == 0 {
				layouts[key] = e.ID
				entries = append(entries, d)
			}
			layoutOf[e.ID] = layouts[key]
		case *journal.ProducerDefined:
			place := *e
			place.ID = 0
			if producers[place] == 0 {
				producers[place] = e.ID
				entries = append(entries, e, &journal.Connected{Producer: e.ID, TimeMs: t0})
			}
			producerOf[e.ID] = producers[place]
		case *journal.Batch:
			b := *e
			b.Notes, b.ReceivedMs, b.Producer = nil, j.sent[batchName{e.Epoch, e.Sequence}].receivedMs, producerOf[e.Producer]
			b.IDs, b.Blocks, b.Histograms = slices.Clone(e.IDs), slices.Clone(e.Blocks), slices.Clone(e.Histograms)
			for i, id := range b.IDs {
				b.IDs[i] = series[raw[id]]
			}
			for i := range b.Blocks {
				b.Blocks[i].Layout = layoutOf[b.Blocks[i].Layout]
			}
			for i, h := range b.Histograms {
				h = proto.Clone(h).(*bulletmetricsv1.HistogramSample)
				h.SeriesId = uint32(series[raw[journal.SeriesID(h.GetSeriesId())]])
				b.Histograms[i] = h
			}
			batches = append(batches, &b)
		}
	}
	slices.SortStableFunc(batches, func(a, b *journal.Batch) int {
		return cmp.Or(cmp.Compare(a.ReceivedMs, b.ReceivedMs), cmp.Compare(a.Producer, b.Producer))
	})
	tickMs := int64(t0)
	for _, b := range batches {
		if b.ReceivedMs-tickMs > 600_000 {
			tickMs = b.ReceivedMs // the world stood still
		}
		for ; tickMs < b.ReceivedMs; tickMs += 1000 {
			entries = append(entries, &journal.Tick{TimeMs: tickMs})
		}
		entries = append(entries, b)
	}
	return entries
}
