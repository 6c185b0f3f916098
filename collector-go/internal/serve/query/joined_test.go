package query

import (
	"errors"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
)

// A store that is read in addition causes only a warning if it cannot be opened or read. An error of the main store
// ends the query.
func TestWhatLiesBesideCanBeDoneWithout(t *testing.T) {
	store := promqltest.LoadedStorage(t, "load 10s\n  x 1 2 3\n")
	defer func() { require.NoError(t, store.Close()) }()
	shut := storage.QueryableFunc(func(int64, int64) (storage.Querier, error) {
		return nil, errors.New("it is damaged")
	})
	silent := storage.QueryableFunc(func(int64, int64) (storage.Querier, error) {
		return unreadable{errors.New("it is damaged")}, nil
	})
	for name, beside := range map[string]storage.Queryable{"shut": shut, "silent": silent} {
		engine, err := New(Join(store, beside), DefaultOptions())
		require.NoError(t, err)
		asked, err := engine.Instant(t.Context(), nil, "sum(x)", time.UnixMilli(20_000))
		require.NoError(t, err)
		result := asked.Exec(t.Context())
		require.NoError(t, result.Err, name)
		require.Contains(t, result.String(), "3 @[20000]")
		require.ErrorContains(t, errors.Join(result.Warnings.AsErrors()...), "it is damaged", name)
		asked.Close()
		q, err := Join(store, beside).Querier(0, 30_000)
		require.NoError(t, err)
		for range 2 { // the API uses one querier for several selectors
			set := q.Select(t.Context(), true, nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", "x"))
			require.True(t, set.Next())
			require.False(t, set.Next())
			require.NoError(t, set.Err())
		}
		names, warnings, err := q.LabelNames(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, []string{"__name__"}, names)
		require.Len(t, warnings, 1, name)
		require.NoError(t, q.Close())
		require.NoError(t, engine.Close())
	}
	_, err := Join(shut, store).Querier(0, 1)
	require.ErrorContains(t, err, "it is damaged")
}
