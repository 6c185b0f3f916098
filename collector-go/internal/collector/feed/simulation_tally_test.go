package feed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// happenings counts what happened, so that a simulation in which nothing happens is noticed.
type happenings map[string]int

const slowestFresh = "slowest_fresh_ms"

// add sums the counts, except for those that are maxima.
func (h happenings) add(other happenings) {
	for what, n := range other {
		if what == slowestFresh {
			h[what] = max(h[what], n)
			continue
		}
		h[what] += n
	}
}

// requireMuch checks that each kind of event happened, in proportion to the seeds.
func (h happenings) requireMuch(t *testing.T) {
	for _, what := range []string{"acknowledged", "duplicates", "expired", "samples", "slices", "late", "rejected",
		"forgotten",
		"kills", "killed_writing", "power_losses", "closes", "workers", "failures", "disk_errors", "read_errors",
		"fills", "fulls",
		"streams", "cuts", "partitions", "asymmetric", "flaps", "half_open", "timeouts", "clock_steps", "leaps",
		"calm_hours",
		"store_away", "answers_lost", "sent_twice", "out_of_order", "store_rejected", "ordered", "fresh"} {
		require.Greater(t, h[what], h["seeds"]/40, what)
	}
}

// line returns the tally for programs. If something is lost or duplicated, the test fails before there is one.
func (h happenings) line() string {
	var line strings.Builder
	fmt.Fprintf(&line, "tally: seeds=%d", h["seeds"])
	for _, what := range slices.Sorted(maps.Keys(h)) {
		if what != "seeds" {
			fmt.Fprintf(&line, " %s=%d", what, h[what])
		}
	}
	return line.String()
}
