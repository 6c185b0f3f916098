package tuning

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// HostClock is what the collector knows about the clock of a host that ran workers. A reading is how far the time of a
// worker's newest sample was ahead of the collector's clock on arrival, in ms. A sample ages in transit, so the clock
// is ahead by at least each reading, and the highest reading is the closest.
type HostClock struct {
	Host     string `json:"host"`
	Workers  int    `json:"workers"`
	Readings int    `json:"readings"`
	// AheadMs is the highest reading, LowestMs the lowest.
	AheadMs     Figure `json:"ahead_at_least_ms"`
	MeanMs      Figure `json:"mean_ms"`
	DeviationMs Figure `json:"standard_deviation_ms"`
	LowestMs    Figure `json:"lowest_ms"`
}

// HostClockOf combines the readings of a host's workers; ok is false if there are none.
func HostClockOf(host string, workers int, readings []Figure) (clock HostClock, ok bool) {
	known := floatsOf(readings)
	if len(known) == 0 {
		return HostClock{}, false
	}
	slices.Sort(known)
	clock = HostClock{Host: host, Workers: workers, Readings: len(known), AheadMs: Figure(known[len(known)-1]),
		LowestMs: Figure(known[0]),
		MeanMs:   Figure(stat.Mean(known, nil)), DeviationMs: Figure(stat.StdDev(known, nil))}
	return clock, true
}

// Apart returns the apparent distance between the hosts' clocks in ms, from their highest readings. Its error is the
// difference between the transit times of the fastest samples. It is unknown for fewer than two hosts.
func Apart(hosts []HostClock) Figure {
	if len(hosts) < 2 {
		return Unknown
	}
	ahead := Each(hosts, func(h HostClock) Figure { return h.AheadMs })
	return slices.Max(ahead) - slices.Min(ahead)
}

// Empty reports whether no skew satisfies the bounds. They then do not belong to one undisturbed pair of clocks.
func (s Skew) Empty() bool { return s.LeastMs > s.MostMs }

// Clocks maps a role to the number of hosts whose clocks stamp it. A missing role counts as one clock.
type Clocks map[string]int

// Flag sets for each skew how many clocks it mixes. It returns notes about skews that mix clocks, contradict
// themselves or exclude 0.
func (c Clocks) Flag(all []Skew) (notes []string) {
	for i := range all {
		s := &all[i]
		s.FromClocks, s.ToClocks = c[s.From], c[s.To]
		several := s.FromClocks > 1 || s.ToClocks > 1
		switch {
		case several && s.Empty():
			notes = append(notes, fmt.Sprintf("No single skew between %s and %s fits all records (at least %s ms, at most %s ms), because these are several clocks: %s and %s.",
				s.From, s.To, Digits(s.LeastMs), Digits(s.MostMs), clocksText(s.FromClocks), clocksText(s.ToClocks)))
		case several:
			notes = append(notes, fmt.Sprintf("The bounds for %s and %s cover several clocks together (%s and %s). Single pairs may differ, and their bounds may be wider.",
				s.From, s.To, clocksText(s.FromClocks), clocksText(s.ToClocks)))
		case s.Empty():
			notes = append(notes, fmt.Sprintf("The bounds for %s and %s contradict each other (at least %s ms, at most %s ms). Either there are further clocks, or a clock was set during the measurement.",
				s.From, s.To, Digits(s.LeastMs), Digits(s.MostMs)))
		case s.Excludes0():
			notes = append(notes, fmt.Sprintf("The clocks of %s and %s certainly differ. The delays between their stages are wrong by that difference.",
				s.From, s.To))
		}
	}
	return notes
}

func clocksText(n int) string {
	if n <= 1 {
		return "one clock"
	}
	return fmt.Sprintf("those of %d hosts", n)
}
