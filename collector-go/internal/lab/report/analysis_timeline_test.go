package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/report"
	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/lab/tuning"
)

// Each worker host has a row, and the bounds of several clocks name their hosts.
func TestTheClocksOfATimeline(t *testing.T) {
	host := func(name string, readings ...tuning.Figure) tuning.HostClock {
		h, ok := tuning.HostClockOf(name, 2, readings)
		assert.True(t, ok)
		return h
	}
	u := tuning.Unknown
	timeline := &tuning.Timeline{Queries: 1, Returned: 1, AddedDelay: tuning.Estimate{Value: 1, Low: u, High: u},
		FindTime: tuning.Estimate{Value: u, Low: u, High: u},
		Skews: []tuning.Skew{{From: "this host", To: "the filter bolt's worker", LeastMs: 44, MostMs: -44,
			Method: "the order of cause and effect in 20 records", ToClocks: 2}},
		Hosts: []tuning.HostClock{host("host-a", -12, -4), host("host-b", 20, 31)}}
	text := report.OfTimeline(timeline).Markdown("")
	for _, want := range []string{
		"the clocks differ by up to 35 ms",
		"| the filter bolt's worker (2 hosts) | this host | 44 | -44 | the order of cause and effect in 20 records; no single skew fits all of them |",
		"| host-a | 2 | 2 | -4 | -8 | 5.657 | -12 |", "| host-b | 2 | 2 | 31 | 25.5 | 7.778 | 20 |",
	} {
		assert.Contains(t, text, want)
	}
	timeline.Hosts = timeline.Hosts[:1]
	assert.Contains(t, report.OfTimeline(timeline).Markdown(""),
		"one host. Its clock is at most 4 ms behind the clock of the collector.")
}
