package catalog

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write proto/METRICS.md and the golden files again")

const metricsPage = "../../../../proto/METRICS.md"

// The page that users read is the table that the program goes by.
func TestMetricsPageIsTheTable(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile(metricsPage, []byte(metricsDocument()), 0o644))
	}
	page, err := os.ReadFile(metricsPage)
	require.NoError(t, err)
	require.Equal(t, metricsDocument(), string(page), "run: go test ./internal/collector/catalog -run MetricsPage -update")
}
