package query

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/plan"
)

// reader is a store that records the plans, and returns one series per selector.
type reader struct {
	instants map[string]string // by selector
	read     func(*plan.Plan) error
	opened   [][2]int64 // time ranges of the queriers that were opened
}

func (r *reader) Querier(minMs, maxMs int64) (storage.Querier, error) {
	r.opened = append(r.opened, [2]int64{minMs, maxMs})
	return readerQuerier{r}, nil
}

func (r *reader) ComputesWindows() bool { return true }

type readerQuerier struct{ *reader }

func (q readerQuerier) Select(ctx context.Context, _ bool, _ *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	p := plan.From(ctx)
	text := "every slice"
	if at, known := p.Instants(matchers); known {
		text = fmt.Sprintf("%d to %d every %d", at.FirstMs, at.LastMs, at.StepMs)
	}
	if of, known := p.Windows(matchers); known {
		text = fmt.Sprintf("function %d of %d ms up to %d to %d every %d, %d later", of.Function, of.RangeMs,
			of.FirstMs, of.LastMs, of.StepMs, of.OffsetMs)
	}
	if q.instants != nil {
		q.instants[fmt.Sprint(matchers)] = text
	}
	if q.read != nil {
		if err := q.read(p); err != nil {
			return storage.ErrSeriesSet(err)
		}
	}
	return &one{series: storage.NewListSeries(labels.FromStrings("a", "b"), []chunks.Sample{})}
}

func (readerQuerier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	return nil, nil, nil
}

func (readerQuerier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	return nil, nil, nil
}

func (readerQuerier) Close() error { return nil }

// one is a set with one series.
type one struct {
	series storage.Series
	given  bool
}

func (o *one) Next() bool                        { had := o.given; o.given = true; return !had }
func (o *one) At() storage.Series                { return o.series }
func (o *one) Err() error                        { return nil }
func (o *one) Warnings() annotations.Annotations { return nil }

// Only selectors that are certainly evaluated at the query's own times, and nowhere else, are planned.
func TestPlans(t *testing.T) {
	const whole = "1000000 to 1600000 every 60000"
	for expr, wanted := range map[string]map[string]string{
		"x":                                 {"x": whole},
		"sum by (a) (-abs(x)) + 2 > bool 3": {"x": whole},
		"topk(2, x) or label_replace(y,'a','$1','b','(.*)')": {"x": whole, "y": whole},
		"x offset 1m":                {"x": "940000 to 1540000 every 60000"},
		"x offset -1m":               {"x": "1060000 to 1660000 every 60000"},
		"absent(x)":                  {"x": whole},
		"histogram_quantile(0.9, x)": {"x": whole},
		"rate(x[5m])":                {"x": "every slice"}, // the engine notes that x is not a counter's name
		"rate(x_total[5m])": {
			"x_total": "function 6 of 300000 ms up to 1000000 to 1600000 every 60000, 0 later"},
		"x / increase(y_sum[5m] offset 1m)": {"x": whole,
			"y_sum": "function 7 of 300000 ms up to 940000 to 1540000 every 60000, 60000 later"},
		"absent(rate(x_total[5m]))":          {"x_total": "every slice"},
		"absent(x + rate(y_total[5m]))":      {"x": whole, "y_total": "every slice"},
		"histogram_count(rate(x_total[5m]))": {"x_total": "every slice"},
		"deriv(x[5m])":                       {"x": "every slice"},
		"max_over_time(x[5m:1m])":            {"x": "every slice"},
		"max_over_time((x + y)[5m:1m]) + z":  {"x": "every slice", "y": "every slice", "z": whole},
		"max_over_time(x[5m])": {
			"x": "function 0 of 300000 ms up to 1000000 to 1600000 every 60000, 0 later"},
		"sum(-min_over_time(x[1h] offset 1m))": {
			"x": "function 1 of 3600000 ms up to 940000 to 1540000 every 60000, 60000 later"},
		"max_over_time(x[5m]) + x2": {
			"x": "function 0 of 300000 ms up to 1000000 to 1600000 every 60000, 0 later", "x2": whole},
		"max_over_time(x[5m] @ 5)":     {"x": "every slice"},
		"max_over_time(x[5m] @ end())": {"x": "every slice"},
		"avg_over_time(x[5m])": {
			"x": "function 2 of 300000 ms up to 1000000 to 1600000 every 60000, 0 later"},
		"rate(max_over_time(x[5m])[5m:1m])":   {"x": "every slice"},
		"timestamp(max_over_time(x[5m]))":     {"x": "every slice"},
		"x @ 5":                               {"x": "every slice"},
		"x @ start()":                         {"x": "every slice"},
		"sum(x @ end()) + y":                  {"x": "every slice", "y": whole},
		"timestamp(x)":                        {"x": "every slice"},
		"timestamp(abs(x))":                   {"x": "every slice"},
		"histogram_count(x)":                  {"x": "every slice"},
		"histogram_sum(x) + histogram_avg(y)": {"x": "every slice", "y": "every slice"},
	} {
		store := &reader{instants: map[string]string{}}
		e, err := New(Join(store), DefaultOptions())
		require.NoError(t, err)
		q, err := e.Range(t.Context(), nil, expr, time.UnixMilli(1_000_000), time.UnixMilli(1_600_000), time.Minute)
		require.NoError(t, err, expr)
		require.NoError(t, q.Exec(t.Context()).Err, expr)
		q.Close()
		all := map[string]string{}
		for name, at := range wanted {
			all[fmt.Sprintf("[__name__=%q]", name)] = at
		}
		assert.Equal(t, all, store.instants, expr)
	}
	store := &reader{instants: map[string]string{}}
	e, err := New(store, DefaultOptions())
	require.NoError(t, err)
	q, err := e.Instant(t.Context(), nil, "x", time.UnixMilli(5_000))
	require.NoError(t, err)
	require.NoError(t, q.Exec(t.Context()).Err)
	assert.Equal(t, map[string]string{`[__name__="x"]`: "5000 to 5000 every 1"}, store.instants)
}

// notComputing is a store that returns only samples.
type notComputing struct{ storage.Queryable }

func TestNothingIsComputedWhereTheStoreDoesNot(t *testing.T) {
	store := &reader{instants: map[string]string{}}
	e, err := New(Join(notComputing{store}, store), DefaultOptions())
	require.NoError(t, err)
	q, err := e.Instant(t.Context(), nil, "rate(x_total[5m])", time.UnixMilli(5_000))
	require.NoError(t, err)
	require.NoError(t, q.Exec(t.Context()).Err)
	assert.Equal(t, map[string]string{`[__name__="x_total"]`: "every slice"}, store.instants)
}

// If the store cannot compute windows, the engine computes them. The store is then queried for the complete range of
// the windows.
func TestWhatIsNotComputedIsAskedAgain(t *testing.T) {
	store := &reader{instants: map[string]string{}}
	var asked []string
	store.read = func(*plan.Plan) error {
		text := store.instants[`[__name__="x_total"]`]
		if asked = append(asked, text); text != "every slice" {
			return plan.ErrNotComputed
		}
		return nil
	}
	e, err := New(store, DefaultOptions())
	require.NoError(t, err)
	q, err := e.Instant(t.Context(), nil, "rate(x_total[1h])", time.UnixMilli(5_000_000))
	require.NoError(t, err)
	require.NoError(t, q.Exec(t.Context()).Err)
	assert.Equal(t, []string{"function 6 of 3600000 ms up to 5000000 to 5000000 every 1, 0 later", "every slice"},
		asked)
	assert.Equal(t, [][2]int64{{1_400_001, 5_000_000}, {1_400_001, 5_000_000}}, store.opened)
	q.Close()
}

// A selector that occurs twice in a query is planned at each place separately.
func TestTheSameSelectorTwice(t *testing.T) {
	p := planOf(t, "sum_over_time(x[5m:1m]) / x")
	assert.Equal(t, 1, p)
}

func planOf(t *testing.T, expr string) (thinned int) {
	store := &reader{}
	store.read = func(*plan.Plan) error { return nil }
	counting := countingStore{store, &thinned}
	e, err := New(counting, DefaultOptions())
	require.NoError(t, err)
	q, err := e.Range(t.Context(), nil, expr, time.UnixMilli(1_000_000), time.UnixMilli(1_600_000), time.Minute)
	require.NoError(t, err)
	require.NoError(t, q.Exec(t.Context()).Err)
	return thinned
}

type countingStore struct {
	storage.Queryable
	thinned *int
}

func (c countingStore) Querier(minMs, maxMs int64) (storage.Querier, error) {
	q, err := c.Queryable.Querier(minMs, maxMs)
	return countingQuerier{q, c.thinned}, err
}

type countingQuerier struct {
	storage.Querier
	thinned *int
}

func (q countingQuerier) Select(ctx context.Context, sorted bool, hints *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	if _, known := plan.From(ctx).Instants(matchers); known {
		*q.thinned++
	}
	return q.Querier.Select(ctx, sorted, hints, matchers...)
}

func exec(t *testing.T, store storage.Queryable, options Options) *promql.Result {
	e, err := New(store, options)
	require.NoError(t, err)
	q, err := e.Instant(t.Context(), nil, "x", time.UnixMilli(5_000))
	require.NoError(t, err)
	defer q.Close()
	return q.Exec(t.Context())
}

// A store may end a query because of its limits, even if it is joined with others. Damaged data cause a warning.
func TestLimitsAndDamageReachTheAnswer(t *testing.T) {
	options := DefaultOptions()
	options.MaxSeries, options.MaxReadSamples = 3, 100
	for _, read := range []func(*plan.Plan) error{
		func(p *plan.Plan) error { return p.ReadSeries(4) },
		func(p *plan.Plan) error { return p.ReadSamples(101) },
	} {
		store := &reader{read: read}
		var limit *LimitError
		require.ErrorAs(t, exec(t, store, options).Err, &limit)
		require.ErrorAs(t, exec(t, Join(store, &reader{}), options).Err, &limit)
	}
	damaged := &reader{read: func(p *plan.Plan) error {
		for i := range 100 {
			p.Damaged(fmt.Errorf("page %d is damaged", i%50))
		}
		return p.ReadSamples(100)
	}}
	result := exec(t, damaged, options)
	require.NoError(t, result.Err)
	assert.Len(t, result.Warnings, 21)
	assert.Contains(t, result.Warnings, "page 3 is damaged")
	assert.Contains(t, result.Warnings, "60 more damaged blocks; run bullet-metrics fsck to list all")
}

func TestStepsBelowAMillisecond(t *testing.T) {
	e, err := New(Absent, DefaultOptions())
	require.NoError(t, err)
	_, err = e.Range(t.Context(), nil, "x", time.UnixMilli(0), time.UnixMilli(5), time.Microsecond)
	require.ErrorContains(t, err, "below 1ms")
}

// Parsing waits for a slot, at most for the timeout of a query.
func TestParsingWaitsForAPlace(t *testing.T) {
	options := DefaultOptions()
	options.MaxConcurrent, options.Timeout = 1, 20*time.Millisecond
	store := &blocking{asked: make(chan struct{}, 1), release: make(chan struct{})}
	e, err := New(store, options)
	require.NoError(t, err)
	place, err := e.turnstile.Insert(t.Context(), "")
	require.NoError(t, err)
	_, err = e.Parse(t.Context(), "x")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = e.Instant(t.Context(), nil, "x", time.UnixMilli(0))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	e.turnstile.Delete(place)
	expr, err := e.Parse(t.Context(), "x")
	require.NoError(t, err)
	assert.Equal(t, "x", expr.String())
}
