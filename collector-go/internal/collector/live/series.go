package live

import (
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
)

// place is where a worker runs: topology, host and port.
type place = metric.Worker

// field is what a series of the sampler measures.
type field uint8

const (
	cpuMs     field = iota // CPU time since the process started; user and system time are summed
	gcMs                   // time of garbage collection pauses since then; the collectors are summed
	heapBytes              // heap in use
	startMs                // when the process started
	fields    = 4
)

// fieldsByName are the series of the sampler by the names that the plugin sends.
var fieldsByName = map[string]field{
	"cpu.user_ms": cpuMs, "cpu.system_ms": cpuMs, "cpu.total_ms": cpuMs, "gc.time_ms": gcMs,
	"heap.used_bytes": heapBytes, "process.start_time_ms": startMs,
}

// series is a series of a sampler.
type series struct {
	place
	field   field
	everyMs int64
}

// group is the columns of a layout that belong to one worker, in ascending order.
type group struct {
	place
	everyMs int64
	columns []column
}

type column struct {
	index int
	field field
}

func (l *Live) define(e *journal.SeriesDefined) {
	raw := e.Series
	f, known := fieldsByName[raw.Name]
	if !known || raw.Shape != metric.ShapeSampler || f == gcMs && metric.IsConcurrentGC(raw.Key) {
		return
	}
	l.series[e.ID] = series{raw.Worker, f, max(raw.IntervalMs, raw.PackSpanMs)}
}

// layOut groups the columns of a layout by worker. The journal has defined the series before.
func (l *Live) layOut(e *journal.LayoutDefined) {
	at := map[place]int{}
	var groups []group
	for i, id := range e.Series {
		s, ours := l.series[id]
		if !ours {
			continue
		}
		n, known := at[s.place]
		if !known {
			n = len(groups)
			at[s.place] = n
			groups = append(groups, group{place: s.place, everyMs: s.everyMs})
		}
		groups[n].columns = append(groups[n].columns, column{i, s.field})
	}
	if groups != nil {
		l.layouts[e.ID] = groups
	}
}

func (l *Live) forget(e *journal.Forgotten) {
	for _, id := range e.Series {
		delete(l.series, id)
	}
	for _, id := range e.Layouts {
		delete(l.layouts, id)
	}
}
