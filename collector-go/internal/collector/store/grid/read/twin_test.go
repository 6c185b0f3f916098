package read_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/read"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/collector/store/grid/run"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/serve/query"
	"github.com/bullet-metrics/bullet-metrics/collector-go/testing/gridtest"
)

// sources can be read like a store.
type sources []run.Source

func (s sources) Querier(minMs, maxMs int64) (storage.Querier, error) {
	return read.NewQuerier(s, minMs, maxMs, nil), nil
}

func (s sources) ComputesWindows() bool { return true }

// However series are distributed over sources, PromQL gives the same answers as with a Prometheus store that has the
// same slices.
func TestAnswersAsPrometheus(t *testing.T) {
	for seed := range int64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			world := gridtest.NewWorld(uint64(seed), 1_700_000_000_000, (2 * time.Hour).Milliseconds())
			ours := sources(world.Sources(uint64(seed), 2+int(seed)))
			gridtest.Compare(t, seed, 150, ours, world.Prometheus(t), world.Spec())
		})
	}
}

// A series with slices in two stores gives the same answers as if all were in one store.
func TestASeriesInTwoStores(t *testing.T) {
	store := func(firstMs int64, values ...float64) sources {
		m := &gridtest.Memory{}
		m.Add(named("x_total"), []run.Run{{FirstMs: firstMs, StepMs: 10_000, Values: values}})
		return sources{m}
	}
	whole := store(10_000, 1, 2, 4, 8, 2, 5)
	for name, all := range map[string]storage.Queryable{
		"both": query.Join(store(10_000, 1, 2, 4), store(40_000, 8, 2, 5)), "the store": query.Join(whole, sources{}),
		"beside": query.Join(sources{}, whole),
	} {
		for _, expr := range []string{"rate(x_total[1m])", "sum_over_time(x_total[45s])",
			"last_over_time(x_total[35s])"} {
			require.Equal(t, asked(t, whole, expr), asked(t, all, expr), "%s: %s", name, expr)
		}
	}
	require.Contains(t, asked(t, whole, "sum_over_time(x_total[1m])"), "22 @[60000]")
}

func asked(t *testing.T, store storage.Queryable, expr string) string {
	e, err := query.New(store, query.DefaultOptions())
	require.NoError(t, err)
	q, err := e.Range(t.Context(), nil, expr, time.UnixMilli(0), time.UnixMilli(120_000), 30*time.Second)
	require.NoError(t, err)
	defer q.Close()
	result := q.Exec(t.Context())
	require.NoError(t, result.Err)
	return result.String()
}
