package tuning

import "strings"

// Limiter names what a step ran against.
type Limiter string

// The limiters.
const (
	LimitedByFilterCPU  Limiter = "filter CPU"
	LimitedByBoltCPU    Limiter = "a bolt's CPU"
	LimitedByBoltBusy   Limiter = "a bolt's executors" // busy, and not with computing alone
	LimitedByGC         Limiter = "garbage collection"
	LimitedByRestart    Limiter = "a worker's restart"
	LimitedByPending    Limiter = "max spout pending"
	LimitedBySpouts     Limiter = "the record spouts"
	LimitedByPartitions Limiter = "Kafka partitions"
	LimitedByDRPC       Limiter = "DRPC"
	LimitedByEndpoint   Limiter = "the query endpoint"
	LimitedByClient     Limiter = "the load client"
	LimitedByHost       Limiter = "the host"
	LimitedByCollector  Limiter = "the collector"
	LimitedBySilence    Limiter = "a silent worker" // what it did is not known, nor who lost it
)

// OfTopology reports whether the limiter is the topology's own work, so that a goal missed because of it is the
// topology's failure. The others are settings and what is around it: more of the same topology would not help.
func (l Limiter) OfTopology() bool {
	switch l {
	case LimitedByFilterCPU, LimitedByBoltCPU, LimitedByBoltBusy, LimitedByGC, LimitedByRestart, LimitedBySpouts:
		return true
	}
	return false
}

// LimiterState is whether a limiter was met.
type LimiterState string

// The states.
const (
	Reached     LimiterState = "reached"
	NotReached  LimiterState = "not reached"
	Consequence LimiterState = "consequence" // reached, and explained by another that is
	NotKnown    LimiterState = "unknown"
)

// Number is a figure that a finding rests on.
type Number struct {
	Name  string `json:"name"`
	Value Figure `json:"value"`
	Unit  string `json:"unit"`
}

// LimiterFinding is what the evidence says about one limiter.
type LimiterFinding struct {
	Limiter Limiter      `json:"limiter"`
	State   LimiterState `json:"state"`
	// Component is the bolt that it is about, if any.
	Component string `json:"component,omitempty"`
	// Says is the finding with its numbers, a sentence without its full stop.
	Says    string   `json:"says"`
	Numbers []Number `json:"numbers"`
}

// Limitation is what limited a step.
type Limitation struct {
	// Limiters are those reached that no other explains, the strongest first; none where that is not known.
	Limiters []Limiter `json:"limiters"`
	// Text is the limitation in a sentence: "limited by DRPC: ...", "cannot tell: ...", or "nothing was at its limit:
	// ...".
	Text     string           `json:"text"`
	Findings []LimiterFinding `json:"findings"`
	// Missing is what was not measured and Contradictions what does not fit together; either may be why it cannot be
	// known.
	Missing        []string `json:"missing"`
	Contradictions []string `json:"contradictions"`
}

// OfOK is the limitation of a step that met its goals: nothing limited it, whatever was busy. The findings stay.
func (l Limitation) OfOK() Limitation {
	if l.Known() {
		l.Limiters = []Limiter{}
		l.Text = "nothing limited it, since its goals were met; busy all the same: " +
			strings.TrimPrefix(l.Text, "limited by ")
	}
	return l
}

// Known reports whether a limiter was found.
func (l Limitation) Known() bool { return len(l.Limiters) > 0 }

// BlamesTopology reports whether the topology itself was shown to be the limit: it comes first, whatever else was
// reached.
func (l Limitation) BlamesTopology() bool { return l.Known() && l.Limiters[0].OfTopology() }
