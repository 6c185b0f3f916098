package tuning

import "strings"

// Limiter names the resource or setting that limited a step.
type Limiter string

// Limiters of a step.
const (
	LimitedByFilterCPU  Limiter = "filter CPU"
	LimitedByBoltCPU    Limiter = "a bolt's CPU"
	LimitedByBoltBusy   Limiter = "a bolt's executors" // busy, but not only with computing
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
	LimitedBySilence    Limiter = "a silent worker" // neither its state nor the cause is known
)

// OfTopology reports whether the limiter is the topology's own work, so that a goal missed because of it is the
// topology's failure. The other limiters are settings and surroundings: more of the same topology would not help.
func (l Limiter) OfTopology() bool {
	switch l {
	case LimitedByFilterCPU, LimitedByBoltCPU, LimitedByBoltBusy, LimitedByGC, LimitedByRestart, LimitedBySpouts:
		return true
	}
	return false
}

// LimiterState states whether a limiter was reached.
type LimiterState string

// States of a limiter.
const (
	Reached     LimiterState = "reached"
	NotReached  LimiterState = "not reached"
	Consequence LimiterState = "consequence" // reached, and explained by another limiter
	NotKnown    LimiterState = "unknown"
)

// Number is a figure that a finding is based on.
type Number struct {
	Name  string `json:"name"`
	Value Figure `json:"value"`
	Unit  string `json:"unit"`
}

// LimiterFinding is the conclusion about one limiter.
type LimiterFinding struct {
	Limiter Limiter      `json:"limiter"`
	State   LimiterState `json:"state"`
	// Component is the bolt that the finding is about, if any.
	Component string `json:"component,omitempty"`
	// Says is the finding with its numbers, as a sentence without its full stop.
	Says    string   `json:"says"`
	Numbers []Number `json:"numbers"`
}

// Limitation is the conclusion about what limited a step.
type Limitation struct {
	// Limiters are the reached limiters that no other explains, the strongest first; empty if unknown.
	Limiters []Limiter `json:"limiters"`
	// Text is the limitation as a sentence: "limited by DRPC: ...", "cannot tell: ...", or "nothing was at its limit:
	// ...".
	Text     string           `json:"text"`
	Findings []LimiterFinding `json:"findings"`
	// Missing lists what was not measured; Contradictions lists measurements that exclude each other. Either may be
	// why the limiter is unknown.
	Missing        []string `json:"missing"`
	Contradictions []string `json:"contradictions"`
}

// OfOK returns the limitation of a step that met its goals: nothing limited it, whatever was busy. The findings stay.
func (l Limitation) OfOK() Limitation {
	if l.Known() {
		l.Limiters = []Limiter{}
		l.Text = "nothing limited it, because its goals were met; still busy: " +
			strings.TrimPrefix(l.Text, "limited by ")
	}
	return l
}

// Names that stand for a limiter if none was found.
const (
	UnknownLimiter = "cannot tell"
	NoLimiter      = "nothing"
)

// Names returns the limiters for display. If there are none, it is UnknownLimiter if the evidence is incomplete or
// contradictory, else NoLimiter.
func (l Limitation) Names() []string {
	switch {
	case l.Known():
		return Texts(l.Limiters)
	case len(l.Missing) > 0 || len(l.Contradictions) > 0:
		return []string{UnknownLimiter}
	}
	return []string{NoLimiter}
}

// Known reports whether a limiter was found.
func (l Limitation) Known() bool { return len(l.Limiters) > 0 }

// BlamesTopology reports whether the topology itself was the limit: its limiter is the first one, whatever else was
// reached.
func (l Limitation) BlamesTopology() bool { return l.Known() && l.Limiters[0].OfTopology() }
