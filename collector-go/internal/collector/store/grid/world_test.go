package grid

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lib/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/storetest"
)

// world has a journal with the slices that closed from it, a store that is fed from it, and a plain map of the slices
// that the store must have.
type world struct {
	t      testing.TB
	random *rand.Rand
	*harness
	steps   []handOver
	next    int   // index of the first step that was not handed over
	nowMs   int64 // event time
	lateMs  int64 // how late slices arrive at most
	handed  map[string]map[int64]storetest.Point
	durable uint64 // the last value that was seen
}

type handOver struct {
	upTo uint64
	slice.Columns
}

const series = 8 // two of them are distributions

func newWorld(t testing.TB, seed uint64, change ...func(*Options)) *world {
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 7)), harness: newHarness(t),
		handed: map[string]map[int64]storetest.Point{}}
	w.nowMs, w.lateMs = now.UnixMilli()-7000, 20*3_600_000
	w.options.Partition, w.options.RetentionTime, w.options.MinFreeBytes, w.options.RetentionBytes = time.Hour,
		30*time.Hour, 0, 0
	w.options.FlushHandOvers, w.options.IdleHandOvers = 7, 5
	w.options.Now = func() time.Time { return time.UnixMilli(w.nowMs) }
	for _, f := range change {
		f(&w.options)
	}
	return w
}

// define returns the definition of series i. generation distinguishes series that had the same Ref one after the other.
func define(i, generation int) slice.Definition {
	kind, name := metric.KindGauge, "gauge"
	if i >= series-2 {
		kind, name = metric.KindDistribution, "distribution"
	}
	l := labels.FromStrings(model.MetricNameLabel, name, "task", fmt.Sprint(i), "generation", fmt.Sprint(generation))
	return slice.Definition{Ref: slice.Ref(i), Series: metric.Series{Labels: l, Kind: kind},
		IntervalMs: 10_000 * int64(1+i%3)}
}

// happen adds one step to the journal. It has a slice of every series, and sometimes gaps, slices that are months old,
// a Ref that is retired and used again, or another value for an existing slice.
func (w *world) happen(generation map[int]int) {
	w.nowMs += 10_000
	step := handOver{upTo: uint64(len(w.steps)+1) * 10}
	for i := range series {
		d := define(i, generation[i])
		if w.random.IntN(40) == 0 {
			step.Retired = append(step.Retired, d.Ref)
			generation[i]++
		}
		if w.nowMs/10_000%(d.IntervalMs/10_000) == 0 && w.random.IntN(10) > 0 {
			w.add(&step, d, w.nowMs/10_000*10_000)
		}
		if w.random.IntN(20) == 0 {
			w.add(&step, d, w.nowMs-w.random.Int64N(w.lateMs)) // off the grid, and late
		}
	}
	if w.random.IntN(8) == 0 {
		step.Columns = slice.Columns{} // only a tick
	}
	w.steps = append(w.steps, step)
}

func (w *world) add(step *handOver, d slice.Definition, endMs int64) {
	step.Definitions = append(step.Definitions, d)
	if d.Series.Kind == metric.KindDistribution {
		h := &histogram.Histogram{Schema: 2, ZeroThreshold: 0.0005, Count: uint64(endMs % 1000),
			ZeroCount: uint64(endMs % 1000)}
		if w.random.IntN(10) == 0 {
			h = nil
		}
		step.HistogramRefs, step.HistogramEndsMs = append(step.HistogramRefs, d.Ref),
			append(step.HistogramEndsMs, endMs)
		step.Histograms = append(step.Histograms, h)
		return
	}
	v := float64(w.random.IntN(1000))
	if w.random.IntN(10) == 0 {
		v = math.Float64frombits(value.StaleNaN)
	}
	step.Refs, step.EndsMs, step.Values = append(step.Refs, d.Ref), append(step.EndsMs, endMs), append(step.Values, v)
}

// hand hands over the next step, and reports whether it was accepted.
func (w *world) hand() bool {
	step := &w.steps[w.next]
	rejected, err := w.store.Append(context.Background(), step.upTo, &step.Columns)
	if err != nil {
		require.True(w.t, w.disk.Off() || w.options.HeadBytes < 1<<30, "%v", err)
		return false
	}
	for reason := range rejected {
		require.Contains(w.t, []string{RejectedConflict, RejectedExpired}, reason)
	}
	w.next++
	w.note(step)
	return true
}

// note records what the store must have. Of two slices at one time, the first counts.
func (w *world) note(step *handOver) {
	at := map[slice.Ref]slice.Definition{}
	for _, d := range step.Definitions {
		at[d.Ref] = d
	}
	for i, ref := range step.Refs {
		w.keep(at[ref], storetest.Number(step.EndsMs[i], step.Values[i]))
	}
	for i, ref := range step.HistogramRefs {
		p := storetest.Distribution(step.HistogramEndsMs[i], nil)
		if h := step.Histograms[i]; h != nil {
			p = storetest.Distribution(step.HistogramEndsMs[i], h.ToFloat(nil))
		}
		w.keep(at[ref], p)
	}
}

func (w *world) keep(d slice.Definition, p storetest.Point) {
	key := d.Series.Labels.String()
	if w.handed[key] == nil {
		w.handed[key] = map[int64]storetest.Point{}
	}
	if _, there := w.handed[key][p.EndMs]; !there {
		w.handed[key][p.EndMs] = p
	}
}

// same compares the store with the map. Expired slices may or may not be in the store.
func (w *world) same() {
	got := readAll(w.t, w.store)
	oldestMs := w.store.oldestMs()
	for key, points := range got {
		last := int64(math.MinInt64)
		for _, p := range points {
			if p.EndMs <= last || p != w.handed[key][p.EndMs] {
				require.Failf(w.t, "not what was handed over", "%s holds %v after %d; it was %v", key, p, last,
					w.handed[key][p.EndMs])
			}
			last = p.EndMs
		}
	}
	for key, points := range w.handed {
		there := map[int64]bool{}
		for _, p := range got[key] {
			there[p.EndMs] = true
		}
		for endMs := range points {
			if !there[endMs] && endMs >= oldestMs {
				require.Failf(w.t, "missing", "%s lacks the slice at %d", key, endMs)
			}
		}
	}
}

// restart opens the store with what is left on the disk, and replays.
func (w *world) restart(powerLoss bool) {
	w.reboot(powerLoss)
	w.open(w.t)
	require.GreaterOrEqual(w.t, w.store.Durable(), w.durable, "the cursor fell")
	w.replay()
}

// replay goes back to the durable position, or to a checkpoint before it.
func (w *world) replay() {
	cursor := w.store.Durable()
	cursor -= min(cursor, uint64(w.random.IntN(3))*50)
	for w.next > 0 && w.steps[w.next-1].upTo > cursor {
		w.next--
	}
	// A feed repeats all definitions after a restart. Here each step contains its own.
}

func (w *world) look() {
	if d := w.store.Durable(); !w.disk.Off() {
		require.GreaterOrEqual(w.t, d, w.durable)
		w.durable = d
	}
}

// files checks that the directory has no files that the store does not need.
func (w *world) files() {
	l, err := list(w.disk, dir)
	require.NoError(w.t, err)
	require.LessOrEqual(w.t, len(l.manifests), 2)
	require.Empty(w.t, l.aside)
	require.Len(w.t, l.parts, len(w.store.manifest.parts))
}
