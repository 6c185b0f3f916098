package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/slice"
)

// Port is a store that offers all of the port: slices of any age, and starting over.
type Port interface {
	Store
	Rewind(cursor uint64)
}

// RunPort runs what Run does not ask of every store; what h.Open returns is a Port.
func RunPort(t *testing.T, place func(t *testing.T) Harness) {
	for name, test := range map[string]func(*testing.T, Harness){
		"rewound":                       testRewound,
		"retired":                       testRetired,
		"months late":                   testMonthsLate,
		"restarted while it writes":     testRestartedWhileWriting,
		"conflict":                      testConflict,
		"a clock far ahead":             testClockAhead,
		"two refs, one series":          testTwoRefs,
		"an interval that changes":      testIntervalChanges,
		"numbers beside histograms":     testBothKinds,
		"what comes in the wrong order": testBackwards,
	} {
		t.Run(name, func(t *testing.T) { test(t, place(t)) })
	}
}

// The feed starts over from any place it has been at, and the journal comes in other portions: nothing changes, and the
// cursor does not pass what was not handed over again.
func testRewound(t *testing.T, h Harness) {
	j := steady(3, 2*hour)
	s := h.Open(t).(Port)
	for i := 50; i < len(j.steps); i += 171 {
		play(t, s, j.until(i), s.Durable(), 1+i%5)
		s.Rewind(j.steps[i/3].upTo)
		play(t, s, j.until(i/2), j.steps[i/3].upTo, 2)
		assert.LessOrEqual(t, s.Durable(), j.steps[i-1].upTo)
	}
	s.Rewind(s.Durable())
	play(t, s, j, s.Durable(), 3)
	require.NoError(t, s.Flush(context.Background()))
	assert.Equal(t, j.end(), s.Durable())
	same(t, h, j)
}

// A Ref that was retired stands for another series later; what came under it before stays what it was.
func testRetired(t *testing.T, h Harness) {
	j := newJournal()
	s := h.Open(t)
	for life := range 5 {
		d := definition(slice.Ref(10 + life))
		d.Ref = 0
		for i := range int64(40) {
			end := start + (int64(life)*40+i)*width
			j.step().note(slice.Ref(10+life), Handed{EndMs: end, Value: float64(i)})
			c := slice.Columns{Definitions: []slice.Definition{d}, Refs: []slice.Ref{0}, EndsMs: []int64{end},
				Values: []float64{float64(i)}}
			if i == 39 {
				c.Retired = []slice.Ref{0}
			}
			hand(t, s, step{upTo: j.end(), Columns: c})
		}
		rejected, err := s.Append(context.Background(), j.step().end(),
			&slice.Columns{Refs: []slice.Ref{0}, EndsMs: []int64{start}, Values: []float64{0}})
		require.NoError(t, err)
		assert.Equal(t, map[string]int{"undefined": 1}, rejected)
		if life%2 == 1 {
			require.NoError(t, s.Flush(context.Background()))
		}
	}
	same(t, h, j)
}

// Slices of any age are taken, beside those of now.
func testMonthsLate(t *testing.T, h Harness) {
	j := steady(2, hour)
	for i := range int64(300) {
		j.step().number(0, start+hour+i*width, 1)
		j.number(1, start-(300-i)*24*hour, float64(i)).distribution(100, start-(300-i)*24*hour, growing(i))
		j.number(2, start-90*24*hour+i*width, float64(-i))
	}
	s := h.Open(t)
	play(t, s, j.until(len(j.steps)-20), 0, 1)
	h.Kill(t)
	s = h.Open(t)
	play(t, s, j, s.Durable(), 3)
	same(t, h, j)
	require.NoError(t, s.Flush(context.Background()))
	same(t, h, j)
}

// Killed right behind a hand-over, whatever the store does by itself then.
func testRestartedWhileWriting(t *testing.T, h Harness) {
	j := steady(20, 2*hour)
	s := h.Open(t)
	for i := 20; i < len(j.steps); i += 37 {
		play(t, s, j.until(i), s.Durable(), 1+i%3)
		h.Kill(t)
		s = h.Open(t)
	}
	play(t, s, j, s.Durable(), 2)
	same(t, h, j)
}

// Of two values at one time the first stays, and the second is rejected by name; the same value again is none.
func testConflict(t *testing.T, h Harness) {
	j := steady(2, 10*width)
	s := h.Open(t)
	play(t, s, j, 0, 1)
	again := &slice.Columns{Refs: []slice.Ref{0, 1, 1}, EndsMs: []int64{start, start, start + width},
		Values: []float64{-1, float64(start) / 4, -1}}
	again.HistogramRefs, again.HistogramEndsMs = append(again.HistogramRefs, 100), append(again.HistogramEndsMs, start)
	again.Histograms = append(again.Histograms, growing(77))
	rejected, err := s.Append(context.Background(), j.end()+10, again)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"conflict": 3}, rejected)
	same(t, h, j)
}

// A worker whose clock is years ahead moves no other series' anything.
func testClockAhead(t *testing.T, h Harness) {
	j := steady(2, hour)
	j.step().number(3, start+10*365*24*hour, 1)
	for i := range int64(50) {
		j.step().number(0, start+hour+i*width, 1).number(1, start-(i+1)*hour, 2)
	}
	s := h.Open(t)
	play(t, s, j, 0, 1)
	require.NoError(t, s.Flush(context.Background()))
	same(t, h, j)
}

// The same labels under two Refs are one series.
func testTwoRefs(t *testing.T, h Harness) {
	j := steady(1, hour)
	s := h.Open(t)
	play(t, s, j, 0, 1)
	d := definition(0)
	d.Ref = 7
	end := start + hour
	j.step().note(0, Handed{EndMs: end, Value: 5})
	hand(t, s, step{upTo: j.end(), Columns: slice.Columns{Definitions: []slice.Definition{d}, Refs: []slice.Ref{7, 0},
		EndsMs: []int64{end, end}, Values: []float64{5, 5}}})
	same(t, h, j)
}

// A series' slices lie 10 s apart, then 30 s, then 7 s, which is on no other's grid.
func testIntervalChanges(t *testing.T, h Harness) {
	j := newJournal()
	s := h.Open(t)
	end := start
	for _, interval := range []int64{10_000, 30_000, 7000, 10_000} {
		d := definition(0)
		d.IntervalMs = interval
		for range 100 {
			end += interval
			j.step().number(0, end, float64(end))
			hand(t, s, step{upTo: j.end(), Columns: slice.Columns{Definitions: []slice.Definition{d},
				Refs: []slice.Ref{0}, EndsMs: []int64{end}, Values: []float64{float64(end)}}})
		}
	}
	same(t, h, j)
	require.NoError(t, s.Flush(context.Background()))
	same(t, h, j)
}

// A name stands for numbers, then for distributions, then for numbers again.
func testBothKinds(t *testing.T, h Harness) {
	j := newJournal()
	for i := range int64(90) {
		if j.step(); i/30 == 1 {
			j.distribution(0, start+i*width, growing(i))
		} else {
			j.number(0, start+i*width, float64(i))
		}
	}
	s := h.Open(t)
	play(t, s, j, 0, 1)
	same(t, h, j)
	require.NoError(t, s.Flush(context.Background()))
	same(t, h, j)
}

// The newest slice comes first.
func testBackwards(t *testing.T, h Harness) {
	j := newJournal()
	for i := int64(500); i > 0; i-- {
		j.step().number(0, start+i*width, float64(i)).distribution(100, start+i*width, growing(i))
	}
	s := h.Open(t)
	play(t, s, j, 0, 1)
	require.NoError(t, s.Flush(context.Background()))
	same(t, h, j)
}
