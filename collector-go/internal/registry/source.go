package registry

import (
	"slices"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/journal"
)

// place is a worker's: its host and port.
type place struct {
	host string
	port uint32
}

// source is where series come from: a task of a worker.
type source struct {
	place
	component string
	task      int32 // -1 for a worker's own
	reportMs  int64 // how often it reports

	series int // that come from it

	batch    uint64 // the last one that it was seen in
	newestMs int64  // its newest sample in that batch

	// Where the run that saw it last keeps it.
	run    *run
	worker *worker
}

// sources finds the source of a series.
type sources struct {
	bySeries map[journal.SeriesID]*source
	byLayout map[journal.LayoutID]*layoutSources
	unique   map[sourceKey]*source
	batch    uint64
	seen     []*source // in the current batch, in the order of their first samples
}

type sourceKey struct {
	place
	component string
	task      int32
	reportMs  int64
}

func newSources() *sources {
	return &sources{bySeries: map[journal.SeriesID]*source{}, byLayout: map[journal.LayoutID]*layoutSources{}, unique: map[sourceKey]*source{}}
}

func (all *sources) define(e *journal.SeriesDefined) {
	raw := e.Series
	key := sourceKey{place{raw.Host, raw.Port}, raw.Component, raw.Task, max(raw.IntervalMs, raw.PackSpanMs)}
	src := all.unique[key]
	if src == nil {
		src = &source{place: key.place, component: key.component, task: key.task, reportMs: key.reportMs}
		all.unique[key] = src
	}
	if all.bySeries[e.ID] == nil {
		src.series++
	}
	all.bySeries[e.ID] = src
}

// layoutSources are where the columns of a layout come from.
type layoutSources struct {
	series []journal.SeriesID
	unique []*source
}

func (all *sources) defineLayout(e *journal.LayoutDefined) {
	of := &layoutSources{series: slices.Clone(e.Series)}
	for _, id := range of.series {
		if src := all.bySeries[id]; src != nil && !slices.Contains(of.unique[max(len(of.unique)-8, 0):], src) {
			of.unique = append(of.unique, src)
		}
	}
	all.byLayout[e.ID] = of
}

// forget drops what the journal has forgotten.
func (all *sources) forget(e *journal.Forgotten) {
	for _, id := range e.Layouts {
		delete(all.byLayout, id)
	}
	for _, id := range e.Series {
		src := all.bySeries[id]
		delete(all.bySeries, id)
		if src == nil {
			continue
		}
		if src.series--; src.series == 0 {
			delete(all.unique, sourceKey{src.place, src.component, src.task, src.reportMs})
		}
	}
}

// seenIn are the sources of a batch's samples, with the newest time of each; valid until the next call.
func (all *sources) seenIn(b *journal.Batch) []*source {
	all.batch++
	all.seen = all.seen[:0]
	for i, id := range b.IDs {
		all.note(id, b.TimesMs[i])
	}
	for i := range b.Blocks {
		all.noteBlock(&b.Blocks[i])
	}
	for _, h := range b.Histograms {
		all.note(journal.SeriesID(h.GetSeriesId()), h.GetTimeMs())
	}
	return all.seen
}

// noteBlock notes the newest sample of each column.
func (all *sources) noteBlock(b *journal.Block) {
	of := all.byLayout[b.Layout]
	if of == nil {
		return
	}
	if b.Presence == nil {
		for _, src := range of.unique {
			all.noteSource(src, b.TimeMs(b.Rows-1))
		}
		return
	}
	for column, id := range of.series {
		for row := b.Rows - 1; row >= 0; row-- {
			if b.Present(column*b.Rows + row) {
				all.note(id, b.TimeMs(row))
				break
			}
		}
	}
}

func (all *sources) note(id journal.SeriesID, timeMs int64) { all.noteSource(all.bySeries[id], timeMs) }

func (all *sources) noteSource(src *source, timeMs int64) {
	switch {
	case src == nil:
	case src.batch != all.batch:
		src.batch, src.newestMs = all.batch, timeMs
		all.seen = append(all.seen, src)
	case timeMs > src.newestMs:
		src.newestMs = timeMs
	}
}
