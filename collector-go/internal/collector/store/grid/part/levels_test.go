package part

import (
	"context"
	"math"
	"math/rand/v2"
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

// drawNumbers draws runs of numbers that follow each other, with gaps, gap markers, zeros of both signs and NaNs.
func drawNumbers(t *rapid.T) (runs []run.Run) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
	firstMs := random.Int64N(8_000_000) - 4_000_000
	for range 1 + random.IntN(4) {
		r := run.Run{FirstMs: firstMs, StepMs: []int64{1000, 1000, 3000, 10_000, 10_000, 60_000, 7}[random.IntN(7)],
			Values: make([]float64, 1+random.IntN(700))}
		if random.IntN(3) == 0 {
			r.Present = make([]uint64, (len(r.Values)+63)/64)
			for i := range r.Present {
				r.Present[i] = random.Uint64() | random.Uint64()
			}
		}
		odd := random.IntN(4)
		for i := range r.Values {
			switch r.Values[i] = float64(random.IntN(50)) - 10; random.IntN(10) * odd {
			case 1:
				r.Values[i] = math.Float64frombits(value.StaleNaN)
			case 2, 4:
				r.Values[i] = math.Float64frombits(0x7ff8000000000000 + uint64(random.IntN(5)))
			case 3:
				r.Values[i] = math.Copysign(0, -1)
			}
			if odd == 3 && i/100%2 == 1 {
				r.Values[i] = []float64{math.NaN(), math.Float64frombits(value.StaleNaN)}[random.IntN(2)]
			}
		}
		runs = append(runs, r)
		firstMs = r.LastMs() + 1 + []int64{0, 999, 700_000, 10_000_000}[random.IntN(4)]
	}
	return runs
}

// extremesOf returns what Prometheus' functions compute for each window, by the windows' ends.
func extremesOf(runs []run.Run, levelMs int64, greatest bool) map[int64]uint64 {
	found, all := map[int64]bool{}, map[int64]float64{}
	for i := range runs {
		for slot, v := range runs[i].Values {
			if !runs[i].Has(slot) || value.IsStaleNaN(v) {
				continue
			}
			ms := runs[i].FirstMs + int64(slot)*runs[i].StepMs
			end := int64(math.Ceil(float64(ms)/float64(levelMs))) * levelMs
			if best := all[end]; !found[end] || math.IsNaN(best) || greatest && v > best || !greatest && v < best {
				found[end], all[end] = true, v
			}
		}
	}
	bits := map[int64]uint64{}
	for end, v := range all {
		bits[end] = math.Float64bits(v)
	}
	return bits
}

// A series has as many levels as are worth storing. Their numbers equal those that Prometheus' functions compute from
// each window's slices, bit by bit.
func TestExtremesAreThoseOfTheSlices(t *testing.T) {
	levelled := 0
	rapid.Check(t, func(t *rapid.T) {
		var all []one
		for i := range rapid.SampledFrom([]int{1, 2, 3, 4, 5, 66}).Draw(t, "series") {
			if i%9 == 8 {
				all = append(all, one{labels.FromStrings("a", string(rune('0'+i))),
					[]run.Run{{StepMs: 1, Histograms: []*histogram.Histogram{nil}}}})
				continue
			}
			all = append(all, one{labels.FromStrings("a", string(rune('0'+i))), drawNumbers(t)})
		}
		fs := disktest.NewMemory(1)
		write(t, fs, "part", WriterOptions{PageBytes: rapid.SampledFrom([]int{0, 300}).Draw(t, "page"), Levels: true},
			all)
		p := open(t, fs, "part")
		found, err := p.Select(context.Background(), math.MinInt64, math.MaxInt64, nil)
		require.NoError(t, err)
		at := 0
		for _, s := range all {
			if len(twinOf(s.runs)) == 0 {
				continue
			}
			ref := found[at].Ref
			at++
			extent, err := p.Extent(ref)
			require.NoError(t, err)
			minMs, maxMs := int64(math.MaxInt64), int64(math.MinInt64)
			for key := range twinOf(s.runs) {
				minMs, maxMs = min(minMs, key.ms), max(maxMs, key.ms)
			}
			require.Equal(t, [2]int64{minMs, maxMs}, [2]int64{extent.FirstMs, extent.LastMs})
			for _, levelMs := range run.LevelsMs {
				slices := 0
				for at, v := range twinOf(s.runs) {
					if at.kind == 0 && v != math.Float64bits(math.Float64frombits(value.StaleNaN)) {
						slices++
					}
				}
				worth := slices >= levelSlices*len(extremesOf(s.runs, levelMs, true)) && slices > 0
				if extent.FinestMs == 0 || levelMs < extent.FinestMs {
					_, err := p.Extremes(ref, levelMs, true, -1e12, 1e12)
					require.ErrorIs(t, err, errNoLevel)
					require.False(t, worth && s.runs[len(s.runs)-1].LastMs()-s.runs[0].FirstMs < 8000*levelMs,
						"a level is missing")
					continue
				}
				require.True(t, worth, "a level is not worth its cost")
				levelled++
				for _, greatest := range []bool{false, true} {
					want := extremesOf(s.runs, levelMs, greatest)
					requireWindows(t, p, ref, levelMs, greatest, -1e12, 1e12, want)
					fromMs := levelMs * rapid.Int64Range(-100, 100).Draw(t, "from")
					requireWindows(t, p, ref, levelMs, greatest, fromMs, fromMs+levelMs*rapid.Int64Range(0, 100).Draw(t,
						"windows"), want)
				}
			}
		}
	})
	require.NotZero(t, levelled)
}

// A part records whether the slices of a series with levels are even, and whether they rise.
func TestShapes(t *testing.T) {
	seen := map[[2]bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		var runs []run.Run
		nextMs, v, stepMs := random.Int64N(1_000_000), float64(random.IntN(5)), []int64{1000, 7}[random.IntN(2)]
		isEven, isRising := true, true
		for i := range 1 + random.IntN(3) {
			if i > 0 && random.IntN(4) == 0 {
				nextMs, isEven = nextMs+stepMs, false
			}
			r := run.Run{FirstMs: nextMs, StepMs: stepMs, Values: make([]float64, 200+random.IntN(500))}
			for k := range r.Values {
				v += float64(random.IntN(3)) / 2
				switch r.Values[k] = v; random.IntN(2000) {
				case 0:
					v -= 10
				case 1:
					r.Values[k] = []float64{math.NaN(), math.Float64frombits(value.StaleNaN)}[random.IntN(2)]
					isEven = false
				}
			}
			nextMs = r.LastMs() + stepMs
			if random.IntN(8) == 0 {
				r.Present = make([]uint64, (len(r.Values)+63)/64)
				for k := range r.Present {
					r.Present[k] = ^uint64(1 << 5)
				}
				isEven = false
			}
			runs = append(runs, r)
		}
		last := math.Inf(-1)
		for _, r := range runs {
			for _, v := range r.Values {
				isRising, last = isRising && v >= last, v
			}
		}
		fs := disktest.NewMemory(1)
		write(t, fs, "part", WriterOptions{Levels: true}, []one{{labels.FromStrings("a", "b"), runs}})
		e, err := open(t, fs, "part").Extent(0)
		require.NoError(t, err)
		if e.FinestMs == 0 {
			return
		}
		wanted := int64(0)
		if isEven {
			wanted = stepMs
		}
		require.Equal(t, wanted, e.StepMs)
		require.Equal(t, isEven && isRising, e.Rises)
		seen[[2]bool{isEven, e.Rises}]++
	})
	if !testing.Short() { // rapid makes a fifth of the cases then, which may lack one of these
		require.Len(t, seen, 3, "%v", seen)
	}
}

func requireWindows(t require.TestingT, p *Part, ref uint32, levelMs int64, greatest bool, fromMs, toMs int64,
	want map[int64]uint64) {
	got, err := p.Extremes(ref, levelMs, greatest, fromMs, toMs)
	require.NoError(t, err)
	wanted := twin{}
	for end, bits := range want {
		if end-levelMs >= fromMs && end <= toMs {
			wanted[sliceKey{0, end}] = bits
		}
	}
	requireSame(t, wanted, twinOf([]run.Run{got}))
}

// A damaged page of a level is reported and loses no slice.
func TestDamagedLevelCostsNothing(t *testing.T) {
	all := []one{{labels.FromStrings("a", "b"), []run.Run{{StepMs: 1000, Values: walks(1, 20_000)[0]}}}}
	fs := disktest.NewMemory(1)
	write(t, fs, "part", WriterOptions{Levels: true}, all)
	b := fs.Bytes("part")
	p := open(t, fs, "part")
	levels := 0
	for number := range p.footer.pages {
		e, err := p.entry(number)
		require.NoError(t, err)
		broken := append([]byte(nil), b...)
		broken[e.offset+uint64(e.length)/2] ^= 1
		fs.Put("broken", broken)
		damaged := open(t, fs, "broken")
		found := reports(t, damaged)
		require.Len(t, found, 1)
		if found[0].FromMs <= found[0].ToMs {
			continue
		}
		levels++
		assert.Contains(t, found[0].What, "level page")
		lost, reported := costs(t, damaged, all)
		assert.Empty(t, lost)
		assert.Empty(t, reported)
		failed := 0
		for _, levelMs := range run.LevelsMs {
			if _, err := damaged.Extremes(0, levelMs, true, 0, 1e9); err != nil {
				require.ErrorAs(t, err, new(*run.DamageError))
				failed++
			}
		}
		assert.Equal(t, 1, failed)
	}
	assert.Equal(t, len(run.LevelsMs), levels)
}
