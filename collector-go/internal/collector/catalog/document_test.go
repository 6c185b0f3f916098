package catalog

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write proto/METRICS.md and the golden files again")

const metricsPage = "../../../../proto/METRICS.md"

// TestMetricsPageIsTheTable checks that the page for users matches the table that the program uses.
func TestMetricsPageIsTheTable(t *testing.T) {
	if *update {
		require.NoError(t, os.WriteFile(metricsPage, []byte(metricsDocument()), 0o644))
	}
	page, err := os.ReadFile(metricsPage)
	require.NoError(t, err)
	require.Equal(t, metricsDocument(), string(page), "run: go test ./internal/collector/catalog -run MetricsPage -update")
}
