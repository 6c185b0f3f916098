package live

import (
	"math"
	"net"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/block"
)

// longestRate is the longest time between two samples for which a rate is computed, ms. A longer mean would hide that
// samples are missing.
const longestRate = 10_000

// mostSamples is the number of samples of a worker that are in memory: five minutes, and a quarter more.
const mostSamples = 375

// worker has the newest samples of a worker.
type worker struct {
	name             string
	heardMs, everyMs int64
	number           uint64 // of the newest batch with its samples
	samples          []sample
	last             reading
}

// sample is a Sample with the number of the batch that brought it.
type sample struct {
	timeMs         int64
	number         uint64
	heap           float64
	cores, gcShare float32
}

// reading is one row of the sampler's values, by field. They are NaN if they are not known.
type reading struct {
	timeMs int64
	values [fields]float64
}

func newWorker(at place) *worker {
	return &worker{name: net.JoinHostPort(at.Host, strconv.FormatUint(uint64(at.Port), 10))}
}

// take takes the rows of a block. values are the block's values.
func (w *worker) take(b *block.Block, g group, values []float64, number uint64) {
	rows := make([]reading, b.Rows)
	for row := range rows {
		rows[row].timeMs = b.TimeMs(row)
		for f := range rows[row].values {
			rows[row].values[f] = unknown
		}
	}
	at := 0
	for c, f := range g.fields {
		for row := range rows {
			if !b.Present(c*b.Rows + row) {
				continue
			}
			if v := &rows[row].values[f]; f != 0 {
				if math.IsNaN(*v) {
					*v = 0
				}
				*v += values[at]
			}
			at++
		}
	}
	for _, r := range rows {
		w.add(r, number)
	}
}

// add adds a reading. A reading that is not newer than the last one was sent again, unless it is from another process
// or the worker's clock was set back. Then the samples before it are dropped: they would be in the future.
func (w *worker) add(r reading, number uint64) {
	before := w.last
	same := len(w.samples) > 0 && (r.values[startMs] == before.values[startMs] || math.IsNaN(r.values[startMs]))
	if r.timeMs <= before.timeMs {
		if same && r.timeMs > before.timeMs-Kept.Milliseconds() {
			return
		}
		w.samples = nil
	}
	s := sample{timeMs: r.timeMs, number: number, heap: r.values[heapBytes], cores: float32(unknown),
		gcShare: float32(unknown)}
	if past := r.timeMs - before.timeMs; same && past > 0 && past <= longestRate {
		s.cores, s.gcShare = rate(r, before, cpuMs, past), rate(r, before, gcMs, past)
	}
	w.last = r
	if n := len(w.samples); n == mostSamples { // moves once in a while, not each time
		w.samples = append(w.samples[:0], w.samples[n/5:]...)
	}
	w.samples = append(w.samples, s)
}

// rate returns by how much a counter rose per time, or NaN if it is not known or fell.
func rate(now, before reading, f field, past int64) float32 {
	rise := now.values[f] - before.values[f]
	if !(rise >= 0) {
		return float32(unknown)
	}
	return float32(rise / float64(past))
}

// since returns the samples of the last five minutes that came after a batch.
func (w *worker) since(number uint64) (news []Sample) {
	oldest := w.last.timeMs - Kept.Milliseconds()
	for _, s := range w.samples {
		if s.number > number && s.timeMs > oldest {
			news = append(news, Sample{s.timeMs, float64(s.cores), float64(s.gcShare), s.heap})
		}
	}
	return news
}
