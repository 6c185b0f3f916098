package registry

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// place is the host and port by which Storm identifies a worker. It stays the same when the process is replaced.
type place struct {
	host string
	port uint32
}

// source identifies the task (or the worker) that a series comes from. A task has hundreds of series, and the registry
// needs only the newest time of all of them. Each batch is therefore reduced to its sources before anything else is
// done.
type source struct {
	place
	component string
	task      int32 // -1 for the worker itself
	reportMs  int64 // its reporting interval
	series    int   // number of its series that are defined

	batch    uint64 // the newest batch that has a sample of it
	newestMs int64  // time of its newest sample in that batch

	// run and worker cache the run that last saw the source, and the worker in it.
	run    *run
	worker *worker
}

// sources finds the source of a series. It is built from the definitions in the journal, which are repeated after a
// restart, so checkpoints do not contain it.
type sources struct {
	bySeries  map[journal.SeriesID]*source
	byLayout  map[journal.LayoutID][]column
	unique    map[sourceKey]*source
	newest    *source // the last one looked up in unique, or nil
	batch     uint64
	newestKey sourceKey
	seen      []*source // sources in the current batch, in the order of their first samples
}

// column is a range of adjacent columns of a layout that come from one source. A layout usually has one range for each
// task.
type column struct {
	source      *source
	first, last int // both inclusive
}

// sourceKey identifies a source. It includes the reporting interval, because a task may report some series once a
// second and others once a minute.
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

// define records the source of a series. Series of one source are usually defined together, so define first compares
// with the last source.
func (all *sources) define(e *journal.SeriesDefined) {
	raw := e.Series
	key := sourceKey{place{raw.Host, raw.Port}, raw.Component, raw.Task, max(raw.IntervalMs, raw.PackSpanMs)}
	if all.newest == nil || all.newestKey != key { // series of one source arrive together
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

// layOut records the sources of a layout's columns. The journal has defined the series before.
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

// forget deletes the series and layouts that the journal forgot, and then the sources without any series.
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

// seenIn returns the sources of a batch's samples, each with its newest time. The slice is valid until the next call.
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

// noteBlock records the sources of a block's samples. A source's newest time is that of the newest row in which one of
// its columns has a sample.
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

// note records a sample's time. It adds the source to seen if this is the source's first sample in the batch.
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
