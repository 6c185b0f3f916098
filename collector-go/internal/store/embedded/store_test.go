package embedded

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/metric"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/slice"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness { return newPlace(t) })
}

// Before the first block is on disk a killed store is filled again from the journal's oldest entry.
func TestNothingIsDurableBeforeTheFirstBlock(t *testing.T) {
	p := newPlace(t)
	_, err := p.open(t).Append(t.Context(), 40, &slice.Columns{Refs: []slice.Ref{0}, EndsMs: []int64{1_700_000_000_000}, Values: []float64{1},
		Definitions: []slice.Definition{{Series: metric.Series{Labels: labels.FromStrings("__name__", "m"), Kind: metric.KindGauge}}}})
	require.NoError(t, err)
	p.Kill(t)
	require.Zero(t, p.open(t).Durable())
}
