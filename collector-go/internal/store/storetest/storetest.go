// Package storetest is the suite that every store passes: order, repetition, a kill in the middle, refusal of single slices,
// an hour out of order, histograms and gaps.
package storetest

import (
	"context"
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
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
	// Open opens the store, anew after Close and Kill.
	Open(t require.TestingT) Store
	// Settle waits until the open store has done what it does by itself.
	Settle(t require.TestingT)
	// Kill ends the open store as SIGKILL would.
	Kill(t require.TestingT)
	// Read gives back every point by its series' labels, in order of time.
	Read(t require.TestingT) map[string][]Point
}

// Point is what a store gives back of one slice.
type Point struct {
	EndMs int64
	Bits  uint64 // of the value; 0 for a histogram
	// Histogram is a histogram's text, "" for a number. Whether a store says that a counter began anew is left out of it.
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
		"order":            testOrder,
		"every value":      testEveryValue,
		"histograms":       testHistograms,
		"gaps":             testGaps,
		"twice":            testTwice,
		"starting over":    testStartingOver,
		"killed":           testKilled,
		"killed, no block": testKilledBeforeAnyBlock,
		"single refusals":  testSingleRefusals,
		"an hour late":     testAnHourLate,
		"too late":         testTooLate,
		"closed twice":     testClosedTwice,
		"idle":             testIdle,
	} {
		t.Run(name, func(t *testing.T) { test(t, place(t)) })
	}
	t.Run("any history", func(t *testing.T) { testAnyHistory(t, place) })
}

func testOrder(t *testing.T, h Harness) {
	j := steady(3, 3*hour)
	play(t, h.Open(t), j, 0, 1)
	assert.Equal(t, j.points(), h.Read(t))
}

func testEveryValue(t *testing.T, h Harness) {
	j := newJournal()
	for i, v := range []float64{0, math.Copysign(0, -1), 1, -1, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 0.1} {
		j.step().number(0, start+int64(i)*width, v)
	}
	play(t, h.Open(t), j, 0, 1)
	assert.Equal(t, j.points(), h.Read(t))
}

func testHistograms(t *testing.T, h Harness) {
	j := newJournal()
	for i := range int64(300) {
		j.step().distribution(0, start+i*width, growing(i))
	}
	s := h.Open(t)
	play(t, s, j, 0, 1)
	require.NoError(t, s.Flush(context.Background()))
	assert.Equal(t, j.points(), h.Read(t))
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
	assert.Equal(t, j.points(), h.Read(t))
}

func testTwice(t *testing.T, h Harness) {
	j := steady(3, 2*hour)
	s := h.Open(t)
	hand(t, s, step{Columns: slice.Columns{Definitions: j.definitions()}})
	for _, step := range j.steps {
		hand(t, s, step)
		hand(t, s, step)
	}
	assert.Equal(t, j.points(), h.Read(t))
}

// A feed that failed starts over from Durable on a store that is still open, and reads the journal in other portions.
func testStartingOver(t *testing.T, h Harness) {
	j := steady(3, 2*hour)
	s := h.Open(t)
	play(t, s, j, 0, 1)
	play(t, s, j, s.Durable(), 7)
	assert.Equal(t, j.points(), h.Read(t))
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
	assert.Equal(t, j.points(), h.Read(t))
}

func testKilledBeforeAnyBlock(t *testing.T, h Harness) {
	j := steady(3, 100*width)
	play(t, h.Open(t), j.until(4), 0, 1)
	h.Kill(t)
	s := h.Open(t)
	require.Zero(t, s.Durable())
	play(t, s, j, 0, 1)
	assert.Equal(t, j.points(), h.Read(t))
}

func testSingleRefusals(t *testing.T, h Harness) {
	j := steady(2, 10*width)
	s := h.Open(t)
	play(t, s, j, 0, 1)
	last := &slice.Columns{Refs: []slice.Ref{0, 4711, 1}, EndsMs: []int64{start + hour, start + hour, start + hour}, Values: []float64{1, 2, 3}}
	rejected, err := s.Append(context.Background(), j.end()+1, last)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"undefined": 1}, rejected)
	want := j.points()
	want[name(0)] = append(want[name(0)], Number(start+hour, 1))
	want[name(1)] = append(want[name(1)], Number(start+hour, 3))
	assert.Equal(t, want, h.Read(t))
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
	assert.Equal(t, j.points(), h.Read(t))
}

func testTooLate(t *testing.T, h Harness) {
	j := steady(1, 10*hour)
	s := h.Open(t)
	play(t, s, j, 0, 1)
	late := &slice.Columns{Refs: []slice.Ref{0, 0}, EndsMs: []int64{start + width/2, start + 10*hour}, Values: []float64{1, 2}}
	rejected, err := s.Append(context.Background(), j.end()+1, late)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"too_old": 1}, rejected)
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
	assert.Equal(t, j.points(), h.Read(t))
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
	assert.Equal(t, j.points(), h.Read(t))
}
