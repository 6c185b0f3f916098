package query

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// blocking is a store that answers only after it is released.
type blocking struct {
	asked   chan struct{}
	release chan struct{}
}

func (b *blocking) Querier(int64, int64) (storage.Querier, error) { return &blockingQuerier{b}, nil }

type blockingQuerier struct{ *blocking }

func (q *blockingQuerier) Select(ctx context.Context, _ bool, _ *storage.SelectHints,
	_ ...*labels.Matcher) storage.SeriesSet {
	q.asked <- struct{}{}
	select {
	case <-q.release:
		return storage.EmptySeriesSet()
	case <-ctx.Done():
		return storage.ErrSeriesSet(ctx.Err())
	}
}

func (q *blockingQuerier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	return nil, nil, nil
}

func (q *blockingQuerier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string,
	annotations.Annotations, error) {
	return nil, nil, nil
}
func (q *blockingQuerier) Close() error { return nil }

func ask(ctx context.Context, e *Engine) error {
	q, err := e.Instant(ctx, nil, "up", time.Unix(1000, 0))
	if err != nil {
		return err
	}
	defer q.Close()
	return q.Exec(ctx).Err
}

func TestOnlySoManyQueriesAtOnce(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	store := &blocking{asked: make(chan struct{}, 10), release: make(chan struct{})}
	options := DefaultOptions()
	options.MaxConcurrent, options.Registerer = 1, registry
	e, err := New(store, options)
	require.NoError(t, err)
	first := make(chan error)
	go func() { first <- ask(t.Context(), e) }()
	<-store.asked // the first query runs

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, ask(gone, e), context.Canceled, "the second finds no place")
	n, err := testutil.GatherAndCount(registry, "bullet_metrics_query_running")
	require.NoError(t, err)
	assert.Equal(t, 1, n)

	close(store.release)
	require.NoError(t, <-first)
	require.NoError(t, ask(t.Context(), e))
	require.NoError(t, e.Close())
}

func TestTimeout(t *testing.T) {
	options := DefaultOptions()
	options.Timeout = time.Millisecond
	e, err := New(&blocking{asked: make(chan struct{}, 1)}, options)
	require.NoError(t, err)
	var timeout promql.ErrQueryTimeout
	require.ErrorAs(t, ask(t.Context(), e), &timeout)
}

func TestOptionsThatCannotBe(t *testing.T) {
	for _, change := range []func(*Options){
		func(o *Options) { o.Timeout = 0 },
		func(o *Options) { o.LookbackDelta = -1 },
		func(o *Options) { o.MaxSamples = 0 },
		func(o *Options) { o.MaxConcurrent = 0 },
	} {
		o := DefaultOptions()
		change(&o)
		_, err := New(nil, o)
		require.ErrorContains(t, err, "query: ")
	}
}
