package predict

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/cases"
)

// truth is a synthetic topology whose figures are all known.
type truth struct {
	base, executor, record, query, match float64 // cores, of all workers
	filterRecord, filterMatch            float64 // of the filter bolts only
	service, wait, overload              float64
	step, launch, latency                float64 // relative standard deviations
}

func between(random *rand.Rand, low, high float64) float64 {
	return low * math.Pow(high/low, random.Float64())
}

const truthRecords = 2000.0

// newTruth returns figures of the size of a small cluster: at 2,000 records/s one filter bolt is saturated at 60 to 600
// queries.
func newTruth(random *rand.Rand) truth {
	return truth{
		base: between(random, 0.1, 1), executor: between(random, 0.005, 0.05), record: between(random, 5e-5, 4e-4),
		query: between(random, 1e-4, 4e-3), match: between(random, 2e-7, 2e-6),
		filterRecord: between(random, 2e-5, 2e-4), filterMatch: between(random, 5e-7, 5e-6),
		service: between(random, 1, 10), wait: between(random, 0.2, 2), overload: between(random, 1e-3, 1e-2),
		step: between(random, 0.02, 0.08), launch: between(random, 0.01, 0.08), latency: between(random, 0.05, 0.25),
	}
}

func (w truth) cpu(l Load, s Setup) float64 {
	r := float64(l.RecordsPerSecond)
	return w.base + w.executor*s.all() + w.record*r + w.query*l.Queries + w.match*r*l.Queries
}

func (w truth) utilization(l Load, s Setup) float64 {
	r := float64(l.RecordsPerSecond)
	return (w.filterRecord*r + w.filterMatch*r*l.Queries) / s.filterBolts()
}

func (w truth) ms(utilization float64) float64 {
	return w.service * (1 + w.wait*queue(utilization, w.overload))
}

// launched holds the factors by which the CPU and the utilization of one launch deviate.
type launched struct{ cpu, filter float64 }

func (w truth) launches(random *rand.Rand) launched {
	return launched{math.Exp(w.launch * random.NormFloat64()), math.Exp(w.launch * random.NormFloat64())}
}

func (w truth) measure(l Load, s Setup, in launched, random *rand.Rand) map[Figure]float64 {
	u := w.utilization(l, s) * in.filter * math.Exp(0.02*random.NormFloat64())
	return map[Figure]float64{CPU: w.cpu(l, s) * in.cpu * math.Exp(w.step*random.NormFloat64()),
		Latency: w.ms(u) * math.Exp(w.latency*random.NormFloat64())}
}

// capacity returns the largest number of queries of a launch.
func (w truth) capacity(s Setup, in launched, limit float64) float64 {
	return largest(func(v float64) bool {
		return w.ms(in.filter*w.utilization(Load{v, truthRecords}, s)) <= limit
	})
}

func setupOf(filterBolts float64) Setup {
	return Setup{Executors: map[string]float64{tuning.FilterBolt: filterBolts, "JoinBolt": 2, "DataSource": 2}}
}

// observed returns launches of 1, 2 and 4 filter bolts, two of each, with queries up to saturation.
func (w truth) observed(random *rand.Rand) (all []Observation) {
	for _, bolts := range []float64{1, 2, 4} {
		full := bolts / (w.filterMatch * truthRecords)
		for repeat := range 2 {
			in := w.launches(random)
			for _, share := range []float64{0, 0.3, 0.6, 0.9, 1.1} {
				l := Load{math.Round(share * full), truthRecords}
				all = append(all, Observation{World: "made up", Launch: fmt.Sprint(bolts, repeat),
					Configuration: fmt.Sprint(bolts), Load: l, Setup: setupOf(bolts),
					Measured: w.measure(l, setupOf(bolts), in, random)})
			}
		}
	}
	return all
}

// A 95% interval for a step or a capacity of a configuration that was never run contains the true value in 95 of 100
// cases.
func TestIntervalsHoldTheTruth(t *testing.T) {
	worlds := cases.Number(24, 6)
	if os.Getenv("BULLET_METRICS_LONG") != "" {
		worlds = 1000
	}
	const limit = 200
	random, inside, asked, off := rand.New(rand.NewPCG(18, 3)), map[string]int{}, map[string]int{}, []float64{}
	for range worlds {
		w := newTruth(random)
		m, err := Fit(w.observed(random), 0.95)
		require.NoError(t, err)
		for _, bolts := range []float64{3, 6} {
			s, in := setupOf(bolts), w.launches(random)
			full := bolts / (w.filterMatch * truthRecords)
			l := Load{math.Round(full * 0.7 * random.Float64()), truthRecords}
			p := m.Predict(Question{Load: l, Setup: s, LimitMs: limit})
			measured := w.measure(l, s, in, random)
			hold := func(name string, v float64, e tuning.Estimate) {
				asked[name]++
				if tuning.Figure(v) >= e.Low && tuning.Figure(v) <= e.High {
					inside[name]++
				}
			}
			for _, f := range p.Figures {
				if v, has := measured[Figure(f.Name)]; has {
					hold(f.Name, v, f.Estimate)
				}
			}
			require.Len(t, p.Capacity, 2)
			capacity := w.capacity(s, in, limit)
			hold("capacity", capacity, p.Capacity[0].Estimate)
			off = append(off, math.Abs(float64(p.Capacity[0].Value)/capacity-1))
		}
	}
	for name, n := range asked {
		share := float64(inside[name]) / float64(n)
		t.Logf("%s: %d of %d, %.1f%%", name, inside[name], n, 100*share)
		assert.GreaterOrEqual(t, share, 0.90, name)
	}
	assert.Len(t, asked, 3)
	t.Logf("median error of the capacity %.1f%%", 100*float64(median(off)))
	assert.Less(t, float64(median(off)), CapacityErrorGoal)
}

// A prediction for a cluster 58 times as large says how far that is beyond the measurements, and its intervals contain
// the true values. If an interval is too wide, the figure is unknown, and so is the number of machines.
func TestALargerClusterIsAnsweredWithItsReach(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1162))
	w := newTruth(random)
	m, err := Fit(w.observed(random), 0.95)
	require.NoError(t, err)
	s := Setup{Executors: map[string]float64{tuning.FilterBolt: 512, "JoinBolt": 2, "DataSource": 648}}
	l := Load{680, 756_000}
	p := m.Predict(Question{Load: l, Setup: s, LimitMs: 200,
		Machine: tuning.Machine{CPUCores: 47, MemoryMiB: tuning.Unknown}})
	assert.Equal(t, "756,000 records/s: 378 times the largest measured value, 2,000", p.Beyond[0].Text())
	assert.Equal(t, "1,162 executors in total: 145 times the largest measured value, 8", p.Beyond[2].Text())
	cpu := p.Figures[2]
	require.Equal(t, string(CPU), cpu.Name)
	truth := tuning.Figure(w.cpu(l, s))
	wide, known := m.at(CPU, l, s, p.Scatter)
	require.True(t, known)
	assert.True(t, wide.Low < truth && truth < wide.High, "%v holds %v", wide, truth)
	assert.Greater(t, float64(wide.High/wide.Low), float64(mostTimes), "so far beyond nothing is sharp")
	assert.False(t, cpu.Value.Known() || cpu.Low.Known() || cpu.High.Known())
	assert.Contains(t, cpu.Note, "unknown: anywhere from ")
	assert.Nil(t, p.Machines)
	assert.Contains(t, p.Notes,
		"all steps had 2,000 records/s, so the effect of another number is an assumption of the model, and its interval covers every possibility")
}

// The busy share of the filter bolts has one prediction, from the model of latency and capacity.
func TestTheFilterBoltsBusyShareHasOneAnswer(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	w := newTruth(random)
	observed := w.observed(random)
	q := Question{Load: Load{100, truthRecords}, Setup: setupOf(4), LimitMs: 200}
	answers := func() (p *Prediction, all []tuning.Estimate) {
		m, err := Fit(observed, 0.95)
		require.NoError(t, err)
		p = m.Predict(q)
		for _, f := range p.Figures {
			if strings.Contains(f.Name, "utilization") {
				all = append(all, f.Estimate)
			}
		}
		for _, b := range p.Busy {
			if b.Component == tuning.FilterBolt {
				all = append(all, b.Estimate)
			}
		}
		return p, all
	}
	_, all := answers()
	assert.Len(t, all, 1, "not measured: the utilization that the latency shows")
	for i, o := range observed { // as a measurement that reads a third of it
		busy := 0.3 * w.utilization(o.Load, o.Setup) * o.Setup.filterBolts()
		observed[i].Measured[BusyOf(tuning.FilterBolt)] = busy
	}
	_, all = answers()
	require.Len(t, all, 1, "measured")
	assert.InDelta(t, 0.3*w.utilization(q.Load, q.Setup), float64(all[0].Value), 0.1)
}

// The nearer a question is to the measurements, the narrower is the interval. The same question has the same answer to
// the last digit.
func TestIntervalsWidenWithTheirReach(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	w := newTruth(random)
	observed := w.observed(random)
	m, err := Fit(observed, 0.95)
	require.NoError(t, err)
	width := func(m *Model, queries float64) float64 {
		p := m.Predict(Question{Load: Load{queries, truthRecords}, Setup: setupOf(4)})
		require.Equal(t, string(CPU), p.Figures[2].Name)
		return float64((p.Figures[2].High - p.Figures[2].Low) / p.Figures[2].Value)
	}
	most := observed[len(observed)-1].Load.Queries
	assert.Less(t, 1.2*width(m, most/2), width(m, 8*most))
	again, err := Fit(observed, 0.95)
	require.NoError(t, err)
	answer := func(m *Model) string { // as text, because unknown figures do not compare as equal
		text, err := json.Marshal(m.Predict(Question{Load: Load{50, truthRecords}, Setup: setupOf(3), LimitMs: 200}))
		require.NoError(t, err)
		return string(text)
	}
	assert.Equal(t, answer(m), answer(again))
	half, err := Fit(observed, 0.5)
	require.NoError(t, err)
	assert.Less(t, width(half, most), 0.6*width(m, most))
}

func TestTooFewStepsAreAnError(t *testing.T) {
	w := newTruth(rand.New(rand.NewPCG(1, 1)))
	_, err := Fit(w.observed(rand.New(rand.NewPCG(1, 1)))[:2], 0.95)
	assert.ErrorIs(t, err, ErrTooFew)
}

// A small heap is collected more often. This takes CPU and leaves the filter bolts less time for their work.
func TestLittleHeapCostsCPUAndCapacity(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	w := newTruth(random)
	w.launch, w.step, w.latency = 0.02, 0.02, 0.05
	pressed := func(heap float64) float64 { return 128 * 128 / (heap * heap) }
	measure := func(l Load, s Setup) map[Figure]float64 {
		u := w.utilization(l, s) * (1 + 0.8*pressed(s.HeapMiB))
		cpu := w.cpu(l, s) * (1 + 0.5*pressed(s.HeapMiB))
		return map[Figure]float64{CPU: cpu * math.Exp(w.step*random.NormFloat64()),
			Latency: w.ms(u) * math.Exp(w.latency*random.NormFloat64()),
			GC:      0.5 * w.cpu(l, s) * pressed(s.HeapMiB) * math.Exp(w.step*random.NormFloat64())}
	}
	var all []Observation
	for _, heap := range []float64{128, 256, 512} {
		for _, bolts := range []float64{1, 2} {
			s := setupOf(bolts)
			s.HeapMiB = heap
			for _, share := range []float64{0, 0.2, 0.4, 0.6, 0.8} {
				l := Load{math.Round(share * bolts / (w.filterMatch * truthRecords)), truthRecords}
				all = append(all, Observation{World: "made up", Launch: key(s), Configuration: key(s), Load: l,
					Setup: s, Measured: measure(l, s)})
			}
		}
	}
	m, err := Fit(all, 0.95)
	require.NoError(t, err)
	at := func(heap float64) *Prediction {
		s := setupOf(2)
		s.HeapMiB = heap
		return m.Predict(Question{Load: Load{math.Round(1 / (w.filterMatch * truthRecords)), truthRecords}, Setup: s,
			LimitMs: 200})
	}
	little, between, much := at(128), at(180), at(512)
	gc := func(p *Prediction) tuning.Figure { return p.Figures[3].Value }
	require.Equal(t, string(GC), much.Figures[3].Name)
	assert.Greater(t, float64(little.Capacity[0].Value), 0.0)
	assert.Less(t, float64(little.Capacity[0].High), float64(much.Capacity[0].Low),
		"little heap holds clearly fewer queries")
	assert.InEpsilon(t, 16, float64(gc(little)/gc(much)), 0.3)
	s := setupOf(2)
	s.HeapMiB = 180
	assert.True(t, between.Capacity[0].Low < between.Capacity[0].Value &&
		between.Capacity[0].Value < much.Capacity[0].Value)
	for i, truth := range map[int]float64{2: w.cpu(between.Load, s) * (1 + 0.5*pressed(180)),
		3: 0.5 * w.cpu(between.Load, s) * pressed(180)} {
		f := between.Figures[i]
		assert.True(t, float64(f.Low) <= truth && truth <= float64(f.High), "%v holds %g", f, truth)
	}
}
