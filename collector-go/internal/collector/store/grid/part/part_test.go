package part

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/disktest"
)

// one is a series of a test.
type one struct {
	labels labels.Labels
	runs   []run.Run
}

// write writes a part.
func write(t require.TestingT, fs *disktest.Memory, name string, o WriterOptions, all []one) Info {
	w, err := Create(fs, name, o)
	require.NoError(t, err)
	for _, s := range all {
		require.NoError(t, w.Add(s.labels, s.runs))
	}
	info, err := w.Finish()
	require.NoError(t, err)
	return info
}

func open(t require.TestingT, fs *disktest.Memory, name string) *Part {
	p, err := Open(fs, name)
	require.NoError(t, err)
	return p
}

// sliceKey is the key of a slice in a twin.
type sliceKey struct {
	kind int
	ms   int64
}

// twin is a plain map of a series' slices. Of two slices at one time, the first counts.
type twin map[sliceKey]any

func (w twin) add(runs []run.Run) {
	for i := range runs {
		r := &runs[i]
		for slot := range r.Slots() {
			at := sliceKey{kind(r), r.FirstMs + int64(slot)*r.StepMs}
			if _, there := w[at]; there || !r.Has(slot) {
				continue
			}
			if r.Values != nil {
				w[at] = math.Float64bits(r.Values[slot])
			} else if h := r.Histograms[slot]; h == nil {
				w[at] = "marker"
			} else {
				w[at] = fmt.Sprintf("%d %s", h.CounterResetHint, h)
			}
		}
	}
}

// within returns the slices within a time range.
func (w twin) within(minMs, maxMs int64) twin {
	some := twin{}
	for at, v := range w {
		if at.ms >= minMs && at.ms <= maxMs {
			some[at] = v
		}
	}
	return some
}

func twinOf(runs []run.Run) twin {
	w := twin{}
	w.add(runs)
	return w
}

// requireSame is a faster require.Equal.
func requireSame(t require.TestingT, want, got twin) {
	if !maps.Equal(want, got) {
		require.Equal(t, want, got)
	}
}

var (
	metrics = []string{"cpu", "cpu_max", "cpu_min", "heap_bytes", "lag"}
	hosts   = []string{"host-1", "host-10", "host-2", "a", "zebra", "näh"}
)

func drawLabels(t *rapid.T) labels.Labels {
	all := []string{"__name__", rapid.SampledFrom(metrics).Draw(t, "metric")}
	for _, name := range []string{"component", "host", "task"} {
		if rapid.IntRange(0, 3).Draw(t, "has") > 0 {
			all = append(all, name, rapid.SampledFrom(hosts).Draw(t, name))
		}
	}
	return labels.FromStrings(all...)
}

// drawRuns draws runs of one series, in which no two slices of one kind have the same time.
func drawRuns(t *rapid.T, most int) []run.Run {
	var all []run.Run
	next := [2]int64{}
	for range rapid.IntRange(0, 4).Draw(t, "runs") {
		kind := rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "kind")
		n := rapid.OneOf(rapid.IntRange(1, 70), rapid.IntRange(1, 70), rapid.IntRange(1, most)).Draw(t, "slots")
		if kind == 1 {
			n = min(n, 40)
		}
		step := rapid.SampledFrom([]int64{1000, 1000, 60_000, 7}).Draw(t, "step")
		r := run.Run{FirstMs: next[kind] + step*rapid.SampledFrom([]int64{0, 0, 1, 700}).Draw(t, "gap"), StepMs: step}
		if rapid.IntRange(0, 2).Draw(t, "some") == 0 {
			r.Present = make([]uint64, (n+63)/64)
			for i := range r.Present {
				r.Present[i] = rapid.Uint64().Draw(t, "present")
			}
		}
		if kind == 0 {
			r.Values = make([]float64, n)
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			for i := range r.Values {
				switch random.IntN(12) {
				case 0:
					r.Values[i] = math.Float64frombits(value.StaleNaN)
				case 1:
					r.Values[i] = random.Float64()
				default:
					r.Values[i] = float64(random.IntN(100))
				}
			}
		} else {
			r.Histograms = drawHistograms(t, n)
		}
		next[kind] = r.FirstMs + int64(n)*step
		all = append(all, r)
	}
	slices.SortStableFunc(all, byFirst)
	return all
}

func drawHistograms(t *rapid.T, n int) []*histogram.Histogram {
	all := make([]*histogram.Histogram, n)
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
	buckets := 3
	for i := range all {
		switch random.IntN(10) {
		case 0:
			continue
		case 1:
			buckets = 1 + random.IntN(4)
		}
		h := &histogram.Histogram{Schema: 3, ZeroThreshold: 0.0005, Sum: random.Float64(),
			CounterResetHint: histogram.CounterResetHint(random.IntN(4))}
		h.PositiveSpans = []histogram.Span{{Offset: 2, Length: uint32(buckets)}}
		before := int64(0)
		for range buckets {
			v := random.Int64N(50)
			h.PositiveBuckets = append(h.PositiveBuckets, v-before)
			h.Count += uint64(v)
			before = v
		}
		all[i] = h
	}
	return all
}

// drawSeries draws series, sorted by labels.
func drawSeries(t *rapid.T, most int) []one {
	known := map[string]one{}
	for range rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, 150)).Draw(t, "series") {
		l := drawLabels(t)
		if _, there := known[l.String()]; !there {
			known[l.String()] = one{l, drawRuns(t, most)}
		}
	}
	var all []one
	for _, s := range known {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b one) int { return labels.Compare(a.labels, b.labels) })
	return all
}

func drawMatchers(t *rapid.T) []*labels.Matcher {
	var all []*labels.Matcher
	for range rapid.IntRange(0, 3).Draw(t, "matchers") {
		kind := labels.MatchType(rapid.IntRange(0, 3).Draw(t, "type"))
		name := rapid.SampledFrom([]string{"__name__", "component", "host", "task", "other"}).Draw(t, "name")
		pool := []string{"", "cpu", "cpu_max", "host-1", "host-2", "none"}
		if kind >= labels.MatchRegexp {
			pool = append(pool, ".*", ".+", "cpu|lag", "host-.+", "host-(1|10)", "cpu.*", "|a", "[a-h].*",
				"a.*|", "h.*0")
		}
		all = append(all, labels.MustNewMatcher(kind, name, rapid.SampledFrom(pool).Draw(t, "value")))
	}
	return all
}

func matches(l labels.Labels, all []*labels.Matcher) bool {
	for _, m := range all {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

func TestPartHoldsWhatWasAdded(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		fs := disktest.NewMemory(1)
		all := drawSeries(t, 2500)
		info := write(t, fs, "part", WriterOptions{PageBytes: rapid.SampledFrom([]int{0, 1, 300}).Draw(t, "page"),
			Levels: rapid.Bool().Draw(t, "levels")}, all)
		p := open(t, fs, "part")
		defer p.Close()
		require.Equal(t, info, p.Info())
		require.NoError(t, p.Check(func(d *run.DamageError) { require.NoError(t, d) }))

		minMs, maxMs, slices, series := int64(math.MaxInt64), int64(math.MinInt64), 0, 0
		for _, s := range all {
			w := twinOf(s.runs)
			for at := range w {
				minMs, maxMs = min(minMs, at.ms), max(maxMs, at.ms)
			}
			slices += len(w)
			if len(w) > 0 {
				series++
			}
		}
		if slices == 0 {
			minMs, maxMs = 0, -1
		}
		size, _ := p.file.Size()
		require.Equal(t, Info{minMs, maxMs, series, int64(slices), size}, info)

		for range 4 {
			matchers := drawMatchers(t)
			from := rapid.Int64Range(-10, 400_000).Draw(t, "from")
			to := from + rapid.SampledFrom([]int64{0, 10_000, 1e9}).Draw(t, "span")
			found, err := p.Select(ctx, from, to, matchers)
			require.NoError(t, err)
			at := 0
			names, values := map[string]bool{}, map[string]bool{}
			for _, s := range all {
				if !matches(s.labels, matchers) {
					continue
				}
				w := twinOf(s.runs)
				if len(w) > 0 {
					s.labels.Range(func(l labels.Label) {
						names[l.Name] = true
						if l.Name == "host" {
							values[l.Value] = true
						}
					})
				}
				if at == len(found) || !labels.Equal(found[at].Labels, s.labels) {
					require.Empty(t, w.within(from, to), "%s was not found by %s", s.labels, matchers)
					continue
				}
				runs, err := found[at].Reader.Runs(found[at].Ref, from, to, []run.Run{{StepMs: 5}})
				require.NoError(t, err)
				require.Equal(t, int64(5), runs[0].StepMs)
				for _, r := range runs[1:] {
					require.True(t, r.LastMs() >= from && r.FirstMs <= to)
				}
				requireAscending(t, runs[1:])
				requireSame(t, w.within(from, to), twinOf(runs[1:]).within(from, to))
				at++
			}
			require.Equal(t, len(found), at)
			got, err := p.LabelNames(ctx, matchers)
			require.NoError(t, err)
			require.Equal(t, sortedKeysOf(names), append([]string{}, got...))
			got, err = p.LabelValues(ctx, "host", matchers)
			require.NoError(t, err)
			require.Equal(t, sortedKeysOf(values), append([]string{}, got...))
		}

		var i int
		require.NoError(t, p.Each(func(l labels.Labels, runs []run.Run) error {
			for len(twinOf(all[i].runs)) == 0 {
				i++
			}
			require.Equal(t, all[i].labels.String(), l.String())
			requireSame(t, twinOf(all[i].runs), twinOf(runs))
			requireAscending(t, runs)
			i++
			return nil
		}))
	})
}

func sortedKeysOf(all map[string]bool) []string {
	keys := []string{}
	for k := range all {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// requireAscending checks the guarantees of run.Reader.
func requireAscending(t require.TestingT, runs []run.Run) {
	require.True(t, slices.IsSortedFunc(runs, byFirst))
	if len(runs) < 2 {
		return
	}
	stored := map[sliceKey]bool{}
	for i := range runs {
		for slot := range runs[i].Slots() {
			at := sliceKey{kind(&runs[i]), runs[i].FirstMs + int64(slot)*runs[i].StepMs}
			if runs[i].Has(slot) {
				require.False(t, stored[at], "two slices at %d", at.ms)
				stored[at] = true
			}
		}
	}
}

func TestMergedPartsHoldWhatEachHeldAndTheOlderWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := disktest.NewMemory(1)
		want := map[string]twin{}
		var sources []*Part
		for i := range rapid.IntRange(1, 4).Draw(t, "parts") {
			all := drawSeries(t, 300)
			name := fmt.Sprint(i)
			write(t, fs, name, WriterOptions{}, all)
			sources = append(sources, open(t, fs, name))
			for _, s := range all {
				key := s.labels.String()
				if want[key] == nil {
					want[key] = twin{}
				}
				want[key].add(s.runs)
			}
		}
		w, err := Create(fs, "merged", WriterOptions{Levels: true})
		require.NoError(t, err)
		require.NoError(t, Merge(t.Context(), w, sources))
		_, err = w.Finish()
		require.NoError(t, err)
		p := open(t, fs, "merged")
		require.NoError(t, p.Check(func(d *run.DamageError) { require.NoError(t, d) }))
		require.NoError(t, p.Each(func(l labels.Labels, runs []run.Run) error {
			requireAscending(t, runs)
			requireSame(t, want[l.String()], twinOf(runs))
			delete(want, l.String())
			return nil
		}))
		for key, left := range want {
			require.Empty(t, left, key)
		}
	})
}

func TestFlushedRunsJoinIntoOne(t *testing.T) {
	var lists [][]run.Run
	for i := range 200 {
		lists = append(lists, []run.Run{{FirstMs: int64(i) * 60_000, StepMs: 1000, Values: make([]float64, 60)}})
	}
	joined := Join(lists...)
	require.Len(t, joined, 2)
	assert.Equal(t, 136*60, joined[0].Slots())
	assert.Nil(t, joined[0].Present)
	assert.Equal(t, 64*60, joined[1].Slots())
}

func TestWriterRefusesWhatWouldBreakItsOrder(t *testing.T) {
	fs := disktest.NewMemory(1)
	w, err := Create(fs, "part", WriterOptions{})
	require.NoError(t, err)
	_, err = Create(fs, "part", WriterOptions{})
	require.Error(t, err)
	runs := []run.Run{{StepMs: 1, Values: []float64{1}}}
	require.NoError(t, w.Add(labels.FromStrings("__name__", "b"), runs))
	require.ErrorContains(t, w.Add(labels.FromStrings("__name__", "b"), runs), "comes after")
	require.ErrorContains(t, w.Add(labels.FromStrings("__name__", "a"), runs), "comes after")
	for _, r := range []run.Run{
		{StepMs: 0, Values: []float64{1}},
		{StepMs: 1, Values: []float64{1}, Histograms: []*histogram.Histogram{nil}},
		{StepMs: 1, Values: make([]float64, 65), Present: []uint64{1}},
	} {
		require.ErrorContains(t, w.Add(labels.FromStrings("__name__", "c"), []run.Run{r}), "is invalid")
	}
	require.NoError(t, w.Abandon())
	require.NoError(t, w.Abandon())
	_, err = Open(fs, "part")
	require.Error(t, err)
}

func TestFailedWritesAreReported(t *testing.T) {
	for call := range 4 {
		fs := disktest.NewMemory(1)
		w, err := Create(fs, "part", WriterOptions{})
		require.NoError(t, err)
		calls := 0
		fs.SetFault(func(_ int, op, name string) error {
			if calls++; calls > call {
				return disktest.ErrNoSpace
			}
			return nil
		})
		err = w.Add(labels.FromStrings("__name__", "b"), []run.Run{{StepMs: 1, Values: []float64{1}}})
		if err == nil {
			_, err = w.Finish()
		}
		if call < 2 { // one write and one sync
			require.ErrorIs(t, err, disktest.ErrNoSpace)
		}
		fs.SetFault(nil)
		if err != nil {
			require.NoError(t, w.Abandon())
			_, err = Open(fs, "part")
			require.Error(t, err)
			continue
		}
		require.NoError(t, w.Abandon(), "a finished part stays")
		open(t, fs, "part")
	}
}
