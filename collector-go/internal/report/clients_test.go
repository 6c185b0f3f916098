package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/tuning"
)

// What the load client could not do, or was refused, stands beside the queries where there is any.
func TestQueriesThatWereRefusedOrNotSubmittedAreInTheTable(t *testing.T) {
	run := synthetic()
	text := func() string {
		return markdown(t, run)
	}
	heads := []string{"Of the failed refused", "Due and not submitted", "Times that are lower bounds"}
	for _, head := range heads {
		assert.NotContains(t, text(), head)
	}
	last := &run.Steps[len(run.Steps)-1].Clients
	last.Refused, last.NotSubmitted, last.LowerBounds = 17, 18, 19
	for _, head := range append(heads, "| 17 | 18 | 19 |") {
		assert.Contains(t, text(), head)
	}
}

// More spouts than partitions are pointed out in a run's report, whether or not max spout pending is set.
func TestSpoutsWithoutPartitionsAreAWarning(t *testing.T) {
	run := synthetic()
	for _, pending := range []int{30, 0} {
		counted := tuning.PendingOf(500, pending, 4, 2, 2)
		run.Requested.Spouts = &counted
		text := markdown(t, run)
		assert.Contains(t, text, "Warning: 4 spouts read 2 Kafka partitions: 2 of them have nothing to read.")
		if pending == 0 {
			assert.NotContains(t, text, "True max spout pending")
		} else {
			assert.Contains(t, text, "True max spout pending: 15,000 records a spout")
		}
	}
}
