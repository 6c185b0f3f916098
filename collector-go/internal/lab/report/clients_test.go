package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/runstore"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Queries that the load client could not submit and refused queries have columns of their own, if there are any.
func TestQueriesThatWereRefusedOrNotSubmittedAreInTheTable(t *testing.T) {
	run := synthetic()
	text := func() string {
		return markdown(t, run)
	}
	heads := []string{"Failed: refused", "Scheduled, not submitted", "Times as lower bounds"}
	for _, head := range heads {
		assert.NotContains(t, text(), head)
	}
	last := &run.Steps[len(run.Steps)-1].Clients
	last.Refused, last.NotSubmitted, last.LowerBounds = 17, 18, 19
	for _, head := range append(heads, "| 17 | 18 | 19 |") {
		assert.Contains(t, text(), head)
	}
}

// If several hosts submitted the queries, each has a row, and the report names the hosts that were late.
func TestEachLoadHostHasItsRow(t *testing.T) {
	run := synthetic()
	assert.NotContains(t, markdown(t, run), "Load hosts")
	last := &run.Steps[len(run.Steps)-1]
	last.Clients.Submitted = 100
	last.Clients.Hosts = []runstore.ClientHost{
		{Host: "load1", Submitted: 60, LatenessP99Ms: 2, CPUCores: 0.25, CPULimitCores: 4},
		{Host: "load2", Submitted: 40, NotSubmitted: 20, LatenessP99Ms: 812, CPUCores: tuning.Unknown, CPULimitCores: 2}}
	e := tuning.NoEvidence()
	for _, h := range last.Clients.Hosts {
		e.Client.Hosts = append(e.Client.Hosts, tuning.ClientHost{Host: h.Host, LatenessP99Ms: h.LatenessP99Ms,
			CPUCores: h.CPUCores, CPULimitCores: h.CPULimitCores})
	}
	last.Evidence = &e
	text := markdown(t, run)
	assert.Contains(t, text, "## Load hosts")
	assert.Contains(t, text, "| 40 | load1 | 60 | 60% | 0 | 2 | 0.25 | 4 | no |")
	assert.Contains(t, text, "| 40 | load2 | 40 | 40% | 20 | 812 | – | 2 | yes |")
}

// The report of a run points out more spouts than partitions, whether or not max spout pending is set.
func TestSpoutsWithoutPartitionsAreAWarning(t *testing.T) {
	run := synthetic()
	for _, pending := range []int{30, 0} {
		counted := tuning.PendingOf(500, pending, 4, 2, 2)
		run.Requested.Spouts = &counted
		text := markdown(t, run)
		assert.Contains(t, text, "Warning: 4 spouts read 2 Kafka partitions, so 2 of them have no partition.")
		if pending == 0 {
			assert.NotContains(t, text, "True max spout pending")
		} else {
			assert.Contains(t, text, "True max spout pending: 15,000 records per spout")
		}
	}
}
