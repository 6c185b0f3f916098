package catalog

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The buckets of the plugin's latency hook: schema 3, from 1 ms to 292 million years.
const (
	hookSchema      = 3
	hookFirstBucket = -79
	hookBuckets     = 505
	hookBounds      = "../../../../plugin-java/src/test/resources/io/github/bulletmetrics/storm/latency/schema-3-bounds.txt"
)

// TestTheHooksBoundsArePrometheusOwn checks the file with the bucket bounds against Prometheus' own. The plugin's tests
// compare its bucket arithmetic with that file.
func TestTheHooksBoundsArePrometheusOwn(t *testing.T) {
	h := histogram.Histogram{Schema: hookSchema,
		PositiveSpans:   []histogram.Span{{Offset: hookFirstBucket, Length: hookBuckets}},
		PositiveBuckets: make([]int64, hookBuckets)}
	h.PositiveBuckets[0] = 1 // differences, so that each bucket has one observation
	var page strings.Builder
	page.WriteString("# Prometheus' upper bound of each bucket at schema 3: index, the bound's bits, the bound. Written by the collector's test.\n")
	for buckets := h.PositiveBucketIterator(); buckets.Next(); {
		b := buckets.At()
		fmt.Fprintf(&page, "%d %016x %g\n", b.Index, math.Float64bits(b.Upper), b.Upper)
	}
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(hookBounds), 0o755))
		require.NoError(t, os.WriteFile(hookBounds, []byte(page.String()), 0o644))
	}
	kept, err := os.ReadFile(hookBounds)
	require.NoError(t, err)
	assert.Equal(t, page.String(), string(kept), "type: go test ./internal/collector/catalog -update")
}
