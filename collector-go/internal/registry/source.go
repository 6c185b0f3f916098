package registry

import (
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

	batch    uint64 // the last one that it was seen in
	newestMs int64  // its newest sample in that batch

	// Where the run that saw it last keeps it.
	run    *run
	worker *worker
}

// sources finds the source of a series.
type sources struct {
	bySeries map[journal.SeriesID]*source
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
	return &sources{bySeries: map[journal.SeriesID]*source{}, unique: map[sourceKey]*source{}}
}

func (all *sources) define(e *journal.SeriesDefined) {
	raw := e.Series
	key := sourceKey{place{raw.Host, raw.Port}, raw.Component, raw.Task, max(raw.IntervalMs, raw.PackSpanMs)}
	src := all.unique[key]
	if src == nil {
		src = &source{place: key.place, component: key.component, task: key.task, reportMs: key.reportMs}
		all.unique[key] = src
	}
	all.bySeries[e.ID] = src
}

// seenIn are the sources of a batch's samples, with the newest time of each; valid until the next call.
func (all *sources) seenIn(b *journal.Batch) []*source {
	all.batch++
	all.seen = all.seen[:0]
	for i, id := range b.IDs {
		all.note(id, b.TimesMs[i])
	}
	for _, h := range b.Histograms {
		all.note(journal.SeriesID(h.GetSeriesId()), h.GetTimeMs())
	}
	return all.seen
}

func (all *sources) note(id journal.SeriesID, timeMs int64) {
	src := all.bySeries[id]
	switch {
	case src == nil:
	case src.batch != all.batch:
		src.batch, src.newestMs = all.batch, timeMs
		all.seen = append(all.seen, src)
	case timeMs > src.newestMs:
		src.newestMs = timeMs
	}
}
