package live

import (
	"cmp"
	"math"
	"net"
	"slices"
	"strconv"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/journal"
)

// longestRate is the longest time between two samples for which a rate is computed, ms. A longer mean would hide that
// samples are missing.
const longestRate = 10_000

// mostReadings is the number of readings of a worker that are in memory: five minutes, and a quarter more.
const mostReadings = 375

// worker has the newest readings of a worker, in the order of time.
type worker struct {
	name             string
	heardMs, everyMs int64
	number           uint64 // of the newest batch with its samples
	readings         []reading
}

// reading is one row of the sampler's values, by field. They are NaN if they are not known.
type reading struct {
	timeMs int64
	number uint64 // of the batch that brought it
	values [fields]float64
}

func newWorker(at place) *worker {
	return &worker{name: net.JoinHostPort(at.Host, strconv.FormatUint(uint64(at.Port), 10))}
}

// cells returns the value of each cell of a block, and NaN for cells without one.
func cells(b *journal.Block, scratch []float64) []float64 {
	if b.Presence == nil {
		return b.Floats(scratch[:0])
	}
	n := b.Cells()
	all := b.Floats(slices.Grow(scratch[:0], n))
	at := len(all)
	all = all[:n]
	for cell := n - 1; cell >= 0; cell-- { // from the end, so that no value is overwritten before it is moved
		if b.Present(cell) {
			at--
			all[cell] = all[at]
		} else {
			all[cell] = unknown
		}
	}
	return all
}

// take takes the rows of a block with these cells.
func (w *worker) take(b *journal.Block, cells []float64, columns []column, number uint64) {
	for row := range b.Rows {
		r := reading{timeMs: b.TimeMs(row), number: number, values: [fields]float64{unknown, unknown, unknown, unknown}}
		for _, c := range columns {
			sum := &r.values[c.field]
			switch v := cells[c.index*b.Rows+row]; {
			case math.IsNaN(*sum):
				*sum = v
			case !math.IsNaN(v):
				*sum += v
			}
		}
		w.add(r)
	}
}

// add adds a reading, unless it was sent again. Readings of several plugin tasks may arrive in another order. If the
// worker's clock was set back, the readings before are dropped, because they would be in the future.
func (w *worker) add(r reading) {
	if n := len(w.readings); n > 0 && r.timeMs <= w.readings[n-1].timeMs-Kept.Milliseconds() {
		w.readings = w.readings[:0]
	}
	if n := len(w.readings); n == mostReadings { // moves once in a while, not each time
		w.readings = append(w.readings[:0], w.readings[n/5:]...)
	}
	at, known := slices.BinarySearchFunc(w.readings, r.timeMs, func(x reading, ms int64) int {
		return cmp.Compare(x.timeMs, ms)
	})
	if !known {
		w.readings = slices.Insert(w.readings, at, r)
	}
}

// since returns the samples of the last five minutes that came after a batch.
func (w *worker) since(number uint64) (news []Sample) {
	oldest := w.readings[len(w.readings)-1].timeMs - Kept.Milliseconds()
	for i, r := range w.readings {
		if r.number <= number || r.timeMs <= oldest {
			continue
		}
		s := Sample{TimeMs: r.timeMs, Cores: unknown, GCShare: unknown, HeapBytes: r.values[heapBytes]}
		if i > 0 {
			s.Cores, s.GCShare = r.rate(w.readings[i-1], cpuMs), r.rate(w.readings[i-1], gcMs)
		}
		news = append(news, s)
	}
	return news
}

// rate returns by how much a counter rose per time since the reading before, or NaN if that is not known. It is not
// known if the process is another one.
func (r reading) rate(before reading, f field) float64 {
	past, rise := float64(r.timeMs-before.timeMs), r.values[f]-before.values[f]
	another := math.Abs(r.values[startMs]-before.values[startMs]) > 0 // false if a start is not known
	if another || past > longestRate || !(rise >= 0) {
		return unknown
	}
	return rise / past
}
