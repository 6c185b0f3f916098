package tuning

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bullet-metrics/bullet-metrics/collector-go/internal/storm/busy"
)

// Bounds from which on a measurement counts as a limit. All are ratios except latenessBoundMs.
const (
	// busyBound is the share of an executor's time. Storm's counts are samples, so a fully busy executor may read
	// slightly below 1.
	busyBound = 0.9
	// gcBound is the share of a worker's time that garbage collection may take.
	gcBound = 0.1
	// fullHeap is the used share of the heap limit from which on a larger heap would help.
	fullHeap = 0.9
	// heldBound is the share of the spouts' time in which they may be held back.
	heldBound = 0.1
	// lagBound is the allowed growth of the lag, as a share of the read rate.
	lagBound = 0.02
	// latenessBoundMs is how late the client may be: half of the document's latency limit.
	latenessBoundMs = 100
	// heldLatenessBound is how late the client may be with a held query, as a share of the query's duration. The
	// larger of both bounds applies.
	heldLatenessBound = 0.05
	// clientBound is the share of its CPU limit that the client may use.
	clientBound = 0.9
	// missingBound is the share of missing slices from which on the collected figures are no evidence.
	missingBound = 0.1
	// collectorBound is the share of a starved host that the collector may use.
	collectorBound = 0.1
	// neverActiveBound is the share of the queries in flight that may be in transit between client and topology.
	neverActiveBound = 0.02
)

// Limit finds what limited a step. It works in three stages. First, each rule of limit_rules.go compares one resource
// with its bound, independently of all others. Then explain marks a limiter that follows from another as a
// consequence: spouts that are held back by a slow bolt are not the limit. Last, conclude names what is left, and
// lists evidence that is missing or contradicts itself. A resource without evidence is reported as missing, never as
// free.
func Limit(e Evidence) Limitation {
	l := limiting{evidence: e}
	for _, rule := range []func(Evidence) LimiterFinding{filterRule, boltRule, gcRule, restartRule, pendingRule,
		sourceRule, endpointRule, clientRule, hostRule, collectorRule} {
		l.findings = append(l.findings, rule(e))
	}
	if e.Workers.Silent.Known() && e.Workers.Expected.Known() {
		l.findings = append(l.findings, silenceRule(e))
	}
	if e.SourceRate.known() { // without a source of ours, no rate is requested and none can be short
		l.findings = append(l.findings, sourceRateRule(e))
	}
	l.explain()
	return l.conclude()
}

// limiting is the state of one call of Limit: the evidence, and one finding for each rule that applies. The order of
// the findings is the order of the rules; it decides which limiter is named first.
type limiting struct {
	evidence Evidence
	findings []LimiterFinding
}

func finding(limiter Limiter, state LimiterState, numbers []Number, says string, args ...any) LimiterFinding {
	return LimiterFinding{Limiter: limiter, State: state, Says: fmt.Sprintf(says, args...),
		Numbers: append([]Number{}, numbers...)}
}

func stateOf(reached bool) LimiterState {
	if reached {
		return Reached
	}
	return NotReached
}

func (l *limiting) of(limiters ...Limiter) *LimiterFinding {
	for i, f := range l.findings {
		if slices.Contains(limiters, f.Limiter) {
			return &l.findings[i]
		}
	}
	return &LimiterFinding{State: NotKnown}
}

func (l *limiting) reached(limiters ...Limiter) bool { return l.of(limiters...).State == Reached }

// explain marks findings that follow from others as consequences, so that a report names causes only. On a starved
// host a busy bolt is a cause only if its workers' CPU covers its busy time; otherwise it was waiting for a processor.
// A slow bolt, GC, host or restart explains why spouts were held back, and a delay there explains why the lag grew.
func (l *limiting) explain() {
	host := l.reached(LimitedByHost)
	for _, bolt := range []Limiter{LimitedByFilterCPU, LimitedByBoltCPU} {
		if f := l.of(bolt); f.State == Reached && host && !l.covered(f) {
			l.follows(bolt, "it waited for CPU of the host")
		} else if f.State == Reached && l.evidence.Host.OfRun && l.evidence.Bolt(f.Component).WorkersCPU.Known() &&
			!l.covered(f) {
			f.State = NotKnown
			f.Says += "; its workers used less CPU than that, so it may have waited for the CPU of a host that was not measured"
		}
	}
	if host && l.reached(LimitedByClient) {
		l.follows(LimitedByClient, "the host had no CPU left for it")
	}
	cause, _ := First(l.findings, func(f LimiterFinding) bool {
		return f.State == Reached && slices.Contains([]Limiter{LimitedByFilterCPU, LimitedByBoltCPU, LimitedByBoltBusy,
			LimitedByGC, LimitedByHost, LimitedByRestart}, f.Limiter)
	})
	slow := string(cause.Limiter)
	if slow != "" {
		l.follows(LimitedByPending, "the spouts wait because of "+slow)
	}
	if slow == "" && l.reached(LimitedByPending) {
		slow = string(LimitedByPending)
	}
	for _, source := range []Limiter{LimitedByPartitions, LimitedBySpouts} {
		if f := l.of(source); f.State == Reached && slow != "" {
			l.follows(source, "records wait because of "+slow)
		}
	}
	l.explainSourceRate(slow)
}

// covered reports whether the bolt's busy time was spent on a processor, as far as its workers' CPU shows.
func (l *limiting) covered(f *LimiterFinding) bool {
	b := l.evidence.Bolt(f.Component)
	return b.WorkersCPU >= busy.Covered*b.busyCores()
}

func (l *limiting) follows(limiter Limiter, why string) {
	if f := l.of(limiter); f.State == Reached {
		f.State = Consequence
		f.Says += "; " + why
	}
}

func (l *limiting) conclude() Limitation {
	out := Limitation{Limiters: []Limiter{}, Findings: l.findings, Missing: []string{},
		Contradictions: append([]string{}, l.contradict()...)}
	var said, near []string
	for _, f := range l.findings {
		switch f.State {
		case Reached:
			out.Limiters = append(out.Limiters, f.Limiter)
			said = append(said, f.Says)
		case NotKnown:
			out.Missing = append(out.Missing, f.Says)
		case NotReached:
			near = append(near, f.Says)
		}
	}
	switch {
	case len(said) > 0:
		out.Text = "limited by " + names(out.Limiters) + ": " + strings.Join(said, "; ")
		if f := l.of(LimitedByFilterCPU); f.State == NotReached && !out.BlamesTopology() {
			out.Text += "; the topology was not the limit: " + f.Says
		}
	case len(out.Missing) > 0 || len(out.Contradictions) > 0:
		out.Text = "cannot tell: " + strings.Join(append(slices.Clone(out.Contradictions), out.Missing...), "; ")
	default:
		out.Text = "nothing was at its limit: " + strings.Join(near, "; ")
	}
	return out
}

func names(limiters []Limiter) string { return Listed(Texts(limiters)) }

// contradict finds measurements that exclude each other. They mean that something relevant was not measured, so the
// text then says "cannot tell" instead of "nothing was at its limit".
func (l *limiting) contradict() (out []string) {
	q := l.evidence.Queries
	if never := q.NeverActive(); never > max(1, neverActiveBound*q.Submitted) &&
		q.EndpointCapacity > 1.1*q.ActiveMost && !l.reached(LimitedByDRPC, LimitedByEndpoint) {
		out = append(out, fmt.Sprintf("%s of %s queries were never active, although the endpoint accepts %s",
			figureText(never), figureText(q.Submitted), figureText(q.EndpointCapacity)))
	}
	s := l.evidence.Source
	if s.LagGrowth > lagBound*s.RecordsPerSecond &&
		!slices.ContainsFunc(l.findings, func(f LimiterFinding) bool { return f.State == Reached }) {
		out = append(out, fmt.Sprintf(
			"the source lags by %s more records each second, although nothing that was measured is at its limit",
			figureText(s.LagGrowth)))
	}
	return out
}

// figureText formats a figure for a sentence.
func figureText(f Figure) string {
	if !f.Known() {
		return "an unknown number of"
	}
	return Digits(f)
}

// shareText formats a ratio as a percentage.
func shareText(f Figure) string {
	if !f.Known() {
		return "an unknown share"
	}
	decimals := 1
	if math.Abs(float64(f)) < 0.01 {
		decimals = 2
	}
	return trimmed(strings.TrimSuffix(PercentIn(f, decimals), "%")) + "%"
}

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
