package registry

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// place is the host and port of a worker, by which Storm knows it. It stays the same when the process is replaced.
type place struct {
	host string
	port uint32
}

// source is the task of a worker that a series comes from. A task has hundreds of series, and the registry needs only
// the newest time of all of them. Each batch is therefore reduced to its sources before anything else is done.
type source struct {
	place
	component string
	task      int32 // -1 for a worker's own
	reportMs  int64 // how often it reports
	series    int   // of it, that are known

	batch    uint64 // the last one that it was seen in
	newestMs int64  // its newest sample in that batch

	// Where the run that saw it last keeps it.
	run    *run
	worker *worker
}

// sources finds the source of a series. It follows the definitions of the journal, which come again after a restart,
// so no checkpoint has it.
type sources struct {
	bySeries  map[journal.SeriesID]*source
	byLayout  map[journal.LayoutID][]column
	unique    map[sourceKey]*source
	newest    *source // the one that was looked up last in unique; nil: none
	batch     uint64
	newestKey sourceKey
	seen      []*source // in the current batch, in the order of their first samples
}

// column is a run of neighbouring columns of a layout that come from one source. A layout usually has one for each
// task.
type column struct {
	source      *source
	first, last int // both included
}

// sourceKey identifies a source. The reporting interval belongs to it: a task may report some series once a second and
// others once a minute.
type sourceKey struct {
	place
	component string
	task      int32
	reportMs  int64
}

func newSources() *sources {
	return &sources{bySeries: map[journal.SeriesID]*source{}, byLayout: map[journal.LayoutID][]column{},
		unique: map[sourceKey]*source{}}
}

// define notes the source of a series. Series of one source are usually defined together, so the last one is tried
// first.
func (all *sources) define(e *journal.SeriesDefined) {
	raw := e.Series
	key := sourceKey{place{raw.Host, raw.Port}, raw.Component, raw.Task, max(raw.IntervalMs, raw.PackSpanMs)}
	if all.newest == nil || all.newestKey != key { // series of one source come together
		all.newest, all.newestKey = all.unique[key], key
	}
	src := all.newest
	if src == nil {
		src = &source{place: key.place, component: key.component, task: key.task, reportMs: key.reportMs}
		all.unique[key], all.newest = src, src
	}
	if all.bySeries[e.ID] == nil {
		src.series++
	}
	all.bySeries[e.ID] = src
}

// layOut notes whose the columns of a layout are; its series are defined.
func (all *sources) layOut(e *journal.LayoutDefined) {
	var columns []column
	for i, id := range e.Series {
		src := all.bySeries[id]
		if n := len(columns); n > 0 && columns[n-1].source == src && columns[n-1].last == i-1 {
			columns[n-1].last = i
		} else if src != nil {
			columns = append(columns, column{src, i, i})
		}
	}
	all.byLayout[e.ID] = columns
}

// forget drops the series and layouts that the journal forgot, and sources without a series.
func (all *sources) forget(e *journal.Forgotten) {
	for _, id := range e.Layouts {
		delete(all.byLayout, id)
	}
	for _, id := range e.Series {
		src := all.bySeries[id]
		if src == nil {
			continue
		}
		delete(all.bySeries, id)
		if src.series--; src.series == 0 {
			delete(all.unique, sourceKey{src.place, src.component, src.task, src.reportMs})
			all.newest = nil
		}
	}
}

// seenIn are the sources of a batch's samples, with the newest time of each; valid until the next call.
func (all *sources) seenIn(b *journal.Batch) []*source {
	all.batch++
	all.seen = all.seen[:0]
	for i, id := range b.IDs {
		all.note(all.bySeries[id], b.TimesMs[i])
	}
	for i := range b.Blocks {
		all.noteBlock(&b.Blocks[i])
	}
	for _, h := range b.Histograms {
		all.note(all.bySeries[journal.SeriesID(h.GetSeriesId())], h.GetTimeMs())
	}
	return all.seen
}

// noteBlock notes the sources of a block's samples: a source's newest row is the newest that any of its columns has a
// sample in.
func (all *sources) noteBlock(b *journal.Block) {
	for _, c := range all.byLayout[b.Layout] {
		if row := newestRow(b, c); row >= 0 {
			all.note(c.source, b.TimeMs(row))
		}
	}
}

// newestRow returns the newest row in which one of the columns has a sample, or -1 if there is none.
func newestRow(b *journal.Block, c column) int {
	if b.Presence == nil {
		return b.Rows - 1
	}
	for row := b.Rows - 1; row >= 0; row-- {
		for at := c.first; at <= c.last; at++ {
			if b.Present(at*b.Rows + row) {
				return row
			}
		}
	}
	return -1
}

// note records a sample's time, and lists the source when it is the first one of this batch.
func (all *sources) note(src *source, timeMs int64) {
	switch {
	case src == nil:
	case src.batch != all.batch:
		src.batch, src.newestMs = all.batch, timeMs
		all.seen = append(all.seen, src)
	case timeMs > src.newestMs:
		src.newestMs = timeMs
	}
}
