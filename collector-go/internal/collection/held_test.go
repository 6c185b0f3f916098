package collection

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What was seen of a metric is stored from the first time on that it is not well; before, it equalled the interval.
func TestWhatGoesUnsaidIsTheInterval(t *testing.T) {
	start := time.UnixMilli(600_000)
	ls := labels.FromStrings("metric", "heap", "worker", "h:1")
	at := func(ms int64, v float64) Value { return Value{Labels: ls, Value: v, TimeMs: ms} }
	bad := []Value{at(780_000, 31), at(810_000, 10)}
	for name, c := range map[string]struct {
		came     map[uint64]float64
		interval *float64
		totals   []Value
		want     []Value
		held     bool
	}{
		"it came at the start": {came: map[uint64]float64{7: 5}, interval: of(10),
			want: append([]Value{at(600_000, 10)}, bad...), held: true},
		"it began later": {interval: of(10), totals: []Value{at(690_000, 0), at(720_000, 3)},
			want: append([]Value{at(720_000, 10)}, bad...)},
		"it was never well":       {interval: of(10), totals: []Value{at(750_000, 0), at(780_000, 3)}, want: bad},
		"its interval is unknown": {came: map[uint64]float64{7: 5}, want: bad},
	} {
		r := &reading{ctx: t.Context(), start: start, end: time.UnixMilli(1_200_000), came: c.came,
			workers: map[string]*Worker{}, metrics: map[[2]string]*Metric{},
			ask: func(context.Context, string, time.Time, time.Duration) ([]Value, error) { return c.totals, nil }}
		r.metric(ls).IntervalSeconds = c.interval
		all, held, err := r.unsaid(7, bad)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, all, name)
		assert.Equal(t, c.held, held, name)
	}
}

// The periods from the start up to the first that is stored count as the interval.
func TestTheMedianCountsWhatGoesUnsaid(t *testing.T) {
	ls := labels.FromStrings("metric", "heap", "worker", "h:1")
	r := &reading{start: time.UnixMilli(600_000), end: time.UnixMilli(840_000), workers: map[string]*Worker{},
		metrics: map[[2]string]*Metric{},
		coming:  map[[2]string]bool{key(ls): true}, writtenTo: map[string]int64{"h:1": 840_000}}
	r.seen([]Value{{ls, 10, 600_000}, {ls, 31, 780_000}, {ls, 10, 810_000}}, true)
	assert.Equal(t, []float64{10, 31}, []float64{*r.metric(ls).SeenMedianSeconds, *r.metric(ls).SeenMaxSeconds})
}
