// Package storetest is the suite that every store passes: order, repetition, a kill in the middle, refusal of single
// slices, an hour out of order, histograms and gaps.
package storetest

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/forward"
)

// Store is the port as a feed uses it.
type Store interface {
	Append(ctx context.Context, upTo uint64, c *slice.Columns) (rejected map[string]int, err error)
	Durable() uint64
	Flush(ctx context.Context) error
	Close(ctx context.Context) error
}

// Harness is one store in one place, as a test sees it.
type Harness interface {
	// Open opens the store, again after Close and Kill.
	Open(t require.TestingT) Store
	// Settle waits until the open store has done what it does by itself.
	Settle(t require.TestingT)
	// Kill ends the open store as SIGKILL would.
	Kill(t require.TestingT)
	// Read gives back every point by its series' labels, in order of time.
	Read(t require.TestingT) map[string][]Point
	// Want is what Read gives back when exactly these slices were handed over, in order of time: Exact for a store that
	// holds them as they are.
	Want(handed []Handed) map[string][]Point
	// Values are numbers that Want and Read agree upon: EveryValue for a store that keeps a float's bits, or refuses
	// it.
	Values() []float64
	// Window is how far behind its newest slice the store takes another; 0 where there is no bound, or no short one.
	Window() time.Duration
}

// EveryValue are the floats at which stores differ.
var EveryValue = []float64{0, math.Copysign(0, -1), 1, -1, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1),
	math.Inf(-1), math.NaN(), 0.1}

// Handed is a slice that a store was handed.
type Handed struct {
	Labels       labels.Labels
	EndMs        int64
	Value        float64
	Distribution bool
	Histogram    *histogram.Histogram // of a distribution; nil is a gap's marker
}

// Exact are the points of a store that holds slices as they are.
func Exact(handed []Handed) map[string][]Point {
	all := map[string][]Point{}
	for _, h := range handed {
		p := Number(h.EndMs, h.Value)
		if h.Distribution {
			p = Distribution(h.EndMs, nil)
		}
		if h.Histogram != nil {
			p = Distribution(h.EndMs, h.Histogram.ToFloat(nil))
		}
		all[h.Labels.String()] = append(all[h.Labels.String()], p)
	}
	return all
}

// Classic are the points of a store that has classic buckets instead of native histograms.
func Classic(handed []Handed) map[string][]Point {
	all := map[string][]Point{}
	for _, h := range handed {
		add := func(suffix, le string, v float64) {
			l := labels.NewBuilder(h.Labels).Set(model.MetricNameLabel, h.Labels.Get(model.MetricNameLabel)+suffix).Set(
				forward.BucketLabel, le)
			if le == "" {
				l.Del(forward.BucketLabel)
			}
			all[l.Labels().String()] = append(all[l.Labels().String()], Number(h.EndMs, v))
		}
		gap := math.Float64frombits(value.StaleNaN)
		switch {
		case !h.Distribution:
			add("", "", h.Value)
		case h.Histogram == nil:
			add(forward.CountSuffix, "", gap)
			add(forward.SumSuffix, "", gap)
			for _, le := range forward.BucketBoundTexts {
				add(forward.BucketSuffix, le, gap)
			}
		default:
			add(forward.CountSuffix, "", float64(h.Histogram.Count))
			add(forward.SumSuffix, "", h.Histogram.Sum)
			for i, n := range forward.BucketCounts(nil, h.Histogram) {
				add(forward.BucketSuffix, forward.BucketBoundTexts[i], n)
			}
		}
	}
	return all
}

// Point is what a store gives back of one slice.
type Point struct {
	EndMs int64
	Bits  uint64 // of the value; 0 for a histogram
	// Histogram is a histogram's text, "" for a number. It leaves out whether a store marks that a counter started
	// again.
	Histogram string
}

// Number is the point of a number's slice.
func Number(endMs int64, v float64) Point { return Point{EndMs: endMs, Bits: math.Float64bits(v)} }

// Gap is a gap's marker in a series of numbers.
func Gap(endMs int64) Point { return Point{EndMs: endMs, Bits: value.StaleNaN} }

// Distribution is the point of a histogram's slice; nil is a gap's marker.
func Distribution(endMs int64, h *histogram.FloatHistogram) Point {
	if h == nil || value.IsStaleNaN(h.Sum) {
		return Point{EndMs: endMs, Histogram: "gap"}
	}
	plain := h.Copy().Compact(0)
	plain.CounterResetHint = histogram.UnknownCounterReset
	return Point{EndMs: endMs, Histogram: plain.TestExpression()}
}

// Run runs the suite; place makes a harness with an empty store.
func Run(t *testing.T, place func(t *testing.T) Harness) {
	for name, test := range map[string]func(*testing.T, Harness){
		"order":           testOrder,
		"every value":     testEveryValue,
		"histograms":      testHistograms,
		"gaps":            testGaps,
		"twice":           testTwice,
		"starting over":   testStartingOver,
		"killed":          testKilled,
		"killed early":    testKilledEarly,
		"single refusals": testSingleRefusals,
		"an hour late":    testAnHourLate,
		"too late":        testTooLate,
		"closed twice":    testClosedTwice,
		"idle":            testIdle,
	} {
		t.Run(name, func(t *testing.T) { test(t, place(t)) })
	}
	t.Run("any history", func(t *testing.T) { testAnyHistory(t, place) })
}

// RunTooLate runs the test of slices beyond a store's window alone, for a store whose other tests need a longer one.
func RunTooLate(t *testing.T, h Harness) { testTooLate(t, h) }

func testOrder(t *testing.T, h Harness) {
	j := steady(3, 3*hour)
	play(t, h.Open(t), j, 0, 1)
	same(t, h, j)
}

func testEveryValue(t *testing.T, h Harness) {
	j := newJournal()
	for i, v := range h.Values() {
		j.step().number(0, start+int64(i)*width, v)
	}
	s, rejected := h.Open(t), map[string]int{}
	for _, step := range j.steps {
		step.Definitions = j.definitions()
		refused, err := s.Append(context.Background(), step.upTo, &step.Columns)
		require.NoError(t, err)
		for reason, n := range refused {
			rejected[reason] += n
		}
	}
	kept := 0
	for _, points := range h.Want(j.handed()) {
		kept += len(points)
	}
	assert.Equal(t, len(j.steps)-kept, rejected["not_finite"], "what is not kept is rejected")
	assert.LessOrEqual(t, len(rejected), 1)
	same(t, h, j)
}

func testHistograms(t *testing.T, h Harness) {
	j := newJournal()
	for i := range int64(300) {
		j.step().distribution(100, start+i*width, growing(i))
	}
	s := h.Open(t)
	play(t, s, j, 0, 1)
	require.NoError(t, s.Flush(context.Background()))
	same(t, h, j)
}

func testGaps(t *testing.T, h Harness) {
	j := newJournal()
	for i := range int64(60) {
		j.step()
		if i == 20 || i == 41 {
			j.gap(0, start+i*width).gap(100, start+i*width)
			continue
		}
		j.number(0, start+i*width, float64(i)).distribution(100, start+i*width, growing(i))
	}
	play(t, h.Open(t), j, 0, 1)
	same(t, h, j)
}

func testTwice(t *testing.T, h Harness) {
	j := steady(3, 2*hour)
	s := h.Open(t)
	hand(t, s, step{Columns: slice.Columns{Definitions: j.definitions()}})
	for _, step := range j.steps {
		hand(t, s, step)
		hand(t, s, step)
	}
	same(t, h, j)
}

// A feed that failed starts over from Durable on a store that is still open, and reads the journal in other portions.
func testStartingOver(t *testing.T, h Harness) {
	j := steady(3, 2*hour)
	s := h.Open(t)
	play(t, s, j, 0, 1)
	play(t, s, j, s.Durable(), 7)
	same(t, h, j)
}

func testKilled(t *testing.T, h Harness) {
	j := steady(3, 3*hour)
	s := h.Open(t)
	for i := 100; i < len(j.steps); i += 293 {
		play(t, s, j.until(i), s.Durable(), 3)
		if i%2 == 0 {
			h.Settle(t)
		}
		h.Kill(t)
		s = h.Open(t)
	}
	require.NotZero(t, s.Durable(), "hours of slices and nothing is durable")
	play(t, s, j, s.Durable()/2, 1) // a feed's checkpoint lies before what is durable
	same(t, h, j)
}

func testKilledEarly(t *testing.T, h Harness) {
	j := steady(3, 100*width)
	play(t, h.Open(t), j.until(4), 0, 1)
	h.Kill(t)
	s := h.Open(t)
	play(t, s, j, s.Durable(), 1)
	same(t, h, j)
}

func testSingleRefusals(t *testing.T, h Harness) {
	j := steady(2, 10*width)
	s := h.Open(t)
	play(t, s, j, 0, 1)
	j.step().number(0, start+hour, 1).number(1, start+hour, 3)
	last := &slice.Columns{Refs: []slice.Ref{0, 4711, 1}, EndsMs: []int64{start + hour, start + hour, start + hour},
		Values: []float64{1, 2, 3}}
	rejected, err := s.Append(context.Background(), j.end(), last)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"undefined": 1}, rejected)
	same(t, h, j)
}

// One source was away for an hour while another went on, and then brings all of it.
func testAnHourLate(t *testing.T, h Harness) {
	j := steady(2, 2*hour)
	j.step()
	for ms := start + hour; ms < start+2*hour; ms += width {
		j.number(2, ms, float64(ms)).distribution(102, ms, growing((ms-start)/width))
	}
	for i := range int64(100) {
		j.step().number(0, start+2*hour+i*width, 1).number(2, start+2*hour+i*width, 2)
	}
	s := h.Open(t)
	play(t, s, j.until(len(j.steps)-50), 0, 1)
	h.Kill(t)
	s = h.Open(t)
	play(t, s, j, s.Durable(), 5)
	require.NoError(t, s.Flush(context.Background()))
	same(t, h, j)
}

// What is older than the window is refused point by point and by name; what came with it is taken.
func testTooLate(t *testing.T, h Harness) {
	if h.Window() == 0 {
		t.Skip("this store takes slices of any age")
	}
	j := steady(2, 10*hour)
	s := h.Open(t)
	play(t, s, j, 0, 1)
	late := &slice.Columns{Refs: []slice.Ref{0, 1, 1, 0}, EndsMs: []int64{start + width/2, start + width/2,
		start + 3*width/2, start + 10*hour}, Values: []float64{1, 2, 3, 4}}
	j.step().number(0, start+10*hour, 4)
	rejected, err := s.Append(context.Background(), j.end(), late)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"too_old": 3}, rejected)
	same(t, h, j)
}

// Eventual is a Harness whose store shows what it has acknowledged some time later, within Within.
type Eventual interface{ Within() time.Duration }

// same reports whether a store holds what it was handed, point by point.
func same(t require.TestingT, h Harness, j *journal) {
	want, got := h.Want(j.handed()), h.Read(t)
	if late, eventual := h.(Eventual); eventual {
		for deadline := time.Now().Add(late.Within()); !assert.ObjectsAreEqual(want, got) &&
			time.Now().Before(deadline); {
			got = h.Read(t)
		}
	}
	for series, points := range want {
		require.Equal(t, points, got[series], series)
	}
	require.Len(t, got, len(want))
}

func testClosedTwice(t *testing.T, h Harness) {
	j := steady(2, hour)
	s := h.Open(t)
	play(t, s, j, 0, 1)
	require.NoError(t, s.Close(context.Background()))
	require.NoError(t, s.Close(context.Background()))
	_, err := s.Append(context.Background(), j.end()+1, &slice.Columns{})
	require.Error(t, err)
	again := h.Open(t)
	assert.Equal(t, j.end(), again.Durable(), "what was handed over before Close is durable after it")
	same(t, h, j)
}

// Nothing but ticks in the journal: flushing moves the cursor on, so that the journal need not be kept.
func testIdle(t *testing.T, h Harness) {
	j := steady(2, hour)
	s := h.Open(t)
	play(t, s, j, 0, 1)
	_, err := s.Append(context.Background(), j.end()+1000, &slice.Columns{})
	require.NoError(t, err)
	require.NoError(t, s.Flush(context.Background()))
	assert.Equal(t, j.end()+1000, s.Durable())
	h.Kill(t)
	assert.Equal(t, j.end()+1000, h.Open(t).Durable())
	same(t, h, j)
}
