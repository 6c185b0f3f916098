// Package live keeps the newest samples of each worker's sampler, before they are in a closed slice: CPU, heap and
// garbage collection of the last five minutes, one per second. The web page shows them as they arrive.
//
// Live (live.go) reads the entries of the journal, which the registry passes on, and knows which columns of a block
// belong to which worker (series.go). worker.go computes rates from counters. Nothing here is stored: after a restart
// it has what the registry reads again. The package must not know HTTP.
package live

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

const (
	// Kept is how long samples are kept, and how long a worker is kept that sends none.
	Kept = 5 * time.Minute
	// maxWorkers bounds the memory. A worker's samples take up to 24 KiB. Further workers are not shown live.
	maxWorkers = 2_000
	// usualTickMs is the age of the newest tick at most, ms, unless something is behind: they come once per second.
	usualTickMs = 1_500
)

// Sample is what a worker's sampler reported for one time. Values are NaN if they are not known.
type Sample struct {
	TimeMs    int64   // by the worker's clock, ms since the Unix epoch
	Cores     float64 // CPU time per time since the previous sample
	GCShare   float64 // time spent collecting garbage per time since the previous sample
	HeapBytes float64
}

// Worker has the new samples of a worker.
type Worker struct {
	Name    string // host:port
	HeardMs int64  // when its newest samples arrived, by the collector's clock, ms since the Unix epoch
	EveryMs int64  // time between two of its packs, ms
	Samples []Sample
}

// Live keeps the newest samples. It is safe for concurrent use. New makes one.
type Live struct {
	now func() time.Time

	mu         sync.Mutex
	series     map[journal.SeriesID]series
	layouts    map[journal.LayoutID][]group
	topologies map[string]map[place]*worker
	workers    int
	number     uint64        // of the newest batch with samples; higher than all numbers before a restart
	changed    chan struct{} // closed by the next samples; nil if nobody waits
	tickMs     int64         // time of the newest tick
	values     []float64     // scratch
}

// New returns an empty Live. now is the collector's clock.
func New(now func() time.Time) *Live {
	return &Live{now: now, number: uint64(now().UnixMicro()), series: map[journal.SeriesID]series{},
		layouts: map[journal.LayoutID][]group{}, topologies: map[string]map[place]*worker{}}
}

// NowMs returns the collector's time, ms since the Unix epoch. readMs is the same, unless the journal or its reader is
// behind: what arrived after readMs is not known yet.
func (l *Live) NowMs() (nowMs, readMs int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	nowMs = l.now().UnixMilli()
	return nowMs, min(nowMs, l.tickMs+usualTickMs)
}

// Observe takes the next entry of the journal.
func (l *Live) Observe(entry journal.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := entry.(type) {
	case *journal.SeriesDefined:
		l.define(e)
	case *journal.LayoutDefined:
		l.layOut(e)
	case *journal.Forgotten:
		l.forget(e)
	case *journal.Batch:
		l.batch(e)
	case *journal.Tick:
		if e.TimeMs/time.Minute.Milliseconds() != l.tickMs/time.Minute.Milliseconds() {
			l.leave(e.TimeMs - Kept.Milliseconds())
		}
		l.tickMs = e.TimeMs
	}
}

// batch takes the samples of a batch.
func (l *Live) batch(b *journal.Batch) {
	news := false
	for i := range b.Blocks {
		groups := l.layouts[b.Blocks[i].Layout]
		if len(groups) == 0 {
			continue
		}
		if !news {
			l.number++
			news = true
		}
		l.values = cells(&b.Blocks[i], l.values)
		for _, g := range groups {
			if w := l.worker(g.place); w != nil {
				w.take(&b.Blocks[i], l.values, g.columns, l.number)
				w.heardMs, w.everyMs, w.number = b.ReceivedMs, g.everyMs, l.number
			}
		}
	}
	if news && l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// worker returns a worker, and makes it if it is new. It returns nil if there are too many.
func (l *Live) worker(at place) *worker {
	of := l.topologies[at.Topology]
	if w := of[at]; w != nil {
		return w
	}
	if l.workers == maxWorkers {
		return nil
	}
	if of == nil {
		of = map[place]*worker{}
		l.topologies[at.Topology] = of
	}
	l.workers++
	w := newWorker(at)
	of[at] = w
	return w
}

// leave drops the workers that were not heard since a time.
func (l *Live) leave(sinceMs int64) {
	for topology, of := range l.topologies {
		for at, w := range of {
			if w.heardMs < sinceMs {
				delete(of, at)
				l.workers--
			}
		}
		if len(of) == 0 {
			delete(l.topologies, topology)
		}
	}
}

// Since returns the workers of a topology that sent samples after the batch with a number, each with these samples, and
// the number of the newest batch. A number from before a restart, such as 0, means all samples that are kept. more is
// closed by the next samples of any topology.
func (l *Live) Since(topology string, number uint64) (news []Worker, newest uint64, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	if number > l.number {
		number = 0
	}
	for _, w := range l.topologies[topology] {
		if w.number > number {
			news = append(news, Worker{w.name, w.heardMs, w.everyMs, w.since(number)})
		}
	}
	slices.SortFunc(news, func(a, b Worker) int { return strings.Compare(a.Name, b.Name) })
	return news, l.number, l.changed
}

var unknown = math.NaN()
