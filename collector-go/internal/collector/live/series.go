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
	cpuMs     field = iota + 1 // CPU time since the process started; user and system time are summed
	gcMs                       // time spent collecting garbage since then; the collectors are summed
	heapBytes                  // heap in use
	startMs                    // when the process started
	fields    = 5
)

// fieldsByName are the series of the sampler by the names that the plugin sends.
var fieldsByName = map[string]field{
	"cpu.user_ms": cpuMs, "cpu.system_ms": cpuMs, "cpu.total_ms": cpuMs, "gc.time_ms": gcMs,
	"heap.used_bytes": heapBytes, "process.start_time_ms": startMs,
}

// column is a series of a sampler.
type column struct {
	place
	field   field
	everyMs int64
}

// group is the columns of a layout that belong to one worker.
type group struct {
	place
	everyMs int64
	fields  []field // by column; 0: another worker's, or not needed
}

func (l *Live) define(e *journal.SeriesDefined) {
	raw := e.Series
	if f := fieldsByName[raw.Name]; f != 0 && raw.Shape == metric.ShapeSampler {
		l.series[e.ID] = column{raw.Worker, f, max(raw.IntervalMs, raw.PackSpanMs)}
	}
}

// layOut groups the columns of a layout by worker. The journal has defined the series before.
func (l *Live) layOut(e *journal.LayoutDefined) {
	var groups []group
	for i, id := range e.Series {
		c, ours := l.series[id]
		if !ours {
			continue
		}
		at := len(groups) - 1 // a worker's series are adjacent
		if at < 0 || groups[at].place != c.place {
			groups = append(groups, group{c.place, c.everyMs, make([]field, len(e.Series))})
			at++
		}
		groups[at].fields[i] = c.field
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
