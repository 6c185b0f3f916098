package query

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of two equal values topk takes the first one by labels, even if the other one arrived in memory first.
func TestTiesAreBrokenByLabelsNotByArrival(t *testing.T) {
	db, err := tsdb.Open(t.TempDir(), nil, nil, tsdb.DefaultOptions(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, worker := range []string{"b", "c", "a"} {
		appender := db.Appender(t.Context())
		_, err := appender.Append(0, labels.FromStrings("__name__", "up", "worker", worker), 1000, 1)
		require.NoError(t, err)
		require.NoError(t, appender.Commit())
	}
	e, err := New(db, DefaultOptions())
	require.NoError(t, err)
	for _, expression := range []string{"topk(1, up)", "bottomk(1, up)"} {
		q, err := e.Instant(t.Context(), nil, expression, time.Unix(1, 0))
		require.NoError(t, err)
		result := q.Exec(t.Context())
		require.NoError(t, result.Err)
		vector := result.Value.(promql.Vector)
		require.Len(t, vector, 1, expression)
		assert.Equal(t, "a", vector[0].Metric.Get("worker"), expression)
		q.Close()
	}
}
