package read_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/read"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/gridtest"
)

func everything() []*labels.Matcher {
	return []*labels.Matcher{labels.MustNewMatcher(labels.MatchNotEqual, model.MetricNameLabel, "")}
}

// After any sequence of Next and Seek, an iterator is at the same slice as one over the true slices. A thinned iterator
// is at the same slice as one over the newest slices at the instants.
func TestWalksAsTheTruth(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 4))
		world := gridtest.NewWorld(seed, 1_700_000_000_000, time.Hour.Milliseconds())
		ours := world.Sources(seed, 2+r.IntN(4))
		minMs := world.FirstMs + r.Int64N(3_600_000)
		maxMs := minMs + r.Int64N(3_600_000)
		at := plan.Instants{FirstMs: minMs + r.Int64N(600_000), StepMs: []int64{1000, 10_000, 60_000, 70_000, 37_123,
			300_000}[r.IntN(6)]}
		at.LastMs = min(maxMs, at.FirstMs+at.StepMs*r.Int64N(40))
		matchers := everything()
		p := plan.New(plan.Limits{})
		p.Thin(matchers, at)
		for _, thinned := range []bool{false, true} {
			ctx := t.Context()
			if thinned {
				ctx = plan.With(ctx, p)
			}
			querier := read.NewQuerier(ours, minMs, maxMs, nil)
			set := querier.Select(ctx, false, &storage.SelectHints{Start: minMs, End: maxMs}, matchers...)
			var it chunkenc.Iterator
			for _, s := range world.Series {
				truth := within(s.Points, minMs, maxMs)
				if thinned {
					truth = newestAt(truth, at)
				}
				if len(within(s.Points, minMs, maxMs)) == 0 {
					continue // a source may still find the series
				}
				require.True(t, set.Next())
				for !labels.Equal(set.At().Labels(), s.Labels) {
					require.Equal(t, chunkenc.ValNone, set.At().Iterator(nil).Next())
					require.True(t, set.Next())
				}
				for range 4 {
					it = set.At().Iterator(it)
					walk(t, r, it, truth)
				}
			}
			require.NoError(t, set.Err())
		}
	}
}

func within(points []gridtest.Point, minMs, maxMs int64) (all []gridtest.Point) {
	for _, p := range points {
		if p.Ms >= minMs && p.Ms <= maxMs {
			all = append(all, p)
		}
	}
	return all
}

// newestAt keeps the newest point at or before each instant.
func newestAt(points []gridtest.Point, at plan.Instants) (all []gridtest.Point) {
	for ms := at.FirstMs; ms <= at.LastMs; ms += at.StepMs {
		newest := -1
		for i, p := range points {
			if p.Ms <= ms {
				newest = i
			}
		}
		if newest >= 0 && (len(all) == 0 || all[len(all)-1].Ms != points[newest].Ms) {
			all = append(all, points[newest])
		}
	}
	return all
}

// An iterator over windows is at the same result as one over the true results, which has one at every instant.
func TestWalksOverResults(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5))
		world := gridtest.NewWorld(seed, 1_700_000_000_000, time.Hour.Milliseconds())
		ours := world.Sources(seed, 2+r.IntN(4))
		of := plan.Windows{Function: plan.CountOverTime, RangeMs: []int64{10_000, 60_000, 61_007, 1_800_000}[r.IntN(4)],
			OffsetMs: 1000 * r.Int64N(3)}
		of.FirstMs, of.StepMs = world.FirstMs+r.Int64N(3_600_000), []int64{1000, 10_000, 60_000, 70_000, 37_123,
			300_000, 1_000_000}[r.IntN(7)]
		of.LastMs = of.FirstMs + of.StepMs*r.Int64N(40)
		metric := world.Spec().Numbers[0]
		matchers, p := []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, metric)},
			plan.New(plan.Limits{})
		p.Compute(matchers, of)
		querier := read.NewQuerier(ours, of.FirstMs-of.RangeMs+1, of.LastMs, nil)
		set := querier.Select(plan.With(t.Context(), p), false, &storage.SelectHints{}, matchers...)
		var it chunkenc.Iterator
		for set.Next() {
			i := slices.IndexFunc(world.Series, func(s gridtest.Series) bool {
				return labels.Equal(s.Labels, labels.NewBuilder(set.At().Labels()).Set(model.MetricNameLabel,
					metric).Labels())
			})
			truth := countsIn(world.Series[i].Points, of)
			for range 4 {
				it = set.At().Iterator(it)
				walk(t, r, it, truth)
			}
		}
		require.NoError(t, set.Err())
	}
}

// countsIn returns how many numbers are in each window, or a gap marker if there are none.
func countsIn(points []gridtest.Point, of plan.Windows) (all []gridtest.Point) {
	for ms := of.FirstMs; ms <= of.LastMs; ms += of.StepMs {
		n := 0
		for _, p := range points {
			if p.Ms > ms-of.RangeMs && p.Ms <= ms && !value.IsStaleNaN(p.Value) {
				n++
			}
		}
		at := gridtest.Point{Ms: ms + of.OffsetMs, Value: float64(n)}
		if n == 0 {
			at.Value = math.Float64frombits(value.StaleNaN)
		}
		all = append(all, at)
	}
	return all
}

// walk moves at random, and compares with the truth.
func walk(t *testing.T, r *rand.Rand, it chunkenc.Iterator, truth []gridtest.Point) {
	slot := -1
	for {
		var kind chunkenc.ValueType
		if r.IntN(4) > 0 || len(truth) == 0 {
			kind = it.Next()
			slot++
		} else {
			ms := truth[r.IntN(len(truth))].Ms + r.Int64N(3) - 1
			if slot >= 0 && r.IntN(2) == 0 {
				ms = truth[slot].Ms + r.Int64N(100_000)
			}
			kind = it.Seek(ms)
			from := max(0, slot)
			slot = from + slices.IndexFunc(append(truth[from:len(truth):len(truth)], gridtest.Point{Ms: 1 << 62}),
				func(p gridtest.Point) bool { return p.Ms >= ms })
		}
		if slot >= len(truth) {
			require.Equal(t, chunkenc.ValNone, kind)
			require.Equal(t, chunkenc.ValNone, it.Next())
			require.NoError(t, it.Err())
			return
		}
		require.Equal(t, truth[slot].Ms, it.AtT())
		if truth[slot].IsHistogram {
			require.Equal(t, chunkenc.ValHistogram, kind)
			continue
		}
		require.Equal(t, chunkenc.ValFloat, kind)
		ms, v := it.At()
		require.Equal(t, truth[slot].Ms, ms)
		require.Equal(t, bits(truth[slot].Value), bits(v))
	}
}

// Thinning works at the edges of runs. Runs follow each other at less than their step, with a gap, or overlap. The test
// tries every phase and step of the instants.
func TestThinnedAtTheEdgesOfRuns(t *testing.T) {
	even := func(firstMs, stepMs int64, slots int, present ...uint64) run.Run {
		r := run.Run{FirstMs: firstMs, StepMs: stepMs, Values: make([]float64, slots), Present: present}
		for i := range r.Values {
			r.Values[i] = float64(r.FirstMs + int64(i)*stepMs)
		}
		return r
	}
	for name, runs := range map[string][]run.Run{
		"closer":        {even(0, 10, 11), even(107, 7, 9), even(165, 10, 20)},
		"gap":           {even(0, 10, 5), even(143, 10, 12)},
		"in each other": {even(0, 10, 30), even(95, 20, 4)},
		"holes":         {even(0, 10, 20, 0b1110_0000_0011_1011_0111), even(205, 5, 10, 0b10_0000_0011)},
	} {
		m := &gridtest.Memory{}
		m.Add(named("a"), runs)
		var truth []gridtest.Point
		for _, r := range runs {
			for i := range r.Slots() {
				if r.Has(i) {
					truth = append(truth, gridtest.Point{Ms: r.FirstMs + int64(i)*r.StepMs})
				}
			}
		}
		slices.SortFunc(truth, func(a, b gridtest.Point) int { return int(a.Ms - b.Ms) })
		for firstMs := int64(-5); firstMs < 60; firstMs++ {
			for stepMs := int64(1); stepMs < 70; stepMs++ {
				at := plan.Instants{FirstMs: firstMs, LastMs: 400 - stepMs, StepMs: stepMs}
				matchers, p := everything(), plan.New(plan.Limits{})
				p.Thin(matchers, at)
				thinned := read.NewQuerier(sources{m}, 0, 400, nil).Select(plan.With(t.Context(), p), false,
					&storage.SelectHints{Start: 0, End: 400}, matchers...)
				require.True(t, thinned.Next())
				it := thinned.At().Iterator(nil)
				var found, wanted []int64
				for it.Next() != chunkenc.ValNone {
					found = append(found, it.AtT())
				}
				for _, p := range newestAt(truth, at) {
					wanted = append(wanted, p.Ms)
				}
				if !slices.Equal(wanted, found) {
					require.Equal(t, wanted, found, "%s: %+v", name, at)
				}
			}
		}
	}
}
