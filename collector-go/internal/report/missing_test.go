package report_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/report"
)

// Records that are missing are said, also where no goal asks for them, and the table shows what they were of.
func TestMissingRecordsAreSaidOfAStepThatIsOK(t *testing.T) {
	run := synthetic()
	for i := 1; i < 4; i++ {
		run.Steps[i].Clients.GeneratedRecords, run.Steps[i].Clients.DueRecords = 1500, 1200
	}
	run.Steps[2].Clients.MissingRecords = 3
	run.Steps[3].Clients.DueRecords, run.Steps[3].Clients.MissingRecords = 1_000_000, 1
	r, err := report.Build(run)
	require.NoError(t, err)
	out := t.TempDir()
	require.NoError(t, r.Write(out))
	text, err := os.ReadFile(filepath.Join(out, "report.md"))
	require.NoError(t, err)
	for _, want := range []string{"| Records generated | Records missing |", "| 1,500 | 0 |", "| 1,500 | 3 of 1,200 |",
		"20 queries: OK by its goals, although 3 of the 1,200 records due to its queries are missing (completeness 99.75%).", "(completeness above 99.99%)", "Total heap MiB", "GC time is wall time"} {
		assert.Contains(t, string(text), want)
	}
	assert.NotContains(t, string(text), "10 queries: OK by its goals")
}
