package read

import (
	"math"
	"sync"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// minStretchMs is the least time that levels must cover without a break to be used. Slices are decoded in columns of up
// to 1,024. If some slices of a column must be read anyway, a level saves nothing.
const minStretchMs = 3_600_000

// segment is a sequence of adjacent windows of one level: those within (fromMs, toMs].
type segment struct{ levelMs, fromMs, toMs int64 }

// stretch is a sequence of segments without a break. No edge of the query's windows is inside one of its level windows.
type stretch []segment

// stretches returns where levels of at least finestMs can replace the slices that end within [minMs, maxMs]. Between
// two adjacent edges of the query's windows it uses the coarsest level that fits.
func stretches(of plan.Windows, minMs, maxMs, finestMs int64) []stretch {
	var all []stretch
	var now stretch
	end := func() {
		if len(now) > 0 && now[len(now)-1].toMs-now[0].fromMs >= minStretchMs {
			all = append(all, now)
		}
		now = nil
	}
	var fill func(fromMs, toMs int64, level int)
	fill = func(fromMs, toMs int64, level int) {
		if level == len(run.LevelsMs) || run.LevelsMs[level] < finestMs {
			return
		}
		s := segment{levelMs: run.LevelsMs[level]}
		s.fromMs, s.toMs = ceilTo(fromMs, s.levelMs), floorTo(toMs, s.levelMs)
		if s.fromMs >= s.toMs {
			fill(fromMs, toMs, level+1)
			return
		}
		fill(fromMs, s.fromMs, level+1)
		switch last := len(now) - 1; {
		case last < 0:
			now = append(now, s)
		case now[last].toMs != s.fromMs:
			end()
			now = append(now, s)
		case now[last].levelMs == s.levelMs:
			now[last].toMs = s.toMs
		default:
			now = append(now, s)
		}
		fill(s.toMs, toMs, level+1)
	}
	for fromMs := minMs - 1; fromMs < maxMs; {
		toMs := min(of.EdgeFrom(fromMs+1), maxMs)
		fill(fromMs, toMs, 0)
		fromMs = toMs
	}
	end()
	return all
}

// floorTo returns the largest multiple of width that is not above ms, which may be negative.
func floorTo(ms, width int64) int64 { return ms - (ms%width+width)%width }

// ceilTo returns the least multiple of width that is not below ms.
func ceilTo(ms, width int64) int64 { return -floorTo(-ms, width) }

// within cuts a segment to the windows in which a series may have slices, so that no other windows are read.
func (s segment) within(e run.Extent) segment {
	s.fromMs = max(s.fromMs, floorTo(e.FirstMs-1, s.levelMs))
	s.toMs = min(s.toMs, ceilTo(e.LastMs, s.levelMs))
	return s
}

// levels caches the stretches of one selector, for each finest level that a series may have. They depend only on the
// query, so they are computed once and shared by all series of the selector.
type levels struct {
	once [len(run.LevelsMs)]sync.Once
	of   [len(run.LevelsMs)][]stretch
}

// stretches returns the selector's stretches for a series whose finest level is finestMs. There are none if the series
// has no level.
func (w *wanted) stretches(finestMs int64) []stretch {
	for i, levelMs := range run.LevelsMs {
		if levelMs == finestMs {
			w.levels.once[i].Do(func() { w.levels.of[i] = stretches(w.windows, w.minMs, w.maxMs, finestMs) })
			return w.levels.of[i]
		}
	}
	return nil
}

// readLevelled reads the data for the least or greatest number of windows. It uses levels if a source has some and no
// other source has slices of the series in the same period. Levels contain nothing that the slices do not. If a level
// cannot be read, the slices are read instead.
func (it *iterator) readLevelled() error {
	found := it.series.found
	extents := make([]run.Extent, len(found))
	readers := make([]run.LevelReader, len(found))
	for i := range found {
		if reader, has := found[i].Reader.(run.LevelReader); has {
			if e, err := reader.Extent(found[i].Ref); err == nil {
				extents[i], readers[i] = e, reader
				continue
			}
		}
		had := len(it.runs)
		if err := it.readRuns(i, it.series.minMs, it.series.maxMs); err != nil {
			return err
		}
		extents[i] = extentOf(it.runs[had:])
	}
	for i, reader := range readers {
		if reader == nil {
			continue
		}
		all := it.series.stretches(extents[i].FinestMs)
		if len(all) == 0 || amongOthers(extents, i) {
			if err := it.readRuns(i, it.series.minMs, it.series.maxMs); err != nil {
				return err
			}
			continue
		}
		if err := it.readLevels(i, reader, extents[i], all); err != nil {
			return err
		}
	}
	return nil
}

// extentOf returns the time range of some runs. It is for sources in memory, which have no index with that range.
func extentOf(runs []run.Run) run.Extent {
	e := run.Extent{FirstMs: math.MaxInt64, LastMs: math.MinInt64}
	for i := range runs {
		e.FirstMs, e.LastMs = min(e.FirstMs, runs[i].FirstMs), max(e.LastMs, runs[i].LastMs())
	}
	return e
}

// amongOthers reports whether another source may have slices between the first and last slice of source number of.
func amongOthers(all []run.Extent, of int) bool {
	for i := range all {
		if i != of && all[i].FirstMs <= all[of].LastMs && all[i].LastMs >= all[of].FirstMs {
			return true
		}
	}
	return false
}

// readLevels reads stretches from their levels, and the slices between them. If a level of a stretch cannot be read, it
// reads the stretch's slices.
func (it *iterator) readLevels(source int, reader run.LevelReader, e run.Extent, all []stretch) error {
	nextMs, w := max(it.series.minMs, e.FirstMs), it.series.wanted
	for _, s := range all {
		first, last := s[0], s[len(s)-1]
		if last.toMs < e.FirstMs || first.fromMs >= e.LastMs {
			continue
		}
		had := len(it.runs)
		if !it.readStretch(source, reader, e, s) {
			it.forget(had)
			continue
		}
		if err := it.account(had); err != nil {
			return err
		}
		if nextMs <= first.fromMs {
			if err := it.readRuns(source, nextMs, first.fromMs); err != nil {
				return err
			}
		}
		nextMs = last.toMs + 1
	}
	if lastMs := min(w.maxMs, e.LastMs); nextMs <= lastMs {
		return it.readRuns(source, nextMs, lastMs)
	}
	return nil
}

// readStretch reads a stretch's windows as runs with one number per window. It returns false if some cannot be read.
func (it *iterator) readStretch(source int, reader run.LevelReader, e run.Extent, s stretch) bool {
	for _, part := range s {
		part = part.within(e)
		if part.fromMs >= part.toMs {
			continue
		}
		r, err := reader.Extremes(it.series.found[source].Ref, part.levelMs,
			it.series.windows.Function == plan.MaxOverTime, part.fromMs, part.toMs)
		if err != nil {
			return false
		}
		slots := r.Slots()
		if slots == 0 {
			continue
		}
		if r.LastMs() <= e.LastMs {
			it.keep(source, r, math.MinInt64, math.MaxInt64)
			continue
		}
		// The last window ends after the source's last slice, where another source may have slices. Its number is
		// therefore placed at the time of that slice.
		last := run.Run{FirstMs: e.LastMs, StepMs: r.StepMs, Values: r.Values[slots-1:]}
		some := r.Has(slots - 1)
		if r.Values = r.Values[:slots-1]; slots > 1 {
			it.keep(source, r, math.MinInt64, math.MaxInt64)
		}
		if some {
			it.keep(source, last, math.MinInt64, math.MaxInt64)
		}
	}
	return true
}
