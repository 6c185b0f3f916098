package column

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var stale = math.Float64frombits(staleBits)

// series generates n values like those in real stores.
var series = map[string]func(r *rand.Rand, n int) []float64{
	"constant": func(r *rand.Rand, n int) []float64 { return walk(n, func(int, float64) float64 { return 42 }) },
	"walk": func(r *rand.Rand, n int) []float64 { // TSBS cpu: a random walk of sigma 1 within 0 to 100, whole
		v := 50.0
		return walk(n, func(int, float64) float64 { v = min(max(v+r.NormFloat64(), 0), 100); return math.Round(v) })
	},
	"counter": func(r *rand.Rand, n int) []float64 {
		return walk(n, func(_ int, last float64) float64 { return last + 1000 + math.Round(30*r.NormFloat64()) })
	},
	"heap": func(r *rand.Rand, n int) []float64 { // bytes that grow until the garbage collector runs
		return walk(n, func(_ int, last float64) float64 {
			if last > 2e9 {
				return 3e8 + float64(r.IntN(1e7))
			}
			return last + 8*float64(r.IntN(8e6))
		})
	},
	"seconds": func(r *rand.Rand, n int) []float64 { // CPU seconds in ms
		ms := 0.0
		return walk(n, func(int, float64) float64 { ms += float64(r.IntN(60_000)); return ms / 1000 })
	},
	"doubles": func(r *rand.Rand, n int) []float64 {
		return walk(n, func(int, float64) float64 { return r.Float64() })
	},
	"gaps": func(r *rand.Rand, n int) []float64 {
		return walk(n, func(i int, _ float64) float64 {
			if i%50 == 30 {
				return stale
			}
			return float64(i * 10)
		})
	},
}

func walk(n int, next func(i int, last float64) float64) []float64 {
	all, last := make([]float64, n), 0.0
	for i := range all {
		all[i] = next(i, last)
		last = all[i]
	}
	return all
}

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(7, 7)) }

func TestFloatsTakeFewBytes(t *testing.T) {
	for _, c := range []struct {
		data  string
		slots int
		most  float64 // bytes per value
	}{
		{"constant", 60, 0.16}, {"constant", 1024, 0.01},
		{"walk", 60, 0.55}, {"walk", 1024, 0.42},
		{"counter", 60, 1.1}, {"counter", 1024, 1.05},
		{"heap", 60, 3.6}, {"heap", 1024, 3.6},
		{"seconds", 60, 2.4}, {"seconds", 1024, 2.3},
		{"doubles", 60, 8.1}, {"doubles", 1024, 8},
		{"gaps", 60, 0.4}, {"gaps", 1024, 0.2},
	} {
		var e Encoder
		column := e.Floats(nil, series[c.data](newRandom(), c.slots), nil)
		each := float64(len(column)) / float64(c.slots)
		t.Logf("%s, %d slots: %.3f bytes a value", c.data, c.slots, each)
		assert.LessOrEqual(t, each, c.most, "%s, %d slots", c.data, c.slots)
	}
}

// number draws one value, of kinds that are encoded differently.
func number() *rapid.Generator[float64] {
	return rapid.OneOf(
		rapid.Map(rapid.Int64Range(-100, 100), func(v int64) float64 { return float64(v) }),
		rapid.Map(rapid.Int64Range(-1<<54, 1<<54), func(v int64) float64 { return float64(v) }),
		rapid.Map(rapid.Int64Range(-1e6, 1e6), func(v int64) float64 { return float64(v) / 1000 }),
		rapid.Float64(),
		rapid.Map(rapid.Uint64(), math.Float64frombits),
		rapid.SampledFrom([]float64{0, math.Copysign(0, -1), stale, math.NaN(), math.Inf(1), math.Inf(-1),
			1 << 53, -1 << 53,
			math.MaxFloat64, math.SmallestNonzeroFloat64, -1 << 63}),
	)
}

func column(t *rapid.T) []float64 {
	n := rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(60, 70), rapid.IntRange(0, 400)).Draw(t, "slots")
	names := []string{"constant", "walk", "counter", "heap", "seconds", "doubles", "gaps", "any", "few", "sticky"}
	var all []float64
	switch name := rapid.SampledFrom(names).Draw(t, "data"); name {
	case "any":
		all = rapid.SliceOfN(number(), n, n).Draw(t, "values")
	case "few":
		pool := rapid.SliceOfN(number(), 3, 3).Draw(t, "pool")
		all = rapid.SliceOfN(rapid.SampledFrom(pool), n, n).Draw(t, "values")
	case "sticky":
		all = walk(n, func(_ int, last float64) float64 {
			if rapid.IntRange(0, 4).Draw(t, "change") == 0 {
				return number().Draw(t, "value")
			}
			return last
		})
	default:
		all = series[name](rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)), n)
	}
	for range rapid.IntRange(0, 3).Draw(t, "spoilt") {
		if n > 0 {
			all[rapid.IntRange(0, n-1).Draw(t, "slot")] = number().Draw(t, "value")
		}
	}
	return all
}

func presence(t *rapid.T, slots int) []uint64 {
	present := make([]uint64, (slots+63)/64)
	switch rapid.IntRange(0, 3).Draw(t, "presence") {
	case 0:
		return nil
	case 1:
		setRange(present, 0, slots)
	case 2:
		for i := range present {
			present[i] = rapid.Uint64().Draw(t, "bits")
		}
	case 3:
		from := rapid.IntRange(0, slots).Draw(t, "from")
		setRange(present, from, rapid.IntRange(from, slots).Draw(t, "to"))
	}
	return present
}

// samePresence compares presence slot by slot.
func samePresence(t require.TestingT, want, got []uint64, slots int) {
	for i := range slots {
		require.Equal(t, has(want, i), has(got, i), "slot %d", i)
	}
}

func TestFloatsComeBack(t *testing.T) {
	var e Encoder
	rapid.Check(t, func(t *rapid.T) {
		all := column(t)
		present := presence(t, len(all))
		src := e.Floats([]byte("before"), all, present)[6:]
		got := make([]float64, len(all))
		gotPresent, err := Floats(src, got)
		require.NoError(t, err)
		samePresence(t, present, gotPresent, len(all))
		for i := range all {
			if has(present, i) {
				require.Equal(t, math.Float64bits(all[i]), math.Float64bits(got[i]), "slot %d", i)
			}
		}
		if len(src) > 0 { // no byte may be missing or left over
			_, err = Floats(src[:len(src)-1], got)
			require.ErrorIs(t, err, ErrDamaged)
		}
		_, err = Floats(append(src, 0), got)
		require.ErrorIs(t, err, ErrDamaged)
	})
}

func TestIntegersComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-9, 9)), 0, 200).Draw(t, "numbers")
		got := make([]int64, len(all))
		rest, err := readIntegers(append(appendIntegers(nil, all), "behind"...), got)
		require.NoError(t, err)
		require.Equal(t, "behind", string(rest))
		require.Equal(t, all, got)
	})
}

func TestBlocksComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := make([]uint64, rapid.IntRange(1, blockLen).Draw(t, "length"))
		width := rapid.IntRange(0, 64).Draw(t, "width")
		for i := range all {
			all[i] = rapid.Uint64().Draw(t, "number") & (1<<width - 1)
		}
		for range rapid.IntRange(0, 20).Draw(t, "outliers") {
			all[rapid.IntRange(0, len(all)-1).Draw(t, "slot")] = rapid.Uint64().Draw(t, "outlier")
		}
		got := make([]uint64, len(all))
		rest, err := readBlock(appendBlock(nil, all), got)
		require.NoError(t, err)
		require.Empty(t, rest)
		require.Equal(t, all, got)
	})
}

func spans(t *rapid.T, buckets int) []histogram.Span {
	var all []histogram.Span
	for buckets > 0 {
		length := rapid.IntRange(1, buckets).Draw(t, "length")
		all = append(all, histogram.Span{Offset: rapid.Int32Range(-5, 5).Draw(t, "offset"), Length: uint32(length)})
		buckets -= length
	}
	return all
}

// distributions draws distributions whose shape changes, some of which are gap markers.
func distributions(t *rapid.T, slots int) []*histogram.Histogram {
	all := make([]*histogram.Histogram, slots)
	var last *histogram.Histogram
	for i := range all {
		switch kind := rapid.IntRange(0, 19).Draw(t, "kind"); {
		case kind == 0:
			continue
		case kind < 3 || last == nil:
			p, n := rapid.IntRange(0, 9).Draw(t, "positive"), rapid.IntRange(0, 2).Draw(t, "negative")
			last = &histogram.Histogram{
				Schema: rapid.Int32Range(-4, 8).Draw(t, "schema"), ZeroThreshold: rapid.Float64().Draw(t, "threshold"),
				PositiveSpans: spans(t, p), NegativeSpans: spans(t, n), PositiveBuckets: make([]int64, p),
				NegativeBuckets:  make([]int64, n),
				CounterResetHint: histogram.CounterResetHint(rapid.IntRange(0, 3).Draw(t, "hint")),
			}
			if rapid.IntRange(0, 9).Draw(t, "custom") == 0 {
				last.Schema, last.CustomValues = histogram.CustomBucketsSchema, []float64{1, 2.5, math.Inf(1)}
			}
		default:
			last = last.Copy()
			last.CounterResetHint = rapid.SampledFrom([]histogram.CounterResetHint{0, 0, 0, 1, 2, 3}).Draw(t, "hint")
		}
		last.Count += rapid.Uint64Range(0, 1e6).Draw(t, "count")
		last.ZeroCount += rapid.Uint64Range(0, 3).Draw(t, "zeros")
		last.Sum += rapid.Float64().Draw(t, "sum")
		for _, buckets := range [2][]int64{last.PositiveBuckets, last.NegativeBuckets} {
			if len(buckets) > 0 {
				buckets[rapid.IntRange(0, len(buckets)-1).Draw(t, "bucket")] += rapid.Int64Range(-3,
					1e9).Draw(t, "more")
			}
		}
		all[i] = last
	}
	return all
}

// sameHistogram compares histograms bit by bit. An empty list equals nil.
func sameHistogram(t require.TestingT, want, got *histogram.Histogram, slot int) {
	if want == nil || got == nil {
		require.True(t, want == nil && got == nil, "slot %d", slot)
		return
	}
	require.True(t, sameShape(want, got), "slot %d: %v and %v", slot, want, got)
	require.Equal(t, want.CounterResetHint, got.CounterResetHint)
	require.Equal(t, want.Count, got.Count)
	require.Equal(t, want.ZeroCount, got.ZeroCount)
	require.Equal(t, math.Float64bits(want.Sum), math.Float64bits(got.Sum))
	require.Equal(t, append([]int64{}, want.PositiveBuckets...), append([]int64{}, got.PositiveBuckets...))
	require.Equal(t, append([]int64{}, want.NegativeBuckets...), append([]int64{}, got.NegativeBuckets...))
}

func TestDistributionsComeBack(t *testing.T) {
	var e Encoder
	rapid.Check(t, func(t *rapid.T) {
		all := distributions(t, rapid.IntRange(0, 100).Draw(t, "slots"))
		present := presence(t, len(all))
		src, err := e.Histograms(nil, all, present)
		require.NoError(t, err)
		got, gotPresent, err := Histograms(src, len(all))
		require.NoError(t, err)
		samePresence(t, present, gotPresent, len(all))
		for i := range all {
			if has(present, i) {
				sameHistogram(t, all[i], got[i], i)
			} else {
				require.Nil(t, got[i])
			}
		}
		_, _, err = Histograms(append(src, 0), len(all))
		require.ErrorIs(t, err, ErrDamaged)
	})
}

func TestTooManyBucketsAreRefused(t *testing.T) {
	var e Encoder
	wide := &histogram.Histogram{PositiveBuckets: make([]int64, MaxBuckets/2+1)}
	src, err := e.Histograms([]byte{1}, []*histogram.Histogram{wide, wide}, nil)
	require.ErrorIs(t, err, ErrTooManyBuckets)
	assert.Equal(t, []byte{1}, src)
	src, err = e.Histograms(nil, []*histogram.Histogram{wide}, nil)
	require.NoError(t, err)
	_, _, err = Histograms(src, 1)
	require.NoError(t, err)
}

func FuzzFloats(f *testing.F) {
	var e Encoder
	for _, of := range series {
		f.Add(e.Floats(nil, of(newRandom(), 100), nil), uint16(100))
		f.Add(e.Floats(nil, of(newRandom(), 70), []uint64{0xff00ff, 0xf}), uint16(70))
	}
	f.Fuzz(func(t *testing.T, src []byte, slots uint16) {
		values := make([]float64, min(int(slots), MaxSlots))
		_, _ = Floats(src, values)
	})
}

func FuzzHistograms(f *testing.F) {
	var e Encoder
	all := rapid.Custom(func(t *rapid.T) []*histogram.Histogram { return distributions(t, 40) })
	for seed := range 20 {
		src, err := e.Histograms(nil, all.Example(seed), nil)
		require.NoError(f, err)
		f.Add(src, uint16(40))
	}
	f.Fuzz(func(t *testing.T, src []byte, slots uint16) {
		_, _, _ = Histograms(src, min(int(slots), MaxSlots))
	})
}
