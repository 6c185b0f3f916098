package blocks

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/grid/run"
)

const (
	maxPlaces = 8192 // of a run
	lookAhead = 8    // points whose least distance is taken for a run's step
)

// point is a slice as a block has it.
type point struct {
	ms        int64
	value     float64
	histogram *histogram.Histogram // nil for a number, and for the marker of a distribution's gap
}

// Runs are the points of a series as runs on grids that are found by looking: a block does not say at what distance its points
// should lie. Numbers and distributions go into runs of their own.
func Runs(s storage.Series) ([]run.Run, error) {
	var numbers, distributions []point
	it := s.Iterator(nil)
	for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
		if kind == chunkenc.ValFloat {
			t, v := it.At()
			numbers = append(numbers, point{ms: t, value: v})
			continue
		}
		t, h := it.AtHistogram(nil)
		if value.IsStaleNaN(h.Sum) {
			distributions = append(distributions, point{ms: t})
			continue
		}
		distributions = append(distributions, point{ms: t, histogram: h})
	}
	if err := it.Err(); err != nil {
		return nil, err
	}
	return append(onGrids(numbers, false), onGrids(distributions, true)...), nil
}

func onGrids(points []point, distributions bool) (runs []run.Run) {
	for len(points) > 0 {
		step := stepOf(points)
		n := 1
		for n < len(points) && (points[n].ms-points[0].ms)%step == 0 && (points[n].ms-points[0].ms)/step < maxPlaces && points[n].ms-points[n-1].ms < 64*step {
			n++
		}
		runs = append(runs, onGrid(points[:n], step, distributions))
		points = points[n:]
	}
	return runs
}

// stepOf is the least distance among the first points.
func stepOf(points []point) int64 {
	if len(points) == 1 {
		return 1
	}
	least := points[1].ms - points[0].ms
	for i := 2; i < min(len(points), lookAhead); i++ {
		least = min(least, points[i].ms-points[i-1].ms)
	}
	return least
}

func onGrid(points []point, step int64, distributions bool) run.Run {
	first := points[0].ms
	places := int((points[len(points)-1].ms-first)/step) + 1
	r := run.Run{FirstMs: first, StepMs: step}
	if len(points) < places {
		r.Present = make([]uint64, (places+63)/64)
	}
	if distributions {
		r.Histograms = make([]*histogram.Histogram, places)
	} else {
		r.Values = make([]float64, places)
	}
	for _, p := range points {
		place := int((p.ms - first) / step)
		if r.Present != nil {
			r.Present[place>>6] |= 1 << (place & 63)
		}
		if distributions {
			r.Histograms[place] = p.histogram
		} else {
			r.Values[place] = p.value
		}
	}
	return r
}
