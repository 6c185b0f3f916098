package rulesengine

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheCollectorsOwnFiguresAreThereAsIfScraped(t *testing.T) {
	p := newPlace(t, t.TempDir())
	defer p.close(t)
	figures := prometheus.NewPedanticRegistry()
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "dropped_total", Help: "h"}, []string{"reason"})
	took := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "took_seconds", Help: "h",
		Buckets: []float64{0.1, 1}})
	figures.MustRegister(dropped, took)
	dropped.WithLabelValues("full").Add(3)
	took.Observe(0.5)
	own := &Own{Gatherer: figures, Results: p.results, Logger: slog.New(slog.DiscardHandler),
		Labels: labels.FromStrings("job", "bullet-metrics", "instance", "a:1")}
	now := time.UnixMilli(1_700_000_000_000)
	require.NoError(t, own.look(t.Context(), now))

	find := func(expression string, at time.Time) int {
		v, err := ask(p.engine)(t.Context(), expression, at)
		require.NoError(t, err)
		return len(v)
	}
	assert.Equal(t, 1, find(`dropped_total{job="bullet-metrics",instance="a:1",reason="full"} == 3`, now))
	assert.Equal(t, 3, find(`took_seconds_bucket`, now))
	assert.Equal(t, 1, find(`took_seconds_bucket{le="1"} == 1`, now))

	dropped.Reset()
	require.NoError(t, own.look(t.Context(), now.Add(15*time.Second)))
	assert.Equal(t, 1, find(`dropped_total`, now.Add(14*time.Second)))
	assert.Zero(t, find(`dropped_total`, now.Add(15*time.Second)), "a series that has gone ends at once")
}
