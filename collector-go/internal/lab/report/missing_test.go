package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Missing records are reported even if no goal is about them, and the table shows how many were due.
func TestMissingRecordsAreSaidOfAStepThatIsOK(t *testing.T) {
	run := synthetic()
	for i := 1; i < 4; i++ {
		run.Steps[i].Clients.GeneratedRecords, run.Steps[i].Clients.ExpectedRecords = 1500, 1200
	}
	run.Steps[2].Clients.MissingRecords = 3
	run.Steps[3].Clients.ExpectedRecords, run.Steps[3].Clients.MissingRecords = 1_000_000, 1
	text := markdown(t, run)
	for _, want := range []string{"| Records generated | Records missing |", "| 1,500 | 0 |", "| 1,500 | 3 of 1,200 |",
		"20 queries: OK, because its goals allow it, although 3 of 1,200 records are missing from the answers (completeness 99.75%).",
		"(completeness above 99.99%)", "Total heap MiB", "GC time is the wall time of pauses"} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "10 queries: OK, because its goals")
}
