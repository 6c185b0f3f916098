package tuning

import (
	"fmt"
	"math"
	"slices"
)

// Skew is how far the clock To is ahead of the clock From, between LeastMs and MostMs. A side without a bound is
// unknown. It is shown next to delays and never subtracted from them.
type Skew struct {
	From    string `json:"from"`
	To      string `json:"to"`
	LeastMs Figure `json:"least_ms"`
	MostMs  Figure `json:"most_ms"`
	Method  string `json:"method"`
	// FromClocks and ToClocks are how many hosts' clocks share the names, 0 if unknown. Bounds over several clocks
	// hold for no single pair of them.
	FromClocks int `json:"from_clocks,omitempty"`
	ToClocks   int `json:"to_clocks,omitempty"`
}

// Excludes0 reports whether the two clocks certainly differ.
func (s Skew) Excludes0() bool { return s.LeastMs > 0 || s.MostMs < 0 }

// stampResolutionMs is how much earlier than the truth a stamp may be: most are truncated to whole milliseconds.
const stampResolutionMs = 1

// skews bounds each clock against the client's, and each against the previous one on the record's path, by causality.
// If an effect seems to follow its cause at once, or even to precede it, that bounds how far one clock can be ahead.
// The fastest of many records gives the tightest bound.
func skews(traces []Trace, clocks map[string]string) []Skew {
	all := []Skew{}
	add := func(from, to string) {
		known := slices.ContainsFunc(all, func(s Skew) bool {
			return s.From == from && s.To == to || s.From == to && s.To == from
		})
		if from == "" || to == "" || from == to || known {
			return
		}
		if s := bound(traces, clocks, from, to); s.LeastMs.Known() || s.MostMs.Known() {
			all = append(all, s)
		}
	}
	for _, stage := range Stages {
		add(clocks[QuerySubmitted], clocks[stage])
	}
	way := []string{RecordMade, KafkaReceived, BulletReceived, BulletFiltered, QueryFinished}
	for i := range way[1:] {
		add(clocks[way[i]], clocks[way[i+1]])
	}
	return all
}

func bound(traces []Trace, clocks map[string]string, from, to string) Skew {
	least, most, records := math.Inf(-1), math.Inf(1), 0
	for _, j := range traces {
		used := false
		for _, earlier := range Stages {
			for _, later := range after(earlier) {
				d := j.Since(earlier, later)
				if !d.Known() {
					continue
				}
				switch {
				case clocks[earlier] == from && clocks[later] == to:
					most, used = min(most, float64(d)+stampResolutionMs), true
				case clocks[earlier] == to && clocks[later] == from:
					least, used = max(least, -float64(d)-stampResolutionMs), true
				}
			}
		}
		if used {
			records++
		}
	}
	known := func(v float64) Figure {
		if math.IsInf(v, 0) {
			return Unknown
		}
		return Figure(v)
	}
	return Skew{From: from, To: to, LeastMs: known(least), MostMs: known(most),
		Method: fmt.Sprintf("the order of cause and effect in %d records", records)}
}
